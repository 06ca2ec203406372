"""Fits to rows in parts against fits to all of them: the same tree, whatever the table and the parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.messy import Case, cases
from support.profiles import examples

pytest.importorskip("distributed")

from support.dask_parts import HereAndNow, assert_same_fit, fit_parts

from topktree import TopKTreeClassifier
from topktree._data.columns import hash_rows
from topktree._data.thresholds import MAX_CLASSES, Target, quantile_thresholds
from topktree._data.weights import integer_weights, threshold_weights
from topktree.dask.shards import DistinctRows, merge_rows
from topktree.dask.target import merge_divisors, merge_targets, start_weighing, summarize_target
from topktree.dask.value_summary import MAX_BYTES, MAX_VALUES, ValueSummary, merge, summarize, summary_size

many = examples(1.5)

seeds = st.integers(0, 2**32 - 1)
FLOAT_MAX = np.finfo(np.float64).max

more_parameters = st.fixed_dictionaries(
    {
        "min_samples_leaf": st.sampled_from([1, 1, 3]),
        "class_weight": st.sampled_from([None, None, "balanced"]),
        "distinct_splits": st.booleans(),
        "min_weight_fraction_leaf": st.sampled_from([0.0, 0.0, 0.1]),
    }
)


@pytest.mark.parametrize("gather_bytes", [0, 2**20])
@many
@given(cases(), more_parameters, st.integers(1, 5), seeds)
def test_messy_tables(gather_bytes: int, case: Case, more: dict, n_parts: int, seed: int) -> None:
    parameters = {**case.parameters, **more}
    # Every threshold is a column of bits there, and there are no sets of categories.
    alone = {**parameters, "max_thresholds": parameters["max_thresholds"] or 10**6}
    expected = TopKTreeClassifier(**alone).fit(case.X, case.y, case.sample_weight)
    part = np.random.default_rng(seed).integers(n_parts, size=len(case.X))
    found = fit_parts(parameters, case.X, case.y, case.sample_weight, part, gather_bytes)
    assert_same_fit(found, expected)
    assert found.search_["where"] == "workers" if gather_bytes == 0 else True


@given(seeds, st.sampled_from([0, 2**20]))
def test_arrays(seed: int, gather_bytes: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 200)), int(rng.integers(1, 6))
    X = rng.integers(0, int(rng.choice([2, 2, 7, 100])), (n, d)).astype(
        rng.choice(["int8", "float32", "float64", "bool"])
    )
    y = rng.integers(0, int(rng.integers(2, 5)), n)
    y[:2] = 0, 1
    weight = [None, rng.integers(0, 4, n), rng.random(n), np.full(n, 2.5), rng.integers(1, 9, n) / 8][rng.integers(5)]
    if weight is not None:
        weight[:2] = weight.max() or 1
    classes = [None, "balanced", {0: 2.0, 1: 0.5}, {0: 1.0, 1: 1 / 3}][rng.integers(4)]
    parameters = {"k": 3, "max_depth": 3, "class_weight": classes, "max_thresholds": int(rng.integers(1, 20))}
    expected = TopKTreeClassifier(**parameters).fit(X, y, weight)
    found = fit_parts(parameters, X, y, weight, rng.integers(4, size=n), gather_bytes)
    assert_same_fit(found, expected)


@given(seeds)
def test_summaries_give_the_thresholds_of_all_rows(seed: int) -> None:
    values, classes, weight, part = _rows(seed)
    max_thresholds = int(np.random.default_rng(seed).integers(1, 40))
    whole = _summary(values, classes, weight, part, 4096)
    assert whole.error == 0
    expected = quantile_thresholds(np.clip(values, -FLOAT_MAX, FLOAT_MAX), max_thresholds, weight, Target(classes, 3))
    if len(whole.values):
        np.testing.assert_array_equal(whole.thresholds(max_thresholds), expected)


@given(seeds, st.integers(2, 12))
def test_summaries_that_are_thinned_out_say_how_wrong_they_are(seed: int, max_values: int) -> None:
    values, classes, weight, part = _rows(seed)
    summary = _summary(values, classes, weight, part, max_values)
    weights = np.ones(len(values)) if weight is None else weight
    values = np.clip(values, -FLOAT_MAX, FLOAT_MAX)
    present = ~np.isnan(values)
    total = weights[present].sum()
    assert summary.weight.sum() == total
    assert len(summary.values) <= 2 * max_values
    below = np.append(0, np.cumsum(summary.weight.sum(axis=1)))
    for value in np.unique(values[present]):
        missed = weights[values <= value].sum() - below[np.searchsorted(summary.values, value, side="right")]
        assert 0 <= missed <= summary.error * total * (1 + 1e-9)


def test_summaries_of_many_values_place_quantiles_where_they_are():
    rng = np.random.default_rng(0)
    values, classes = rng.exponential(size=60_000), np.zeros(60_000, dtype=np.int32)
    parts = [summarize(values[i::9], Target(classes[i::9], 1), None, MAX_VALUES) for i in range(9)]
    summary = merge(parts, MAX_VALUES)
    assert 0 < summary.error < 0.001
    found = summary.thresholds(15)
    shares = np.searchsorted(np.sort(values), found, side="right") / len(values)
    wanted = np.searchsorted(np.sort(values), quantile_thresholds(values, 15, None, Target(classes, 1)), side="right")
    np.testing.assert_allclose(shares, wanted / len(values), atol=2 * summary.error)


def _rows(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 200))
    values = [rng.normal(size=n).round(1), rng.integers(0, 5, n).astype(float), rng.exponential(size=n)][seed % 3]
    values[rng.random(n) < 0.1] = np.nan
    values[rng.random(n) < 0.03] = np.inf
    weight = None if rng.random() < 0.5 else rng.integers(1, 9, n).astype(float)
    return values, rng.integers(0, 3, n).astype(np.int32), weight, rng.integers(0, 5, n)


def _summary(
    values: np.ndarray, classes: np.ndarray, weight: np.ndarray | None, part: np.ndarray, max_values: int
) -> ValueSummary:
    parts = [
        summarize(values[rows], Target(classes[rows], 3), None if weight is None else weight[rows], max_values)
        for rows in (part == i for i in range(5))
    ]
    return merge([merge(parts[:2], max_values), merge(parts[2:], max_values)], max_values)


@given(seeds)
@example(327)  # totals of classes that differ in their last bits
def test_weights_of_parts_are_the_integers_of_all_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    y = rng.integers(0, 3, n)
    y[:2] = 0, 1
    forms = [
        rng.integers(0, 5, n),
        rng.random(n),
        0.3 * rng.integers(0, 9, n),
        np.full(n, 0.7),
        rng.integers(0, 2, n) / 8,
    ]
    weight = forms[rng.integers(len(forms))].astype(float)
    weight[:2] = max(weight.max(), 0.5)
    class_weight = [None, "balanced", {0: 0.25, 1: 3.0}][rng.integers(3)]
    part = rng.integers(4, size=n)
    parts = [part == i for i in range(5)]
    summary = merge_targets([summarize_target(y[rows], weight[rows]) for rows in parts])
    weighing, divisors = start_weighing(summary, class_weight)
    if divisors is None:
        divisors = merge_divisors([weighing.part_divisors(y[rows], weight[rows]) for rows in parts])
    weighing = weighing.finish(divisors)
    kept = weight > 0
    integers, unit = integer_weights(weight[kept])
    assert weighing.weight_unit == unit
    classes = np.searchsorted(weighing.classes, y[kept]).astype(np.int32)
    by_class = {None: None, "balanced": "balanced"}.get(class_weight if not isinstance(class_weight, dict) else "", 0)
    if by_class == 0:
        by_class = np.array([0.25, 3.0, 1.0])[: len(weighing.classes)]
    for_thresholds = threshold_weights(classes, by_class, weight[kept])
    for rows in parts:
        if not rows.any():
            continue
        target = weighing.read(y[rows], weight[rows])
        here = np.flatnonzero(rows[kept])
        row_weight = np.ones(len(here)) if target.row_weight is None else target.row_weight
        np.testing.assert_array_equal(row_weight, integers[here])
        if for_thresholds is None:
            assert target.threshold_weight is None
        else:
            # The sum of real weights depends on the order of the rows, in its last bits.
            np.testing.assert_allclose(target.threshold_weight, for_thresholds[here], atol=1)


def test_rows_are_counted_by_columns_and_class():
    """No two of these are equal, although the class of one is the bits of the other."""
    rows, classes = np.array([[0], [1], [0], [1]], dtype=np.uint64), np.array([0, 0, 1, 1], dtype=np.int32)
    assert len(np.unique(hash_rows(rows, classes))) == 4
    ones = np.ones(4, dtype=np.int64)
    distinct = DistinctRows(rows, classes, ones, ones)
    assert merge_rows(distinct, 4 * 28 - 1) is None
    assert len(merge_rows(distinct, 4 * 28).rows) == 4


def test_summaries_of_many_features_and_classes_stay_small():
    rng = np.random.default_rng(0)
    n, n_features, n_classes = 30_000, 50, 5_000
    classes = rng.integers(n_classes, size=n).astype(np.int32)
    max_values = summary_size(8, n_features, n_classes)
    summary = summarize(rng.random(n), Target.of_rows(classes, n_classes), None, max_values)
    assert 0 < summary.error < 0.02
    assert n_features * summary.weight.nbytes <= 2 * MAX_BYTES
    assert summary_size(8, 10, 100) == MAX_VALUES
    assert summary_size(None, n_features, n_classes) is None


@pytest.mark.parametrize("gather_bytes", [0, 2**26])
def test_very_many_classes_give_the_tree_of_all_rows(gather_bytes: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 300, (4_000, 2)) / 8, np.minimum(rng.exponential(600, 4_000).astype(int), 3_000)
    assert len(np.unique(y)) > MAX_CLASSES
    parameters = {"k": 2, "max_depth": 2}
    expected = TopKTreeClassifier(**parameters).fit(X, y)
    assert_same_fit(fit_parts(parameters, X, y, None, rng.integers(4, size=len(y)), gather_bytes), expected)


def test_counts_that_workers_cannot_hold_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(HereAndNow, "worker_memory", lambda self: 1e5)
    rng = np.random.default_rng(0)
    X, y = rng.random((500, 3)), rng.integers(100, size=500)
    with pytest.raises(ValueError, match=r"for 99 classes and 96 columns, got 0.0001 GB"):
        fit_parts({"k": 2}, X, y, None, np.zeros(500, dtype=int), 0)
