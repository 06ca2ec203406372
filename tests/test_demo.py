"""The demonstration's printer and its choice of a tree, on trees of scikit-learn, whose arrays have the same names."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from topktree._demo import Fit, choose, table, tree_lines


def fitted(X, y):
    return DecisionTreeClassifier(random_state=0).fit(X, y)


def fit(name, train, leaves, status="complete"):
    return Fit(name, None, train=train, test=0.5, leaves=leaves, seconds=0.25, status=status)


def test_boolean_columns_print_as_questions():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=bool)
    lines = list(tree_lines(fitted(X, ["loss", "loss", "win", "draw"]), ["centre = x", "corner = x"], boolean=True))
    assert lines == [
        "centre = x: no -> loss (2 of 2)",
        "centre = x: yes",
        "|   corner = x: no -> win (1 of 1)",
        "|   corner = x: yes -> draw (1 of 1)",
    ]


def test_numbers_print_with_their_threshold():
    lines = list(tree_lines(fitted([[1.0], [2.0], [2.5]], ["a", "b", "b"]), ["radius"], boolean=False))
    assert lines == ["radius <= 1.5 -> a (1 of 1)", "radius > 1.5 -> b (2 of 2)"]


def test_a_lone_leaf_prints():
    assert list(tree_lines(fitted([[1.0], [1.0], [1.0]], ["a", "b", "b"]), ["radius"], boolean=False)) == ["b (2 of 3)"]


@pytest.mark.parametrize(
    ("fits", "chosen"),
    [
        ([fit("1", 0.8, 4), fit("2", 0.9, 9)], "2"),  # fewer errors
        ([fit("1", 0.9, 9), fit("2", 0.9, 4)], "2"),  # as many errors, smaller
        ([fit("1", 0.9, 4), fit("2", 0.9, 4)], "1"),  # alike
        ([fit("1", 0.8, 4), fit("all", 0.9, 9, "time_limit")], "1"),  # the better one did not finish
        ([fit("1", 0.8, 4, "time_limit"), fit("2", 0.9, 9, "time_limit")], "2"),  # nor did any other
    ],
)
def test_choice(fits, chosen):
    assert choose(fits).name == chosen


def test_table_is_aligned():
    assert table([fit("all", 1.0, 12, "optimal"), fit("scikit-learn", 0.956, 4, "greedy")]).splitlines() == [
        "k              train   test  leaves  seconds  status",
        "all           100.0%  50.0%      12    0.250  optimal",
        "scikit-learn   95.6%  50.0%       4    0.250  greedy",
    ]
