"""The demonstration's table and its choice of a tree."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from demo import Fit, choose, main, table


def fit(name, train, leaves, status="complete"):
    return Fit(name, None, train=train, test=0.5, leaves=leaves, seconds=0.25, status=status)


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


def test_all_of_it(capsys):
    main()
    text = capsys.readouterr().out
    assert text.count("scikit-learn ") == 2
    assert text.count("|--- class: ") > 10
