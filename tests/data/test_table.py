"""Tables of every kind as numbers: what features are learned, how later data is encoded, and what is refused."""

import datetime as dt
import decimal
import fractions
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from support.profiles import examples

from topktree import Binarizer, TopKTreeClassifier
from topktree._data import labels
from topktree._data.encoding import canonical, is_missing
from topktree._data.features import UNSEEN, encode, learn_features
from topktree._data.table import read_table
from topktree._runtime.limits import Cancelled

some = examples(0.6)

NAN = float("nan")
BIG = 2**53  # from here on not every integer is a float64


class Reader(BaseEstimator):
    """Nothing but what reading a table needs."""

    def __init__(self, categorical_features="from_dtype"):
        self.categorical_features = categorical_features

    def fit(self, X, y=None):
        table = read_table(self, X, reset=True)
        self.features_ = learn_features(table, self.categorical_features, getattr(self, "feature_names_in_", None))
        return self

    def transform(self, X):
        return encode(read_table(self, X, reset=False), self.features_)


def frame(values, **options):
    """A pandas frame of one column."""
    return pd.DataFrame({"a": pd.Series(values, **options)})


def polars(values, **options):
    return pl.DataFrame({"a": pl.Series(values, **options, strict=False)})


def arrow(values, **options):
    return pa.table({"a": pa.array(values, **options)})


def objects(*values):
    """A NumPy array of one column of objects."""
    column = np.empty((len(values), 1), dtype=object)
    column[:, 0] = values
    return column


def read(X, **options):
    """Kind, categories and whether values are missing of the one column of X; and the column as numbers."""
    reader = Reader(**options).fit(X)
    (feature,) = reader.features_
    numbers = np.asarray(reader.transform(X), dtype=np.float64)
    assert numbers.shape == (len(numbers), 1)
    return feature.kind, feature.categories, feature.has_missing, numbers[:, 0]


def assert_reads(X, kind, categories, numbers, **options):
    found_kind, found_categories, has_missing, found = read(X, **options)
    assert (found_kind, found_categories) == (kind, categories)
    assert [type(category) for category in found_categories] == [type(category) for category in categories]
    assert has_missing == bool(np.isnan(numbers).any())
    np.testing.assert_array_equal(found, numbers)


# Numbers and booleans.


@pytest.mark.parametrize(
    "X",
    [
        frame([1, 2, 4]),
        frame([1, 2, 4], dtype="uint8"),
        frame([1, 2, 4], dtype="float16"),
        frame([1, 2, 4], dtype="float32"),
        frame([1, 2, 4], dtype="Int64"),
        frame([1, 2, 4], dtype="UInt8"),
        frame([1, 2, 4], dtype="Float64"),
        frame([1, 2, 4], dtype="int64[pyarrow]"),
        frame([1, 2, 4], dtype="double[pyarrow]"),
        frame([1, 2.0, np.float32(4)], dtype=object),
        frame(pd.arrays.SparseArray([1, 2, 4])),
        polars([1, 2, 4]),
        polars([1, 2, 4], dtype=pl.UInt8),
        polars([1, 2, 4], dtype=pl.Float32),
        polars([1, 2, 4], dtype=pl.Decimal(10, 2)),
        polars([1, 2.0, 4], dtype=pl.Object),
        arrow([1, 2, 4]),
        arrow([1, 2, 4], type=pa.float32()),
        arrow([decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal(4)]),
        np.array([[1], [2], [4]]),
        np.array([[1], [2], [4]], dtype=np.int8),
        np.array([[1], [2], [4]], dtype=np.uint64),
        np.array([[1], [2], [4]], dtype=np.float16),
        np.array([[1], [2], [4]], dtype=np.float32),
        np.array([[1], [2], [4]], dtype=np.longdouble),
        np.array([[1], [2], [4]], dtype=">f8"),
        objects(1, 2.0, np.int16(4)),
        objects(decimal.Decimal(1), fractions.Fraction(2), 4),
        objects(1, True, 4) + objects(0, 1, 0),
        [[1], [2], [4]],
        ((1,), (2.0,), (4,)),
        [np.array([1]), np.array([2]), np.array([4])],
    ],
)
def test_numbers(X):
    assert_reads(X, "number", (), [1, 2, 4])


@pytest.mark.parametrize(
    "X",
    [
        frame([1.5, None, 4]),
        frame([1.5, np.nan, 4], dtype="float32"),
        frame([1.5, None, 4], dtype="Float64"),
        frame([1.5, None, 4], dtype="double[pyarrow]"),
        frame([1.5, None, 4], dtype=object),
        frame([1.5, pd.NA, 4], dtype=object),
        frame([1.5, pd.NaT, 4], dtype=object),
        frame([1.5, np.nan, 4], dtype=object),
        frame([decimal.Decimal("1.5"), decimal.Decimal("NaN"), 4], dtype=object),
        polars([1.5, None, 4]),
        polars([1.5, NAN, 4]),
        polars([decimal.Decimal("1.5"), None, decimal.Decimal(4)]),
        polars([1.5, None, 4], dtype=pl.Object),
        arrow([1.5, None, 4]),
        arrow([1.5, NAN, 4]),
        arrow([decimal.Decimal("1.5"), None, decimal.Decimal("4.0")]),
        np.array([[1.5], [np.nan], [4]]),
        np.array([[1.5], [np.nan], [4]], dtype=np.float16),
        objects(1.5, None, 4),
        objects(1.5, np.float32("nan"), 4),
        [[1.5], [None], [4]],
        [[1.5], [NAN], [4]],
    ],
)
def test_numbers_with_missing_values(X):
    assert_reads(X, "number", (), [1.5, np.nan, 4])


@pytest.mark.parametrize(
    "X",
    [
        frame([1, None, 4], dtype="Int64"),
        frame([1, None, 4], dtype="UInt8"),
        frame([1, None, 4], dtype="int64[pyarrow]"),
        polars([1, None, 4]),
        polars([1, None, 4], dtype=pl.Int8),
        arrow([1, None, 4]),
        objects(1, None, 4),
        [[1], [None], [4]],
    ],
)
def test_integers_with_missing_values(X):
    assert_reads(X, "number", (), [1, np.nan, 4])


