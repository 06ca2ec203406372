"""Thresholds: numbers that people write, between neighbours, at quantiles and where the classes change."""

from decimal import ROUND_FLOOR, Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.profiles import examples

from topktree import Binarizer
from topktree._core import class_cells, short_decimals, split_order, tell_apart
from topktree._data import thresholds
from topktree._data.binarizer import paper_thresholds
from topktree._data.thresholds import (
    FINE_BOUNDARIES,
    MAX_CLASSES,
    Target,
    find_boundaries,
    format_number,
    is_short,
    merge_rare,
    quantile_thresholds,
    separators,
)

more = examples(3)

MAX = np.finfo(np.float64).max
MAX32 = float(np.finfo(np.float32).max)
TINY = 5e-324
TINY32 = float(np.finfo(np.float32).smallest_subnormal)

finite = st.floats(allow_nan=False, allow_infinity=False)
small = st.integers(-3, 3).map(float)
columns_of_floats = hnp.arrays(np.float64, st.integers(1, 60), elements=finite | small)
# Few distinct values, some of them missing, so that quantiles fall together.
columns_with_missing = hnp.arrays(
    np.float64, st.integers(1, 60), elements=st.integers(0, 25).map(float) | st.just(np.nan)
)


def target(classes):
    return Target(np.asarray(classes, dtype=np.int32), int(np.max(classes)) + 1)


def as_float32(values):
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(values, dtype=np.float64).astype(np.float32)


def separator(low, high, whole=False):
    return float(separators(np.array([low], dtype=np.float64), np.array([high], dtype=np.float64), whole)[0])


def places(number):
    """How many digits a number has after the point, as people write it."""
    return max(0, -Decimal(repr(number)).normalize().as_tuple().exponent)


def steps(value, n, dtype):
    """The number `n` steps after `value`, as far as there are numbers."""
    value = as_float32(value)[()] if dtype is np.float32 else np.float64(value)
    with np.errstate(over="ignore"):
        for _ in range(abs(n)):
            value = np.nextafter(value, dtype(np.copysign(np.inf, n)))
    return float(value)


@st.composite
def gaps(draw):
    """Two different finite numbers, often the closest neighbours as float64 or as float32."""
    special = st.sampled_from(
        [0.0, -0.0, 0.1, 0.5, 1.0, TINY, TINY32, 1e-40, 2.0**24, 2.0**53, 1e38, MAX32, 1e300, MAX]
    )
    low = draw(finite | special | special.map(lambda value: -value) | st.floats(width=32, allow_nan=False))
    near = st.tuples(st.integers(1, 4), st.sampled_from([np.float32, np.float64]))
    high = draw(finite | special | near.map(lambda step: steps(low, step[0], step[1])))
    low, high = min(low, high), max(low, high)
    return (low, high) if np.isfinite(low) and np.isfinite(high) and low < high else (0.1, 0.2)


# Separators.


@more
@given(gaps())
def test_a_separator_is_finite_and_between(gap):
    low, high = gap
    threshold = separator(low, high)
    assert np.isfinite(threshold)
    assert low <= threshold < high
    if np.nextafter(low, np.inf) < high:
        assert low < threshold


@more
@given(gaps())
def test_rounding_to_float32_does_not_move_the_two_across_it(gap):
    low, high = gap
    below, above = as_float32(gap)
    with np.errstate(over="ignore"):
        is_wide = np.nextafter(below, np.float32(np.inf)) < above and np.isfinite([below, above]).all()
    if is_wide:
        assert float(below) <= separator(low, high) < float(above)


def naive_decimals(low, high):
    """Return the decimals of `short_decimals` in plain Python, place by place for all gaps at once."""
    result, middle = np.full(len(low), np.nan), low / 2 + high / 2
    low, high = np.maximum(low, as_float32(low).astype(float)), np.minimum(high, as_float32(high).astype(float))
    todo = np.flatnonzero(np.abs(middle) < 1e15)
    for n_places in range(16):
        digits = np.rint(middle[todo] * 10.0**n_places)
        decimals = digits / 10.0**n_places + 0.0
        good = (low[todo] < decimals) & (decimals < high[todo]) & (np.abs(digits) < 2**53)
        result[todo[good]] = decimals[good]
        todo = todo[~good]
    return result


