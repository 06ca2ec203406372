"""The binarizer: scikit-learn's contract, columns that are what their names say, and the columns of the paper."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.paths import DATASETS, REFERENCE
from support.problems import cancelling
from support.profiles import examples
from threadpoolctl import threadpool_limits

from topktree import Binarizer
from topktree._data.columns import (
    AT_MOST,
    EQUALS,
    IS_MISSING,
    find_redundant,
    hash_columns,
    make_columns,
    merge_hashes,
    pack,
    pack_binary,
    redundant_hashes,
)
from topktree._data.features import UNSEEN, Feature
from topktree._data.table import BOOLEAN, CATEGORY, NUMBER
from topktree._data.thresholds import quantile_thresholds

PEOPLE = pd.DataFrame(
    {
        "age": [31.0, 40.0, np.nan, 41.0, 58.0, 40.0],
        "colour": ["red", "blue", "red", None, "green", "blue"],
        "smoker": [True, False, False, True, True, False],
        "children": [0, 2, 1, 0, 3, 2],
    }
)
CLASSES = np.array([0, 1, 0, 1, 1, 1])


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """The threads of the ensemble behind guesses wait for each other, on a busy machine for long."""
    with threadpool_limits(1):
        yield


def names(binarizer, X, y=None, **options):
    return binarizer.fit(X, y, **options).get_feature_names_out().tolist()


def unpack(rows, n_columns):
    """The Boolean matrix of packed rows."""
    bits = np.unpackbits(np.ascontiguousarray(rows).view(np.uint8), axis=1, bitorder="little")
    assert not bits[:, n_columns:].any()
    return bits[:, :n_columns].astype(bool)


def random_table(n_rows=300, seed=0):
    """Numbers, categories and booleans, some of them missing, and classes that follow them with noise."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "u": rng.random(n_rows),
            "v": rng.normal(size=n_rows).round(1),
            "n": rng.integers(0, 9, n_rows),
            "c": rng.choice(["red", "green", "blue"], n_rows),
            "b": rng.random(n_rows) < 0.4,
        }
    )
    y = (table["u"] > 0.37).astype(int) + ((table["v"] > 0.5) & (table["c"] == "red"))
    table.loc[rng.random(n_rows) < 0.1, "u"] = np.nan
    table.loc[rng.random(n_rows) < 0.1, "c"] = None
    return table, np.where(rng.random(n_rows) < 0.1, rng.integers(3, size=n_rows), y)


# scikit-learn's contract.