@pytest.mark.parametrize(
    "X",
    [
        frame([True, False]),
        frame([True, False], dtype="boolean"),
        frame([True, False], dtype="bool[pyarrow]"),
        frame([True, np.False_], dtype=object),
        polars([True, False]),
        polars([True, False], dtype=pl.Object),
        arrow([True, False]),
        np.array([[True], [False]]),
        objects(True, False),
        [[True], [False]],
    ],
)
def test_booleans(X):
    assert_reads(X, "boolean", (), [1, 0])


@pytest.mark.parametrize(
    "X",
    [
        frame([True, None, False], dtype="boolean"),
        frame([True, None, False], dtype="bool[pyarrow]"),
        frame([True, None, False], dtype=object),
        frame([True, np.nan, False], dtype=object),
        frame([True, pd.NA, False], dtype=object),
        polars([True, None, False]),
        arrow([True, None, False]),
        objects(True, None, False),
        objects(True, NAN, False),
        [[True], [None], [False]],
    ],
)
def test_booleans_with_missing_values(X):
    assert_reads(X, "boolean", (), [1, np.nan, 0])


def test_integers_of_128_bits_are_numbers():
    assert_reads(polars([1, 2, 4], dtype=pl.Int128), "number", (), [1, 2, 4])


@pytest.mark.parametrize(
    ("X", "kind"),
    [
        (frame([None, None], dtype="float64"), "number"),
        (frame([None, None], dtype="Int64"), "number"),
        (np.full((2, 1), np.nan), "number"),
        (polars([None, None], dtype=pl.Float64), "number"),
        (arrow([None, None], type=pa.int64()), "number"),
        (frame([None, None], dtype=object), "category"),
        (frame([None, None], dtype="string"), "category"),
        (frame([None, None], dtype="category"), "category"),
        (polars([None, None], dtype=pl.String), "category"),
        (objects(None, None), "category"),
        (objects(None, NAN), "category"),
    ],
)
def test_a_column_without_values_is_missing(X, kind):
    assert_reads(X, kind, (), [np.nan, np.nan])


@pytest.mark.parametrize(
    "X",
    [
        polars([None, None]),
        arrow([None, None]),
        polars([None, None], dtype=pl.Boolean),
        frame([None, None], dtype="boolean"),
    ],
)
def test_a_column_without_values_is_missing_whatever_its_kind(X):
    _, categories, has_missing, numbers = read(X)
    assert (categories, has_missing) == ((), True)
    assert np.isnan(numbers).all()


@pytest.mark.parametrize("later", [frame(["x", None]), frame([1.5, None]), polars([True, None]), objects("x", None)])
def test_values_of_a_column_that_had_none_are_unseen_categories(later):
    reader = Reader().fit(frame([None, None], dtype=object))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the array has no names
        np.testing.assert_array_equal(reader.transform(later)[:, 0], [UNSEEN, np.nan])


# Categories.