@given(st.lists(gaps(), min_size=1))
def test_many_gaps_at_once(some):
    low, high = np.array(some, dtype=np.float64).T.copy()
    np.testing.assert_array_equal(short_decimals(low=low, high=high), naive_decimals(low, high))
    below, above = as_float32(low), as_float32(high)
    with np.errstate(over="ignore"):
        apart = (np.nextafter(below, np.float32(np.inf)) < above) & np.isfinite(below) & np.isfinite(above)
    np.testing.assert_array_equal(tell_apart(low=low, high=high), apart)


@pytest.mark.parametrize("function", [short_decimals, tell_apart])
def test_gaps_have_two_ends(function):
    with pytest.raises(ValueError, match="low and high must have the same size"):
        function(low=np.zeros(2), high=np.ones(1))


@more
@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6), st.integers(0, 8))
def test_no_decimal_with_fewer_places_is_between_the_two(start, width, scale):
    low, high = start / 10**scale, (start + width) / 10**scale
    threshold = separator(low, high)
    n = places(threshold)
    assert n <= scale + 1
    unit = Decimal(1).scaleb(-n)
    for fewer in range(n):
        step = Decimal(1).scaleb(-fewer)
        first = (Decimal(repr(low)) / step).to_integral_value(ROUND_FLOOR) * step + step
        assert not max(low, as_float32(low)) < float(first) < min(high, as_float32(high))
    assert abs(Decimal(repr(threshold)) - (Decimal(repr(low)) + Decimal(repr(high))) / 2) <= unit


@more
@given(st.integers(-(2**53), 2**53 - 2), st.integers(1, 2**20))
def test_whole_features_have_whole_thresholds(low, width):
    high = min(low + width, 2**53 - 1)
    assert separator(low, high, whole=True) == (low + high) // 2


@pytest.mark.parametrize("step", [1, 40, 60, 100, 128, 3600])
def test_timestamps_have_whole_thresholds(step):
    values = 1_600_000_000.0 + step * np.arange(2000.0)
    for n in (1, 7, 32, None):
        assert (quantile_thresholds(values, n, None, None) % 1 == 0).all()


def test_narrow_gaps_are_passed_over_where_there_are_others():
    values = np.random.default_rng(0).normal(size=200_000)
    for target in (None, Target((values > 0.3).astype(np.int32), 2)):
        thresholds = quantile_thresholds(values, 32, None, target)
        assert is_short(thresholds).all()
        np.testing.assert_array_equal(
            as_float32(values)[:, None].astype(np.float64) <= thresholds, values[:, None] <= thresholds
        )


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1.0, np.nextafter(1.0, 2.0)),
        (-np.nextafter(1.0, 2.0), -1.0),
        (1.0, float(np.nextafter(np.float32(1), np.float32(2)))),
        (0.0, TINY),
        (-TINY, 0.0),
        (-TINY, -0.0),
        (-0.0, TINY),
        (TINY, 1e-323),
        (-TINY, TINY),
        (0.0, TINY32),
        (-TINY32, -0.0),
        (-TINY32, TINY32),
        (TINY32, 2 * TINY32),
        (1e-40, 2e-40),
        (1.7e308, MAX),
        (-MAX, MAX),
        (-1e308, 1e308),
        (1.0, 1e300),
        (-1e39, 1.0),
        (MAX32, 1e39),
        (float(np.nextafter(np.float32(MAX32), np.float32(0))), MAX32),
        (-MAX32, MAX32),
        (2.0**24, 2.0**24 + 1),
        (2.0**53, 2.0**53 + 2),
    ],
)
def test_edges_of_floating_point(low, high):
    threshold = separator(low, high)
    assert np.isfinite(threshold)
    assert low <= threshold < high


@pytest.mark.parametrize("number", [0.5, 1.25, -3.0, 0.1, 16777216.0, 1e30, 0.0])
def test_short_numbers(number):
    assert is_short(np.array([number])).tolist() == [True]


@pytest.mark.parametrize("number", [16777217.0, 0.1234567891, 1 + 2**-40, 1e300, 1e-60])
def test_long_numbers(number):
    assert is_short(np.array([number])).tolist() == [False]


