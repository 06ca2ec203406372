"""Every public class and function has an example, and the examples print what they say they print.

A method has an example of its own only where that teaches more than the example of its class, which is run first; what
it defines is known in the examples of the methods. A method that several classes inherit with its docstring is run
once, after the example of the class that the reference lists first.
"""

import doctest
import inspect
import sys

import matplotlib as mpl
import pytest
from support.paths import ROOT
from support.public import members, public_objects

# Examples have blank lines and long lines where that helps the reader.
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

REFERENCE = ROOT / "docs" / "reference"
INDEX = (REFERENCE / "index.md").read_text(encoding="utf-8")

PUBLIC = public_objects()

# Records that people read: one example of the class shows them, and what can be computed from them.
RECORDS = {"Tree", "hard.HardDistribution"}
EXCEPTIONS = {"datasets.DataNotFound"}


def place_in_the_reference(name):
    """Return what sorts public names as the table of the reference does; names that it lacks come last."""
    place = INDEX.find(f"[`{name}`]")
    return place if place >= 0 else len(INDEX)


def examples():
    """Return by name: the docstrings to run one after the other, the last of which is the name's own."""
    found = {}
    for name in sorted(PUBLIC, key=place_in_the_reference):
        value = PUBLIC[name]
        if not callable(value):
            continue
        found[name] = [inspect.getdoc(value) or ""]
        if inspect.isclass(value) and name not in RECORDS:
            seen = {docstrings[-1] for docstrings in found.values()}
            for member, _ in members(value):
                docstring = inspect.getdoc(getattr(value, member)) or ""
                if docstring not in seen:
                    found[f"{name}.{member}"] = [*found[name], docstring]
    return found


EXAMPLES = examples()


def run_examples(docstrings, name):
    """Run docstrings in one namespace; return the number of examples in the last one, and what failed."""
    names, failures = {}, []
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    try:
        for docstring in docstrings:
            parsed = doctest.DocTestParser().get_doctest(docstring, names, name, name, 0)
            runner.run(parsed, out=failures.append, clear_globs=False)
            names = parsed.globs
        return len(parsed.examples), "".join(failures)
    finally:
        if "distributed" in sys.modules:
            for client in names.values():
                if isinstance(client, sys.modules["distributed"].Client):
                    client.close()


def test_the_list_is_not_empty():
    assert {"TopKTreeClassifier", "TopKTreeClassifier.predict", "Binarizer.fit", "datasets.load", "hard.parity"} <= set(
        EXAMPLES
    )


def test_the_reference_has_every_public_name():
    directives = {
        line.split()[-1] for page in REFERENCE.glob("*.md") for line in page.read_text().splitlines() if "::" in line
    }
    listed = {directive.removeprefix("topktree.") for directive in directives} | {"__version__"}
    assert set(PUBLIC) - listed == set()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example(name, tmp_path, monkeypatch):
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOPKTREE_DATA", raising=False)
    n_examples, failures = run_examples(EXAMPLES[name], name)
    plt.close("all")
    needs_one = len(EXAMPLES[name]) == 1 and name not in EXCEPTIONS
    assert n_examples > 0 or not needs_one, f"{name} has no example in its docstring"
    assert not failures, failures


CLASS = ">>> x = 3\n>>> x\n3"


@pytest.mark.parametrize(
    ("docstrings", "n_examples", "said"),
    [
        ([CLASS], 2, ""),
        ([CLASS, ">>> x + 1\n4"], 1, ""),  # knows what the class defines
        ([CLASS, ">>> x + 1\n5"], 1, "Expected:\n    5\nGot:\n    4"),
        ([">>> x = 3\n>>> x\n2", ">>> x\n3"], 1, "Expected:\n    2"),  # an example of the class that is wrong
        ([CLASS, ">>> z"], 1, "NameError"),
        ([CLASS, "No example."], 0, ""),
    ],
)
def test_wrong_and_missing_examples_are_noticed(docstrings, n_examples, said):
    found, failures = run_examples(docstrings, "name")
    assert found == n_examples
    assert said in failures
    assert bool(said) == bool(failures)