@pytest.mark.parametrize(
    "X",
    [
        frame(["x", None, "y", "x"]),
        frame(["x", None, "y", "x"], dtype=object),
        frame(["x", NAN, "y", "x"], dtype=object),
        frame(["x", pd.NA, "y", "x"], dtype=object),
        frame(["x", pd.NaT, "y", "x"], dtype=object),
        frame(["x", None, "y", "x"], dtype="string"),
        frame(["x", None, "y", "x"], dtype="string[pyarrow]"),
        frame(["x", None, "y", "x"], dtype="category"),
        frame(["x", None, "y", "x"], dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
        polars(["x", None, "y", "x"]),
        polars(["x", None, "y", "x"], dtype=pl.Categorical),
        polars(["x", None, "y", "x"], dtype=pl.Object),
        arrow(["x", None, "y", "x"]),
        arrow(["x", None, "y", "x"], type=pa.large_string()),
        objects("x", None, "y", "x"),
        objects("x", NAN, "y", "x"),
        objects(np.str_("x"), None, "y", b"x"),
        np.array([["x"], [np.nan], ["y"], ["x"]], dtype=np.dtypes.StringDType(na_object=np.nan)),
        [["x"], [None], ["y"], ["x"]],
        (("x",), (NAN,), ("y",), ("x",)),
    ],
)
def test_strings_are_categories(X):
    assert_reads(X, "category", ("x", "y"), [0, np.nan, 1, 0])
    assert not Reader().fit(X).features_[0].ordered


@pytest.mark.parametrize(
    "X",
    [
        frame(pd.Categorical(["x", None, "y", "x"], categories=["y", "z", "x"], ordered=True)),
        polars(["x", None, "y", "x"], dtype=pl.Enum(["y", "z", "x"])),
    ],
)
def test_ordered_categories_keep_their_order(X):
    assert_reads(X, "category", ("y", "z", "x"), [2, np.nan, 0, 2])
    assert Reader().fit(X).features_[0].ordered
    assert Binarizer().fit(X).get_feature_names_out().tolist() == ['a <= "z"', "a is missing"]


@pytest.mark.parametrize("values", [["x", None, "y", "x"], ["y", None, None, "x"], [None, "x"]])
@pytest.mark.parametrize("n_chunks", [1, 2])
def test_missing_values_of_an_arrow_dictionary_are_missing(values, n_chunks):
    chunk = pa.array(values).dictionary_encode()
    expected = [np.nan if value is None else float(sorted({"x", "y"} & set(values)).index(value)) for value in values]
    categories = tuple(sorted({"x", "y"} & set(values)))
    assert_reads(pa.table({"a": pa.chunked_array([chunk] * n_chunks)}), "category", categories, expected * n_chunks)


def test_an_arrow_dictionary_is_a_category():
    assert_reads(arrow(["y", "x"], type=pa.dictionary(pa.int8(), pa.string())), "category", ("x", "y"), [1, 0])


@pytest.mark.parametrize("X", [np.array([["x"], ["1"]]), np.array([["x"], ["1"]], dtype=object), [["x"], ["1"]]])
def test_text_stays_text(X):
    assert_reads(X, "category", ("1", "x"), [1, 0])


def test_bytes_are_text():
    assert_reads(np.array([[b"y"], [b"x"]]), "category", ("x", "y"), [1, 0])
    assert_reads(polars([b"y", b"x"]), "category", ("x", "y"), [1, 0])
    assert canonical(b"\xff") == "\\xff"


def test_numbers_stand_beside_strings_in_lists():
    X = [["red", 1, True], ["blue", 2.5, False], ["red", None, None]]
    for rows in (X, tuple(map(tuple, X)), np.array(X, dtype=object)):
        reader = Reader().fit(rows)
        assert [feature.kind for feature in reader.features_] == ["category", "number", "boolean"]
        expected = [[1, 1, 1], [0, 2.5, 0], [1, np.nan, np.nan]]
        np.testing.assert_array_equal(reader.transform(rows), expected)
    reader = Reader().fit([["red", 1], ["blue", 2]])
    np.testing.assert_array_equal(reader.transform([["green", 7], ["red", 0.5]]), [[UNSEEN, 7], [1, 0.5]])


@pytest.mark.parametrize(
    "X",
    [
        frame([3, None, 1, 3], dtype="category"),
        frame(pd.Categorical([3.0, None, 1.0, 3.0], categories=[1.0, 2.0, 3.0])),
    ],
)
def test_categories_may_be_numbers(X):
    assert_reads(X, "category", (1, 3), [1, np.nan, 0, 1])


def test_categories_may_be_fractions_and_booleans():
    assert_reads(frame([2.5, 1.0], dtype="category"), "category", (1, 2.5), [1, 0])
    assert_reads(frame([True, False], dtype="category"), "category", (False, True), [1, 0])


def test_categories_may_be_intervals():
    X = frame(pd.Categorical.from_codes([1, 0, 1], pd.IntervalIndex.from_breaks([0, 5, 10])))
    assert_reads(X, "category", ("(0, 5]", "(5, 10]"), [1, 0, 1])
    X = frame(pd.Categorical.from_codes([1, -1, 0], pd.IntervalIndex.from_breaks([0.5, 5.5, 10])))
    assert_reads(X, "category", ("(0.5, 5.5]", "(5.5, 10.0]"), [1, np.nan, 0])


@pytest.mark.parametrize("categories", [pd.IntervalIndex.from_breaks([0, 5, 10]), pd.Index([3, 7]), pd.Index([0.5, 7])])
def test_categories_are_the_same_with_and_without_missing_values(categories):
    complete = frame(pd.Categorical.from_codes([0, 1, 0], categories))
    with_missing = frame(pd.Categorical.from_codes([0, 1, -1], categories))
    for train in (complete, with_missing):
        reader = Reader().fit(train)
        np.testing.assert_array_equal(reader.transform(complete)[:, 0], [0, 1, 0])
        np.testing.assert_array_equal(reader.transform(with_missing)[:, 0], [0, 1, np.nan])


def test_categories_may_be_tuples():
    assert_reads(objects((1, 2), "x", (1, 2)), "category", ("(1, 2)", "x"), [0, 1, 0])


def test_only_categories_that_occur_are_learned():
    X = frame(pd.Categorical(["x", "y"], categories=["w", "x", "y", "z"]))
    assert_reads(X, "category", ("x", "y"), [0, 1])
    reader = Reader().fit(X)
    later = frame(pd.Categorical(["z", "y", None], categories=["z", "y"]))
    np.testing.assert_array_equal(reader.transform(later)[:, 0], [UNSEEN, 1, np.nan])


def test_mixed_objects_are_categories_numbers_first():
    X = objects("b", 2.5, None, "1", 1, NAN, True, 1.0, "a", pd.NA, pd.NaT, np.int8(-3))
    expected = [5, 2, np.nan, 3, 1, np.nan, 1, 1, 4, np.nan, np.nan, 0]
    assert_reads(X, "category", (-3, 1, 2.5, "1", "a", "b"), expected)


def test_equal_numbers_are_one_category_whatever_their_type():
    same = [1, 1.0, np.int8(1), np.float32(1), np.uint64(1)]
    assert {canonical(value) for value in same} == {1}
    assert {type(canonical(value)) for value in same} == {int}
    assert canonical(np.bool_(True)) is True
    assert canonical(np.inf) == np.inf != canonical("inf")
    assert canonical("1") == "1"
    assert canonical(-0.0) == 0
    assert canonical(0.5) == 0.5
    assert canonical(NAN) != canonical(NAN)
    assert_reads(objects(*same, "1"), "category", (1, "1"), [0] * 5 + [1])


@pytest.mark.parametrize(
    "value", [None, NAN, np.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), decimal.Decimal("NaN")]
)
def test_missing(value):
    assert is_missing(value)


@pytest.mark.parametrize("value", ["", "nan", "None", "NA", 0, 0.0, False, np.inf, (), b"", np.datetime64("2020")])
def test_not_missing(value):
    assert not is_missing(value)


def test_words_for_missing_are_categories():
    assert_reads(objects("nan", "None", "", "NA"), "category", ("", "NA", "None", "nan"), [3, 2, 0, 1])


# Containers that differ between fit and predict.

STRINGS = {
    "pandas category": lambda values: frame(values, dtype="category"),
    "pandas string": lambda values: frame(values, dtype="string"),
    "pandas object": lambda values: frame(values, dtype=object),
    "polars string": polars,
    "polars categorical": lambda values: polars(values, dtype=pl.Categorical),
    "polars enum": lambda values: polars(values, dtype=pl.Enum(["red", "new", "blue"])),
    "arrow": arrow,
}

INTEGERS = {
    "pandas category": lambda values: frame(values, dtype="category"),
    "pandas Int64": lambda values: frame(values, dtype="Int64"),
    "pandas float": lambda values: frame(values, dtype="float64"),
    "pandas object": lambda values: frame(values, dtype=object),
    "polars integer": polars,
    "polars float": lambda values: polars(values, dtype=pl.Float32),
    "arrow": arrow,
}