@parametrize_with_checks(
    [
        Binarizer(),
        Binarizer(strategy="exact"),
        Binarizer(strategy="paper", max_columns=20),
        Binarizer(strategy="guess"),
    ],
    expected_failed_checks=lambda binarizer: (
        {"check_sample_weight_equivalence_on_dense_data": "weighted rows are not repeated rows to the boosted ensemble"}
        if binarizer.strategy == "guess"
        else {}
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_copies_transform_alike():
    binarizer = Binarizer(max_thresholds=3).fit(PEOPLE, CLASSES)
    for copy in (pickle.loads(pickle.dumps(binarizer)), clone(binarizer).fit(PEOPLE, CLASSES)):
        assert copy.get_feature_names_out().tolist() == binarizer.get_feature_names_out().tolist()
        np.testing.assert_array_equal(copy.transform(PEOPLE), binarizer.transform(PEOPLE))


def test_it_works_before_other_learners():
    X, y = random_table()
    assert make_pipeline(Binarizer(max_thresholds=5), LogisticRegression()).fit(X, y).score(X, y) > 0.7
    columns = make_column_transformer((Binarizer(), ["u", "c"]), remainder="drop").fit(X, y)
    assert columns.get_feature_names_out()[0].startswith("binarizer__u <= ")


@pytest.mark.parametrize("method", ["transform", "get_feature_names_out"])
def test_nothing_works_before_fit(method):
    with pytest.raises(NotFittedError):
        getattr(Binarizer(), method)(PEOPLE)


def test_a_second_fit_forgets_the_first():
    binarizer = Binarizer().fit(PEOPLE, CLASSES)
    assert names(binarizer, np.array([[1.0], [2.0]])) == ["x0 <= 1"]
    assert not hasattr(binarizer, "feature_names_in_")


@pytest.mark.parametrize(("output", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
@pytest.mark.parametrize("make", [lambda X: X, pl.from_pandas], ids=["pandas in", "polars in"])
def test_set_output(output, frame, make):
    X = make(PEOPLE)
    binarizer = Binarizer().set_output(transform=output).fit(X)
    result = binarizer.transform(X)
    assert isinstance(result, frame)
    assert list(result.columns) == binarizer.get_feature_names_out().tolist()
    np.testing.assert_array_equal(result.to_numpy(), binarizer.set_output(transform="default").transform(X))
    assert {str(dtype).lower() for dtype in result.dtypes} <= {"bool", "boolean"}


def test_the_index_of_a_frame_is_kept():
    X = PEOPLE.set_axis(list("uvwxyz"))
    assert Binarizer().set_output(transform="pandas").fit_transform(X).index.tolist() == list("uvwxyz")


# Names.


def test_names_say_what_columns_mean():
    assert names(Binarizer(drop_redundant=False), PEOPLE) == [
        "age <= 35",
        "age <= 40",
        "age <= 49",
        "age is missing",
        "colour = blue",
        "colour = green",
        "colour = red",
        "colour is missing",
        "smoker = True",
        "children <= 0",
        "children <= 1",
        "children <= 2",
    ]


def test_names_of_the_papers_columns():
    X = PEOPLE.assign(two=[1, 0, 1, 0, 1, 0])
    assert names(Binarizer(strategy="paper", max_columns=10), X) == [
        "age >= 40",
        "age >= 41",
        "age is missing",
        "colour = blue",
        "colour = green",
        "colour = red",
        "colour is missing",
        "smoker = True",
        "children >= 1",
        "children >= 2",
        "two = 1",
    ]


def test_names_take_those_of_the_features():
    binarizer = Binarizer().fit(np.array([[1, 0.5], [2, 0.25]]))
    assert binarizer.get_feature_names_out().tolist() == ["x0 <= 1"]
    assert binarizer.get_feature_names_out(["size", "weight"]).tolist() == ["size <= 1"]
    assert binarizer.get_feature_names_out(np.array(["size", "weight"])).dtype == object


def test_names_must_be_those_of_fit():
    binarizer = Binarizer().fit(PEOPLE)
    expected = binarizer.get_feature_names_out().tolist()
    assert binarizer.get_feature_names_out(PEOPLE.columns).tolist() == expected
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        binarizer.get_feature_names_out(["age", "color", "smoker", "children"])
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        binarizer.get_feature_names_out(["age", "colour", "smoker"])
    unnamed = Binarizer().fit(PEOPLE.to_numpy())
    with pytest.raises(ValueError, match=r"input_features should have length equal to number of features \(4\), got 3"):
        unnamed.get_feature_names_out(["age", "colour", "smoker"])


def test_numbers_and_strings_that_read_alike_have_different_names():
    X = np.array([[1], ["1"], ["b"], [2.5], ["2.5"]], dtype=object)
    assert names(Binarizer(drop_redundant=False), X) == ["x0 = 1", "x0 = 2.5", 'x0 = "1"', 'x0 = "2.5"', "x0 = b"]


def test_a_string_in_quotes_has_a_name_of_its_own():
    found = names(Binarizer(drop_redundant=False), np.array([[1], ["1"], ['"1"']], dtype=object))
    assert len(set(found)) == len(found) == 3


def test_features_and_categories_that_read_alike_have_different_names():
    X = pd.DataFrame({"a": ["b = c", "d"], "a = b": ["c", "e"]})
    found = names(Binarizer(drop_redundant=False), X)
    assert len(set(found)) == len(found) == 4


@given(st.lists(st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=2), min_size=1, max_size=8))
def test_names_of_categories_differ(values):
    X = np.empty((len(values), 1), dtype=object)
    X[:, 0] = values
    found = names(Binarizer(drop_redundant=False, categorical_features=[0]), X)
    assert len(set(found)) == len(found)


# Columns are what their names say.

PALETTE = ["red", "green", "", "is missing", "a = b", "<= 3", 7, 2.5]


@st.composite
def tables(draw, min_rows=1):
    """A frame of numbers with two decimals, whole numbers, booleans and categories, any of them missing."""
    n = draw(st.integers(min_rows, 12))

    def column(values):
        return draw(st.lists(values, min_size=n, max_size=n))

    hundredths = st.integers(-60, 60).map(lambda value: value / 100)
    return pd.DataFrame(
        {
            "real": pd.array(column(st.none() | hundredths), dtype="Float64"),
            "whole": pd.array(column(st.none() | st.integers(0, 5)), dtype="Int64"),
            "flag": pd.array(column(st.none() | st.booleans()), dtype="boolean"),
            "colour": pd.Categorical(column(st.none() | st.sampled_from(PALETTE)), categories=PALETTE),
        }
    )


def is_true_of(name, row):
    """Does the literal hold, read as a person reads it."""
    feature, rest = name.split(" ", 1)
    value = row[feature]
    missing = value is None or value is pd.NA or value != value
    if rest == "is missing":
        return missing
    test, text = rest.split(" ", 1)
    if missing:
        return False
    if test == "<=":
        return value <= float(text)
    if test == ">=":
        return value >= float(text)
    assert test == "="
    if text.startswith('"'):
        return value == json.loads(text)
    return str(value) == text if feature in ("flag", "colour") else value == float(text)


def matrix(columns, X):
    """The literals evaluated one by one."""
    rows = X.to_dict("records")
    return np.array([[is_true_of(name, row) for name in columns] for row in rows], dtype=bool).reshape(len(X), -1)


STRATEGIES = (
    st.builds(Binarizer, max_thresholds=st.none() | st.integers(1, 5), drop_redundant=st.booleans())
    | st.builds(Binarizer, strategy=st.just("exact"), drop_redundant=st.booleans())
    | st.builds(Binarizer, strategy=st.just("paper"), max_columns=st.none() | st.integers(1, 30))
)


@examples(1.5)
@given(tables(), tables(), STRATEGIES, st.booleans())
def test_columns_are_what_they_say(train, later, binarizer, with_y):
    columns = names(binarizer, train, np.arange(len(train)) % 3 if with_y else None)
    assert len(set(columns)) == len(columns)
    for X in (train, later):
        result = binarizer.transform(X)
        assert result.dtype == np.bool_
        assert result.shape == (len(X), len(columns))
        np.testing.assert_array_equal(result, matrix(columns, X))


@settings(examples(0.15), phases=[Phase.reuse, Phase.generate])
@given(tables(min_rows=2), tables(), st.none() | st.integers(1, 5))
def test_columns_of_guesses_are_what_they_say(train, later, max_columns):
    binarizer = Binarizer(strategy="guess", max_columns=max_columns)
    columns = names(binarizer, train, np.arange(len(train)) % 2)
    for X in (train, later):
        np.testing.assert_array_equal(binarizer.transform(X), matrix(columns, X))


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(1, 3)), elements=st.floats(width=64)),
    st.sampled_from(
        [Binarizer(max_thresholds=2, drop_redundant=False), Binarizer(strategy="exact"), Binarizer(strategy="paper")]
    ),
)
def test_columns_of_any_numbers_are_what_they_say(X, binarizer):
    binarizer.fit(X)
    columns = binarizer.columns_
    result = binarizer.transform(X)
    for j in range(len(columns)):
        literal = binarizer.get_feature_names_out()[j]
        values = X[:, columns.feature[j]]
        expected = {
            "<=": lambda values, t: values <= t,
            ">=": lambda values, t: values >= t,
            "is": lambda values, t: np.isnan(values),
        }[literal.split(" ")[1]](values, columns.value[j])
        np.testing.assert_array_equal(result[:, j], expected)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strategy": "exact"},
        {"strategy": "guess"},
        {"strategy": "paper"},
        {"strategy": "paper", "max_columns": 4},
    ],
)
@pytest.mark.parametrize("values", [[-np.inf, 1.0, 2.0, np.inf], [1.0, 2.0, np.inf], [-np.inf, 3.0, 4.0, 5.0, 6.0]])
def test_infinities_are_ordinary_numbers(values, options):
    X = np.array(values)[:, None]
    binarizer = Binarizer(**options).fit(X, np.arange(len(X)) % 2)
    assert np.isfinite(binarizer.columns_.value).all()
    result = binarizer.transform(X)
    assert len({row.tobytes() for row in result}) == len(X)


