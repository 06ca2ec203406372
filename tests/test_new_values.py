"""Values that training did not have: every output sends them the same way, and every call that meets them says so once.

The reference is a walk of its own down the arrays of `tree_`. Missing values of a feature that had some go where
training sent them, which the training rows themselves show; any other new value goes to the heavier child, the left one
of two that weigh the same.
"""

import json
import math
import re
import sqlite3
import warnings
from contextlib import closing
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier
from support.messy import Case, parameters, sql_rows
from support.paths import ROOT
from support.profiles import examples

import topktree
from topktree import TopKBoostingClassifier, TopKForestClassifier, TopKTreeClassifier

few = examples(0.4)

SIZES = ["S", "M", "L", "XL"]
COLOURS = ["red", "it's blue", "green", "7", "in", "grey", "pink"]
# Each kind of feature twice: as it is, and with missing values in training.
KINDS = ("number", "whole", "flag", "colour", "size")
NAMES = [f"{kind}{ending}" for kind in KINDS for ending in ("", " or none")]


def kind_of(name):
    return name.removesuffix(" or none")


def random_values(rng, kind, n):
    if kind == "number":
        return (rng.integers(-200, 200, n) / 100).tolist()
    pool = {"whole": [0, 1, 2, 5, 40], "flag": [False, True], "colour": COLOURS, "size": SIZES}[kind]
    return [pool[i] for i in rng.integers(len(pool), size=n)]


def typed(name, values):
    """A training column of the type that its name says."""
    kind = kind_of(name)
    if kind == "size":
        return pd.Series(pd.Categorical(values, categories=SIZES, ordered=True))
    types = {"number": "float64", "whole": "Int64", "flag": "boolean", "colour": "object"}
    return pd.Series([math.nan if value is None and kind == "number" else value for value in values], dtype=types[kind])


@st.composite
def fits(draw):
    """A table of every kind of feature with and without missing values, and what to fit to it."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from([12, 30, 60]))
    columns = {name: random_values(rng, kind_of(name), n) for name in NAMES}
    for name in NAMES:
        if name.endswith("or none"):
            columns[name] = [
                None if gone else value for value, gone in zip(columns[name], rng.random(n) < 0.3, strict=True)
            ]
            columns[name][:2] = [None, random_values(rng, kind_of(name), 1)[0]]
    chosen = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True))
    score = sum(pd.factorize(np.array([str(value) for value in columns[name]]))[0] % 3 for name in chosen)
    classes = np.where(rng.random(n) < 0.1, rng.integers(3, size=n), score % 3)
    classes[:2] = (0, 1)
    weight = draw(st.sampled_from([None, rng.integers(1, 4, n).astype(float), 0.1 + rng.random(n)]))
    X = pd.DataFrame({name: typed(name, values) for name, values in columns.items()})
    return Case(X, np.array(["no", "yes", "it's"])[classes], weight, draw(parameters()))


def ask(case, seed=0, n=80):
    """Rows in which any value may be missing or new, the last of them without any value."""
    rng = np.random.default_rng(seed)
    columns = {}
    for name in case.X.columns:
        kind = kind_of(name)
        values = random_values(rng, kind, n)
        new = {"colour": ["violet", "", "Red"], "size": ["XXL", "m"], "number": [-1e9, 1e9], "whole": [0.5, 39.5, -3]}
        for i in np.flatnonzero(rng.random(n) < 0.2).tolist():
            values[i] = new.get(kind, values)[int(rng.integers(2))]
        for i in np.flatnonzero(rng.random(n) < 0.25).tolist():
            values[i] = None
        is_number = kind in ("number", "whole")
        columns[name] = pd.Series([*values, None], dtype="float64" if is_number else object)
    return pd.DataFrame(columns)


class Reference:
    """What training had, and the walk."""

    def __init__(self, X):
        self.has_missing = [X[name].isna().any() for name in X.columns]
        self.categories = [
            SIZES if kind_of(name) == "size" else sorted(set(X[name].dropna())) if kind_of(name) == "colour" else None
            for name in X.columns
        ]

    def path(self, tree, row):
        """The nodes of a row, given as a list of plain values, None for missing."""
        nodes = [0]
        while tree.children_left[nodes[-1]] >= 0:
            goes_left = self.goes_left(tree, nodes[-1], row[tree.feature[nodes[-1]]])
            nodes.append(int((tree.children_left if goes_left else tree.children_right)[nodes[-1]]))
        return nodes

    def goes_left(self, tree, node, value):
        f, threshold, categories = tree.feature[node], tree.threshold[node], self.categories[tree.feature[node]]
        if value is None:
            return bool(tree.missing_go_to_left[node]) if self.has_missing[f] else is_left_heavier(tree, node)
        if np.isnan(threshold):  # is it missing?
            return False
        if categories is not None:
            if value not in categories:
                return is_left_heavier(tree, node)
            value = categories.index(value)
        if tree.category_set[node].any():
            return bool(np.pad(tree.category_set[node], (0, len(categories)))[value])
        return value == tree.category[node] if tree.category[node] >= 0 else value <= threshold

    def leaves(self, tree, rows):
        return [self.path(tree, row)[-1] for row in rows]


def is_left_heavier(tree, node):
    """Integer weights decide; those of the arrays are rounded when they are added."""
    weight = tree.weighted_n_node_samples
    left, right = weight[tree.children_left[node]], weight[tree.children_right[node]]
    return left > right or math.isclose(left, right, rel_tol=1e-9)


def survives_float32(tree, X):
    """Whether scikit-learn, which rounds numbers to float32, leaves a row's numbers on their side of each threshold."""
    far = np.ones(len(X), dtype=bool)
    for f, name in enumerate(X.columns):
        if kind_of(name) in ("number", "whole"):
            values = X[name].to_numpy(dtype=np.float64)
            for threshold in tree.threshold[tree.feature == f]:
                far &= (values <= threshold) == (values.astype(np.float32).astype(np.float64) <= threshold)
    return far