@pytest.mark.parametrize("later", STRINGS.values(), ids=STRINGS)
@pytest.mark.parametrize("train", STRINGS.values(), ids=STRINGS)
def test_strings_match_across_containers(train, later):
    reader = Reader().fit(train(["red", "blue", None, "red"]))
    codes = [2, np.nan, 1, 0] if reader.features_[0].ordered else [0, np.nan, UNSEEN, 1]
    np.testing.assert_array_equal(reader.transform(later(["blue", None, "new", "red"]))[:, 0], codes)


@pytest.mark.parametrize("later", INTEGERS.values(), ids=INTEGERS)
@pytest.mark.parametrize("train", INTEGERS.values(), ids=INTEGERS)
def test_numbers_that_are_categories_match_across_containers(train, later):
    reader = Reader(categorical_features=["a"]).fit(train([7, 5, None, 7]))
    assert reader.features_[0].categories == (5, 7)
    np.testing.assert_array_equal(reader.transform(later([5, None, 6, 7]))[:, 0], [0, np.nan, UNSEEN, 1])


def test_text_does_not_match_numbers():
    reader = Reader(categorical_features=[0]).fit(np.array([[1], [2]]))
    np.testing.assert_array_equal(reader.transform(objects("1", 1, "2", 2.0))[:, 0], [UNSEEN, 0, UNSEEN, 1])


@pytest.mark.parametrize("later", [frame([1, 0, 1]), frame([1.0, 0.0, 1.0]), polars([True, False, True])])
def test_a_boolean_feature_takes_zeros_and_ones(later):
    reader = Reader().fit(frame([True, False]))
    np.testing.assert_array_equal(reader.transform(later)[:, 0], [1, 0, 1])


def test_a_number_feature_takes_booleans_and_objects():
    reader = Reader().fit(frame([1.5, 2.5]))
    np.testing.assert_array_equal(reader.transform(frame([True, False]))[:, 0], [1, 0])
    np.testing.assert_array_equal(reader.transform(frame([None, 3], dtype=object))[:, 0], [np.nan, 3])
    np.testing.assert_array_equal(reader.transform(frame([None, None], dtype=object))[:, 0], [np.nan, np.nan])


@some
@given(st.data())
def test_a_table_reads_alike_in_every_container(data):
    n = data.draw(st.integers(1, 8))

    def column(values):
        return data.draw(st.lists(st.none() | values, min_size=n, max_size=n))

    values = {
        "number": column(st.floats(-1e6, 1e6)),
        "integer": column(st.integers(-BIG, BIG)),
        "flag": column(st.booleans()),
        "text": column(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3)),
    }
    pandas_types = {"number": "Float64", "integer": "Int64", "flag": "boolean", "text": "string"}
    polars_types = {"number": pl.Float64, "integer": pl.Int64, "flag": pl.Boolean, "text": pl.String}
    tables = [
        pd.DataFrame({name: pd.array(values[name], dtype=pandas_types[name]) for name in values}),
        pl.DataFrame(values, schema=polars_types),
        pl.DataFrame(values, schema=polars_types).with_columns(pl.col("text").cast(pl.Categorical)),
        pl.DataFrame(values, schema=polars_types).to_arrow(),
    ]
    text = sorted({value for value in values["text"] if value is not None})
    expected = np.array(
        [
            [
                np.nan if value is None else text.index(value) if name == "text" else float(value)
                for value in values[name]
            ]
            for name in values
        ]
    ).T
    for train in tables:
        reader = Reader().fit(train)
        assert reader.features_[3].categories == tuple(text)
        for table in tables:
            np.testing.assert_array_equal(reader.transform(table), expected)


# Large numbers.


def test_large_integers_are_the_nearest_float64():
    X = np.array([[BIG], [BIG + 1], [BIG + 2], [2**62], [-(2**63)]])
    expected = [2.0**53, 2.0**53, 2.0**53 + 2, 2.0**62, -(2.0**63)]
    for table in (X, X.astype(object), X.tolist(), frame(X[:, 0]), polars(X[:, 0]), arrow(X[:, 0])):
        kind, _, _, numbers = read(table)
        assert kind == "number"
        np.testing.assert_array_equal(numbers, expected)
    np.testing.assert_array_equal(read(np.array([[2**64 - 1], [2**63]], dtype=np.uint64))[3], [2.0**64, 2.0**63])
    np.testing.assert_array_equal(read([[2**70], [-(10**300)]])[3], [2.0**70, -1e300])


@pytest.mark.parametrize(
    "make", [np.array, frame, polars, lambda rows: pd.DataFrame(rows, columns=["a"], dtype="Int64")]
)
def test_large_integers_are_predicted_as_they_were_fitted(make):
    values = [[2**60 + 3 * i] for i in range(0, 4000, 100)]
    X = make(values) if make is np.array else make([row[0] for row in values])
    y = np.arange(len(values)) // 10 % 2
    classifier = TopKTreeClassifier(max_depth=3).fit(X, y)
    assert classifier.train_errors_ == 0
    np.testing.assert_array_equal(classifier.predict(X), y)


@pytest.mark.parametrize(
    "X",
    [
        frame([BIG, BIG + 1, BIG + 2], dtype="category"),
        frame([BIG, BIG + 1, BIG + 2]),
        frame([BIG, BIG + 1, BIG + 2], dtype="Int64"),
        polars([BIG, BIG + 1, BIG + 2]),
        np.array([[BIG], [BIG + 1], [BIG + 2]]),
        objects(BIG, BIG + 1, BIG + 2),
    ],
    ids=["pandas category", "pandas", "pandas Int64", "polars", "numpy", "object"],
)
def test_large_integers_are_different_categories(X):
    assert_reads(X, "category", (BIG, BIG + 1, BIG + 2), [0, 1, 2], categorical_features=[0])