def test_missing_values_are_false_but_for_is_missing():
    binarizer = Binarizer(drop_redundant=False).fit(PEOPLE)
    columns = binarizer.get_feature_names_out()
    missing = PEOPLE.iloc[[0]].assign(age=np.nan, colour=None, smoker=None, children=None)
    assert columns[binarizer.transform(missing)[0]].tolist() == ["age is missing", "colour is missing"]
    for feature in PEOPLE.columns:
        row = PEOPLE.iloc[[0]].astype(object)
        row[feature] = None
        true = columns[binarizer.transform(row)[0]].tolist()
        assert [name for name in true if name.startswith(feature)] == [
            name for name in columns if name == f"{feature} is missing"
        ]


def test_unseen_categories_are_false():
    binarizer = Binarizer(drop_redundant=False).fit(PEOPLE[["colour"]])
    for colour in ("pink", "Red", "red ", "", 1, True, 0.5):
        assert not binarizer.transform(pd.DataFrame({"colour": [colour]}, dtype=object)).any()


@pytest.mark.parametrize("strategy", ["quantile", "exact", "guess", "paper"])
def test_missing_values_are_asked_for_where_training_had_them(strategy):
    X, y = random_table()
    binarizer = Binarizer(strategy=strategy, drop_redundant=False)
    missing = [name for name in names(binarizer, X, y) if name.endswith(" is missing")]
    assert missing == ["u is missing", "c is missing"]
    assert not any(name.endswith(" is missing") for name in names(binarizer, X.dropna(), y[X.notna().all(axis=1)]))


def test_categories_in_the_papers_order_are_sorted_as_text():
    X = np.array([[10, "b"], [9, "a"], [-1, "c"], [2.5, "a"]], dtype=object)
    binarizer = Binarizer(strategy="paper", categorical_features=[0, 1])
    assert names(binarizer, X) == ["x0 = -1", "x0 = 10", "x0 = 2.5", "x0 = 9", "x1 = a", "x1 = b", "x1 = c"]
    np.testing.assert_array_equal(
        binarizer.transform(X).astype(int),
        [[0, 1, 0, 0, 0, 1, 0], [0, 0, 0, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0, 1], [0, 0, 1, 0, 1, 0, 0]],
    )


def test_the_papers_two_valued_features_give_one_column():
    X = np.array([[0, 1, 2, 7, 1], [1, 1, 3, 8, np.nan], [0, 1, 2, 9, 1]], dtype=float)
    expected = ["x0 = 1", "x1 = 1", "x2 = 1", "x3 >= 8", "x4 = 1", "x4 is missing"]
    binarizer = Binarizer(strategy="paper", max_columns=5)
    assert names(binarizer, X) == expected
    np.testing.assert_array_equal(
        binarizer.transform(X).astype(int), [[0, 1, 0, 0, 1, 0], [1, 1, 0, 1, 0, 1], [0, 1, 0, 1, 1, 0]]
    )


