"""The examples of README and docs print what these say they print."""

import re
from pathlib import Path

import pytest
from sklearn.model_selection import train_test_split

ROOT = Path(__file__).parents[1]


def test_the_example_prints_what_it_says(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, output = re.search(r"```python\n(.*?)```\n+```\n(.*?)```", text, re.DOTALL).groups()
    exec(code, {})
    assert capsys.readouterr().out.split() == output.split()


@pytest.mark.parametrize("name", ["search.md"])
def test_the_examples_of_a_page_print_what_it_says(name, capsys):
    """One after the other, as a reader types them; rows to validate with are the reader's own."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    scope = {}
    for code, output in re.findall(r"```python\n(.*?)```(?:\n+```\n(.*?)```)?", text, re.DOTALL):
        if "X_validation" in code:
            parts = train_test_split(scope["X"], scope["y"], test_size=0.3, random_state=0)
            scope |= dict(zip(("X_train", "X_validation", "y_train", "y_validation"), parts, strict=True))
        exec(code, scope)
        assert capsys.readouterr().out.split() == output.split(), code
    assert scope["small"].get_n_leaves() <= scope["clf"].get_n_leaves()
