"""Every training error that the paper's authors found, corrected where their pruning loses a tree."""

import csv
from functools import cache

import numpy as np
import pytest
from support.paths import REFERENCE

from topktree import TopKTreeClassifier

if not REFERENCE.is_dir():
    pytest.skip(
        f"the authors' results are not on this machine: no folder {REFERENCE} (set $TOPKTREE_REFERENCE)",
        allow_module_level=True,
    )

with (REFERENCE / "train_errors.csv").open(newline="") as stream:
    CELLS = list(csv.DictReader(stream))


@cache
def dataset(name):
    with np.load(REFERENCE / f"{name}.npz") as arrays:
        return arrays["X"], arrays["y"]


def name_of(cell):
    return f"{cell['dataset']}-k={cell['k']}-depth={cell['depth']}"


@pytest.mark.parametrize("cell", CELLS, ids=name_of)
def test_train_errors(cell):
    X, y = dataset(cell["dataset"])
    assert (*X.shape, len(np.unique(y))) == (int(cell["rows"]), int(cell["columns"]), int(cell["classes"]))
    k = "all" if cell["k"] == "all" else int(cell["k"])
    classifier = TopKTreeClassifier(k=k, max_depth=int(cell["depth"])).fit(X, y)
    expected = int(cell["corrected_train_errors"] or cell["authors_train_errors"])
    assert classifier.train_errors_ == expected
    assert np.count_nonzero(classifier.predict(X) != y) == expected
    tries_all = k == "all" or k >= X.shape[1]
    assert classifier.status_ == ("optimal" if tries_all else "complete")