def test_the_papers_number_of_buckets():
    X = np.arange(40.0).reshape(10, 4)  # ten distinct values per feature
    for max_columns, n_thresholds in ((1, 0), (3, 0), (4, 1), (7, 1), (8, 2), (100, 9)):
        assert len(names(Binarizer(strategy="paper", max_columns=max_columns), X)) == 4 * n_thresholds
    assert len(names(Binarizer(strategy="paper"), X)) == 40


# Weights.


@examples(0.5)
@given(tables(), st.integers(1, 3), st.booleans(), st.data())
def test_weights_are_repetitions(X, max_thresholds, with_y, data):
    times = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(X), max_size=len(X))))
    y = np.arange(len(X)) % 3
    repeated = X.loc[X.index.repeat(times)]
    binarizer = Binarizer(max_thresholds=max_thresholds)
    assert names(binarizer, X, y if with_y else None, sample_weight=times) == names(
        binarizer, repeated, np.repeat(y, times) if with_y else None
    )


@pytest.mark.parametrize("strategy", ["quantile", "exact", "guess"])
def test_rows_without_weight_are_as_good_as_absent(strategy):
    X, y = random_table(60)
    weights = np.where(np.arange(60) < 40, 1.0, 0.0)
    binarizer = Binarizer(max_thresholds=4, strategy=strategy)
    assert names(binarizer, X, y, sample_weight=weights) == names(binarizer, X[:40], y[:40], sample_weight=weights[:40])


def test_weights_are_checked():
    with pytest.raises(ValueError, match="sample_weight"):
        Binarizer().fit(PEOPLE, CLASSES, sample_weight=np.full(6, np.nan))
    with pytest.raises(ValueError, match="sample_weight"):
        Binarizer().fit(PEOPLE, CLASSES, sample_weight=np.ones(5))


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match="sample_weight"):
        Binarizer().fit(PEOPLE, CLASSES, sample_weight=[1, 1, -1, 1, 1, 1])


# Redundant columns.


def naively_kept(columns):
    """Which columns are neither constant nor equal or opposite to an earlier one."""
    kept = []
    for j in range(columns.shape[1]):
        column = columns[:, j]
        constant = column.all() or not column.any()
        seen = any((column == columns[:, i]).all() or (column != columns[:, i]).all() for i in kept)
        if not constant and not seen:
            kept.append(j)
    return kept


@examples(1.5)
@given(tables(), st.none() | st.integers(1, 5))
def test_redundant_columns_are_dropped_and_the_first_is_kept(X, max_thresholds):
    everything = Binarizer(max_thresholds=max_thresholds, drop_redundant=False).fit(X)
    columns = everything.transform(X)
    kept = naively_kept(columns)
    binarizer = Binarizer(max_thresholds=max_thresholds, drop_redundant=True).fit(X)
    assert binarizer.get_feature_names_out().tolist() == everything.get_feature_names_out()[kept].tolist()
    np.testing.assert_array_equal(binarizer.transform(X), columns[:, kept])


def test_redundant_columns_by_hand():
    X = pd.DataFrame(
        {
            "constant": [1, 1, 1, 1],
            "flag": [True, False, False, True],
            "same": [1, 0, 0, 1],  # flag = not (same <= 0.5)
            "sex": ["f", "m", "m", "f"],
            "gap": [None, 2.0, 2.0, None],  # is missing = flag
            "other": ["a", "b", "c", "c"],
        }
    )
    assert names(Binarizer(), X) == ["flag = True", "other = a", "other = b", "other = c"]
    assert len(names(Binarizer(drop_redundant=False), X)) == 8
    assert len(names(Binarizer(drop_redundant=False, strategy="exact"), X)) == 8


def test_redundant_columns_of_rows_in_parts():
    rng = np.random.default_rng(0)
    for _ in range(100):
        encoded = rng.integers(0, 3, (4, rng.integers(1, 12))).astype(np.float64)
        columns = make_columns([Feature(f"x{f}", NUMBER) for f in range(4)], lambda _: np.arange(3.0))
        cuts = np.sort(rng.integers(0, encoded.shape[1] + 1, 3))
        hashes = [hash_columns(np.ascontiguousarray(part), columns) for part in np.split(encoded, cuts, axis=1)]
        merged = merge_hashes([merge_hashes(hashes[:2]), *hashes[2:]])
        np.testing.assert_array_equal(redundant_hashes(merged), find_redundant(encoded, columns))


def test_redundant_columns_are_constant_or_repeated():
    rng = np.random.default_rng(1)
    for _ in range(100):
        encoded = rng.integers(0, rng.integers(2, 5), (4, rng.integers(1, 12))).astype(np.float64)
        columns = make_columns([Feature(f"x{f}", NUMBER) for f in range(4)], lambda _: np.arange(3.0))
        bits = (encoded[columns.feature] <= columns.value[:, None]).tolist()
        seen = {(True,) * encoded.shape[1], (False,) * encoded.shape[1]}
        for own, is_redundant in zip(bits, find_redundant(encoded, columns), strict=True):
            assert is_redundant == (tuple(own) in seen)
            seen |= {tuple(own), tuple(not bit for bit in own)}


