"""The examples of README and docs print what these say they print."""

import json
import re
from pathlib import Path

import pytest
from sklearn.model_selection import train_test_split

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python\n(.*?)```(?:\n+```\n(.*?)```)?", re.DOTALL)
GUIDES = ["quickstart", "searching", "near-optimal", "forests", "sklearn-users", "optimal-trees", "file-format"]
ON_A_CLUSTER = pytest.param("docs/beyond-one-machine.md", marks=pytest.mark.serial)
PAGES = ["README.md", *(f"docs/{name}.md" for name in GUIDES), ON_A_CLUSTER]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_of_a_page_print_what_it_says(name, capsys, tmp_path, monkeypatch):
    """One after the other, as a reader types them; rows to validate with are the reader's own."""
    monkeypatch.chdir(tmp_path)
    if "Client(" in read(name):
        pytest.importorskip("distributed")
    scope = {}
    blocks = BLOCK.findall(read(name))
    assert blocks
    for code, output in blocks:
        if "X_validation" in code:
            parts = train_test_split(scope["X"], scope["y"], test_size=0.3, random_state=0)
            scope |= dict(zip(("X_train", "X_validation", "y_train", "y_validation"), parts, strict=True))
        exec(code, scope)
        assert capsys.readouterr().out.split() == output.split(), code
    if "small" in scope:
        assert scope["small"].get_n_leaves() <= scope["clf"].get_n_leaves()


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"])
def test_links_lead_somewhere(name):
    """`make docs` sees to those of docs/."""
    links = [link for link in re.findall(r"\]\(([^)#]+)", read(name)) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_model_file_of_the_page_is_what_its_example_writes(tmp_path, monkeypatch, capsys):
    """All keys, in order, and all values but those that differ from run to run."""
    monkeypatch.chdir(tmp_path)
    text = read("docs/file-format.md")
    exec(BLOCK.search(text)[1], {})
    capsys.readouterr()
    written = json.loads(Path("model.json").read_text(encoding="utf-8"))
    shown = json.loads(re.search(r"```json\n(.*?)```", text, re.DOTALL)[1])
    assert list(shown) == list(written)
    assert shown["search"].keys() <= written["search"].keys()
    for changing in ("topktree", "search"):
        del shown[changing], written[changing]
    assert shown == written


def test_the_page_names_every_key_of_a_model_file():
    text = read("docs/file-format.md")
    shown = json.loads(re.search(r"```json\n(.*?)```", text, re.DOTALL)[1])
    keys = {*shown, *shown["features"][0], *shown["nodes"][0]}
    assert not {key for key in keys if f"`{key}`" not in text}