def run_sqlite(clf, X):
    with closing(sqlite3.connect(":memory:")) as database:
        names = ", ".join(f'"{name}"' for name in X.columns)
        database.execute(f"CREATE TABLE t (__row, {names})")
        rows = [[i, *row] for i, row in enumerate(sql_rows(X))]
        database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(rows[0]))})", rows)
        return [label for (label,) in database.execute(clf.export_sql("t") + " ORDER BY __row")]


def run_duckdb(clf, X):
    import duckdb

    types = {"number": "DOUBLE", "whole": "DOUBLE", "flag": "BOOLEAN", "colour": "VARCHAR", "size": "VARCHAR"}
    with closing(duckdb.connect()) as database:
        columns = ", ".join(f'"{name}" {types[kind_of(name)]}' for name in X.columns)
        database.execute(f"CREATE TABLE t (__row INTEGER, {columns})")
        rows = [[i, *row] for i, row in enumerate(sql_rows(X))]
        database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(rows[0]))})", rows)
        return [label for (label,) in database.execute(clf.export_sql("t") + " ORDER BY __row").fetchall()]


def reader_of_the_page():
    """The function `predict(model, row)` that docs/file-format.md shows."""
    text = (ROOT / "docs" / "file-format.md").read_text(encoding="utf-8")
    scope = {}
    exec(re.search(r"^def predict\(model, row\):\n(?:(?: .*)?\n)+", text, re.MULTILINE)[0], scope)
    return scope["predict"]


def as_dicts(X):
    return [dict(zip(X.columns, row, strict=True)) for row in sql_rows(X)]


