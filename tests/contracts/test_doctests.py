"""Every public name and public method has an example, and the examples print what they say they print."""

import doctest
import inspect
from importlib.util import find_spec
from pathlib import Path

import matplotlib as mpl
import pytest

import topktree
from topktree._search.near_optimal import NearOptimalTrees
from topktree._search.penalty_path import LeafPenaltyPath

# Examples have blank lines and long lines where that helps the reader.
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"

CONSTANTS = {"EXTRA", "PAPER", "__version__"}
# What methods of the public classes and functions return.
RETURNED = {
    "LeafPenaltyPath": LeafPenaltyPath,
    "NearOptimalTrees": NearOptimalTrees,
    "hard.HardDistribution": topktree.hard.HardDistribution,
}


def public_objects():
    """Name and object of all that users may call."""
    for name in topktree.__all__:
        value = getattr(topktree, name)
        if not inspect.ismodule(value):
            yield name, value
    for name in topktree.datasets.__all__:
        yield f"datasets.{name}", getattr(topktree.datasets, name)
    for name, value in vars(topktree.hard).items():
        if inspect.isfunction(value) and value.__module__ == "topktree.hard" and not name.startswith("_"):
            yield f"hard.{name}", value
    yield from RETURNED.items()
    if find_spec("distributed") is not None:
        from topktree.dask import DaskTopKTreeClassifier

        yield "dask.DaskTopKTreeClassifier", DaskTopKTreeClassifier


def examples():
    """Name and docstring of every public object and of the methods and properties that this package gives it."""
    for name, value in public_objects():
        if name.rpartition(".")[2] in CONSTANTS:
            continue
        yield name, value.__doc__
        if inspect.isclass(value):
            yield from methods(name, value)


def methods(name, owner):
    for base in reversed(owner.__mro__):
        if base.__module__.partition(".")[0] != "topktree":
            continue
        for attribute, value in vars(base).items():
            if not attribute.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                yield f"{name}.{attribute}", getattr(owner, attribute).__doc__


EXAMPLES = dict(examples())


def test_the_list_is_not_empty():
    assert {"TopKTreeClassifier", "TopKTreeClassifier.predict", "Binarizer.fit", "datasets.load", "hard.parity"} <= set(
        EXAMPLES
    )


def test_the_reference_has_every_public_name():
    directives = {
        line.split()[-1] for page in REFERENCE.glob("*.md") for line in page.read_text().splitlines() if "::" in line
    }
    listed = {directive.removeprefix("topktree.") for directive in directives} | {"__version__"}
    listed |= {name for name, value in RETURNED.items() if f"{value.__module__}.{value.__name__}" in directives}
    assert not {name for name, _ in public_objects()} - listed


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example(name, tmp_path, monkeypatch):
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOPKTREE_DATA", raising=False)
    parsed = doctest.DocTestParser().get_doctest(inspect.cleandoc(EXAMPLES[name] or ""), {}, name, name, 0)
    assert parsed.examples, f"{name} has no example in its docstring"
    said = []
    failed = doctest.DocTestRunner(optionflags=FLAGS).run(parsed, out=said.append).failed
    plt.close("all")
    assert failed == 0, "".join(said)