@pytest.mark.parametrize("values", [[0.0, np.inf], [-np.inf, 0.0], [1e17, 0.0], [-1e17, 0.0], [-np.inf, np.inf]])
def test_extreme_numbers_are_noted(values):
    for X in (np.array(values)[:, None], frame(values), objects(*values)):
        (feature,) = Reader().fit(X).features_
        assert feature.has_extreme
        assert not feature.has_missing


@pytest.mark.parametrize("values", [[0.0, 2.0**53], [-(2.0**53), 0.0], [np.nan, 1.0], [1e-300, 5e-324]])
def test_other_numbers_are_not_extreme(values):
    for X in (np.array(values)[:, None], frame(values), objects(*values)):
        (feature,) = Reader().fit(X).features_
        assert not feature.has_extreme
        assert feature.has_missing == bool(np.isnan(values).any())


def test_missing_values_beside_infinities_of_both_signs_are_found():
    X = np.array([[np.inf, np.inf, 1], [-np.inf, -np.inf, 2], [0, np.nan, np.nan]])
    assert [feature.has_missing for feature in Reader().fit(X).features_] == [False, True, True]
    assert [feature.has_extreme for feature in Reader().fit(X).features_] == [True, True, False]


# What is refused. Every message names the column.

ESTIMATORS = [Binarizer, lambda: TopKTreeClassifier(max_depth=1)]


@pytest.fixture(params=ESTIMATORS, ids=["binarizer", "classifier"])
def estimator(request):
    return request.param()


def use(estimator, X):
    return (estimator.transform if isinstance(estimator, Binarizer) else estimator.predict)(X)


DATES = [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)]


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(DATES),
        pd.Series(DATES).dt.tz_localize("UTC"),
        pd.Series(DATES).astype("timestamp[us][pyarrow]"),
        pd.Series(DATES).diff(),
        pl.Series(DATES),
        pl.Series(DATES).cast(pl.Date),
        pl.Series(DATES).diff(),
        pa.array(DATES),
        pa.array(DATES, type=pa.date32()),
    ],
    ids=lambda values: f"{type(values).__module__.split('.')[0]} {getattr(values, 'dtype', '')}",
)
def test_dates_are_refused(estimator, values):
    if isinstance(values, pd.Series):
        X = pd.DataFrame({"n": [1, 2], "when": values})
    elif isinstance(values, pl.Series):
        X = pl.DataFrame({"n": [1, 2], "when": values})
    else:
        X = pa.table({"n": [1, 2], "when": values})
    with pytest.raises(TypeError, match=r"numbers, booleans or categories, got .* in 'when': turn dates and durations"):
        estimator.fit(X, [0, 1])


