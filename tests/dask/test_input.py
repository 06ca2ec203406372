"""`DaskTopKTreeClassifier` with input of every kind: the tree of the local class, or an error that says why not.

In: tables, labels, weights and parameters that are hard on it, in several partitions. Out: whether the local class says
the same. The one idea: both classes get the same data, and everything that a fit leaves is compared.
"""

import copy
import dataclasses
import datetime
import itertools
import pickle
import warnings
from decimal import Decimal

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from support.problems import label

import topktree
from topktree import TopKTreeClassifier, _core

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

from topktree.dask import DaskTopKTreeClassifier  # noqa: E402

N = 90
BOUNDS = [0, 0, 30, 30, 41, N, N]  # empty partitions first, last and between
PARAMETERS = {"k": 3, "max_depth": 3}
GATHERS = (0, 2**26)


@pytest.fixture(scope="module")
def client():
    """Start a cluster within this process."""
    with warnings.catch_warnings(), dask.config.set({"dataframe.convert-string": False}):
        warnings.simplefilter("ignore")
        with (
            distributed.LocalCluster(
                processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"
            ) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            yield client


@pytest.fixture(autouse=True)
def _quiet():
    """Ignore Dask's own warnings about large graphs and ports."""
    warnings.filterwarnings("ignore", module="distributed|dask")


def make_table():
    """Return numbers, a category and a boolean, and noisy classes that depend on them."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": rng.integers(0, 20, N).astype(float),
            "b": rng.normal(size=N).round(2),
            "c": rng.choice(list("xyz"), N).astype(object),
            "d": rng.random(N) < 0.5,
        }
    )
    return X, pd.Series(((X.a > 9) ^ (X.c == "x") ^ (rng.random(N) < 0.15)).astype(int))


X, Y = make_table()
NUMBERS = X[["a", "b"]].to_numpy()
ROW = np.arange(N)
FIRST = ROW < 30


def same(part):
    """Return the partition itself."""
    return part


def lazy(data, bounds=BOUNDS):
    """Return data in memory as a Dask collection with these partitions."""
    if data is None:
        return None
    if isinstance(data, np.ndarray):
        return da.from_array(data, chunks=(tuple(np.diff(bounds).tolist()), *([-1] * (data.ndim - 1))))
    parts = [data.iloc[start:end] for start, end in itertools.pairwise(bounds)]
    return dd.from_map(same, parts, meta=data.iloc[:0], enforce_metadata=False)


def assert_same(ours, local):
    """Assert that the fit is the same as that of the local class in everything."""
    assert ours.to_local().export_text() == local.export_text()
    for name in ("cost_", "train_errors_", "status_", "features_", "n_features_in_"):
        assert getattr(ours, name) == getattr(local, name), name
    assert ours.classes_.dtype == local.classes_.dtype
    assert ours.classes_.tolist() == local.classes_.tolist()
    assert getattr(ours, "feature_names_in_", np.empty(0)).tolist() == (
        getattr(local, "feature_names_in_", np.empty(0)).tolist()
    )
    for field in dataclasses.fields(local.tree_):
        np.testing.assert_array_equal(getattr(ours.tree_, field.name), getattr(local.tree_, field.name), field.name)


def check(client, X, y=Y, weight=None, **parameters):
    """Assert that both ways of searching give the tree, or the type of error, of the local class."""
    parameters = {**PARAMETERS, **parameters}
    local = outcome(TopKTreeClassifier(**parameters), X, y, weight)
    for gather_bytes, bounds in zip(GATHERS, (BOUNDS, [*range(0, N, 13), N]), strict=True):
        ours = DaskTopKTreeClassifier(**parameters, gather_bytes=gather_bytes, client=client)
        result = outcome(ours, *(lazy(data, bounds) for data in (X, y, weight)))
        if isinstance(local, Exception):
            assert type(result) is type(local), (local, result)
        elif isinstance(result, Exception):
            raise result
        else:
            assert_same(ours, local)
            assert ours.search_["where"] == ("client" if gather_bytes else "workers")
    return local


def outcome(classifier, X, y, weight):
    """Return the fitted classifier, or the error."""
    try:
        return classifier.fit(X, y, weight)
    except Exception as error:
        return error


def with_column(values):
    """Return a table whose second feature has these values."""
    return pd.DataFrame({"a": X.a, "q": values})


def objects(values):
    """Return a Series of objects as they are."""
    return pd.Series(list(values), dtype=object)


# Parameters.


def prefer_few(left, right):
    """Score columns: fewer errors are better."""
    return -left.min(axis=1) - right.min(axis=1)


@pytest.mark.parametrize(
    "parameters",
    [
        {"criterion": "sqrt", "k": "all", "max_depth": 2},
        {"criterion": prefer_few},
        {"criterion": "gain_ratio", "k": [4, 2, 1]},
        {"max_depth": 0},
        {"leaf_penalty": "tie", "min_samples_leaf": 5},
        {"leaf_penalty": 0.01, "min_weight_fraction_leaf": 0.2},
        {"distinct_splits": True, "max_thresholds": 1},
        {"max_thresholds": None, "class_weight": "balanced"},
        {"categorical_features": [0, 2], "class_weight": {0: 0.1}},
        {"categorical_features": None},
        {"class_weight": {7: 1}},
        {"class_weight": {0: 0}},
    ],
    ids=label,
)
def test_parameters(client, parameters):
    check(client, X, **parameters)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_depth", -1),
        ("max_depth", 101),
        ("batch_bytes", 0),
        ("batch_bytes", True),
        ("gather_bytes", -1),
        ("gather_bytes", 1.5),
        ("worker_timeout", -1),
        ("worker_timeout", float("nan")),
        ("k", 0),
    ],
)
def test_a_wrong_parameter_is_named_with_its_value_and_what_is_allowed(client, name, value):
    with pytest.raises(ValueError, match=rf"{name} must be .*(>=|in \[0, 100\]).*got {value}"):
        DaskTopKTreeClassifier(**{"client": client, name: value}).fit(lazy(X), lazy(Y))


def test_a_wrong_client():
    with pytest.raises(TypeError, match=r"client must be a distributed.Client or None, got 'tcp"):
        DaskTopKTreeClassifier(client="tcp://somewhere").fit(lazy(X), lazy(Y))


# Weights.

WEIGHTS = {
    "integers": ROW % 4 + 1,
    "zeros": ROW % 3 * 1.0,
    "dyadic": (ROW % 7 + 1) / 8,
    "multiples": (ROW % 7 + 1) * 0.3,
    "real": np.random.default_rng(1).random(N) + 0.01,
    "constant": np.full(N, 3.7),
    "nearly constant": 1 + 1e-7 * (ROW % 2),
    "zero in partitions": np.where(FIRST, 0.0, 1.0),
    "zero in partitions, real": np.where(FIRST, 0.0, ROW + 0.1),
    "zero in a class": np.where(Y == 1, 0.0, 1.0),
    "all zero": np.zeros(N),
    "negative": np.where(ROW == 5, -1.0, 1.0),
    "missing": np.where(ROW == 5, np.nan, 1.0),
    "endless": np.full(N, 1.7e308),
    "wide": 10.0 ** (ROW % 20 - 10),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights(client, kind):
    check(client, X, Y, pd.Series(WEIGHTS[kind]), min_samples_leaf=1 + 5 * (len(kind) % 2), class_weight={0: 2.5})


def test_weights_nearly_constant_keep_their_size(client):
    local = check(client, X, Y, pd.Series(WEIGHTS["nearly constant"]))
    assert local.tree_.weighted_n_node_samples[0] == pytest.approx(N)


# Types and values.

COLUMNS = {
    "category in one partition": np.where(FIRST, "only here", X.c),
    "categorical": X.c.where(X.c != "x").astype("category"),
    "categorical of integers": pd.Series(ROW % 5).astype("category"),
    "strings of pyarrow": X.c.where(X.c != "x").astype("string[pyarrow]"),
    "nullable integers": pd.Series(ROW % 7).astype("Int64").mask(FIRST),
    "nullable booleans": X.d.astype("boolean").mask(FIRST),
    "booleans and None": objects(None if first else bool(d) for first, d in zip(FIRST, X.d, strict=True)),
    "decimals": objects(Decimal(int(a)) / 4 for a in X.a),
    "numbers, then strings": objects(int(a) if first else c for first, a, c in zip(FIRST, X.a, X.c, strict=True)),
    "missing in a partition": X.b.where(~FIRST),
    "all missing": pd.Series(np.nan, index=X.index),
    "all missing objects": objects([None] * N),
    "infinities": X.b.where(ROW % 3 > 0, np.inf).where(ROW % 7 > 0, -np.inf),
    "huge integers": pd.Series(2**62 + ROW * 1001),
    "negative zeros": pd.Series(np.where(ROW % 2, -0.0, np.where(ROW % 3, 0.0, 1.0))),
    "constant": np.ones(N),
    "dates": pd.Series(pd.date_range("2020", periods=N)),
    "dates as objects": objects([datetime.date(2020, 1, 1)] * N),
    "lists": objects([[1]] * N),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_types(client, kind):
    check(client, with_column(COLUMNS[kind]))


@pytest.mark.parametrize("kind", ["booleans and None", "all missing objects"])
@pytest.mark.parametrize("categorical", [None, [0]])
def test_objects_that_are_no_categories_may_be_missing_in_a_partition(client, kind, categorical):
    check(client, with_column(COLUMNS[kind]), categorical_features=categorical)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (X.a.astype(int), X.b),
        (X.b * np.nan, X.c),
        (X.b * np.nan, X.d.astype(object)),
        (X.d, X.a.astype(int)),
        (X.d, X.b * np.nan),
        (X.c.astype("category"), X.c),
    ],
    ids=["int, float", "nan, str", "nan, bool", "bool, int", "bool, nan", "categorical, str"],
)
def test_partitions_of_different_types(client, first, second):
    parts = [with_column(first).iloc[:40], with_column(second).iloc[40:]]
    local = TopKTreeClassifier(**PARAMETERS).fit(pd.concat(parts), Y)
    frame = dd.from_map(same, parts, meta=parts[0].iloc[:0], enforce_metadata=False)
    ours = DaskTopKTreeClassifier(**PARAMETERS, client=client).fit(frame, lazy(Y, [0, 40, N]))
    assert_same(ours, local)


def test_partitions_of_numbers_and_of_strings_are_refused(client):
    parts = [with_column(X.a).iloc[:40], with_column(X.c).iloc[40:]]
    frame = dd.from_map(same, parts, meta=parts[0].iloc[:0], enforce_metadata=False)
    with pytest.raises(TypeError, match="one type in all partitions of 'q', got category and number"):
        DaskTopKTreeClassifier(client=client).fit(frame, lazy(Y, [0, 40, N]))


FLAGS = np.random.default_rng(2).random((N, 70)) < 0.4
TABLES = {
    "numbers": NUMBERS,
    "float32": NUMBERS.astype(np.float32),
    "binary": FLAGS.astype(np.int8),
    "booleans": FLAGS,
    "binary and constant": np.c_[FLAGS[:, :3], np.zeros(N), np.ones(N)],
    "binary copies": np.repeat(FLAGS[:, :3], 3, axis=1).astype(float),
    "binary but for a row without weight": np.where((ROW == 5)[:, None], 7.0, FLAGS[:, :5]),
    "constant": np.full((N, 2), 3.0),
    "one feature": NUMBERS[:, 1:],
    "objects": X[["a", "c"]].to_numpy(),
    "strings": X[["c"]].to_numpy().astype("U3"),
    "no features": np.empty((N, 0)),
    "wide": np.random.default_rng(3).random((N, 200)).round(1),
}


@pytest.mark.parametrize("kind", TABLES)
def test_arrays(client, kind):
    weight = np.where(ROW == 5, 0.0, 1.0) if "weight" in kind else None
    check(client, TABLES[kind], Y.to_numpy(), weight, distinct_splits="copies" in kind)


@pytest.mark.parametrize(
    "names", [[0, 1, 2, 3], ["a", "b", "a", "b"], ["a", 1, "c", "d"], [("a", 1), ("a", 2), ("b", 1), ("b", 2)]], ids=str
)
def test_names_of_features(client, names):
    table = X.copy()
    table.columns = pd.Index(names, tupleize_cols=False)
    check(client, table)


# Labels.

LABELS = {
    "bool": Y.astype(bool),
    "strings": Y.map({0: "no", 1: "certainly"}).astype(object),
    "strings of pyarrow": Y.map({0: "no", 1: "yes"}).astype("string[pyarrow]"),
    "floats": Y.astype(float),
    "fractions": Y + 0.5 * (ROW % 3 == 0),
    "nan": Y.astype(float).where(ROW != 7),
    "none": objects(None if i == 7 else label for i, label in enumerate(Y)),
    "categorical": Y.astype("category"),
    "mixed": objects(int(label) if first else str(label) for first, label in zip(FIRST, Y, strict=True)),
    "one class": Y * 0,
    "30 classes": pd.Series(ROW * 7 % 30),
    "far apart": Y * 10**12,
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels(client, kind):
    check(client, X, LABELS[kind])


def test_partitions_of_one_class(client):
    order = np.argsort(Y.to_numpy(), kind="stable")
    check(client, X.iloc[order].reset_index(drop=True), Y.iloc[order].reset_index(drop=True))


def test_partitions_of_one_row(client):
    few, labels, weight = X.iloc[:25], Y.iloc[:25], pd.Series(WEIGHTS["real"][:25])
    local = TopKTreeClassifier(**PARAMETERS).fit(few, labels, weight)
    parts = (lazy(data, list(range(26))) for data in (few, labels, weight))
    assert_same(DaskTopKTreeClassifier(**PARAMETERS, client=client).fit(*parts), local)


# Partitions.


def unknown_chunks(data):
    """Return an Array whose chunks have an unknown number of rows."""
    return lazy(pd.DataFrame(data)).to_dask_array()


@pytest.mark.parametrize(
    "make",
    [
        lambda: (da.from_array(NUMBERS, chunks=(20, 1)), lazy(Y.to_numpy(), [0, 50, N])),
        lambda: (unknown_chunks(NUMBERS), lazy(Y.to_numpy())),
        lambda: (unknown_chunks(NUMBERS), lazy(Y)),
        lambda: (lazy(NUMBERS), lazy(Y).to_dask_array()),
        lambda: (lazy(NUMBERS), lazy(Y.to_numpy())[:, None]),
        lambda: (lazy(NUMBERS), lazy(Y.to_frame("y"))),
    ],
    ids=["chunks of columns", "unknown X", "Series for Array", "unknown y", "y of one column", "y in a frame"],
)
def test_collections_that_fit_together(client, make):
    local = TopKTreeClassifier(**PARAMETERS).fit(NUMBERS, Y)
    assert_same(DaskTopKTreeClassifier(**PARAMETERS, client=client).fit(*make()), local)


@pytest.mark.parametrize(
    ("X_bad", "y_bad", "error", "match"),
    [
        (lazy(X), None, TypeError, "y must be a Dask Series or Array.*got NoneType"),
        (lazy(X), Y, TypeError, "y must be a Dask Series or Array.*got Series"),
        (X, lazy(Y), TypeError, "X must be a Dask DataFrame or Array, got DataFrame"),
        (lazy(NUMBERS)[:, 0], lazy(Y), ValueError, "X must have 2 dimensions, got 1"),
        (lazy(X), lazy(X), TypeError, "y must be a Dask Series or Array.*got DataFrame"),
        (lazy(NUMBERS), lazy(NUMBERS), ValueError, "y must have 1 dimension, got 2"),
        (lazy(NUMBERS), lazy(Y.to_numpy())[1:], ValueError, "y must have as many rows as X, 90, got 89"),
        (lazy(X), lazy(Y, [0, N]), ValueError, "y must have the partitions of X, 6 of them .*got 1 partitions"),
        (lazy(X), lazy(Y, [0, 0, 31, 31, 41, N, N]), ValueError, "in every partition, got (31 for 30|10 for 11)"),
        (lazy(X.iloc[:0]), lazy(Y.iloc[:0]), ValueError, "at least one row, got none in any partition"),
    ],
)
def test_collections_that_do_not(client, X_bad, y_bad, error, match):
    with pytest.raises(error, match=match):
        DaskTopKTreeClassifier(client=client).fit(X_bad, y_bad)


def test_weights_in_memory_are_refused(client):
    with pytest.raises(TypeError, match=r"sample_weight must be a Dask Series or Array.*got ndarray"):
        DaskTopKTreeClassifier(client=client).fit(lazy(X), lazy(Y), np.ones(N))


# Habits.


@pytest.fixture(scope="module")
def fitted(client):
    """Return the classifier fitted to the table, and the local one."""
    return (
        DaskTopKTreeClassifier(**PARAMETERS, client=client).fit(lazy(X), lazy(Y)),
        TopKTreeClassifier(**PARAMETERS).fit(X, Y),
    )


def result(client, array):
    """Compute a lazy Array on the cluster."""
    return array.compute(scheduler=client)


@pytest.mark.parametrize("bounds", [[0, N], BOUNDS, [*range(0, N, 7), N]], ids=str)
def test_predictions(client, fitted, bounds):
    ours, local = fitted
    table = X.assign(c=np.where(ROW % 2, "unseen", X.c), a=X.a.where(ROW % 5 > 0))
    classes, shares = ours.predict(lazy(table, bounds)), ours.predict_proba(lazy(table, bounds))
    assert (classes.dtype, shares.dtype) == (local.classes_.dtype, np.float64)
    np.testing.assert_array_equal(result(client, classes), local.predict(table))
    np.testing.assert_array_equal(result(client, shares), local.predict_proba(table))
    assert ours.score(lazy(X, bounds), lazy(Y, bounds)) == local.score(X, Y)
    weight = pd.Series(np.where(FIRST, 0.0, 0.1))
    parts = (lazy(data, bounds) for data in (X, Y, weight))
    assert ours.score(*parts) == pytest.approx(local.score(X, Y, weight))


def test_predictions_of_arrays(client):
    labels = np.where(Y == 1, "certainly", "no")
    local = TopKTreeClassifier(**PARAMETERS).fit(NUMBERS, labels)
    ours = DaskTopKTreeClassifier(**PARAMETERS, client=client).fit(lazy(NUMBERS), lazy(labels))
    array = da.from_array(NUMBERS, chunks=(17, 1))
    classes, shares = ours.predict(array), ours.predict_proba(array)
    assert (classes.chunks, shares.chunks) == ((array.chunks[0],), (array.chunks[0], (2,)))
    assert classes.dtype == labels.dtype
    np.testing.assert_array_equal(result(client, classes), local.predict(NUMBERS))
    np.testing.assert_array_equal(result(client, shares), local.predict_proba(NUMBERS))
    np.testing.assert_array_equal(result(client, ours.predict(unknown_chunks(NUMBERS))), local.predict(NUMBERS))


def test_predictions_of_delayed_frames(client, fitted):
    ours, local = fitted
    parts = [dask.delayed(X.iloc[start:end]) for start, end in itertools.pairwise([0, 50, N])]
    table = dd.from_delayed(parts, meta=X.iloc[:0], verify_meta=False)
    np.testing.assert_array_equal(result(client, ours.predict(table)), local.predict(X))


def fail(part):
    """Fail: this must not be computed."""
    raise AssertionError("computed")


def test_predictions_are_lazy(fitted):
    ours, _ = fitted
    table = lazy(X).map_partitions(fail, meta=X.iloc[:0])
    ours.predict(table)
    ours.predict_proba(table)


def test_predictions_of_two_trees_do_not_mix(client):
    deep, shallow = (
        DaskTopKTreeClassifier(max_depth=depth, client=client).fit(lazy(NUMBERS), lazy(Y)) for depth in (3, 0)
    )
    table = lazy(NUMBERS)
    both = dask.compute(deep.predict(table), shallow.predict(table), scheduler=client)
    assert len(np.unique(both[0])) == 2
    assert len(np.unique(both[1])) == 1


def test_predictions_of_other_features_are_refused_at_once(fitted):
    ours, _ = fitted
    with pytest.raises(ValueError, match="X must have 4 features, as in fit, got 2"):
        ours.predict(lazy(NUMBERS))
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*unseen at fit time:\n- z"):
        ours.predict(lazy(X.rename(columns={"a": "z"})))
    with pytest.raises(ValueError, match="same order"):
        ours.predict_proba(lazy(X[["b", "a", "c", "d"]]))
    with pytest.raises(TypeError, match="X must be a Dask DataFrame or Array, got DataFrame"):
        ours.predict(X)


def test_scores_of_other_rows_are_refused(fitted):
    ours, _ = fitted
    with pytest.raises(ValueError, match="at least one row"):
        ours.score(lazy(X.iloc[30:], [0, 0, 60]), lazy(Y, [0, 30, N]))


def test_nothing_before_fit():
    for call in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(DaskTopKTreeClassifier(), call)(lazy(X))
    with pytest.raises(NotFittedError):
        DaskTopKTreeClassifier().score(lazy(X), lazy(Y))


def test_copies(client, fitted, tmp_path):
    ours, local = fitted
    fresh = clone(ours)
    assert fresh.client is client
    assert not hasattr(fresh, "tree_")
    assert fresh.set_params(k=1).k != ours.k
    joblib.dump(ours, tmp_path / "model")
    for twin in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours), joblib.load(tmp_path / "model")):
        assert twin.client is None
        assert_same(twin, local)
    assert "DaskTopKTreeClassifier(" in repr(ours)


@pytest.mark.parametrize("gather_bytes", GATHERS)
def test_the_plain_classifier_can_be_saved_and_shown(client, tmp_path, gather_bytes):
    ours = DaskTopKTreeClassifier(**PARAMETERS, client=client, gather_bytes=gather_bytes).fit(lazy(X), lazy(Y))
    local = ours.to_local()
    local.save(tmp_path / "model.json")
    assert topktree.load(tmp_path / "model.json").export_text() == local.export_text()
    local.report(tmp_path / "report.html", X, Y)
    assert (tmp_path / "report.html").stat().st_size > 0


def test_refit(client):
    ours = DaskTopKTreeClassifier(**PARAMETERS, client=client).fit(lazy(X), lazy(Y))
    before = ours.to_local().export_text()
    with pytest.raises(ValueError, match="at least two classes"):
        ours.fit(lazy(NUMBERS), lazy(Y * 0))
    assert ours.to_local().export_text() == before
    assert ours.feature_names_in_.tolist() == list(X)
    ours.fit(lazy(NUMBERS), lazy(Y))
    assert ours.n_features_in_ == 2
    assert not hasattr(ours, "feature_names_in_")


# The core: exceptions, whatever it gets.


def make_shard(rng, n_columns=20, n_classes=3):
    """Return a shard of rows with weights."""
    rows = rng.integers(0, 2**n_columns, (200, 1)).astype(np.uint64)
    classes = rng.integers(0, n_classes, 200).astype(np.int32)
    weight = rng.integers(1, 1000, 200)
    options = {"n_columns": n_columns, "classes": classes, "n_classes": n_classes, "block_bytes": 0}
    return _core.make_shard(rows=rows, row_weight=weight, **options)


def count(shard, **changes):
    """Return the counts of a few paths."""
    question = {
        "n_columns": 20,
        "n_classes": 3,
        "depth": np.array([0, 1, 2, 1], dtype=np.int32),
        "column": np.array([0, 3, 5, 7], dtype=np.int32),
        "side": np.array([0, 1, 0, 1], dtype=np.uint8),
        "answers": np.arange(4),
        "n_answers": 4,
        "count_rows": False,
    }
    return _core.count_shard(shard=shard, **question | changes)


def test_damaged_shards_are_refused():
    rng = np.random.default_rng(0)
    shard = make_shard(rng)
    odd = np.array([0, 1, 16, 63, 64, 300, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1], dtype=np.uint64)
    n_refused = 0
    for _ in range(3000):
        damaged = shard[: rng.integers(1, len(shard) + 1)] if rng.random() < 0.3 else shard.copy()
        damaged = np.array(damaged)
        damaged[rng.integers(0, min(len(damaged), 30), rng.integers(0, 4))] = rng.choice(odd)
        try:
            count(damaged)
        except ValueError:
            n_refused += 1
    assert n_refused > 1000


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"depth": np.array([0, 2, 1, 1], dtype=np.int32)}, "preorder"),
        ({"depth": np.array([0, 1, -1, 1], dtype=np.int32)}, "preorder"),
        ({"column": np.array([0, 3, 20, 7], dtype=np.int32)}, "columns in"),
        ({"column": np.array([0, -3, 5, 7], dtype=np.int32)}, "columns in"),
        ({"side": np.ones(3, dtype=np.uint8)}, "one length"),
        ({"n_answers": 3}, "below n_answers"),
        ({"n_answers": 2**62}, "must be smaller"),
        ({"n_columns": 40}, "other columns"),
        ({"n_classes": 1}, "other classes"),
    ],
)
def test_questions_that_make_no_sense(changes, match):
    with pytest.raises(ValueError, match=match):
        count(make_shard(np.random.default_rng(0)), **changes)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"k": np.array([0])}, "k must be at least 1"),
        ({"k": np.array([1, 1])}, "of the same nodes"),
        ({"second_reading": np.array([4, 0, 0, 0], dtype=np.int32)}, "second_reading must lead to a later column"),
        ({"second_reading": np.array([1], dtype=np.int32)}, "second_reading must have an entry per column"),
        ({"counts": np.full((1, 2, 4), -(10**9))}, "counts must be in"),
        ({"counts": np.full((1, 2, 4), 6)}, "counts must be in"),
        ({"totals": np.array([[-5, 5]])}, "totals must not be negative"),
        ({"totals": np.array([[5, 2**62]])}, "nor be more than total_weight"),
        ({"totals": np.array([[5, 5, 5]])}, "of the same nodes"),
        ({"usable": np.ones((1, 3), dtype=np.uint8)}, "of the same nodes"),
        ({"total_weight": -1}, "total_weight must be in"),
        ({"min_weight": 0}, "min_weight must be at least 1"),
        ({"criterion": "user"}, "criterion must be"),
        ({"second_reading": np.zeros(3, dtype=np.int32)}, "an entry per column"),
        ({"second_reading": np.array([0, 0, 0, 1], dtype=np.int32)}, "lead to a later column"),
        ({"second_reading": np.array([0, -1, 0, 0], dtype=np.int32)}, "lead to a later column"),
    ],
)
def test_counts_that_make_no_sense(changes, match):
    nodes = {
        "counts": np.full((1, 2, 4), 2),
        "totals": np.array([[5, 5]]),
        "usable": None,
        "limit": np.array([100]),
        "k": np.array([2]),
        "every_column": False,
        "second_reading": None,
        "criterion": "entropy",
        "min_weight": 1,
        "total_weight": 10,
    }
    _core.rank_columns(**nodes)
    with pytest.raises(ValueError, match=match):
        _core.rank_columns(**nodes | changes)


def test_no_rows_are_packed_into_as_many_words():
    features, entries = np.empty((1, 0)), np.arange(70.0)
    zero = np.zeros(1, np.uint8)
    options = {"offsets": np.array([0, 70]), "feature": np.zeros(1, np.int64), "test": zero, "or_missing": zero}
    assert _core.pack_features(features=features, entries=entries, **options).shape == (0, 2)
