"""The hard distributions: definitions by hand, probabilities by brute force, samples, exact weights in the engine."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import topktree
from topktree import TopKTreeClassifier
from topktree._search.objective import make_objective
from topktree.hard import (
    MAX_EXACT_FEATURES,
    majority_function,
    parity,
    parity_function,
    tribes_function,
    tribes_majority,
    tribes_size,
)

MAKERS = {"parity": parity, "tribes_majority": tribes_majority}
SIZES = [(1, 2, 0.25), (2, 3, 0.1), (3, 4, 0.05), (5, 3, 0.15), (4, 5, 1 / 3), (6, 4, 0.6)]


def points(d):
    return np.array(list(itertools.product((False, True), repeat=d)))


def probability_by_hand(maker, h, K, eps, x):
    """P(y = 1 | x) straight from the paper's definitions."""
    first, second = x[:h], x[h:]
    if maker is parity:
        signal, noise = sum(first) % 2, Fraction(sum(second), K - 1)
    else:
        width = max(w for w in range(1, h + 1) if Fraction(2**w - 1, 2**w) ** h <= Fraction(1, 2) ** w)
        tribes = [first[i * width : (i + 1) * width] for i in range(h // width)]
        signal, noise = any(all(tribe) for tribe in tribes), 2 * sum(second) >= len(second)
    return (1 - eps) * int(signal) + eps * (noise if maker is parity else int(noise))


def test_hard_is_a_public_module():
    assert topktree.hard.parity(4, 5, 0.1).n_features == 8
    assert "hard" in topktree.__all__


def test_parity_is_the_sum_modulo_two():
    X = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1]], dtype=bool)
    assert parity_function(X).tolist() == [False, True, False, True]


@pytest.mark.parametrize("length", range(1, 7))
def test_majority_is_at_least_half(length):
    X = points(length)
    assert majority_function(X).tolist() == [sum(x) >= length / 2 for x in X]


def test_majority_of_an_even_number_breaks_ties_upwards():
    assert majority_function(np.array([[1, 0], [0, 0]], dtype=bool)).tolist() == [True, False]


# (3/4)**(l/2) <= 1/2 from l = 4.82 on, (7/8)**(l/3) <= 1/2 from 15.57 on, (15/16)**(l/4) <= 1/2 from 42.96 on.
@pytest.mark.parametrize(
    ("length", "size"),
    [
        (1, (1, 1)),
        (2, (1, 2)),
        (4, (1, 4)),
        (5, (2, 2)),
        (6, (2, 3)),
        (15, (2, 7)),
        (16, (3, 5)),
        (42, (3, 14)),
        (43, (4, 10)),
    ],
)
def test_size_of_tribes(length, size):
    assert tribes_size(length) == size


def test_size_of_tribes_in_integers():
    for length in range(1, 600):
        width, count = tribes_size(length)
        meets = [(2**w - 1) ** length << w <= 1 << w * length for w in range(1, width + 3)]
        assert meets == [True] * width + [False, False]
        assert count == length // width


def test_tribes_by_hand():
    # Five features: two tribes of two, the last feature unused.
    X = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 1], [0, 0, 1, 1, 0], [1, 0, 1, 0, 1], [0, 0, 0, 0, 1]], dtype=bool)
    assert tribes_function(X).tolist() == [True, False, True, False, False]
    assert tribes_function(points(3)).tolist() == [any(x) for x in points(3)]


@pytest.mark.parametrize(("h", "K", "eps"), SIZES)
@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_label_probability_by_brute_force(maker, h, K, eps):
    distribution = maker(h, K, eps)
    assert distribution.n_features == h + K - 1
    fraction = Fraction(eps).limit_denominator(1000)
    assert distribution.fraction == fraction
    X = points(h + K - 1)
    expected = [float(probability_by_hand(maker, h, K, fraction, x.tolist())) for x in X]
    np.testing.assert_allclose(distribution.label_probability(X), expected, rtol=1e-14)


@pytest.mark.parametrize(("h", "K", "eps"), SIZES)
@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_exact_has_every_point_with_its_probability(maker, h, K, eps):
    distribution = maker(h, K, eps)
    X, y, weight = distribution.exact()
    assert (X.dtype, y.dtype, weight.dtype) == (bool, np.int64, np.float64)
    assert weight.sum() == pytest.approx(1, abs=1e-12)
    assert weight.min() > 0
    found = {(tuple(x), label): value for x, label, value in zip(X.tolist(), y.tolist(), weight.tolist(), strict=True)}
    assert len(found) == len(X)
    for x in points(h + K - 1).tolist():
        one = probability_by_hand(maker, h, K, distribution.fraction, x)
        for label, p in ((0, 1 - one), (1, one)):
            assert found.get((tuple(x), label), 0) == pytest.approx(float(p / 2 ** len(x)), rel=1e-14)


@pytest.mark.parametrize(("h", "K", "eps"), SIZES)
@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_bayes_accuracy_by_brute_force(maker, h, K, eps):
    p = maker(h, K, eps).label_probability(points(h + K - 1))
    assert maker(h, K, eps).bayes_accuracy == pytest.approx(np.maximum(p, 1 - p).mean(), rel=1e-12)