def test_dates_in_an_array_are_refused(estimator):
    with pytest.raises(TypeError, match=r"got datetime64.* in 'x0': turn dates and durations into numbers"):
        estimator.fit(np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[D]"), [0, 1])


@pytest.mark.parametrize(
    "values",
    [
        DATES,
        [date.date() for date in DATES],
        list(map(np.datetime64, DATES)),
        pd.period_range("2020", periods=2, freq="M"),
    ],
    ids=["datetime", "date", "datetime64", "period"],
)
def test_dates_that_are_objects_are_refused(estimator, values):
    with pytest.raises(TypeError, match=r"numbers, booleans or categories, got .* in 'a': turn dates and durations"):
        estimator.fit(frame(values, dtype=object), [0, 1])


@pytest.mark.parametrize(
    "X",
    [
        frame([[1], [2]]),
        frame([{"x": 1}, {}]),
        frame([{1}, {2}]),
        polars([[1], [2, 3]]),
        polars([[1, 2], [2, 3]], dtype=pl.Array(pl.Int64, 2)),
        polars([{"x": 1}, {"x": 2}]),
        arrow([[1], [2]]),
        arrow([{"x": 1}, {"x": 2}]),
    ],
    ids=["list", "dict", "set", "polars list", "polars array", "polars struct", "arrow list", "arrow struct"],
)
def test_values_that_are_no_values_are_refused(estimator, X):
    with pytest.raises(TypeError, match=r"^X must .* in 'a'"):
        estimator.fit(X, [0, 1])


def test_unhashable_objects_of_an_array_are_refused(estimator):
    with pytest.raises(TypeError, match=r"^X must hold numbers and strings in 'x0'"):
        estimator.fit(objects({}, []), [0, 1])


def test_unhashable_objects_are_refused_when_predicting():
    binarizer = Binarizer().fit(frame(["x", "y"]))
    with pytest.raises(TypeError, match=r"^X must hold numbers and strings in 'a'"):
        binarizer.transform(frame([["x"], ["y"]]))
    binarizer = Binarizer().fit(frame([1, 2]))
    with pytest.raises(ValueError, match=r"^X must have numbers in 'a', got \['x'\]"):
        binarizer.transform(frame([["x"], ["y"]]))


@pytest.mark.parametrize("X", [frame([1j, 2]), frame([1j, 2], dtype=object), objects(1j, 2), [[1j], [2]]])
def test_complex_numbers_are_refused(estimator, X):
    with pytest.raises((TypeError, ValueError), match=r"in '(a|x0)'|Complex data not supported"):
        estimator.fit(X, [0, 1])


@pytest.mark.parametrize("X", [frame([1j, 2]), frame([1j, 2], dtype=object), objects(1j, 2)])
def test_the_message_on_complex_numbers_names_the_column(X):
    with pytest.raises((TypeError, ValueError), match=r" in '(a|x0)'"):
        Binarizer().fit(X)


def test_numbers_beyond_float64_are_refused(estimator):
    with pytest.raises(ValueError, match=r"^X must have numbers in 'x0'"):
        estimator.fit(objects(10**400, 1), [0, 1])


@pytest.mark.parametrize("later", [frame(["1", "2"]), frame([1, "x"], dtype=object), polars(["1", None])])
@pytest.mark.parametrize("train", [frame([1, 2]), frame([1.5, 2.5]), frame([True, False]), polars([1, 2])])
def test_text_where_fit_had_numbers_is_refused(estimator, train, later):
    estimator.fit(train, [0, 1])
    with pytest.raises(ValueError, match=r"^X must have numbers in 'a', got '(1|x)'$"):
        use(estimator, later)


def test_text_in_an_array_where_fit_had_numbers_is_refused():
    binarizer = Binarizer().fit(np.array([[0.0, 1.0], [1.0, 2.0]]))
    with pytest.raises(ValueError, match=r"^X must have numbers in 'x1', got 'a'$"):
        binarizer.transform([[1, "a"]])


def test_a_lazy_frame_is_refused(estimator):
    with pytest.raises(TypeError, match=r"^X must be a frame in memory, got LazyFrame: call its collect\(\) first$"):
        estimator.fit(polars([1, 2]).lazy(), [0, 1])


@pytest.mark.parametrize(
    ("X", "shape"),
    [
        (frame([], dtype="float64"), r"\(0, 1\)"),
        (pd.DataFrame(index=[0, 1]), r"\(2, 0\)"),
        (polars([], dtype=pl.Int64), r"\(0, 1\)"),
        (pl.DataFrame(), r"\(0, 0\)"),
        (arrow([], type=pa.int64()), r"\(0, 1\)"),
    ],
)
def test_an_empty_frame_is_refused(X, shape):
    with pytest.raises(ValueError, match=rf"^X must have at least one row and one column, got shape {shape}$"):
        Binarizer().fit(X)


@pytest.mark.parametrize("X", [np.empty((0, 2)), np.empty((2, 0)), [], [[]], [1, 2], np.zeros((2, 2, 2)), "text", None])
def test_what_is_no_table_is_refused(X):
    with pytest.raises(ValueError):  # noqa: PT011 (scikit-learn's own words)
        Binarizer().fit(X)


@pytest.mark.parametrize("X", [pd.Series([1, 2]), pl.Series([1, 2])])
def test_a_series_is_refused(X):
    with pytest.raises(ValueError, match=r"Expected (a 2-dimensional container|2D array)"):
        Binarizer().fit(X)


def test_ragged_lists_are_refused():
    with pytest.raises(ValueError, match="inhomogeneous"):
        Binarizer().fit([["a"], ["b", 1]])


def test_sparse_matrices_are_refused():
    with pytest.raises(TypeError, match="Sparse data was passed"):
        Binarizer().fit(scipy.sparse.csr_matrix(np.eye(2)))


# categorical_features.

THREE = pd.DataFrame({"size": [1, 2, 1], "colour": ["red", "blue", "red"], "flag": [True, False, True]})


@pytest.mark.parametrize(
    ("categorical_features", "kinds"),
    [
        ("from_dtype", ["number", "category", "boolean"]),
        (["size", "colour"], ["category", "category", "boolean"]),
        (("colour",), ["number", "category", "boolean"]),
        (np.array(["flag", "colour"]), ["number", "category", "category"]),
        (np.array(["flag", "colour"], dtype=object), ["number", "category", "category"]),
        ([0, 1], ["category", "category", "boolean"]),
        ([1, -1], ["number", "category", "category"]),
        ([-3, -2, -1], ["category", "category", "category"]),
        ([1, 1], ["number", "category", "boolean"]),
        (range(1, 2), ["number", "category", "boolean"]),
        ([True, True, False], ["category", "category", "boolean"]),
        (np.array([False, True, True]), ["number", "category", "category"]),
        (pd.Series([1, 2]), ["number", "category", "category"]),
    ],
)
def test_categorical_features(categorical_features, kinds):
    for X in (THREE, pl.from_pandas(THREE)):
        reader = Reader(categorical_features=categorical_features).fit(X)
        assert [feature.kind for feature in reader.features_] == kinds


@pytest.mark.parametrize("categorical_features", [None, [], np.array([], dtype=int), [False, False]])
def test_no_categorical_features(categorical_features):
    X = pd.DataFrame({"a": [1, 2], "b": [True, False]})
    reader = Reader(categorical_features=categorical_features).fit(X)
    assert [feature.kind for feature in reader.features_] == ["number", "boolean"]
    reader = Reader(categorical_features=categorical_features).fit(X.to_numpy(dtype=float))
    assert [feature.kind for feature in reader.features_] == ["number", "number"]


@pytest.mark.parametrize("categorical_features", [None, [], ["size"], [0], [True, False, False]])
@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_text_that_categorical_features_leaves_out_is_refused(categorical_features, dtype):
    X = THREE.astype({"colour": dtype})
    with pytest.raises(
        ValueError, match=r"^X must have numbers in 'colour', which categorical_features leaves out, got 'red'"
    ):
        Reader(categorical_features=categorical_features).fit(X)


@pytest.mark.parametrize("X", [objects(None, None), objects(None, NAN), frame([None, None], dtype=object)])
@pytest.mark.parametrize("categorical_features", [None, [False]])
def test_a_column_without_values_that_categorical_features_leaves_out_is_no_error(X, categorical_features):
    assert_reads(X, "number", (), [np.nan, np.nan], categorical_features=categorical_features)


def test_numbers_of_an_array_may_be_categories():
    X = np.array([[3.0, 0.5], [np.nan, 0.25], [1.0, 0.5]])
    reader = Reader(categorical_features=[0]).fit(X)
    assert [feature.categories for feature in reader.features_] == [(1, 3), ()]
    np.testing.assert_array_equal(reader.transform(X), [[1, 0.5], [np.nan, 0.25], [0, 0.5]])
    np.testing.assert_array_equal(reader.transform(X.astype(np.float32)), reader.transform(X))
    np.testing.assert_array_equal(reader.transform(np.array([[3, 7], [2, 8]])), [[1, 7], [UNSEEN, 8]])


@pytest.mark.parametrize(
    ("categorical_features", "reason"),
    [
        ("auto", ""),
        ("colour", ""),
        (1, ""),
        (1.5, ""),
        ({"colour"}, ""),
        ([[0, 1]], ""),
        ([True, False], ": 2 bools for 3 features"),
        (["shape"], ": X has no feature named 'shape'"),
        (["colour", 0], ": X has no feature named '0'"),
        ([3], ": there is no feature 3 among 3"),
        ([-4], ": there is no feature -4 among 3"),
        ([0.5], ": there is no feature 0.5 among 3"),
        ([None], ": there is no feature None among 3"),
    ],
)
def test_wrong_categorical_features(estimator, categorical_features, reason):
    estimator.set_params(categorical_features=categorical_features)
    allowed = (
        'categorical_features must be "from_dtype", None, or a list of names, of indices or of one bool per feature'
    )
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        estimator.fit(THREE, [0, 1, 0])
    assert str(caught.value) == f"{allowed}, got {categorical_features!r}{reason}"


def test_ragged_categorical_features(estimator):
    estimator.set_params(categorical_features=[0, [1]])
    with pytest.raises(ValueError, match=r"^categorical_features must be"):
        estimator.fit(THREE, [0, 1, 0])


def test_names_need_a_frame(estimator):
    estimator.set_params(categorical_features=["x0"])
    with pytest.raises(ValueError, match="X has no feature named 'x0'"):
        estimator.fit(np.array([[1, 2], [3, 4]]), [0, 1])


# Names.


def test_names_are_those_of_scikit_learn(estimator):
    for X in (THREE, pl.from_pandas(THREE), pl.from_pandas(THREE).to_arrow()):
        estimator.fit(X, [0, 1, 0])
        assert estimator.feature_names_in_.tolist() == ["size", "colour", "flag"]
        assert estimator.feature_names_in_.dtype == object
        assert estimator.n_features_in_ == 3
    estimator.fit(np.eye(3), [0, 1, 0])
    assert not hasattr(estimator, "feature_names_in_")
    assert [feature.name for feature in estimator.features_] == ["x0", "x1", "x2"]


@pytest.mark.parametrize(
    "columns",
    [["colour", "size", "flag"], ["size", "colour"], ["size", "colour", "flag", "more"], ["size", "colour", "Flag"]],
)
def test_other_names_are_refused(estimator, columns):
    later = THREE.assign(more=1, Flag=True)[columns]
    for train, table in ((THREE, later), (THREE, pl.from_pandas(later)), (pl.from_pandas(THREE), later)):
        estimator.fit(train, [0, 1, 0])
        with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
            use(estimator, table)


def test_missing_names_are_warned_of(estimator):
    estimator.fit(THREE, [0, 1, 0])
    with pytest.warns(UserWarning, match="X does not have valid feature names, but .* was fitted with feature names"):
        without = use(estimator, THREE.to_numpy())
    np.testing.assert_array_equal(without, use(estimator, THREE))


def test_unexpected_names_are_warned_of(estimator):
    X = THREE[["size"]]
    estimator.fit(X.to_numpy(), [0, 1, 0])
    with pytest.warns(UserWarning, match="X has feature names, but .* was fitted without feature names"):
        use(estimator, X)


def test_another_number_of_features_is_refused(estimator):
    estimator.fit(np.eye(3), [0, 1, 0])
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features as input"):
        use(estimator, np.eye(2))


def test_repeated_names_get_numbers(estimator):
    X = pd.DataFrame([[1, "x", 3, True], [2, "y", 4, False]], columns=["a", "a", "a.1", "a"])
    estimator.fit(X, [0, 1])
    names = [feature.name for feature in estimator.features_]
    assert names == ["a", "a.2", "a.1", "a.3"]
    assert [feature.kind for feature in estimator.features_] == ["number", "category", "number", "boolean"]
    assert len(use(estimator, X)) == 2
    assert X.columns.tolist() == ["a", "a", "a.1", "a"]


@pytest.mark.parametrize(
    "columns", [[0, 1, 2], [2.5, 1.5, 0.5], pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])]
)
def test_names_that_are_no_strings_are_not_taken(estimator, columns):
    X = THREE.set_axis(columns, axis=1)
    estimator.fit(X, [0, 1, 0])
    assert not hasattr(estimator, "feature_names_in_")
    assert [feature.name for feature in estimator.features_] == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(use(estimator, X), use(estimator, THREE.set_axis(range(3), axis=1)))


