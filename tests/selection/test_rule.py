"""The rules by which a candidate is chosen, on numbers made for them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topktree._selection.rule import RULES, Candidate, Scores, best, choose, summarise, threshold


def grid(*entries: tuple) -> tuple[list[Candidate], Scores]:
    """Entries are (k, max_depth, leaf_penalty, mean, standard error, leaves)."""
    candidates = [Candidate(*entry[:3]) for entry in entries]
    return candidates, Scores(
        *(np.array(column, dtype=float) for column in zip(*(e[3:] for e in entries), strict=True))
    )


def test_best_is_the_highest_mean():
    candidates, scores = grid((1, 2, 0.0, 0.80, 0.05, 4), (4, 3, 0.0, 0.90, 0.05, 8), (8, 3, 0.0, 0.89, 0.0, 2))
    assert best(candidates, scores) == 1
    assert choose(candidates, scores, "best") == 1


def test_one_standard_error_is_that_of_the_best():
    candidates, scores = grid((1, 2, 0.0, 0.86, 0.30, 4), (4, 3, 0.0, 0.90, 0.03, 8), (2, 3, 0.0, 0.87, 0.3, 6))
    assert threshold(candidates, scores, "1se") == pytest.approx(0.87)
    assert choose(candidates, scores, "1se") == 2  # 0.86 is too low by now, and 0.87 is just enough


@pytest.mark.parametrize(
    ("simpler", "other"),
    [
        ((16, 6, 0.0, 0.9, 0.1, 3), (1, 2, 0.0, 0.9, 0.1, 4)),  # fewer leaves, whatever the rest
        ((16, 2, 0.0, 0.9, 0.1, 4), (1, 3, 0.0, 0.9, 0.1, 4)),  # then the depth, whatever k
        ((2, 3, 0.0, 0.9, 0.1, 4), (4, 3, 0.0, 0.9, 0.1, 4)),  # then k
        ((4, 3, 0.0, 0.9, 0.1, 4), ("all", 3, 0.0, 0.9, 0.1, 4)),
        ((4, 3, 0.0, 0.9, 0.1, 4), ((8, 2, 2), 3, 0.0, 0.9, 0.1, 4)),
        ((4, 3, 0.1, 0.9, 0.1, 4), (4, 3, 0.0, 0.9, 0.1, 4)),  # then a higher penalty
        ((4, 3, 0.0, 0.9, 0.1, 4), (4, 3, "tie", 0.9, 0.1, 4)),
    ],
)
@pytest.mark.parametrize("rule", RULES)
def test_simplest(simpler: tuple, other: tuple, rule: str):
    assert choose(*grid(simpler, other), rule) == 0
    assert choose(*grid(other, simpler), rule) == 1


def test_candidates_without_a_score_are_not_chosen():
    candidates, scores = grid((1, 2, 0.0, math.nan, math.nan, math.nan), (2, 2, 0.0, 0.5, 0.1, 9))
    assert [choose(candidates, scores, rule) for rule in RULES] == [1, 1]


def test_means_that_differ_in_the_last_bits_tie():
    candidates, scores = grid((2, 3, 0.0, 0.3, 0.0, 4), (1, 3, 0.0, 0.1 + 0.2 - 2**-53, 0.0, 4))
    assert choose(candidates, scores, "best") == 1


cells = st.tuples(
    st.sampled_from([1, 2, 8, "all"]),
    st.integers(0, 6),
    st.sampled_from([0.0, 0.01, "tie"]),
    st.floats(0, 1) | st.just(math.nan),
    st.floats(0, 0.5),
    st.floats(1, 64),
)


@given(st.lists(cells, min_size=1, max_size=12).filter(lambda found: not all(math.isnan(cell[3]) for cell in found)))
def test_rules_keep_their_promises(entries: list[tuple]):
    candidates, scores = grid(*entries)
    top, simple = choose(candidates, scores, "best"), choose(candidates, scores, "1se")
    assert scores.mean[top] >= np.nanmax(scores.mean) - 1e-9
    assert scores.mean[simple] >= scores.mean[top] - scores.standard_error[top] - 1e-9
    assert scores.n_leaves[simple] <= scores.n_leaves[top] + 1e-6


def test_summarise():
    found = summarise(np.array([[0.5, 0.7, 0.9], [1.0, 1.0, 1.0]]), np.array([[2.0, 3.0, 4.0], [1.0, 1.0, 2.0]]))
    np.testing.assert_allclose(found.mean, [0.7, 1.0])
    np.testing.assert_allclose(found.standard_error, [0.2 / math.sqrt(3), 0.0], atol=1e-12)
    np.testing.assert_allclose(found.n_leaves, [3.0, 4 / 3])


def test_a_fold_without_any_score_does_not_count_but_one_that_some_lack_does():
    nan = math.nan
    found = summarise(np.array([[0.5, nan, 0.7], [1.0, nan, nan]]), np.array([[2.0, nan, 4.0], [1.0, nan, nan]]))
    np.testing.assert_allclose(found.mean, [0.6, nan])
    np.testing.assert_allclose(found.n_leaves, [3.0, nan])


def test_one_fold_has_no_standard_error():
    found = summarise(np.array([[0.5], [0.7]]), np.array([[2.0], [3.0]]))
    np.testing.assert_array_equal(found.standard_error, [0.0, 0.0])