def save_and_read(model, folder):
    model.save(folder / "model.json")
    return json.loads((folder / "model.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@examples(1.0)
@given(fits())
def test_every_output_sends_new_values_the_same_way(folder, case):
    clf = case.fit()
    tree, reference = clf.tree_, Reference(case.X)
    # The walk is that of training: so are the ways of values that training had, missing ones included.
    paths = [reference.path(tree, row) for row in sql_rows(case.X)]
    visits = np.bincount([node for path in paths for node in path], minlength=tree.node_count)
    np.testing.assert_array_equal(visits, tree.n_node_samples)
    X = ask(case)
    leaves = reference.leaves(tree, sql_rows(X))
    expected = clf.classes_[np.argmax(tree.value[leaves], axis=1)].tolist()
    assert clf.apply(X).tolist() == leaves
    assert clf.predict(X).tolist() == expected
    np.testing.assert_array_equal(clf.predict_proba(X), tree.shares()[leaves])
    assert run_sqlite(clf, X) == expected
    content, predict = save_and_read(clf, folder), reader_of_the_page()
    assert [predict(content, row) for row in as_dicts(X)] == expected
    loaded = topktree.load(folder / "model.json")
    assert loaded.apply(X).tolist() == leaves
    far = survives_float32(tree, X)
    assert far.sum() > len(X) / 2
    np.testing.assert_array_equal(clf.to_sklearn().predict(X[far]), np.array(expected)[far])


@few
@given(fits())
def test_a_plain_tree_of_scikit_learn_predicts_the_same(case):
    """Without categories and missing values in training there is no encoder that could decide."""
    plain = ["number", "whole", "flag"]
    X = case.X[plain].astype({"whole": "int64", "flag": "bool"})
    clf = TopKTreeClassifier(**case.parameters).fit(X, case.y, case.sample_weight)
    model, asked = clf.to_sklearn(), ask(case)[plain].astype("float64")
    asked = asked[survives_float32(clf.tree_, asked)]
    assert asked.isna().any().all()
    assert type(model) is DecisionTreeClassifier
    np.testing.assert_array_equal(model.apply(asked), clf.apply(asked))
    np.testing.assert_array_equal(model.predict_proba(asked), clf.predict_proba(asked))


@few
@given(fits())
def test_duckdb_predicts_the_same(case):
    pytest.importorskip("duckdb")
    clf, X = case.fit(), ask(case)
    assert run_duckdb(clf, X) == clf.predict(X).tolist()


@given(fits())
def test_a_row_without_values_goes_the_way_of_most(case):
    clf = case.fit()
    nothing = ask(case).iloc[[-1]]
    assert nothing.isna().all(axis=None)
    path = np.flatnonzero(clf.decision_path(nothing).toarray()[0]).tolist()
    for node, child in pairwise(path):
        if not case.X.iloc[:, clf.tree_.feature[node]].isna().any():
            left, right = (children[node] for children in (clf.tree_.children_left, clf.tree_.children_right))
            assert child == (left if is_left_heavier(clf.tree_, node) else right)
    assert clf.tree_.children_left[path[-1]] < 0


def test_equal_branches_say_yes():
    X = pd.DataFrame({"colour": ["red", "blue"] * 4, "n": [1, 1, 2, 2] * 2, "flag": [True] * 4 + [False] * 4})
    for name, y in (("colour", X["colour"]), ("n", X["n"]), ("flag", X["flag"])):
        clf = TopKTreeClassifier(max_depth=1).fit(X[[name]], y.to_numpy())
        assert clf.apply(pd.DataFrame({name: [None]}, dtype=object)).tolist() == [clf.tree_.children_left[0]] == [1]
    clf = TopKTreeClassifier(max_depth=1).fit(X[["colour"]], X["colour"].to_numpy())
    assert clf.apply(pd.DataFrame({"colour": ["violet"]})).tolist() == [1]


def test_weights_decide_and_not_rows():
    X, y = pd.DataFrame({"n": [1, 1, 1, 2]}), ["a", "a", "a", "b"]
    nothing = pd.DataFrame({"n": [np.nan]})
    assert TopKTreeClassifier(max_depth=1).fit(X, y).predict(nothing) == ["a"]
    assert TopKTreeClassifier(max_depth=1).fit(X, y, [1, 1, 1, 4]).predict(nothing) == ["b"]
    assert TopKTreeClassifier(max_depth=1, class_weight={"a": 1, "b": 4}).fit(X, y).predict(nothing) == ["b"]
    assert TopKTreeClassifier(max_depth=1).fit(X, y, [1, 1, 1, 3]).predict(nothing) == ["a"]  # equal: yes


ENSEMBLES = {
    "forest": partial(TopKForestClassifier, random_state=0, max_features=0.5),
    "boosting": TopKBoostingClassifier,
}


@few
@given(fits(), st.sampled_from(sorted(ENSEMBLES)))
def test_ensembles(folder, case, kind):
    model = ENSEMBLES[kind](n_estimators=3, **case.parameters).fit(case.X, case.y, case.sample_weight)
    reference, X = Reference(case.X), ask(case)
    leaves = np.array([reference.leaves(tree.tree_, sql_rows(X)) for tree in model]).T
    np.testing.assert_array_equal(model.apply(X), leaves)
    votes = np.zeros((len(X), len(model.classes_)))
    for i, tree in enumerate(model):
        if kind == "forest":
            votes += tree.tree_.shares()[leaves[:, i]]
        else:
            predicted = np.argmax(tree.tree_.value[leaves[:, i]], axis=1)
            votes[np.arange(len(X)), predicted] += model.estimator_weights_[i]
    expected = model.classes_[np.argmax(votes, axis=1)].tolist()
    assert model.predict(X).tolist() == expected
    content, predict = save_and_read(model, folder), reader_of_the_page()
    for tree, entry in zip(model, content["trees"], strict=True):
        single = {"features": content["features"], "nodes": entry["nodes"]}
        assert [predict(single, row) for row in as_dicts(X)] == tree.predict(X).tolist()
    assert topktree.load(folder / "model.json").predict(X).tolist() == expected
    accepted = np.logical_and.reduce([survives_float32(tree.tree_, X) for tree in model])
    if kind == "boosting":  # AdaBoostClassifier refuses missing values where training had none
        accepted &= X[["number", "whole", "flag"]].notna().all(axis=1).to_numpy()
    theirs = model.to_sklearn().predict(X[accepted])
    np.testing.assert_array_equal(theirs, np.array(expected)[accepted])


# Warnings


def table():
    """Features that a tree all uses: `unused` decides nothing."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 200),
            "income": np.where(rng.random(200) < 0.2, np.nan, rng.normal(50, 10, 200).round(1)),
            "colour": rng.choice(["red", "green", "blue"], 200),
            "unused": np.ones(200),
        }
    )
    return X, np.where((X["age"] > 50) ^ (X["income"] > 50) ^ (X["colour"] == "red"), "high", "low")


def with_new_values(X):
    X = X.head(20).copy()
    X["age"] = X["age"].astype(float)
    X.loc[[0, 3, 4], "age"] = np.nan
    X.loc[[1, 3], "colour"] = "violet"
    X.loc[5, "colour"] = None
    X.loc[6, "income"] = np.nan  # as in training
    X.loc[7, "unused"] = np.nan
    return X


WARNING = (
    "age is missing in 3 rows; training had no missing values\n"
    "colour is missing in 1 row; training had no missing values. "
    "It has a value in 2 rows that training did not have"
)

MODELS = {
    "tree": partial(TopKTreeClassifier, k=8, max_depth=4),
    "cv": partial(topktree.TopKTreeClassifierCV, ks=(8,), max_depths=(4,), cv=2),
    **{name: partial(ensemble, n_estimators=3, max_depth=4) for name, ensemble in ENSEMBLES.items()},
}
CALLS = {
    "predict": lambda model, X, y: model.predict(X),
    "predict_proba": lambda model, X, y: model.predict_proba(X),
    "predict_log_proba": lambda model, X, y: model.predict_log_proba(X),
    "apply": lambda model, X, y: model.apply(X),
    "decision_path": lambda model, X, y: model.decision_path(X),
    "score": lambda model, X, y: model.score(X, y),
    "staged_predict": lambda model, X, y: list(model.staged_predict(X)),
    "staged_score": lambda model, X, y: list(model.staged_score(X, y)),
}
OFFERED = [(m, c) for m in MODELS for c in CALLS if hasattr(MODELS[m](), c)]


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    return {name: make().fit(X, y) for name, make in MODELS.items()}


def warnings_of(call, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*arguments)
    assert all(warning.category is UserWarning for warning in caught)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(("model", "call"), OFFERED)
def test_one_warning_per_call_with_counts(fitted, model, call):
    X, y = table()
    assert warnings_of(CALLS[call], fitted[model], with_new_values(X), y[:20]) == [WARNING]
    assert warnings_of(CALLS[call], fitted[model], X, y) == []
    again = warnings_of(lambda: [CALLS[call](fitted[model], with_new_values(X), y[:20]) for _ in range(2)])
    assert again == [WARNING, WARNING]


def test_every_model_and_call_is_there():
    common = {"predict", "predict_proba", "predict_log_proba", "apply", "score"}
    assert common | {"decision_path"} == {c for m, c in OFFERED if m == "tree"}
    assert common == {c for m, c in OFFERED if m == "forest"}
    assert {"staged_predict", "staged_score"} <= {c for m, c in OFFERED if m == "boosting"}


def test_arrays_and_many_features():
    rng = np.random.default_rng(0)
    X = rng.random((400, 14))
    model = TopKForestClassifier(n_estimators=30, max_features=1, random_state=0).fit(X, rng.integers(0, 2, 400))
    assert len(set().union(*(tree.tree_.used_features() for tree in model))) == 14
    asked = np.full((1500, 14), np.nan)
    (message,) = warnings_of(model.predict, asked)
    said = [f"x{i} is missing in 1,500 rows; training had no missing values" for i in range(10)]
    assert message == "\n".join([*said, "4 more of this kind"])
    asked[:, 10:] = 0.5
    assert warnings_of(model.predict, asked) == ["\n".join(said)]