def test_names_of_mixed_types_are_refused(estimator):
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        estimator.fit(THREE.set_axis(["a", 1, "b"], axis=1), [0, 1, 0])


@pytest.mark.parametrize("name", ['say "x"', "it's", "Größe ≤ ½", "", " ", "a\nb", "年齢", "x <= 1"])
def test_any_string_is_a_name(name):
    for X in (pd.DataFrame({name: [1, 2]}), pl.DataFrame({name: [1, 2]}), pa.table({name: [1, 2]})):
        binarizer = Binarizer().fit(X)
        assert binarizer.get_feature_names_out().tolist() == [f"{name} <= 1"]
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            binarizer.transform(pd.DataFrame({name: ["x"]}))
        assert str(caught.value) == f"X must have numbers in {name!r}, got 'x'"


# What is left alone.


def test_tables_are_not_written_to(estimator):
    array = np.random.default_rng(0).random((20, 3))
    array[3, 1] = np.nan
    array.flags.writeable = False
    y = np.arange(20) % 2
    strings = pd.DataFrame(
        {"a": ["x", None] * 10, "b": pd.array([1, None] * 10, dtype="Int64"), "c": [True, False] * 10}
    )
    for X in (array, strings, pl.from_pandas(strings)):
        before = X.copy() if isinstance(X, np.ndarray) else X.clone() if isinstance(X, pl.DataFrame) else X.copy()
        estimator.fit(X, y)
        use(estimator, X)
        if isinstance(X, np.ndarray):
            np.testing.assert_array_equal(X, before)
        else:
            assert X.equals(before)


def test_the_index_of_a_frame_does_not_matter():
    shuffled = THREE.set_axis([7, 7, "x"])
    np.testing.assert_array_equal(Reader().fit(shuffled).transform(shuffled), Reader().fit(THREE).transform(THREE))


def test_an_array_of_numbers_is_used_as_it_is():
    X = np.random.default_rng(0).random((5, 2))
    assert Reader().fit(X).transform(X) is X