# Their text.


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.5, "0.5"),
        (40.5, "40.5"),
        (-3.0, "-3"),
        (0.0, "0"),
        (1e-7, "1e-07"),
        (1e20, "1e+20"),
        (0.1 + 0.2, "0.30000000000000004"),
        (2.0**53, "9007199254740992"),
        (123456789.25, "123456789.25"),
        (5.5e300, "5.5e+300"),
    ],
)
def test_numbers_read_as_they_are_written(number, text):
    assert format_number(number) == text
    assert float(text) == number


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.0, 1.0, "0.5"),
        (40.0, 41.0, "40.5"),
        (40.0, 60.0, "50"),
        (1.9, 3.0, "2"),
        (1.7, 1.8, "1.75"),
        (0.1, 0.2, "0.15"),
        (-2.0, -1.0, "-1.5"),
        (-1.0, 1.0, "0"),
        (-0.4, 0.3, "0"),
        (20.0, 20.000001907348633, "20.000001"),
        (0.0, 2e-7, "1e-07"),
        (0.0, 2e20, "1e+20"),
        (1e300, 1e301, "5e+300"),
        (1.0, 1.0 + 2**-51, "1.0000000000000002"),
        (1234567.0, 1234568.0, "1234567.5"),
    ],
)
def test_separators_have_short_names(low, high, text):
    assert format_number(separator(low, high)) == text


@given(finite)
def test_a_number_is_known_by_its_name(number):
    assert float(format_number(number)) == number


@pytest.mark.parametrize(
    "values",
    [
        [0.5 - 1e-12, 0.5 + 1e-12, 0.5 + 6e-8],
        [0.1 - 1e-12, 0.1 + 1e-12, 0.1 + 8e-9],
        [100.3, 100.30000000000001, 100.30001],
    ],
)
def test_thresholds_within_one_float32_have_different_names(values):
    names = Binarizer(strategy="exact").fit(np.array(values)[:, None]).get_feature_names_out()
    assert len(set(names)) == len(names) == 2


# Boundaries.


@given(columns_with_missing, st.booleans())
def test_boundaries_are_between_distinct_values(values, weighted):
    boundaries = find_boundaries(values, np.linspace(0.5, 2.0, len(values)) if weighted else None)
    distinct = np.unique(values[~np.isnan(values)])
    assert len(boundaries) == max(len(distinct) - 1, 0)
    np.testing.assert_array_equal(boundaries.ordered[boundaries.below], distinct[:-1])
    np.testing.assert_array_equal(boundaries.ordered[boundaries.below + 1], distinct[1:])
    np.testing.assert_array_equal(boundaries.thresholds(), separators(distinct[:-1], distinct[1:], whole=True))


@given(columns_with_missing, st.integers(0, 30), st.data())
def test_weighted_boundaries_are_those_of_repeated_rows(values, n, data):
    times = np.array(data.draw(st.lists(st.integers(1, 6), min_size=len(values), max_size=len(values))))
    weighted = find_boundaries(values, times.astype(float))
    repeated = find_boundaries(np.repeat(values, times), None)
    np.testing.assert_array_equal(weighted.thresholds(), repeated.thresholds())
    np.testing.assert_array_equal(weighted.spread(n), repeated.spread(n))


@given(columns_with_missing, st.integers(0, 30))
def test_as_many_boundaries_as_asked_for(values, n):
    boundaries = find_boundaries(values, None)
    chosen = boundaries.spread(n)
    assert len(chosen) == min(n, len(boundaries))
    assert (np.diff(chosen) > 0).all()
    assert np.isin(chosen, np.arange(len(boundaries))).all()


# Quantiles.


def test_every_midpoint_when_there_are_few():
    values = np.array([4.0, 1.0, 2.0, 2.0, 8.0, 4.0])
    for max_thresholds in (None, 3, 4, 32):
        for classes in (None, target([0, 1, 0, 1, 0, 1])):
            thresholds = quantile_thresholds(values, max_thresholds, None, classes)
            assert [format_number(threshold) for threshold in thresholds] == ["1", "3", "6"]


def test_quantiles_when_there_are_many():
    values = np.arange(100.0)
    np.testing.assert_allclose(quantile_thresholds(values, 1, None, None), [49], rtol=0)
    np.testing.assert_allclose(quantile_thresholds(values, 3, None, None), [24, 49, 74], rtol=0)


