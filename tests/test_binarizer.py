"""Thresholds: midpoints, quantiles and the edges of floating point; and the packed columns they give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from topktree.binarizer import binarize, find_thresholds

some = settings(max_examples=200, deadline=None)
finite = st.floats(allow_nan=False, allow_infinity=False)
columns_of_floats = hnp.arrays(np.float64, st.integers(1, 60), elements=finite | st.integers(-3, 3).map(float))


def unpack(rows, n_columns):
    """The Boolean matrix of packed rows."""
    bits = np.unpackbits(np.ascontiguousarray(rows).view(np.uint8), axis=1, bitorder="little")
    return bits[:, :n_columns].astype(bool)


def test_every_midpoint_when_there_are_few():
    values = np.array([4.0, 1.0, 2.0, 2.0, 8.0, 4.0])
    for max_thresholds in (None, 3, 4, 32):
        np.testing.assert_array_equal(find_thresholds(values, max_thresholds, None), [1.5, 3.0, 6.0])


def test_quantiles_when_there_are_many():
    values = np.arange(100.0)
    np.testing.assert_array_equal(find_thresholds(values, 1, None), [49.5])
    np.testing.assert_array_equal(find_thresholds(values, 3, None), [24.5, 49.5, 74.5])


def test_a_heavy_value_takes_more_than_one_quantile():
    values = np.concatenate([np.zeros(80), np.arange(1.0, 21.0)])
    thresholds = find_thresholds(values, 9, None)
    assert 2 <= len(thresholds) <= 9
    assert thresholds[0] == 0.5
    assert set(thresholds) <= set(np.arange(0.5, 20.0))


@pytest.mark.parametrize("constant", [0.0, 1.0, -7.5, 1e308, 5e-324])
def test_constants_have_no_threshold(constant):
    assert len(find_thresholds(np.full(5, constant), 32, None)) == 0
    assert len(find_thresholds(np.array([constant]), None, np.array([2.0]))) == 0


@some
@given(columns_of_floats, st.none() | st.integers(1, 10), st.booleans())
def test_thresholds_separate_neighbours(values, max_thresholds, weighted):
    weights = np.linspace(0.5, 2.0, len(values)) if weighted else None
    thresholds = find_thresholds(values, max_thresholds, weights)
    distinct = np.unique(values)
    if max_thresholds is None or len(distinct) <= max_thresholds + 1:
        assert len(thresholds) == len(distinct) - 1
    else:
        assert 1 <= len(thresholds) <= max_thresholds
    assert np.isfinite(thresholds).all()
    assert (np.diff(thresholds) > 0).all()
    # Each one is in [a, b) for two neighbouring values, and no two are in the same gap.
    gaps = np.searchsorted(distinct, thresholds, side="right")
    assert ((gaps > 0) & (gaps < len(distinct))).all()
    assert len(np.unique(gaps)) == len(gaps)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1.0, np.nextafter(1.0, 2.0)),
        (-np.nextafter(1.0, 2.0), -1.0),
        (0.0, 5e-324),
        (-5e-324, 0.0),
        (5e-324, 1e-323),
        (1.7e308, np.finfo(float).max),
        (-np.finfo(float).max, np.finfo(float).max),
        (-1e308, 1e308),
        (2.0**53, 2.0**53 + 2),
    ],
)
def test_edges_of_floating_point(low, high):
    (threshold,) = find_thresholds(np.array([low, high]), None, None)
    assert low <= threshold < high


@pytest.mark.parametrize(("low", "high"), [(1e308, 1.5e308), (-3.0, 5.0), (0.1, 0.2), (1e-310, 3e-310)])
def test_midpoints_are_in_the_middle(low, high):
    (threshold,) = find_thresholds(np.array([high, low]), None, None)
    assert threshold == pytest.approx(low / 2 + high / 2, rel=1e-15)


@some
@given(columns_of_floats, st.integers(1, 8), st.data())
def test_weighted_quantiles_are_those_of_repeated_rows(values, max_thresholds, data):
    times = np.array(data.draw(st.lists(st.integers(1, 6), min_size=len(values), max_size=len(values))))
    np.testing.assert_array_equal(
        find_thresholds(values, max_thresholds, times.astype(float)),
        find_thresholds(np.repeat(values, times), max_thresholds, None),
    )


def test_weights_move_the_quantiles():
    values = np.arange(10.0)
    assert find_thresholds(values, 1, None) == [4.5]
    assert find_thresholds(values, 1, np.where(values < 1, 100.0, 1.0)) == [0.5]


@some
@given(
    hnp.arrays(
        np.float64, st.tuples(st.integers(1, 30), st.integers(1, 6)), elements=finite | st.sampled_from([0.0, 1.0])
    ),
    st.none() | st.integers(1, 40),
)
def test_columns_are_what_they_say(X, max_thresholds):
    rows, columns = binarize(X, max_thresholds, None)
    assert rows.shape == (len(X), (len(columns) + 63) // 64)
    assert (np.diff(columns.feature) >= 0).all()
    np.testing.assert_array_equal(unpack(rows, len(columns)), X[:, columns.feature] > columns.threshold)


@pytest.mark.parametrize("n_values", [2, 64, 65, 130, 200])
def test_many_thresholds_of_several_features(n_values):
    rng = np.random.default_rng(n_values)
    X = rng.permuted(np.tile(np.arange(float(n_values)), (3, 1)), axis=1).T
    X[:, 1] = np.floor(X[:, 1] / 2)  # offsets that are not whole words
    rows, columns = binarize(X + 0.25, None, None)
    assert len(columns) == 2 * (n_values - 1) + (n_values + 1) // 2 - 1
    np.testing.assert_array_equal(unpack(rows, len(columns)), X[:, columns.feature] + 0.25 > columns.threshold)


@pytest.mark.parametrize("n_columns", [1, 7, 8, 63, 64, 65, 200])
@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X,
        lambda X: X.astype(np.uint8),
        lambda X: X.astype(np.int8),
        lambda X: X.astype(np.int64),
        lambda X: X.astype(np.float32),
        lambda X: -X.astype(np.float64) * -1,
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X[::-1][::-1].astype(np.uint8),
    ],
)
def test_zeros_and_ones_stay_columns(convert, n_columns):
    X = np.random.default_rng(n_columns).random((150, n_columns)) < 0.3
    rows, columns = binarize(convert(X), 32, None)
    np.testing.assert_array_equal(columns.feature, np.arange(n_columns))
    np.testing.assert_array_equal(columns.threshold, np.full(n_columns, 0.5))
    np.testing.assert_array_equal(unpack(rows, n_columns), X)


@pytest.mark.parametrize(
    ("dtype", "value", "thresholds"),
    [
        (np.int8, 2, [0.5, 1.5]),
        (np.int8, -128, [-64, 0.5]),
        (np.uint8, 2, [0.5, 1.5]),
        (np.int64, 2, [0.5, 1.5]),
        (np.int64, 256, [0.5, 128.5]),  # 256, 257 and 0.5 are 0 and 1 if they are squeezed into a byte
        (np.int64, -255, [-127.5, 0.5]),
        (np.float32, 0.5, [0.25, 0.75]),
        (np.float64, 257, [0.5, 129]),
        (np.float64, 1.5, [0.5, 1.25]),
    ],
)
@pytest.mark.parametrize("row", [0, 1, 77, 149])
def test_one_other_value_makes_thresholds(dtype, value, thresholds, row):
    X = (np.random.default_rng(0).random((150, 3)) < 0.5).astype(dtype)
    X[row, 1] = value
    rows, columns = binarize(X, 32, None)
    np.testing.assert_array_equal(columns.feature, [0, 1, 1, 2])
    np.testing.assert_array_equal(columns.threshold, [0.5, *thresholds, 0.5])
    np.testing.assert_array_equal(unpack(rows, 4), X[:, columns.feature] > columns.threshold)


def test_minus_one_is_not_a_one():
    X = np.array([[-1, 0], [1, 0], [0, 1]], dtype=np.int8)
    _, columns = binarize(X, 32, None)
    np.testing.assert_array_equal(columns.feature, [0, 0, 1])
    np.testing.assert_array_equal(columns.threshold, [-0.5, 0.5, 0.5])


def test_constant_features_give_no_columns():
    rows, columns = binarize(np.full((4, 3), 7.0), 32, None)
    assert len(columns) == 0
    assert rows.shape == (4, 0)


def test_X_is_not_written_to():
    X = np.random.default_rng(0).random((50, 4))
    X.flags.writeable = False
    before = X.copy()
    binarize(X, 5, np.ones(50))
    np.testing.assert_array_equal(X, before)