@pytest.mark.parametrize("eps", [0.01, 0.1, 0.5])
def test_bayes_accuracy_of_parity_is_that_of_the_parity_itself(eps):
    assert parity(4, 5, eps).bayes_accuracy == pytest.approx(1 - eps / 2)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_sample_has_the_frequencies_of_the_distribution(maker):
    distribution = maker(3, 4, 0.2)
    n = 200_000
    X, y = distribution.sample(n, random_state=0)
    assert (X.shape, X.dtype, y.shape, y.dtype) == ((n, 6), bool, (n,), np.int64)
    points_, labels, weight = distribution.exact()
    code = (2 ** np.arange(7)[::-1])[:, None]
    counts = np.bincount((np.column_stack([X, y]) @ code).ravel(), minlength=2**7)
    expected = np.zeros(2**7)
    expected[(np.column_stack([points_, labels]) @ code).ravel()] = weight
    assert np.all(np.abs(counts / n - expected) <= 4.5 * np.sqrt(expected * (1 - expected) / n))


def test_samples_are_reproducible():
    distribution = tribes_majority(5, 4, 0.1)
    X, y = distribution.sample(100, random_state=7)
    again = distribution.sample(100, random_state=np.random.RandomState(7))
    other = distribution.sample(100, random_state=8)
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(y, again[1])
    assert not np.array_equal(X, other[0])


@pytest.mark.parametrize(("h", "K", "eps"), SIZES)
def test_tribes_majority_is_monotone(h, K, eps):
    d = h + K - 1
    p = tribes_majority(h, K, eps).label_probability(points(d)).reshape((2,) * d)
    for axis in range(d):
        assert np.all(np.diff(p, axis=axis) >= 0)


def test_parity_is_not_monotone():
    p = parity(3, 2, 0.1).label_probability(points(4)).reshape((2,) * 4)
    assert np.any(np.diff(p, axis=0) < 0)


def engine_weights(y, weight):
    objective = make_objective(
        y.astype(np.int32),
        2,
        k=(1,),
        criterion="entropy",
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        leaf_penalty=0.0,
        class_weight=None,
        sample_weight=weight,
    )
    return np.ones(len(y), dtype=np.int64) if objective.row_weight is None else objective.row_weight


@pytest.mark.parametrize(("h", "K", "eps"), [*SIZES, (4, 5, 0.123457), (3, 10, 0.999999), (2, 3, 1e-6)])
@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_the_engine_takes_weights_times_denominator_exactly(maker, h, K, eps):
    distribution = maker(h, K, eps)
    _, y, weight = distribution.exact()
    whole = np.rint(weight * distribution.denominator).astype(np.int64)
    assert whole.sum() == distribution.denominator
    common = np.gcd.reduce(whole)
    np.testing.assert_array_equal(engine_weights(y, weight * distribution.denominator), whole // common)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("eps", [0.5, 0.25, 0.1, 0.05, 0.01])
def test_probabilities_are_exact_as_they_are_if_eps_is_one_over_a_number(maker, eps):
    distribution = maker(4, 5, eps)
    _, y, weight = distribution.exact()
    whole = np.rint(weight * distribution.denominator).astype(np.int64)
    np.testing.assert_array_equal(engine_weights(y, weight), whole // np.gcd.reduce(whole))


def test_a_tree_that_knows_the_parity():
    distribution = parity(3, 3, 0.1)
    X, y, weight = distribution.exact()
    tree = TopKTreeClassifier(k=3, max_depth=3).fit(X, y, sample_weight=weight)
    assert tree.cost_ == pytest.approx(0.05, rel=1e-12)
    assert tree.score(X, y, sample_weight=weight) == pytest.approx(distribution.bayes_accuracy)


def test_distributions_are_values():
    assert parity(4, 5, 0.1) == parity(4, 5, 0.1)
    assert parity(4, 5, 0.1) != tribes_majority(4, 5, 0.1)
    with pytest.raises(AttributeError):
        parity(4, 5, 0.1).h = 3


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5, 0.1), "h must be an int >= 1, got 0"),
        ((2.0, 5, 0.1), r"h must be an int >= 1, got 2\.0"),
        ((4, 1, 0.1), "K must be an int >= 2, got 1"),
        ((4, True, 0.1), "K must be an int >= 2, got True"),
        ((4, 5, 0), r"eps must be a number in \(0, 1\), .*, got 0"),
        ((4, 5, 1.0), r"eps must be a number in \(0, 1\), .*, got 1\.0"),
        ((4, 5, math.nan), r"eps must be a number in \(0, 1\), .*, got nan"),
        ((4, 5, "0.1"), r"eps must be a number in \(0, 1\), .*, got '0\.1'"),
    ],
)
def test_errors_name_the_parameter(maker, arguments, message):
    with pytest.raises(ValueError, match=message):
        maker(*arguments)


def test_exact_says_how_many_features_it_can_list():
    large = parity(20, 20, 0.1)
    with pytest.raises(ValueError, match=rf"h \+ K - 1 <= {MAX_EXACT_FEATURES}, got d=39 \(h=20, K=20\)"):
        large.exact()
    assert large.sample(5, random_state=0)[0].shape == (5, 39)


def test_other_arguments_are_checked():
    distribution = parity(2, 3, 0.1)
    with pytest.raises(ValueError, match="n must be an int >= 1, got 0"):
        distribution.sample(0)
    with pytest.raises(ValueError, match=r"X must have the shape \(n, 4\), got \(1, 3\)"):
        distribution.label_probability(np.zeros((1, 3), dtype=bool))
