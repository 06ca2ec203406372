"""Imports stay light: each promise is tried in an interpreter of its own, by the modules that it ends up with."""

import json
import os
import subprocess
import sys

import pytest

import topktree
from topktree import TopKTreeClassifier

BASELINE = "import sklearn.tree, narwhals.stable.v2"
HEAVY = {"numpy", "scipy", "sklearn", "narwhals", "pandas", "pyarrow", "matplotlib", "joblib"}
# Of ours, not needed to fit a tree.
ROOMS = {"ensemble", "report", "dask", "datasets", "hard", "_cli", "_selection"}


def loaded(code, *arguments, **environment):
    """The names of all modules once the code has run."""
    program = f"""
import json, os, sys
try:
    {code}
finally:
    os.write(2, (chr(10) + json.dumps(sorted(sys.modules))).encode())
"""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)
    assert result.returncode == 0, result.stderr
    return set(json.loads(result.stderr.splitlines()[-1]))


def run(*arguments, **environment):
    """The names of all modules once the command has run."""
    return loaded("from topktree.__main__ import main; main()", *arguments, **environment)


def packages(modules):
    """Top-level names, without the standard library."""
    return {name.partition(".")[0] for name in modules} - sys.stdlib_module_names


def rooms(modules):
    """First names within topktree."""
    return {name.split(".")[1] for name in modules if name.startswith("topktree.")}


@pytest.fixture(scope="module")
def baseline():
    return loaded(BASELINE)


def test_import_of_the_package_loads_nothing():
    assert packages(loaded("import topktree") - loaded("pass")) == {"topktree"}
    assert rooms(loaded("import topktree")) == set()


@pytest.mark.parametrize("name", ["TopKTreeClassifier", "Binarizer", "Tree", "Feature"])
def test_an_estimator_loads_no_more_than_scikit_learn_and_narwhals(name, baseline):
    modules = loaded(f"from topktree import {name}")
    ours = {module for module in modules if module.startswith("topktree")}
    extra = {module for module in modules - baseline - ours if module.partition(".")[0] not in sys.stdlib_module_names}
    assert extra == set()
    assert rooms(ours) & ROOMS == set()
    assert ours & {"topktree._tree.plot", "topktree._tree.charts"} == set()


def test_fit_loads_no_more_either():
    modules = loaded(
        "from topktree import TopKTreeClassifier; TopKTreeClassifier().fit([[0], [1]], [0, 1]).predict([[0]])"
    )
    assert packages(modules) & {"matplotlib", "dask", "distributed", "click"} == set()
    assert rooms(modules) & ROOMS == set()


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--help"], ["fit", "--help"], ["choose", "-h"], ["predict", "-h"], ["show", "-h"]],
    ids=" ".join,
)
def test_help_needs_no_numbers(arguments):
    modules = run(*arguments)
    assert packages(modules) & HEAVY == set()
    assert rooms(modules) == {"__main__", "_cli"}


@pytest.mark.parametrize(
    "line",
    [
        "topktree ",
        "topktree fit FILE --ta",
        "topktree fit FILE --target i",
        "topktree choose FILE --ks 1,2 --scoring x --dr",
    ],
)
def test_completion_needs_no_numbers(line, tmp_path):
    (tmp_path / "table.csv").write_text("age,income\n1,2\n")
    line = line.replace("FILE", str(tmp_path / "table.csv"))
    modules = run(_TOPKTREE_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(line.count(" ")))
    assert packages(modules) & HEAVY == set()


@pytest.fixture
def model(tmp_path):
    TopKTreeClassifier(max_depth=1).fit([[0], [1]], [0, 1]).save(tmp_path / "model.json")
    return tmp_path / "model.json"


def test_predict_loads_what_it_needs(model, tmp_path):
    (tmp_path / "new.csv").write_text("x0\n0\n1\n")
    modules = run("predict", model, tmp_path / "new.csv", "--rule", "--proba")
    assert packages(modules) & {"matplotlib", "dask", "distributed", "topktree_evidence"} == set()
    assert rooms(modules) & (ROOMS - {"_cli"} | {"experiments"}) == set()


def test_show_reads_no_tables(model):
    assert "topktree._cli.table_files" not in run("show", model)


def test_public_names():
    assert set(topktree.__all__) <= set(dir(topktree))
    for name in topktree.__all__:
        value = getattr(topktree, name)
        assert getattr(value, "__name__", name).rpartition(".")[2] == name
    with pytest.raises(AttributeError, match="module 'topktree' has no attribute 'TopKTree'"):
        topktree.TopKTree  # noqa: B018