@pytest.mark.parametrize("shape", [(0, 4), (3, 2)])
def test_hashes_have_four_words(shape):
    with pytest.raises(ValueError, match="hashes must have four words for each of at least 1 column"):
        redundant_hashes(np.zeros(shape, dtype=np.uint64))


def test_columns_cannot_be_made_to_look_redundant():
    """Two columns that differ in rows whose public fingerprints cancel."""
    encoded = np.zeros((2, 200))
    encoded[:, 150:] = 1
    encoded[0, cancelling(np.arange(140))] = 1
    columns = make_columns([Feature("a", NUMBER), Feature("b", NUMBER)], lambda _: np.array([0.5]))
    assert not find_redundant(encoded, columns).any()


def test_the_paper_keeps_redundant_columns():
    X = pd.DataFrame({"sex": ["f", "m", "m"], "constant": ["x", "x", "x"], "flag": [True, False, False]})
    expected = ["sex = f", "sex = m", "constant = x", "flag = True"]
    assert names(Binarizer(strategy="paper"), X) == expected
    assert names(Binarizer(strategy="paper", drop_redundant=False), X) == expected


def test_many_columns_of_many_rows_are_compared_exactly():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (70, 200)).astype(float)
    X[:, 100:] = X[:, rng.integers(0, 100, 100)]
    X[:, 150:] = 1 - X[:, 150:]
    X[0, 120] = 1 - X[0, 120]  # no longer a copy
    assert names(Binarizer(), X) == [f"x{j} <= 0" for j in [*range(100), 120]]


# Packed rows.


@st.composite
def encoded_features(draw):
    """Features and their numbers, (n_features, n_rows)."""
    n_rows = draw(st.integers(1, 20))
    features, rows = [], []
    for f in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from([NUMBER, BOOLEAN, CATEGORY]))
        n_categories = draw(st.integers(0, 70)) if kind == CATEGORY else 0
        values = {
            NUMBER: st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 3).map(float),
            BOOLEAN: st.sampled_from([0.0, 1.0]),
            CATEGORY: st.integers(-1, n_categories - 1).map(lambda code: UNSEEN if code < 0 else float(code)),
        }[kind]
        row = np.array(draw(st.lists(values | st.just(np.nan), min_size=n_rows, max_size=n_rows)))
        categories = tuple(f"c{i:02}" for i in range(n_categories))
        features.append(Feature(f"f{f}", kind, categories, bool(np.isnan(row).any())))
        rows.append(row)
    return features, np.array(rows)


def naive_pack(encoded, columns):
    """Column by column: where a row goes right."""
    result = []
    tests = zip(columns.feature, columns.test, columns.value, columns.or_missing, strict=True)
    for f, test, value, or_missing in tests:
        missing = np.isnan(encoded[f])
        holds = {AT_MOST: encoded[f] <= value, EQUALS: encoded[f] == value, IS_MISSING: missing}[int(test)]
        holds |= or_missing & missing
        result.append(~holds if test == AT_MOST else holds)
    return np.array(result, dtype=bool).reshape(len(columns), encoded.shape[1]).T


@given(encoded_features(), st.none() | st.integers(1, 3), st.booleans(), st.data())
def test_packed_rows_are_the_columns(table, max_thresholds, for_tree, data):
    features, encoded = table
    columns = make_columns(
        features, lambda f: quantile_thresholds(encoded[f], max_thresholds, None, None), for_tree=for_tree
    )
    expected = naive_pack(encoded, columns)
    packed = pack(encoded, columns)
    assert packed.shape == (encoded.shape[1], (len(columns) + 63) // 64)
    np.testing.assert_array_equal(unpack(packed, len(columns)), expected)
    np.testing.assert_array_equal(
        np.flatnonzero(~find_redundant(encoded, columns)), np.array(naively_kept(expected), dtype=int)
    )
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(columns), max_size=len(columns))), dtype=bool)
    np.testing.assert_array_equal(unpack(pack(encoded, columns.take(kept)), kept.sum()), expected[:, kept])


@given(encoded_features(), st.data())
def test_second_readings_are_the_same_tests_with_the_missing_values_on_the_other_side(table, data):
    features, encoded = table
    columns = make_columns(features, lambda f: quantile_thresholds(encoded[f], 3, None, None), for_tree=True)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(columns), max_size=len(columns))), dtype=bool)
    columns = columns.take(kept)
    bits, offsets = naive_pack(encoded, columns), columns.second_readings()
    if offsets is None:
        assert not columns.or_missing.any()
        return
    pairs = [(j, j + offset) for j, offset in enumerate(offsets.tolist()) if offset]
    assert len({column for pair in pairs for column in pair}) == 2 * len(pairs)
    for first, second in pairs:
        assert columns.feature[first] == columns.feature[second]
        np.testing.assert_array_equal(bits[:, first] != bits[:, second], np.isnan(encoded[columns.feature[first]]))
    paired = {second for _, second in pairs}
    for j in np.flatnonzero(columns.or_missing):
        same = (columns.feature == columns.feature[j]) & (columns.value == columns.value[j]) & ~columns.or_missing
        assert (j in paired) == same.any()


