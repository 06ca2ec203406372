"""The README's example prints what the README says it prints."""

import re
from pathlib import Path


def test_the_example_prints_what_it_says(capsys):
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    code, output = re.search(r"```python\n(.*?)```\n+```\n(.*?)```", text, re.DOTALL).groups()
    exec(code, {})
    assert capsys.readouterr().out.split() == output.split()