def test_a_heavy_value_takes_one_threshold_and_the_others_spread_over_the_rest():
    values = np.concatenate([np.zeros(80), np.arange(1.0, 21.0)])
    thresholds = quantile_thresholds(values, 9, None, None)
    assert len(thresholds) == 9
    assert [format_number(threshold) for threshold in thresholds[[0, -1]]] == ["0", "19"]


@pytest.mark.parametrize("constant", [0.0, 1.0, -7.5, 1e308, 5e-324, np.nan, np.inf])
def test_constants_have_no_threshold(constant):
    assert len(quantile_thresholds(np.full(5, constant), 32, None, None)) == 0
    assert len(quantile_thresholds(np.full(5, constant), 1, None, target([0, 1, 0, 1, 0]))) == 0
    assert len(quantile_thresholds(np.array([constant]), None, np.array([2.0]), None)) == 0


def test_the_two_zeros_are_one_value():
    assert len(quantile_thresholds(np.array([0.0, -0.0, 0.0]), None, None, None)) == 0
    assert [format_number(t) for t in quantile_thresholds(np.array([0.0, -0.0, 1.0]), None, None, None)] == ["0"]


@given(columns_of_floats, st.none() | st.integers(1, 10), st.booleans(), st.booleans())
def test_thresholds_separate_neighbours(values, max_thresholds, weighted, classified):
    weights = np.linspace(0.5, 2.0, len(values)) if weighted else None
    classes = target(np.arange(len(values)) % 3) if classified else None
    thresholds = quantile_thresholds(values, max_thresholds, weights, classes)
    distinct = np.unique(values)
    n_gaps = len(distinct) - 1
    assert len(thresholds) == (n_gaps if max_thresholds is None else min(n_gaps, max_thresholds))
    assert np.isfinite(thresholds).all()
    assert (np.diff(thresholds) > 0).all()
    # Each one is in [a, b) for two neighbouring values, and no two are in the same gap.
    gap = np.searchsorted(distinct, thresholds, side="right")
    assert ((gap > 0) & (gap < len(distinct))).all()
    assert len(np.unique(gap)) == len(gap)


@given(columns_of_floats | columns_with_missing, st.integers(1, 8), st.booleans(), st.data())
def test_weighted_thresholds_are_those_of_repeated_rows(values, max_thresholds, classified, data):
    per_row = st.lists(st.integers(1, 6), min_size=len(values), max_size=len(values))
    times = np.array(data.draw(per_row))
    classes = np.array(data.draw(per_row)) % 3
    np.testing.assert_array_equal(
        quantile_thresholds(values, max_thresholds, times.astype(float), target(classes) if classified else None),
        quantile_thresholds(
            np.repeat(values, times), max_thresholds, None, target(np.repeat(classes, times)) if classified else None
        ),
    )


@given(columns_with_missing, st.none() | st.integers(1, 8), st.booleans(), st.booleans())
def test_missing_values_are_ignored(values, max_thresholds, weighted, classified):
    present = ~np.isnan(values)
    if not present.any():
        assert len(quantile_thresholds(values, max_thresholds, None, None)) == 0
        return
    weights = np.arange(1.0, len(values) + 1)
    classes = np.arange(len(values)) % 3
    with_missing, without = (
        quantile_thresholds(
            values[rows],
            max_thresholds,
            weights[rows] if weighted else None,
            Target(classes[rows].astype(np.int32), 3) if classified else None,
        )
        for rows in (np.ones(len(values), dtype=bool), present)
    )
    np.testing.assert_array_equal(with_missing, without)


def test_weights_move_the_quantiles():
    values = np.arange(10.0)
    heavy = np.where(values < 1, 100.0, 1.0)
    assert [format_number(t) for t in quantile_thresholds(values, 1, None, None)] == ["4"]
    assert [format_number(t) for t in quantile_thresholds(values, 1, heavy, None)] == ["0"]


