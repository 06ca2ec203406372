"""The classifier end to end on tables as people have them: messy ones, real ones and monsters."""

import re
import sqlite3

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight
from support.paths import DATASETS

from topktree import Binarizer, TopKTreeClassifier, load


def fitted(X, y, **parameters):
    return TopKTreeClassifier(**{"max_depth": 3, **parameters}).fit(X, y)


def assert_goes_anywhere(classifier, X, tmp_path):
    """Saved and loaded, and as scikit-learn's tree, the classifier predicts the same."""
    classifier.save(tmp_path / "model.json")
    expected = classifier.predict_proba(X)
    np.testing.assert_array_equal(load(tmp_path / "model.json").predict_proba(X), expected)
    if hasattr(classifier, "feature_names_in_"):
        X = X.set_axis(classifier.feature_names_in_, axis=1)  # scikit-learn does not take names that repeat
    np.testing.assert_array_equal(classifier.to_sklearn().predict_proba(X), expected)
    for text in (classifier.export_text(), classifier.export_rules(), classifier.export_dot()):
        assert text
    return expected


def people(n=400, seed=0):
    """A DataFrame of every kind of column with holes, and labels that follow it."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.lognormal(10, 1, n).round(2)),
            "colour": rng.choice(["red", "green", "o'brien's \"blue\"", None], n),
            "smoker": rng.random(n) < 0.3,
            "grade": pd.Categorical(rng.choice(["A", "B", "C"], n), categories=["C", "B", "A"]),
            "visits": pd.array(np.where(rng.random(n) < 0.1, None, rng.integers(0, 9, n)), dtype="Int64"),
            "member": pd.array(np.where(rng.random(n) < 0.1, None, rng.random(n) < 0.5), dtype="boolean"),
            "joined": rng.integers(1_500_000_000, 1_700_000_000, n),
        }
    )
    yes = ((frame.age > 40) & (frame.colour == "red")) | (frame.income.isna() & frame.smoker) | (frame.grade == "C")
    return frame, np.where(rng.random(n) < 0.05, "maybe", np.where(yes, "yes", "no"))


def test_a_frame_of_every_kind_just_works(tmp_path):
    X, y = people()
    classifier = fitted(X, y, max_depth=4)
    assert classifier.score(X, y) > 0.9
    assert list(classifier.feature_names_in_) == list(X.columns)
    assert [feature.kind for feature in classifier.features_] == [
        "number",
        "number",
        "category",
        "boolean",
        "category",
        "number",
        "boolean",
        "number",
    ]
    assert classifier.feature_importances_.sum() == pytest.approx(1)
    assert_goes_anywhere(classifier, X, tmp_path)
    assert "missing" in classifier.export_text()


def test_pandas_and_polars_give_the_same_tree():
    X, y = people()
    ours, theirs = fitted(X, y, max_depth=4), fitted(pl.from_pandas(X), pl.Series(y), max_depth=4)
    assert ours.export_dict() == theirs.export_dict()
    np.testing.assert_array_equal(ours.predict(pl.from_pandas(X)), theirs.predict(X))


def test_the_tree_is_that_of_its_boolean_columns():
    X, y = people()
    X = X.dropna(axis=1)  # with missing values, a tree also has the second reading of every test
    for max_thresholds in (4, 32, None):
        columns = Binarizer(max_thresholds=max_thresholds).fit_transform(X, y)
        table, boolean = fitted(X, y, max_thresholds=max_thresholds), fitted(columns, y)
        assert table.cost_ == boolean.cost_
        np.testing.assert_array_equal(table.predict(X), boolean.predict(columns))


def test_weights_are_repetition_on_a_frame():
    X, y = people()
    times = np.random.default_rng(1).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    weighted = TopKTreeClassifier(max_depth=3).fit(X, y, sample_weight=times)
    repeated = fitted(X.iloc[rows], y[rows])
    assert weighted.cost_ == repeated.cost_
    for name in ("feature", "threshold", "category", "value"):
        np.testing.assert_array_equal(getattr(weighted.tree_, name), getattr(repeated.tree_, name))


def test_missing_and_unseen_values_at_predict_time():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=200), "colour": rng.choice(["red", "blue", "green"], 200)})
    y = (X["size"] > 0).astype(int) + 2 * (X["colour"] == "red")
    classifier = fitted(X, y)
    assert classifier.score(X, y) > 0.98
    queries = pd.DataFrame({"size": [None, None, -1.0, 1.0], "colour": ["red", None, "mauve", ""]})
    # The first split is `size <= t`, with more rows on the "no" side; most of those rows are not red.
    assert np.argmax(np.bincount(classifier.apply(queries.assign(colour="blue"))[:2])) == classifier.apply(queries)[1]
    heavier = "large" if (X["size"] > 0).sum() > 100 else "small"
    assert classifier.predict(queries).tolist() == {"large": [3, 1, 0, 1], "small": [2, 0, 0, 1]}[heavier]
    np.testing.assert_array_equal(classifier.to_sklearn().predict(queries), classifier.predict(queries))


def test_missing_values_can_be_what_matters():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    X.loc[rng.random(300) < 0.3, "b"] = np.nan
    classifier = fitted(X, X["b"].isna(), max_depth=1)
    assert classifier.train_errors_ == 0
    assert classifier.export_rules().startswith("b is missing -> True")


MONSTERS = {
    "all missing": pd.DataFrame({"a": [np.nan] * 6, "b": [None] * 6, "c": pd.array([pd.NA] * 6, dtype="Int64")}),
    "one value": pd.DataFrame({"a": [7.0] * 6, "b": ["x"] * 6, "c": [True] * 6}),
    "one row differs": pd.DataFrame({"a": [0, 0, 0, 0, 0, 1]}),
    "mixed types": pd.DataFrame({"a": [1, "1", True, None, 2.5, (1, 2)]}),
    "infinities": pd.DataFrame({"a": [np.inf, -np.inf, 0, np.nan, 1e308, -1e308], "b": [np.inf] * 3 + [-np.inf] * 3}),
    "integers beyond 2**53": pd.DataFrame({"a": [2**53, 2**53 + 1, 2**53 + 2, 2**62, -(2**60), 2**63 - 1]}),
    "unsigned": pd.DataFrame({"a": np.array([0, 2**64 - 1, 2**63, 1, 2, 3], dtype=np.uint64)}),
    "tiny differences": pd.DataFrame({"a": 1 + np.arange(6) * 1e-15, "b": np.arange(6) * 5e-324}),
    "duplicate names": pd.DataFrame(np.arange(18).reshape(6, 3) % 5, columns=["a", "a", "a"]),
    "numbers as names": pd.DataFrame(np.arange(12).reshape(6, 2) % 5),
    "names": pd.DataFrame(np.arange(18).reshape(6, 3) % 5, columns=['"', "naïve ☃\n'x'", "<script>"]),
    "intervals": pd.DataFrame({"a": pd.cut([1, 5, 9, 1, 5, 9], [0, 3, 6, 10])}),
    "empty strings": pd.DataFrame({"a": ["", " ", "", None, " ", "\x00"]}),
}


@pytest.mark.parametrize("X", MONSTERS.values(), ids=MONSTERS)
@pytest.mark.parametrize(
    "y", [[0, 1, 0, 1, 1, 0], ["a", "b", "c", "a", "b", "c"], [True, False, True, True, False, True]]
)
def test_monsters(X, y, tmp_path):
    for parameters in ({}, {"max_thresholds": None, "k": "all"}, {"max_thresholds": 1, "class_weight": "balanced"}):
        classifier = fitted(X, np.array(y), **parameters)
        assert_goes_anywhere(classifier, X, tmp_path)
        assert classifier.train_errors_ == np.count_nonzero(classifier.predict(X) != np.array(y))
        # Other data in the same shape: nothing there that was there before.
        strange = pd.DataFrame({i: [None, None] for i in range(X.shape[1])})
        strange.columns = X.columns
        assert_goes_anywhere(classifier, strange, tmp_path)


def test_ten_thousand_categories(tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.repeat(np.arange(10_000), 2))
    X = pd.DataFrame({"id": [f"customer {code}" for code in codes], "size": rng.normal(size=len(codes))})
    y = np.where(codes == 77, "seventy-seven", np.where(X["size"] > 0.3, "large", "small"))
    classifier = fitted(X, y, k=4, max_depth=2)
    assert classifier.score(X, y) > 0.99
    assert_goes_anywhere(classifier, X, tmp_path)


def test_names_of_rows_get_a_warning():
    for n, text in ((1500, "1,500"), (20, "20")):
        X = pd.DataFrame({"id": [f"{i}" for i in range(n)], "size": np.arange(float(n))})
        with pytest.warns(UserWarning, match=f"X has {text} categories in 'id', in {text} rows"):
            fitted(X, X["size"] > 7, k=2, max_depth=1)
    fitted(X[:19], X["size"][:19] > 7, k=2, max_depth=1)  # few rows may well have different values


def test_texts_and_numbers_in_one_column_get_a_warning():
    X = pd.DataFrame({"zip": pd.Series(["a", 7, "b", 7] * 3, dtype=object)})
    with pytest.warns(UserWarning, match="texts and other values among the categories of 'zip', such as 'a' and 7"):
        fitted(X, [0, 1, 0, 1] * 3)


@pytest.mark.parametrize(
    "dates",
    [
        ["2020-01-31", "2020-02-01", "2021-12-31"],
        ["2020-01-31 12:30", "2020-02-01T07:15:30.5Z", "2021-12-31 00:00:00+01:00"],
        ["31.01.2020", "01.02.2020", "31.12.2021"],
        ["2020/1/31", "2020/2/1", "2021/12/31"],
    ],
)
def test_dates_as_text_are_refused_unless_they_are_wanted(dates):
    X, y = pd.DataFrame({"joined": dates * 4}), [0, 1, 1] * 4
    with pytest.raises(TypeError, match=f"in 'joined', got dates as text such as '{re.escape(dates[0])}': turn them"):
        fitted(X, y)
    assert fitted(X, y, categorical_features=["joined"]).train_errors_ == 0
    assert fitted(X.astype("category"), y).train_errors_ == 0
    assert fitted(X.assign(joined=[*dates[:2], "no date"] * 4), y).train_errors_ == 0


def test_deep_trees_run_in_a_database():
    X = pd.DataFrame({"n": np.arange(60.0)})
    classifier = fitted(X, X["n"] % 2, k=1, max_depth=999, max_thresholds=None)
    assert classifier.get_depth() > 25
    database = sqlite3.connect(":memory:")
    X.to_sql("t", database, index=False)
    assert [row[0] for row in database.execute(classifier.export_sql("t"))] == classifier.predict(X).tolist()


def test_class_weights_are_weights_of_the_rows():
    X, y = people()
    for class_weight in ({"yes": 3, "no": 1, "maybe": 20}, "balanced"):
        by_class = fitted(X, y, class_weight=class_weight, max_thresholds=6)
        by_row = TopKTreeClassifier(max_depth=3, max_thresholds=6).fit(X, y, compute_sample_weight(class_weight, y))
        for name in ("feature", "threshold", "category"):
            np.testing.assert_array_equal(getattr(by_class.tree_, name), getattr(by_row.tree_, name))


@pytest.mark.parametrize("unit", [0.1, 1 / 3, 1e-9])
def test_the_unit_of_weights_does_not_matter(unit):
    X, y = people()
    times = np.random.default_rng(2).integers(1, 4, len(y))
    ours, theirs = (TopKTreeClassifier(max_depth=3, max_thresholds=6).fit(X, y, w) for w in (times, unit * times))
    np.testing.assert_array_equal(ours.tree_.threshold, theirs.tree_.threshold)


def test_equal_values_of_other_types_are_known_by_themselves():
    X = pd.DataFrame({"a": pd.Series([(1, 2), (3, 4)] * 5, dtype=object)})
    classifier = fitted(X, [0, 1] * 5)
    for rows in ([(1, 2)], [(1.0, 2.0), (1, 2)]):
        queries = pd.DataFrame({"a": pd.Series(rows, dtype=object)})
        assert classifier.predict(queries)[-1] == 0


def test_integers_beyond_2_to_the_53_agree_in_a_database():
    values = [2**53 + i for i in range(-6, 7)] + [2**60 + 2**36 + i for i in range(-300, 300, 37)] + [-(2**62)]
    X = pd.DataFrame({"n": values})
    y = np.arange(len(values)) % 3
    classifier = fitted(X, y, max_depth=5, max_thresholds=None)
    database = sqlite3.connect(":memory:")
    X.to_sql("t", database, index=False)
    found = [row[0] for row in database.execute(classifier.export_sql("t"))]
    assert found == classifier.predict(X).tolist()
    np.testing.assert_array_equal(classifier.to_sklearn().predict(X), classifier.predict(X))


def test_timestamps_are_told_apart():
    seconds = 1_700_000_000 + np.arange(100.0)  # all the same in float32
    classifier = fitted(seconds[:, None], seconds > 1_700_000_050.5, max_depth=1, max_thresholds=None)
    assert classifier.train_errors_ == 0
    np.testing.assert_array_equal(
        classifier.to_sklearn().predict(seconds[:, None]), classifier.predict(seconds[:, None])
    )


@pytest.mark.parametrize("labels", [["a", "b"], [1, 2], [0.0, 1.0], [True, False], [b"x", b"y"], ["é", "ß"]])
@pytest.mark.parametrize("container", [np.array, pd.Series, pd.Categorical, lambda y: np.array(y, dtype=object), list])
def test_labels_of_any_type(labels, container):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = [labels[int(x > 0)] for x in X[:, 0]]
    classifier = fitted(X, container(y))
    assert classifier.train_errors_ == 0
    assert classifier.predict(X).tolist() == y


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_labels_must_be_there(missing):
    y = np.array(["a", "b", missing, "a"], dtype=object)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        fitted(np.arange(4)[:, None], y)


def test_names_are_checked_at_predict_time():
    X, y = people()
    classifier = fitted(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(X.rename(columns={"age": "Age"}))


def test_text_where_numbers_belong():
    X, y = people()
    classifier = fitted(X, y)
    with pytest.raises(ValueError, match="X must have numbers in 'age', got 'old'"):
        classifier.predict(X.astype({"age": object}).assign(age="old"))
    with pytest.raises(ValueError, match="'colour', which categorical_features leaves out, got"):
        fitted(X, y, categorical_features=["grade"])


def test_categorical_features_by_hand():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (300, 2)).astype(float)
    y = np.isin(X[:, 0], [1, 3])
    as_numbers, as_categories = fitted(X, y, max_depth=2), fitted(X, y, max_depth=2, categorical_features=[0])
    assert as_numbers.train_errors_ > as_categories.train_errors_ == 0
    assert as_categories.export_rules().splitlines()[-1].startswith("x0 not in {1, 3} -> False")


def real(name):
    path = DATASETS / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"no {path}")
    frame = pd.read_csv(path)
    return frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy()


@pytest.mark.parametrize(
    "name", ["car", "nursery", "kr-vs-kp", "monks-1", "tic-tac-toe", "hayes-roth", "hiv-1-protease"]
)
def test_real_categories(name, tmp_path):
    X, y = real(name)
    X = X.astype(str).mask(np.random.default_rng(0).random(X.shape) < 0.05)
    classifier = fitted(X, y, k=4)
    assert classifier.score(X, y) >= fitted(X, y, k=1).score(X, y)
    assert_goes_anywhere(classifier, X, tmp_path)


@pytest.mark.parametrize("name", ["spambase", "fico", "credit-card", "taiwanese-bankruptcy", "occupancy-estimation"])
def test_real_numbers_with_holes(name, tmp_path):
    X, y = real(name)
    X = X[:4000].mask(np.random.default_rng(0).random((min(len(X), 4000), X.shape[1])) < 0.05)
    y = y[:4000]
    classifier = fitted(X, y, k=2)
    assert_goes_anywhere(classifier, X, tmp_path)
    database = sqlite3.connect(":memory:")
    used = [classifier.feature_names_in_[f] for f in set(classifier.tree_.feature) if f >= 0]
    X[used].to_sql("t", database, index=False)
    assert [row[0] for row in database.execute(classifier.export_sql("t"))] == classifier.predict(X).tolist()


@pytest.mark.parametrize("name", ["telescope", "spambase", "dry-bean-repaired"])
def test_default_thresholds_cost_no_accuracy(name):
    X, y = real(name)
    gains = []
    for seed in range(4):
        X_train, X_test, y_train, y_test = train_test_split(X.to_numpy(), y, random_state=seed)
        greedy = DecisionTreeClassifier(criterion="entropy", max_depth=4, random_state=0).fit(X_train, y_train)
        k1, k8 = (fitted(X_train, y_train, k=k, max_depth=4) for k in (1, 8))
        assert k8.score(X_train, y_train) > greedy.score(X_train, y_train)
        gains.append([k.score(X_test, y_test) - greedy.score(X_test, y_test) for k in (k1, k8)])
    mean_k1, mean_k8 = np.mean(gains, axis=0)
    assert mean_k1 > -0.01
    assert mean_k8 > 0