@pytest.mark.parametrize("n_values", [2, 64, 65, 130, 200])
def test_many_thresholds_of_several_features(n_values):
    rng = np.random.default_rng(n_values)
    encoded = rng.permuted(np.tile(np.arange(float(n_values)), (3, 1)), axis=1)
    encoded[1] = np.floor(encoded[1] / 2)  # offsets that are not whole words
    encoded[2, 1] = np.nan
    features = [Feature("a", NUMBER), Feature("b", NUMBER), Feature("c", NUMBER, (), True)]
    columns = make_columns(features, lambda f: quantile_thresholds(encoded[f], None, None, None))
    assert (np.diff(columns.feature) >= 0).all()
    assert len(columns) == 2 * (n_values - 1) + (n_values + 1) // 2 - 1
    np.testing.assert_array_equal(unpack(pack(encoded, columns), len(columns)), naive_pack(encoded, columns))


def test_more_rows_than_a_block():
    encoded = np.random.default_rng(0).integers(0, 50, (2, 10_001)).astype(float)
    features = [Feature("a", NUMBER), Feature("b", CATEGORY, tuple(range(50)))]
    columns = make_columns(features, lambda f: quantile_thresholds(encoded[f], None, None, None))
    np.testing.assert_array_equal(unpack(pack(encoded, columns), len(columns)), naive_pack(encoded, columns))


def test_no_columns_pack_to_nothing():
    columns = make_columns([Feature("a", NUMBER)], lambda f: np.empty(0))
    assert pack(np.full((1, 4), 7.0), columns).shape == (4, 0)
    assert find_redundant(np.full((1, 4), 7.0), columns).shape == (0,)


# Tables of zeros and ones.


def features_of(X):
    return [Feature(f"x{i}", BOOLEAN if X.dtype == bool else NUMBER) for i in range(X.shape[1])]


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
    converted = convert(X)
    rows, columns = pack_binary(converted, features_of(converted))
    np.testing.assert_array_equal(columns.feature, np.arange(n_columns))
    assert (columns.test == AT_MOST).all()
    assert (columns.value == 0).all()
    np.testing.assert_array_equal(rows if rows.dtype == np.uint8 else unpack(rows, n_columns), X)


def test_bytes_are_not_copied():
    X = np.random.default_rng(0).random((150, 70)) < 0.3
    for converted in (X, X.astype(np.uint8), X.astype(np.int8)):
        rows, _ = pack_binary(converted, features_of(converted))
        assert np.shares_memory(rows, converted)


def test_booleans_beside_numbers_stay_columns():
    encoded = np.array([[0.0, 1.0], [1.0, -0.0], [1.0, 1.0]])
    rows, columns = pack_binary(encoded, [Feature("a", BOOLEAN), Feature("b", NUMBER)])
    assert columns.test.tolist() == [AT_MOST, AT_MOST]
    assert columns.value.tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(unpack(rows, 2), encoded > 0.5)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (np.int8, 2),
        (np.int8, -1),
        (np.int8, -128),
        (np.uint8, 2),
        (np.uint8, 255),
        (np.int64, 2),
        (np.int64, 256),  # 256, 257 and 0.5 are 0 and 1 if they are squeezed into a byte
        (np.int64, -255),
        (np.float32, 0.5),
        (np.float64, 257),
        (np.float64, 1.5),
        (np.float64, np.nan),
        (np.float64, np.inf),
    ],
)
@pytest.mark.parametrize("row", [0, 1, 77, 149])
def test_one_other_value_and_a_table_is_not_binary(dtype, value, row):
    X = (np.random.default_rng(0).random((150, 3)) < 0.5).astype(dtype)
    assert pack_binary(X, features_of(X)) is not None
    X[row, 1] = value
    assert pack_binary(X, features_of(X)) is None


@pytest.mark.parametrize("feature", [Feature("a", CATEGORY, (0, 1)), Feature("a", NUMBER, (), has_missing=True)])
def test_categories_and_missing_values_are_not_binary(feature):
    assert pack_binary(np.array([[0.0], [1.0]]), [feature]) is None


# Guesses.


def thresholds(binarizer):
    """Feature and value of the thresholds."""
    columns = binarizer.columns_
    return set(zip(columns.feature[columns.test == AT_MOST], columns.value[columns.test == AT_MOST], strict=True))


def test_guesses_are_some_of_all_thresholds():
    X, y = random_table()
    guessed = thresholds(Binarizer(max_thresholds=None, strategy="guess", drop_redundant=False).fit(X, y))
    every = thresholds(Binarizer(strategy="exact", drop_redundant=False).fit(X, y))
    assert guessed < every
    assert len(guessed) > 10


def test_guesses_respect_the_limits():
    X, y = random_table()
    ranked = [
        thresholds(Binarizer(max_thresholds=None, strategy="guess", max_columns=n).fit(X, y)) for n in (1, 2, 5, 12)
    ]
    assert [len(found) for found in ranked] == [1, 2, 5, 12]
    assert ranked[0] < ranked[1] < ranked[2] < ranked[3]
    per_feature = [
        np.bincount(
            [feature for feature, _ in thresholds(Binarizer(max_thresholds=n, strategy="guess").fit(X, y))], minlength=3
        )
        for n in (None, 1, 2, 5)
    ]
    assert per_feature[0].max() > 5
    for n, found in zip((1, 2, 5), per_feature[1:], strict=True):
        np.testing.assert_array_equal(found, np.minimum(per_feature[0], n))
    both = thresholds(Binarizer(max_thresholds=2, strategy="guess", max_columns=3).fit(X, y))
    assert len(both) == 3
    assert both < thresholds(Binarizer(max_thresholds=2, strategy="guess").fit(X, y))