@given(columns_with_missing, st.integers(1, 8), st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(values, max_thresholds, classified, random):
    classes = np.arange(len(values)) % 3
    order = np.array(random.sample(range(len(values)), len(values)))
    one, other = (
        quantile_thresholds(values[rows], max_thresholds, None, target(classes[rows]) if classified else None)
        for rows in (np.arange(len(values)), order)
    )
    np.testing.assert_array_equal(one, other)


# Where the classes change.


@pytest.mark.parametrize("max_thresholds", [1, 2, 3, 32])
@pytest.mark.parametrize("change", [1, 2, 17, 100, 198, 199])
def test_a_sharp_change_of_class_is_a_threshold(change, max_thresholds):
    values = np.random.default_rng(change).permutation(np.arange(200.0))
    thresholds = quantile_thresholds(values, max_thresholds, None, target(values >= change))
    assert len(thresholds) == max_thresholds
    assert format_number(change - 1) in [format_number(threshold) for threshold in thresholds]


@pytest.mark.parametrize("max_thresholds", [1, 2])
def test_a_change_of_class_among_very_many_values_is_found_nearly(max_thresholds):
    values = np.arange(10_000.0)
    thresholds = quantile_thresholds(values, max_thresholds, None, target(values >= 7123))
    assert np.abs(thresholds - 7123).min() <= 10_000 / FINE_BOUNDARIES <= 50


def test_half_of_the_thresholds_are_at_quantiles_and_half_where_the_classes_change():
    values = np.arange(200.0)
    changes = np.array([3, 5, 9, 11])
    thresholds = quantile_thresholds(values, 8, None, target(np.searchsorted(changes, values, side="right") % 2))
    np.testing.assert_allclose(thresholds, [2, 4, 8, 10, 39, 79, 119, 159], rtol=0)


def test_classes_that_never_change_leave_the_thresholds_to_quantiles():
    values = np.arange(100.0)
    thresholds = quantile_thresholds(values, 4, None, target(np.zeros(100)))
    assert len(thresholds) == 4
    quantiles = np.concatenate([quantile_thresholds(values, n, None, None) for n in (2, 4)])
    assert np.isin(thresholds, quantiles).all()


def test_weights_choose_among_the_changes_of_class():
    values = np.arange(9.0)
    classes = target([0, 0, 1, 1, 1, 1, 2, 2, 2])
    late = np.where(values < 2, 0.01, 1.0)
    early = np.where(values > 5, 0.01, 1.0)
    assert [format_number(t) for t in quantile_thresholds(values, 1, late, classes)] == ["5"]
    assert [format_number(t) for t in quantile_thresholds(values, 1, early, classes)] == ["1"]


def naive_split_order(values, edges, classes, weights, n):
    """Best-first splits of one feature by Gini gain, every gain computed from the rows."""

    def purity(rows):
        counts = [float(weights[rows & (classes == c)].sum()) for c in range(classes.max() + 1)]
        return sum(count * count for count in counts) / sum(counts) if sum(counts) > 0 else 0.0

    def best(rows, first, last):
        found = (0.0, first, None, rows, last)
        for edge in range(first, last):
            left = rows & (values <= edges[edge])
            gain = purity(left) + purity(rows & ~left) - purity(rows)
            if gain > found[0]:
                found = (gain, first, edge, rows, last)
        return found

    leaves = [best(~np.isnan(values), 0, len(edges))]
    order = []
    while leaves and len(order) < n:
        gain, first, edge, rows, last = leaves.pop(min(range(len(leaves)), key=lambda i: (-leaves[i][0], leaves[i][1])))
        if gain <= 0:
            break
        order.append(edge)
        left = rows & (values <= edges[edge])
        leaves += [best(left, first, edge), best(rows & ~left, edge + 1, last)]
    return order


@given(columns_with_missing, st.integers(1, 30), st.booleans(), st.data())
@example(np.arange(4.0), 3, False, None)
def test_splits_come_in_the_order_of_a_tree_on_the_feature(values, n, weighted, data):
    per_row = st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values))
    classes = np.array(data.draw(per_row) if data else [0, 1, 0, 1], dtype=np.int32)
    weights = np.array(data.draw(per_row) if data and weighted else np.ones(len(values)), dtype=np.float64)
    edges = np.unique(values[~np.isnan(values)])[:-1]
    cells = class_cells(
        values=values,
        edges=edges,
        classes=classes,
        n_classes=4,
        row_weight=weights if weighted else None,
    )
    order = split_order(cells=cells, n=n)
    assert order.tolist() == naive_split_order(values, edges, classes, weights, n)


