"""The generated datasets: sizes, class counts, known rows, and equality with the published files where they are."""

import csv
import gzip

import numpy as np
import pytest
from support.paths import DATASETS

from topktree.datasets import load_balance_scale, load_monks, load_tic_tac_toe


def published(name):
    """The rows of a published file, without its header, as tuples of text."""
    path = DATASETS / f"{name}.csv.gz"
    if not path.is_file():
        pytest.skip(f"no {path.name} in $TOPKTREE_DATA")
    with gzip.open(path, "rt", newline="") as stream:
        return [tuple(row) for row in csv.reader(stream)][1:]


def rows(bunch):
    """The rows of a dataset as a published file has them: tuples of text, the class last."""
    return [(*map(str, row), str(label)) for row, label in zip(bunch.data, bunch.target, strict=True)]


def class_counts(target):
    values, counts = np.unique(target, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


LOADERS = {
    "tic-tac-toe": (load_tic_tac_toe, (958, 9), {"negative": 332, "positive": 626}),
    "monks-1": (lambda **options: load_monks(1, **options), (432, 6), {0: 216, 1: 216}),
    "monks-2": (lambda **options: load_monks(2, **options), (432, 6), {0: 290, 1: 142}),
    "monks-3": (lambda **options: load_monks(3, **options), (432, 6), {0: 204, 1: 228}),
    "balance-scale": (load_balance_scale, (625, 4), {"B": 49, "L": 288, "R": 288}),
}


@pytest.mark.parametrize(("load", "shape", "counts"), LOADERS.values(), ids=LOADERS)
def test_sizes_and_classes(load, shape, counts):
    bunch = load()
    assert bunch.data.shape == shape
    assert len(set(map(tuple, bunch.data))) == shape[0]
    assert class_counts(bunch.target) == counts
    assert len(bunch.feature_names) == shape[1]
    assert bunch.target_names == [str(label) for label in counts]
    assert str(shape[0]) in bunch.DESCR


@pytest.mark.parametrize(("load", "shape", "counts"), LOADERS.values(), ids=LOADERS)
def test_return_X_y_is_the_pair(load, shape, counts):
    bunch = load()
    data, target = load(return_X_y=True)
    np.testing.assert_array_equal(data, bunch.data)
    np.testing.assert_array_equal(target, bunch.target)


@pytest.mark.parametrize(
    ("load", "row"),
    [
        (load_tic_tac_toe, "xxxxooxoo positive"),
        (load_tic_tac_toe, "ooobbxxbx negative"),  # o has won
        (load_tic_tac_toe, "xoxxoxoxo negative"),  # drawn
        (load_balance_scale, "1111 B"),
        (load_balance_scale, "2432 L"),
        (load_balance_scale, "2433 R"),
    ],
)
def test_known_rows(load, row):
    values, label = row.split()
    assert (*values, label) in rows(load())


@pytest.mark.parametrize(
    "board",
    [
        "xxxbooobb",  # o moved once more than x
        "xxxooobbb",  # play went on after x had won
        "xxobbbbbb",  # not over
    ],
)
def test_tic_tac_toe_has_end_positions_only(board):
    assert tuple(board) not in set(map(tuple, load_tic_tac_toe().data))


@pytest.mark.parametrize(
    ("robot", "labels"),
    [
        ((1, 1, 1, 1, 1, 1), (1, 0, 1)),
        ((1, 1, 2, 2, 2, 2), (1, 1, 1)),
        ((3, 2, 2, 1, 3, 1), (0, 1, 1)),
        ((3, 3, 2, 1, 3, 2), (1, 0, 1)),
        ((2, 3, 1, 2, 4, 1), (0, 1, 0)),
    ],
)
def test_monks_rules(robot, labels):
    for problem, label in zip((1, 2, 3), labels, strict=True):
        data, target = load_monks(problem, return_X_y=True)
        assert target[(data == robot).all(axis=1)].tolist() == [label]


@pytest.mark.parametrize("problem", [0, 4, "1", None])
def test_unknown_monks_problem(problem):
    with pytest.raises(ValueError, match=rf"^problem is {problem!r}; allowed are 1, 2 and 3$"):
        load_monks(problem)


def test_tic_tac_toe_is_the_published_file():
    assert rows(load_tic_tac_toe()) == published("tic-tac-toe")


def test_monks_1_is_the_published_file():
    # The file has the test set, which is all 432 robots, and before it the training set, which repeats 124 of them.
    assert set(rows(load_monks(1))) == set(published("monks-1"))