def test_the_first_guess_is_where_the_classes_change():
    X = np.random.default_rng(0).permutation(np.arange(400.0)).reshape(200, 2)
    y = X[:, 1] > 113
    binarizer = Binarizer(strategy="guess", max_columns=1)
    (found,) = names(binarizer, X, y)
    assert found.startswith("x1 <= ")
    np.testing.assert_array_equal(binarizer.transform(X)[:, 0], ~y)


def test_guesses_are_deterministic():
    X, y = random_table()
    fits = [names(Binarizer(strategy="guess", max_columns=20), X, y) for _ in range(2)]
    labels = np.array(["no", "maybe", "yes"])
    fits.append(names(Binarizer(strategy="guess", max_columns=20), X, np.sort(labels)[y]))
    fits.append(names(Binarizer(strategy="guess", max_columns=20), pl.from_pandas(X), y))
    assert fits[0] == fits[1] == fits[2] == fits[3]


def test_categories_are_not_guessed():
    X, y = random_table()
    found = names(Binarizer(strategy="guess", max_columns=3), X, y)
    assert {"c = blue", "c = green", "c = red", "c is missing", "b = True", "u is missing"} <= set(found)
    assert len(found) == 3 + 6


@pytest.mark.parametrize("n_categories", [2, 254, 255, 256, 300])
def test_guesses_with_any_number_of_categories(n_categories):
    X = pd.DataFrame({"c": [f"c{i % n_categories:03}" for i in range(600)], "n": np.arange(600) // 3})
    found = names(Binarizer(strategy="guess", drop_redundant=False, max_columns=2), X, X["n"] > 83)
    assert found[:n_categories] == [f"c = c{i:03}" for i in range(n_categories)]
    assert "n <= 83" in found


@pytest.mark.parametrize(
    "X", [[[1.0], [1.0], [1.0]], [[None], [None], [None]], [["a"], ["b"], [None]], [[1], [None], [2]]]
)
@pytest.mark.parametrize("y", [[0, 1, 0], ["a", "a", "a"]])
def test_guesses_on_next_to_nothing(X, y):
    binarizer = Binarizer(strategy="guess").fit(X, y)
    assert binarizer.transform(X).shape == (3, len(binarizer.get_feature_names_out()))


def test_guesses_pass_over_numbers_that_are_all_missing():
    X = pd.DataFrame({"none": [np.nan] * 4, "n": [1.0, 2.0, 3.0, 4.0]})
    assert names(Binarizer(strategy="guess"), X, [0, 0, 1, 1]) == ["n <= 2"]


# What is refused.


@pytest.mark.parametrize("strategy", ["quantile", "guess"])
def test_y_has_one_label_per_row(strategy):
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[6, 5\]"):
        Binarizer(strategy=strategy).fit(PEOPLE, CLASSES[:5])
    with pytest.raises(ValueError, match="y should be a 1d array"):
        Binarizer(strategy=strategy).fit(PEOPLE, np.c_[CLASSES, CLASSES])


@pytest.mark.parametrize(
    "y", [[0, 1, None, 1, 0, 1], [0.0, 1.0, np.nan, 1.0, 0.0, 1.0], ["a", None, "b", "a", "b", "a"]]
)
@pytest.mark.parametrize("strategy", ["quantile", "guess"])
def test_labels_must_not_be_missing(strategy, y):
    with pytest.raises(ValueError, match=r"y contains NaN|y must have"):
        Binarizer(strategy=strategy).fit(PEOPLE, y)


def test_guesses_need_y():
    with pytest.raises(ValueError, match=r'strategy="guess" requires y to be passed, but the target y is None'):
        Binarizer(strategy="guess").fit(PEOPLE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_thresholds": 0}, "max_thresholds must be an int >= 1 or None, got 0"),
        ({"max_thresholds": -3}, "max_thresholds must be an int >= 1 or None, got -3"),
        ({"max_thresholds": 2.5}, "max_thresholds must be an int >= 1 or None, got 2.5"),
        ({"max_thresholds": True}, "max_thresholds must be an int >= 1 or None, got True"),
        ({"max_thresholds": "32"}, "max_thresholds must be an int >= 1 or None, got '32'"),
        ({"strategy": "median"}, "strategy must be one of 'quantile', 'exact', 'guess', 'paper', got 'median'"),
        ({"strategy": None}, "strategy must be one of 'quantile', 'exact', 'guess', 'paper', got None"),
        ({"strategy": ["exact"]}, "strategy must be one of 'quantile', 'exact', 'guess', 'paper', got ['exact']"),
        ({"strategy": "paper", "max_columns": 0}, "max_columns must be an int >= 1 or None, got 0"),
        ({"strategy": "guess", "max_columns": 1.5}, "max_columns must be an int >= 1 or None, got 1.5"),
        ({"strategy": "paper", "max_columns": "all"}, "max_columns must be an int >= 1 or None, got 'all'"),
        ({"max_columns": 100}, 'max_columns must be None with strategy="quantile", got 100'),
        ({"strategy": "exact", "max_columns": 7}, 'max_columns must be None with strategy="exact", got 7'),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        Binarizer(**options).fit(PEOPLE, CLASSES)
    assert str(caught.value) == message


@pytest.mark.parametrize("drop_redundant", ["no", None, 2])
def test_drop_redundant_is_a_bool(drop_redundant):
    with pytest.raises(ValueError, match=rf"drop_redundant must be .*, got {drop_redundant!r}"):
        Binarizer(drop_redundant=drop_redundant).fit(PEOPLE, CLASSES)


def test_parameters_may_be_of_numpy():
    plain = names(Binarizer(max_thresholds=3, strategy="guess", max_columns=4), PEOPLE, CLASSES)
    options = {"strategy": np.str_("guess"), "max_columns": np.uint8(4), "drop_redundant": np.True_}
    assert names(Binarizer(max_thresholds=np.int64(3), **options), PEOPLE, CLASSES) == plain


def test_X_is_not_written_to():
    X = np.random.default_rng(0).random((50, 4))
    X[3, 2] = np.nan
    X.flags.writeable = False
    y = np.arange(50) % 2
    before = X.copy()
    for strategy in ("quantile", "exact", "guess", "paper"):
        Binarizer(max_thresholds=5, strategy=strategy).fit(X, y, sample_weight=np.ones(50)).transform(X)
    np.testing.assert_array_equal(X, before)


# The paper's datasets.

CATEGORICAL = {
    "connect-4": 126,
    "nursery": 27,
    "letter-recognition": 256,
    "car": 21,
    "kr-vs-kp": 73,
    "hiv-1-protease": 160,
    "molecular-biology-splice": 287,
    "monks-1": 17,
    "hayes-roth": 15,
    "tic-tac-toe": 27,
}
NUMERICAL = {
    "artificial-characters": 91,
    "telescope": 100,
    "spambase": 57,
    "dry-bean": 96,
    "occupancy-estimation": 86,
    "sensorless-drive-diagnosis": 96,
    "ml-prove": 51,
    "avila": 100,
    "taiwanese-bankruptcy": 95,
    "credit-card": 88,
    "electrical-grid-stability": 91,
}
IN_TWO_FILES = ("ml-prove", "avila")


def read_dataset(name, **options):
    """Attributes and classes as published; train and test together where they come apart."""
    files = [f"{name}-train", f"{name}-test"] if name in IN_TWO_FILES else [name]
    paths = [DATASETS / f"{file}.csv.gz" for file in files]
    if not all(path.is_file() for path in paths):
        pytest.skip(f"no {name} in {DATASETS} (set $TOPKTREE_DATA)")
    table = pd.concat([pd.read_csv(path, **options) for path in paths], ignore_index=True)
    return table.iloc[:, :-1], table.iloc[:, -1]


def papers_columns(name):
    """The fitted binarizer and the table."""
    if name in CATEGORICAL:
        X, _ = read_dataset(name, dtype=str, keep_default_na=False)
        return Binarizer(strategy="paper").fit(X), X
    X, _ = read_dataset(name)
    return Binarizer(strategy="paper", max_columns=100).fit(X), X


@pytest.mark.parametrize(("name", "n_columns"), [*CATEGORICAL.items(), *NUMERICAL.items()])
def test_the_papers_number_of_columns(name, n_columns):
    binarizer, _ = papers_columns(name)
    assert len(binarizer.get_feature_names_out()) == n_columns


def test_the_papers_number_of_columns_of_fico():
    X, _ = read_dataset("fico-1000")
    binarizer = Binarizer(strategy="paper").fit(X)
    columns = binarizer.transform(X)
    assert columns.shape == (1000, 1407)
    assert np.count_nonzero(columns.all(axis=0)) == 23


@pytest.mark.parametrize(
    "name", ["car", "hayes-roth", "monks-1", "nursery", "tic-tac-toe", "kr-vs-kp", "spambase", "dry-bean", "ml-prove"]
)
def test_the_papers_columns(name):
    path = REFERENCE / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"no {path.name} in {REFERENCE} (set $TOPKTREE_REFERENCE)")
    with np.load(path) as arrays:
        expected = [arrays["X"], arrays["X_test"]] if "X_test" in arrays else [arrays["X"]]
    binarizer, X = papers_columns(name)
    order = np.arange(len(X))
    if name not in IN_TWO_FILES:
        np.random.RandomState(4).shuffle(order)  # the authors' own
    np.testing.assert_array_equal(binarizer.transform(X)[order], np.concatenate(expected).astype(bool))


@pytest.mark.parametrize("change", [{"sample_weight": [-1, 1, 1]}, {"y": [0, 1]}], ids=str)
def test_a_failed_fit_leaves_an_earlier_one_as_it_was(change):
    binarizer = Binarizer().fit(pd.DataFrame({"a": [1, 2, 3], "b": [1, 1, 2]}))
    before = dict(vars(binarizer))
    with pytest.raises(ValueError, match=r"must|inconsistent"):
        binarizer.fit([[1], [2], [3]], **change)
    assert vars(binarizer) == before