@given(columns_with_missing, st.integers(1, 10), st.data())
def test_thresholds_hold_the_quantiles_and_the_first_splits(values, max_thresholds, data):
    classes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values))))
    boundaries = find_boundaries(values, None)
    gaps = boundaries.thresholds()
    thresholds = quantile_thresholds(values, max_thresholds, None, target(classes))
    if len(gaps) <= max_thresholds:
        np.testing.assert_array_equal(thresholds, gaps)
        return
    n_quantiles = max_thresholds // 2
    quantiles = gaps[boundaries.spread(n_quantiles)]
    order = naive_split_order(values, gaps, classes, np.ones(len(values)), max_thresholds)
    splits = [gaps[i] for i in order if gaps[i] not in quantiles][: max_thresholds - n_quantiles]
    assert set(quantiles) | set(splits) <= set(thresholds)
    assert len(thresholds) == max_thresholds
    assert set(thresholds) <= set(gaps)


# The paper's rule.


@given(columns_with_missing | columns_of_floats, st.integers(1, 40))
def test_paper_thresholds_are_quantiles_of_the_distinct_values(values, n_buckets):
    values = np.where(np.abs(values) > 1e300, 1.0, values)  # whose differences overflow
    distinct = sorted(set(values[~np.isnan(values)].tolist()))
    n_buckets_used = min(n_buckets, len(distinct))
    expected = [np.quantile(distinct, j / n_buckets_used) for j in range(1, n_buckets_used)]
    np.testing.assert_array_equal(paper_thresholds(values, n_buckets), np.unique(expected))


@given(columns_with_missing | columns_of_floats)
def test_without_buckets_paper_thresholds_are_the_distinct_values(values):
    np.testing.assert_array_equal(paper_thresholds(values, None), np.unique(values[~np.isnan(values)]))


def test_paper_thresholds_count_a_value_once_however_frequent():
    values = np.concatenate([np.zeros(1000), np.arange(1.0, 5.0)])
    np.testing.assert_array_equal(paper_thresholds(values, 4), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(paper_thresholds(values, 2), [2.0])
    np.testing.assert_array_equal(paper_thresholds(values, 1), [])
    np.testing.assert_array_equal(paper_thresholds(values, 100), np.quantile(np.arange(5.0), [0.2, 0.4, 0.6, 0.8]))


def test_class_counts_of_many_classes_are_bounded(monkeypatch):
    """Beyond MAX_CLASSES, the rarest classes count as one."""
    sizes = []

    def counted(**arguments):
        cells = class_cells(**arguments)
        sizes.append(cells.shape)
        return cells

    monkeypatch.setattr(thresholds, "class_cells", counted)
    for n_classes in (2, 1024, 20_000, 1_000_000):
        values, classes = np.arange(2000.0), np.arange(2000) * 7 % n_classes
        chosen = quantile_thresholds(values, 16, None, Target.of_rows(classes.astype(np.int32), n_classes))
        assert len(chosen) == 16
    assert sizes == [(1024, 2)] + 3 * [(1024, MAX_CLASSES)]


def test_the_rarest_of_very_many_classes_count_as_one():
    n_rows = np.full(MAX_CLASSES + 10, 2)
    n_rows[[3, 7]] = 1
    index = merge_rare(n_rows)
    assert index[[3, 7]].tolist() == [MAX_CLASSES - 1] * 2
    assert np.count_nonzero(index == MAX_CLASSES - 1) == 11
    np.testing.assert_array_equal(index[index < MAX_CLASSES - 1], np.arange(MAX_CLASSES - 1))
    classes = np.repeat(np.arange(len(n_rows)), n_rows).astype(np.int32)
    np.testing.assert_array_equal(Target.of_rows(classes, len(n_rows)).classes, index[classes])


@pytest.mark.parametrize("number", [0.0, 1e308, np.nextafter(MAX, 0)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_finite_threshold_tells_infinity_apart_from_every_number_but_the_largest(number, sign):
    X = sign * np.array([[number], [np.inf]])
    columns = Binarizer(strategy="exact").fit(X).columns_
    assert len(columns) == 1
    assert np.isfinite(columns.value).all()
    assert len(Binarizer(strategy="exact", drop_redundant=False).fit(sign * np.array([[MAX], [np.inf]])).columns_) == 0
