"""Real weights and penalties as integers: exact where that is promised, close elsewhere, never too large."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_class_weight
from support.problems import make_problem
from support.profiles import examples

from topktree._data.weights import TOTAL_BITS, balanced_class_weight, integer_weights
from topktree._search.objective import COST_BITS

some = examples(2)


def exact_ratio(weights, integers):
    """The one factor between weights and integers, both taken as exact numbers; None if there is not one."""
    factors = {Fraction(weight) / int(integer) for weight, integer in zip(weights, integers, strict=True)}
    return factors.pop() if len(factors) == 1 else None


def objective(classes, **parameters):
    classes = np.asarray(classes, dtype=np.int32)
    return make_problem(np.zeros((len(classes), 1), dtype=bool), classes, **parameters).objective


@some
@given(st.lists(st.integers(1, 2**29), min_size=1, max_size=20), st.sampled_from([1.0, 0.5, 2.0**-12, 2.0**40]))
def test_integers_times_a_power_of_two_are_exact(integers, unit):
    if unit != 1:
        integers = [1 + integer % 2**19 for integer in integers]
    weights = np.array(integers) * unit
    answer, answered_unit = integer_weights(weights)
    assert exact_ratio(weights, answer) == Fraction(answered_unit)
    assert np.gcd.reduce(answer) == 1


@some
@given(st.lists(st.integers(1, 2**20), min_size=1, max_size=20), st.floats(1e-200, 1e200))
def test_multiples_of_the_smallest_are_exact(factors, smallest):
    factors = [1, *factors]
    answer, unit = integer_weights(np.array(factors) * smallest)
    assert answer.tolist() == factors
    assert unit == pytest.approx(smallest, rel=1e-14)


@some
@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20), st.sampled_from([4, 12, 20]))
def test_real_weights_are_off_by_half_a_unit_of_the_largest(weights, bits):
    weights = np.array(weights)
    answer, unit = integer_weights(weights, bits)
    assert answer.dtype == np.int64
    assert answer.min() >= 1
    # A weight that would become zero is one instead: off by less than a unit.
    limit = weights.max() / (2**bits - 1)
    error = np.abs(answer * unit - weights)
    assert (error <= limit * (1 + 1e-9)).all()
    assert (error[weights >= limit / 2] <= limit / 2 * (1 + 1e-6)).all()


@some
@given(st.lists(st.floats(min_value=5e-324, max_value=1.7e308), min_size=1, max_size=20))
@example([1.0, 1e-320])
@example([5e-324, 1.7e308])
@example([5e-324, 5e-324])
def test_any_positive_weights_become_positive_integers(weights):
    answer, unit = integer_weights(np.array(weights))
    assert answer.min() >= 1
    assert answer.max() < 2**31
    assert 0 < unit < math.inf


def test_order_of_the_weights_is_kept():
    weights = np.sort(np.random.default_rng(0).random(1000))
    answer, _ = integer_weights(weights)
    assert (np.diff(answer) >= 0).all()


@some
@given(st.lists(st.integers(1, 12), min_size=2, max_size=6))
def test_balanced_weights_are_exactly_inverse_to_the_totals(totals):
    totals = np.array(totals)
    weights, unit = balanced_class_weight(totals, 20)
    assert len(set((weights * totals).tolist())) == 1  # every class weighs the same
    np.testing.assert_allclose(weights * unit, totals.sum() / (len(totals) * totals), rtol=1e-14)


def test_balanced_weights_of_awkward_totals_are_close():
    totals = np.array([9973, 10007, 10009, 7919])  # primes: their common multiple is far too large
    weights, unit = balanced_class_weight(totals, 20)
    assert weights.max() < 2**20
    np.testing.assert_allclose(weights * unit, totals.sum() / (4 * totals), rtol=2e-6)


def test_classes_without_rows_do_not_count_for_balance():
    weights, unit = balanced_class_weight(np.array([2, 0, 6]), 20)
    np.testing.assert_allclose(weights[[0, 2]] * unit, [2.0, 8 / 12])
    assert weights[1] == 1


def test_balanced_is_that_of_scikit_learn():
    classes = np.repeat([0, 1, 2], [10, 25, 7])
    answer = objective(classes, class_weight="balanced")
    expected = compute_class_weight("balanced", classes=np.arange(3), y=classes)
    np.testing.assert_allclose(answer.class_weight * answer.weight_unit, expected, rtol=1e-14)


def test_balanced_counts_weights_not_rows():
    answer = objective([0, 0, 1], class_weight="balanced", sample_weight=np.array([1.0, 2.0, 9.0]))
    totals = answer.class_weight * [3, 9]
    assert totals[0] == totals[1]


def test_unweighted_is_plain():
    answer = objective([0, 1, 1])
    assert (answer.row_weight, answer.weight_unit, answer.cost_scale, answer.leaf_penalty) == (None, 1.0, 1, 0)
    assert answer.class_weight.tolist() == [1, 1]
    assert answer.min_weight_leaf == 1


@pytest.mark.parametrize("weight", [1.0, 3.0, 0.1, 1e-300, 1e300])
def test_equal_weights_are_no_weights(weight):
    answer = objective([0, 1, 1], sample_weight=np.full(3, weight))
    assert answer.row_weight is None
    assert answer.weight_unit == weight


@pytest.mark.parametrize("leaf_penalty", [0.0, 0.001, 0.01, 0.25, 1 / 3, 1.0])
@pytest.mark.parametrize("n", [1, 7, 100, 1000])
def test_penalties_are_a_fraction_of_the_total(leaf_penalty, n):
    answer = objective(np.arange(n) % 2, leaf_penalty=leaf_penalty)
    assert answer.leaf_penalty / answer.cost_scale == pytest.approx(leaf_penalty * n, abs=2.0**-20)


def test_penalties_are_a_fraction_of_the_weight():
    answer = objective([0, 1], leaf_penalty=0.1, sample_weight=np.array([30.0, 50.0]))
    assert answer.leaf_penalty / answer.cost_scale * answer.weight_unit == pytest.approx(8)


def test_whole_penalties_need_no_scale():
    answer = objective([0, 1] * 50, leaf_penalty=0.25)
    assert (answer.cost_scale, answer.leaf_penalty) == (1, 25)


@pytest.mark.parametrize("depth", [0, 1, 3, 20])
@pytest.mark.parametrize("n", [2, 5, 1000])
def test_ties_all_leaves_together_cost_less_than_an_error(n, depth):
    answer = objective(np.arange(n) % 2, leaf_penalty="tie", k=(1,) * depth)
    assert answer.leaf_penalty > 0
    assert min(2**depth, n) * answer.leaf_penalty < answer.cost_scale


@some
@given(
    n=st.sampled_from([2, 100, 2**17]),
    depth=st.integers(0, 8),
    largest=st.sampled_from([1.0, 2.0**20, 2.0**29, 1e300]),
    class_weight=st.sampled_from(
        [None, "balanced", np.array([1.0, 2.0**40]), np.array([1.0, 1 / 3]), np.array([1e-9, 1e9])]
    ),
    leaf_penalty=st.sampled_from([0.0, 0.3, 1.0, "tie"]),
)
def test_nothing_overflows(n, depth, largest, class_weight, leaf_penalty):
    rng = np.random.default_rng(0)
    classes = np.arange(n) % 2
    weights = np.maximum(np.rint(rng.random(n) * largest), 1.0)
    answer = objective(
        classes, k=(1,) * depth, sample_weight=weights, class_weight=class_weight, leaf_penalty=leaf_penalty
    )
    row_weight = [1] * n if answer.row_weight is None else answer.row_weight.tolist()
    factors = answer.class_weight.tolist()
    assert min(row_weight) >= 1
    assert min(factors) >= 1
    total = sum(row * factors[c] for row, c in zip(row_weight, classes.tolist(), strict=True))
    assert total < 2**TOTAL_BITS
    assert total * answer.cost_scale < 2**COST_BITS
    assert answer.leaf_penalty < 2**COST_BITS


@pytest.mark.parametrize(
    ("fraction", "weights", "expected"),
    [(0.0, None, 1), (0.1, None, 1), (0.25, None, 3), (0.3, None, 3), (0.31, None, 4), (0.25, 5.0, 3), (0.5, None, 5)],
)
def test_smallest_weight_of_a_leaf_is_rounded_up(fraction, weights, expected):
    sample_weight = None if weights is None else np.full(10, weights)
    answer = objective([0, 1] * 5, min_weight_fraction_leaf=fraction, sample_weight=sample_weight)
    assert answer.min_weight_leaf == expected


def test_costs_in_the_users_weights():
    plain = objective([0, 1, 1, 1])
    assert plain.user_cost(3) == 3
    assert isinstance(plain.user_cost(3), int)
    weighted = objective([0, 1, 1, 1], sample_weight=np.array([0.25, 0.5, 1.0, 1.0]))
    assert weighted.user_cost(3) == 0.75
    tie = objective([0, 1, 1, 1], leaf_penalty="tie")
    assert tie.user_cost(2 * tie.cost_scale + 3 * tie.leaf_penalty) == 2
    assert isinstance(tie.user_cost(tie.cost_scale), int)
    penalised = objective([0, 1, 1, 1], leaf_penalty=0.1)
    assert penalised.user_cost(penalised.cost_scale + 2 * penalised.leaf_penalty) == pytest.approx(1.8)


@some
@given(st.integers(0, 2**32 - 1), st.integers(0, 4), st.sampled_from([0, 0, 3, 6]))
def test_a_search_examines_at_most_so_many_nodes(seed, depth, lookahead):
    rng = np.random.default_rng(seed)
    columns = rng.random((200, 8)) < 0.5
    k = tuple(rng.integers(1, 4, depth).tolist())
    problem = make_problem(columns, rng.integers(2, size=200).astype(np.int32), k=k, lookahead=lookahead)
    nodes = problem.engine(use_bounds=False, arrange="never").statistics["nodes"]
    assert nodes <= problem.objective.most_nodes + 2**depth  # the finished tree is looked up
    without_cache = problem.engine(use_bounds=False, use_cache=False, arrange="never").statistics["nodes"]
    assert depth < 2 or without_cache > 0.4 * problem.objective.most_nodes