def test_rows_can_be_taken():
    for X in (THREE, np.arange(6.0).reshape(3, 2)):
        reader = Reader().fit(X)
        table = read_table(reader, X, reset=False)
        rows = np.array([True, False, True])
        assert table.take(rows).n_rows == 2
        np.testing.assert_array_equal(encode(table.take(rows), reader.features_), encode(table, reader.features_)[rows])


@some
@given(
    st.lists(st.text(max_size=3), min_size=1, max_size=40) | st.lists(st.integers(-5, 5), min_size=1, max_size=40),
    st.sampled_from([object, str]),
)
def test_labels_are_numbered_as_numpy_does(values, dtype):
    y = np.array(values, dtype=object).astype(dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labels, "PART", 7)
        patch.setattr(labels, "SORTED_PART", 3)
        classes, numbers = labels.number_labels(labels.read_labels(y), len(y))
    expected = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(classes, expected[0])
    np.testing.assert_array_equal(numbers, expected[1])
    assert (classes.dtype, numbers.dtype) == (y.dtype, np.int32)


def test_labels_are_read_until_nobody_waits_for_them():
    def check():
        raise Cancelled

    y = np.array(["yes", "no"], dtype=object)
    for read in (labels.read_labels, lambda y, check: labels.number_labels(y, 2, check)):
        with pytest.raises(Cancelled):
            read(y, check)


@pytest.mark.parametrize(
    "values",
    [
        np.array([[1.5, 2.0], [3.0, 4.0]]),
        np.array([[1, 2], [3, 4]], dtype=np.uint8),
        np.array([[True, False], [False, True]]),
        np.array([["a", "b"], ["c", "d"]]),
    ],
    ids=["floats", "integers", "booleans", "strings"],
)
def test_masked_entries_are_missing_values(values):
    masked = np.ma.MaskedArray(values, mask=[[False, True], [False, False]])
    expected = values.astype(float if values.dtype.kind in "fu" else object)
    expected[0, 1] = NAN
    ours, theirs = Reader().fit(masked), Reader().fit(expected)
    assert ours.features_ == theirs.features_
    assert [feature.has_missing for feature in ours.features_] == [False, True]
    np.testing.assert_array_equal(
        encode(read_table(ours, masked, reset=False), ours.features_),
        encode(read_table(theirs, expected, reset=False), theirs.features_),
    )


def test_an_array_without_masked_entries_is_an_array():
    masked = np.ma.MaskedArray([[1, 2], [3, 4]])
    assert [feature.has_missing for feature in Reader().fit(masked).features_] == [False, False]


@pytest.mark.parametrize("estimator", [TopKTreeClassifier(), Binarizer()], ids=str)
@pytest.mark.parametrize("dtype", [int, float, str, object])
def test_masked_labels_and_weights_are_refused(estimator, dtype):
    X, y, masked = np.arange(4)[:, None], np.array([0, 1, 0, 1]), [False, True, False, False]
    with pytest.raises(ValueError, match="Input y contains NaN: y must have a value in every row, got a masked entry"):
        estimator.fit(X, np.ma.MaskedArray(y.astype(dtype), mask=masked))
    with pytest.raises(ValueError, match="sample_weight must have a value in every row, got a masked entry"):
        estimator.fit(X, y, sample_weight=np.ma.MaskedArray(np.ones(4), mask=masked))


NUMBERS = st.sampled_from(["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float32", "float64"])


@given(st.data())
@some
def test_a_pandas_frame_of_numbers_or_of_booleans_is_an_array(data):
    """Read at once, it has the features, the numbers and the warnings of the same columns read one by one."""
    dtypes = data.draw(st.lists(NUMBERS, min_size=1, max_size=4) | st.just(["bool"] * 3))
    values = st.sampled_from([0, 1, 2, 100])
    if all(dtype.startswith("float") for dtype in dtypes):
        values |= st.sampled_from([NAN, 0.1, -np.inf])
    elif set(dtypes) <= {"int64", "uint64", "float64"}:
        values |= st.just(BIG + 1)
    columns = [np.array(data.draw(st.lists(values, min_size=5, max_size=5))).astype(dtype) for dtype in dtypes]
    X = pd.DataFrame(dict(zip("abcd", columns, strict=False)))
    objects = X.astype({name: object for name in X})
    assert read_table(Reader(), X, reset=True).array is not None
    assert read_table(Reader(), objects, reset=True).array is None
    at_once, one_by_one = Reader().fit(X), Reader().fit(objects)
    assert at_once.features_ == one_by_one.features_
    assert at_once.feature_names_in_.tolist() == list(X)
    np.testing.assert_array_equal(at_once.transform(X).astype(float), one_by_one.transform(objects))
    np.testing.assert_array_equal(one_by_one.transform(X).astype(float), one_by_one.transform(objects))


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": [1, 0], "b": [True, False]}),
        pd.DataFrame({"a": [1, 0], "b": pd.array([1, None], dtype="Int64")}),
        pd.DataFrame({"a": [1, 0], "b": pd.arrays.SparseArray([1, 0])}),
        pd.DataFrame({"a": [1, 0], "b": pd.Categorical([1, 0])}),
        pd.DataFrame({"a": [1, 0], "b": ["1", "0"]}),
    ],
    ids=["boolean", "nullable", "sparse", "category", "text"],
)
def test_columns_of_other_types_are_read_one_by_one(X):
    assert read_table(Reader(), X, reset=True).array is None


def test_an_array_is_checked_after_fit_as_scikit_learn_does():
    """Arrays of numbers skip scikit-learn's validation only where it has nothing to say."""
    X = np.array([[0.0, 1.0], [1.0, 0.0]])
    reader, named = Reader().fit(X), Reader().fit(pd.DataFrame(X, columns=["a", "b"]))
    with pytest.raises(ValueError, match=r"X has 1 features, but Reader is expecting 2 features"):
        reader.transform(X[:, :1])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        reader.transform(X[:0])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(named.transform(X), X)
