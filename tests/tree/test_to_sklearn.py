"""The tree as scikit-learn's own: the same leaf for every row, and what others build on such trees works on it."""

import pickle
import shutil
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import tree
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted
from support.messy import NUMERIC_COLUMNS, ODD_FLOATS, TIDY_COLUMNS, cases, edges, queries
from support.profiles import examples

from topktree import TopKTreeClassifier

few = examples(0.25)

tidy_cases = cases(TIDY_COLUMNS, odd_names=False)
MATPLOTLIB_3_11 = "ignore:The set_.* function will be deprecated:PendingDeprecationWarning"


def fit(X, y, **parameters):
    return TopKTreeClassifier(**{"max_depth": 4, "k": 4, **parameters}).fit(X, y)


def leaves(model, X):
    """The leaf of each row, also behind an encoder."""
    return model.apply(X) if isinstance(model, DecisionTreeClassifier) else model[-1].apply(model[:-1].transform(X))


def in_reach(model, X):
    """Numbers that scikit-learn's trees take: they refuse what is infinite as a float32."""
    if isinstance(model, Pipeline):
        return X
    if isinstance(X, np.ndarray):
        return X.clip(-1e30, 1e30) if X.dtype == np.float64 else X
    numbers = [i for i, dtype in enumerate(X.dtypes) if dtype == np.float64]
    return X.assign(**{X.columns[i]: X.iloc[:, i].clip(-1e30, 1e30) for i in numbers})


def far_from_thresholds(clf, model, X):
    """The rows in which rounding to float32, as scikit-learn does, moves no number across a threshold."""
    inner = np.flatnonzero(clf.tree_.children_left != -1)
    passed_on = set(model[0].outputs) if isinstance(model, Pipeline) else set(range(clf.n_features_in_))
    if not isinstance(X, np.ndarray | pd.DataFrame):
        return X
    far = np.ones(len(X), dtype=bool)
    for f, threshold in {(clf.tree_.feature[i], clf.tree_.threshold[i]) for i in inner if clf.tree_.category[i] < 0}:
        if f in passed_on and not np.isnan(threshold):
            values = np.asarray(X[:, f] if isinstance(X, np.ndarray) else X.iloc[:, f], dtype=np.float64)
            with np.errstate(over="ignore", under="ignore"):
                far &= (values <= threshold) == (values.astype(np.float32).astype(np.float64) <= threshold)
    return X[far]


def assert_same(clf, X):
    """Every row is treated alike by the classifier and by its copy, unless float32 cannot hold it."""
    model = clf.to_sklearn()
    X = far_from_thresholds(clf, model, in_reach(model, X))
    if len(X) == 0:
        return model
    expected = clf.predict(X)
    assert model.predict(X).dtype == expected.dtype
    np.testing.assert_array_equal(leaves(model, X), clf.apply(X))
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(model.predict_proba(X), clf.predict_proba(X))
    return model


# Same predictions


@examples(1.5)
@given(cases(), st.integers(0, 2**32 - 1))
def test_every_row_has_the_same_leaf(case, seed):
    clf = case.fit()
    model = assert_same(clf, queries(clf, case, seed))
    assert_same(clf, case.X)
    assert np.array_equal(model.classes_, clf.classes_)
    assert model.n_features_in_ == clf.n_features_in_
    assert model.feature_names_in_.tolist() == clf.feature_names_in_.tolist()


@given(
    cases({name: column for name, column in TIDY_COLUMNS.items() if name in NUMERIC_COLUMNS}), st.integers(0, 2**32 - 1)
)
def test_complete_numbers_need_no_encoder(case, seed):
    clf = case.fit()
    model = assert_same(clf, queries(clf, case, seed))
    assert type(model) is DecisionTreeClassifier


elements = st.sampled_from(ODD_FLOATS) | st.floats() | st.integers(-3, 3).map(float)
columns = hnp.arrays(np.float64, st.tuples(st.just(12), st.integers(1, 3)), elements=elements)


@given(columns, st.integers(2, 3))
def test_arrays_of_any_floats(X, n_classes):
    clf = fit(X, np.arange(12) % n_classes, max_thresholds=None)
    near = np.unique([value for f in range(X.shape[1]) for value in edges(clf, f)] + [np.nan, 0.0, 1e300, -1e300])
    for f in range(X.shape[1]):
        asked = np.repeat(X, len(near), axis=0)
        asked[:, f] = np.tile(near, len(X))
        assert_same(clf, asked)


@given(st.integers(0, 2**32 - 1), st.integers(0, 5), st.integers(0, 4))
def test_training_rows_are_treated_alike(seed, places, magnitude):
    rng = np.random.default_rng(seed)
    X = (rng.normal(0, 10.0**magnitude, (40, 2)) / 3).round(min(places, 6 - magnitude))
    clf = fit(X, rng.integers(0, 3, 40), max_thresholds=None)
    model = clf.to_sklearn()
    assert type(model) is DecisionTreeClassifier
    np.testing.assert_array_equal(model.apply(X), clf.apply(X))
    np.testing.assert_array_equal(model.tree_.threshold, clf.tree_.threshold)


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "uint8", "int32", "int64", "uint64", "bool"]
)
@pytest.mark.parametrize("other", ["float16", "float32", "float64", "int8", "int64", "bool"])
def test_training_and_later_rows_may_differ_in_type(dtype, other):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if dtype == "bool" else 100, (60, 3)).astype(dtype)
    y = (X[:, 0].astype(float) * 2 + X[:, 1] > 100).astype(int) + (X[:, 2] > 0)
    clf = fit(X, y)
    asked = rng.integers(0, 2 if dtype == "bool" else 100, (40, 3)).astype(other)
    assert_same(clf, X)
    assert_same(clf, asked)


@pytest.mark.parametrize("other", ["float16", "float32", "int8", "int64"])
@pytest.mark.parametrize("values", [[1.0, 1 + 2e-8, 1 + 1e-7, 2.0], [1 - 3e-12, 1 - 1e-12, 4.0, 5.0]])
def test_later_rows_of_another_type_pass_the_encoder(values, other):
    X = np.tile(np.array([values, [0.0, 1.0, np.nan, 5.0]]).T, (4, 1))
    clf = fit(X, [0, 1, 2, 3] * 4)
    assert isinstance(clf.to_sklearn(), Pipeline)
    near = np.array(edges(clf, 0) + edges(clf, 1) + [0.0, 1.0, 3.0])
    asked = np.array([[a, b] for a in near for b in near]).astype(other)
    assert_same(clf, asked)


@pytest.mark.parametrize("value", [2, 0.7, 0.5, -1, 0.3])
def test_a_boolean_given_as_another_number_is_refused(value):
    plain = pd.DataFrame({"b": [True, False] * 4, "n": [1.0, 2.0, 3.0, 4.0] * 2})
    for X in (plain, plain.assign(n=[1.0, 2.0, 3.0, np.nan] * 2)):
        clf = fit(X, [0, 1] * 4, max_depth=1)
        assert clf.tree_.feature[0] == 0
        with pytest.raises(ValueError, match=f"booleans in 'b', as in fit, got {float(value)}"):
            clf.predict(pd.DataFrame({"b": [float(value)], "n": [1.0]}))
        assert_same(clf, pd.DataFrame({"b": [0.0, 1.0, np.nan], "n": [1.0] * 3}))


@pytest.mark.parametrize(
    "values",
    [
        1_700_000_000 + np.arange(40),
        (1_700_000_000 + np.arange(40)) * 10**9,
        1_700_000_000 * 10**9 + np.arange(40) * 100,
        1 + np.arange(40) * 1e-9,
        np.nextafter(1.0, 2.0) ** np.arange(40),
        np.arange(40) * 5e-324,
        1e-45 * np.arange(40),
        1e300 * np.arange(1, 41),
        np.linspace(3.4028234e38, 3.4028236e38, 40),
        2**53 + np.arange(40),
        2**62 + np.arange(40) * 2**36 + np.arange(40) % 3,
        np.concatenate([[-np.inf, np.inf], np.arange(38.0)]),
        np.where(np.arange(40) % 2, np.inf, -np.inf),
        np.where(np.arange(40) % 2, -np.finfo(float).max, -np.inf),
        np.where(np.arange(40) % 2, np.finfo(float).max, np.inf),
        np.where(np.arange(40) % 3, np.nan, np.inf),
    ],
    ids=lambda values: f"{values[0]} {values[1]} {values[2]}",
)
@pytest.mark.parametrize("as_frame", [False, True])
def test_numbers_that_float32_cannot_tell_apart(values, as_frame):
    X = pd.DataFrame({"a": values}) if as_frame else values[:, None]
    rng = np.random.default_rng(0)
    for y in (np.arange(40) // 3 % 3, np.arange(40) % 2, rng.integers(3, size=40)):
        clf = fit(X, y, max_thresholds=None)
        assert_same(clf, X)
        near = np.unique([*edges(clf, 0), *values.astype(float), np.nan, 0.0])
        assert_same(clf, pd.DataFrame({"a": near}) if as_frame else near[:, None])
        if values.dtype.kind == "i":
            whole = np.unique(np.concatenate([values - 1, values, values + 1, (values[1:] + values[:-1]) // 2]))
            assert_same(clf, pd.DataFrame({"a": whole}) if as_frame else whole[:, None])


def test_a_missing_value_where_training_had_none():
    X = pd.DataFrame({"n": [1.0, 2.0, 3.0, 4.0] * 4, "b": [True, True, False, False] * 4})
    clf = fit(X, [0, 1, 2, 3] * 4, k="all")
    model = clf.to_sklearn()
    assert type(model) is DecisionTreeClassifier
    asked = pd.DataFrame({"n": [np.nan, np.nan, np.nan, 1.0, 4.0], "b": [1.0, 0.0, np.nan, np.nan, np.nan]})
    assert_same(clf, asked)
    assert_same(clf, asked.astype({"b": "boolean"}))


def test_infinity_at_a_plain_tree_is_refused_by_scikit_learn():
    clf = fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="infinity"):
        clf.to_sklearn().predict([[np.inf]])


@pytest.mark.parametrize("n", [4, 16, 64])
def test_infinities_of_both_signs_pass_the_encoder_in_silence(n):
    clf = fit([[0.0], [1.0], [np.nan]], [0, 1, 1])
    for values in ([np.inf, -np.inf] * n, [np.inf] * n + [-np.inf] * n):
        assert_same(clf, np.array(values)[:, None])


@pytest.mark.parametrize("depth", [0, 1])
def test_small_trees(depth):
    complete = pd.DataFrame({"a": [0.0, 1.0], "b": [True, False]})
    for X in (complete, complete.assign(a=["x", "y"]), complete.assign(a=[None, 1.0])):
        clf = fit(X, ["p", "q"], max_depth=depth)
        model = assert_same(clf, X)
        last = model if isinstance(model, DecisionTreeClassifier) else model[-1]
        assert last.get_n_leaves() == clf.get_n_leaves() == depth + 1


# What it is


def iris():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 50, (60, 3)) / 10
    return X, (X[:, 0] > 2).astype(int) + (X[:, 1] > 3)


def mixed():
    """A frame with missing numbers, booleans and categories, and labels that need all of them."""
    rng = np.random.default_rng(0)
    number = np.where(rng.random(80) < 0.2, np.nan, rng.integers(0, 40, 80))
    flag = rng.random(80) < 0.5
    word = rng.choice(["x", "y", "z"], 80)
    y = np.where(
        np.isnan(number), "missing", np.where(number > 20, np.where(flag, "a", "b"), np.where(word == "x", "a", "c"))
    )
    return pd.DataFrame({"number": number, "flag": flag, "word": word}), y


def test_complete_numbers_become_a_plain_tree():
    X, y = iris()
    for data in (X, X.astype(np.float32), (X * 10).astype(int), X > 2, X.tolist()):
        model = fit(data, y).to_sklearn()
        assert type(model) is DecisionTreeClassifier
        assert not hasattr(model, "feature_names_in_")
        check_is_fitted(model)


def test_frames_keep_their_names():
    X, y = iris()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = fit(frame, y).to_sklearn()
    assert type(model) is DecisionTreeClassifier
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])


def test_polars_frames():
    polars = pytest.importorskip("polars")
    X, y = mixed()
    frame = polars.DataFrame({name: polars.Series(X[name].tolist(), nan_to_null=True) for name in X})
    clf = fit(frame, y)
    assert np.array_equal(clf.predict(frame), fit(X, y).predict(X))
    model = assert_same(clf, frame)
    assert np.array_equal(model.predict(X), clf.predict(X))


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1.0, None, 2.0, 3.0]),
        pd.Series(["a", "b", "a", "c"]),
        pd.Series(["a", "b", "a", "c"], dtype="category"),
        pd.Series([True, False, None, True], dtype="boolean"),
        pd.Series([1, 2, None, 3], dtype="Int64"),
        pd.Series([1, "a", None, 3], dtype=object),
        pd.Series([1.0, np.inf, 2.0, 3.0]),
        pd.Series([2**60, 2**60 + 1, 0, 1]),
    ],
    ids=lambda column: str(column.tolist()),
)
def test_everything_else_becomes_a_pipeline(column):
    X = pd.DataFrame({"a": column, "b": [1.0, 2.0, 3.0, 4.0]})
    clf = fit(X, [0, 1, 2, 1])
    model = assert_same(clf, X)
    assert type(model) is Pipeline
    assert type(model[-1]) is DecisionTreeClassifier
    check_is_fitted(model)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model[:-1].transform(X).shape == (4, model[-1].n_features_in_)


def test_categories_given_by_index():
    X = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 3.0]] * 3)
    clf = fit(X, [0, 1, 1] * 3, categorical_features=[0])
    model = assert_same(clf, np.array([[3.0, 1.0], [7.0, 1.0], [np.nan, 1.0], [1.0, np.nan]]))
    assert type(model) is Pipeline


def test_columns_of_the_encoder_have_names():
    X, y = mixed()
    model = fit(X, y).to_sklearn()
    names = model[:-1].get_feature_names_out().tolist()
    assert names[0] == "number"
    assert set(names) <= {"number", "number is missing", "flag", "word = x", "word = y", "word = z"}
    assert len(names) == model[-1].n_features_in_
    times = fit(pd.DataFrame({"t": 1 + np.arange(9) * 1e-9}), np.arange(9) > 4).to_sklearn()
    (name,) = times[:-1].get_feature_names_out()
    low, high = 1 + 4e-9, 1 + 5e-9
    assert name.startswith("t > ")
    assert low <= float(name.removeprefix("t > ")) < high


@pytest.mark.parametrize("criterion", ["entropy", "gini", "sqrt", "gain_ratio", lambda left, right: -left.min(axis=1)])
def test_nodes_have_the_same_numbers(criterion):
    X, y = iris()
    clf = fit(X, y, criterion=criterion, class_weight={0: 2.5})
    model = clf.to_sklearn()
    for name in (
        "children_left",
        "children_right",
        "n_node_samples",
        "weighted_n_node_samples",
        "node_count",
        "max_depth",
    ):
        np.testing.assert_array_equal(getattr(model.tree_, name), getattr(clf.tree_, name), err_msg=name)
    assert model.criterion == ("gini" if criterion == "gini" else "entropy")
    assert model.get_depth() == clf.get_depth()
    assert model.get_n_leaves() == clf.get_n_leaves()
    assert (model.decision_path(X) != clf.decision_path(X)).nnz == 0
    if criterion in ("entropy", "gini"):
        np.testing.assert_allclose(model.tree_.impurity, clf.tree_.impurity, rtol=1e-12)
        np.testing.assert_allclose(model.feature_importances_, clf.feature_importances_, rtol=1e-12)


def test_fit_comes_first():
    with pytest.raises(NotFittedError):
        TopKTreeClassifier().to_sklearn()


@pytest.mark.parametrize("data", [iris, mixed])
def test_the_result_can_be_pickled_and_cloned(data):
    X, y = data()
    clf = fit(X, y)
    model = clf.to_sklearn()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert clone(model).get_params().keys() == model.get_params().keys()


def test_the_classifier_is_left_alone():
    X, y = iris()
    clf = fit(X, y)
    before = clf.export_dict()
    model = clf.to_sklearn()
    model.fit(X, 1 - (y > 0))
    assert clf.export_dict() == before
    assert clf.classes_.tolist() == [0, 1, 2]


# Tools for scikit-learn's trees


def encoded(data):
    """A tree of scikit-learn's, rows as it takes them, and their labels."""
    X, y = data()
    clf = fit(X, y)
    model = clf.to_sklearn()
    if isinstance(model, Pipeline):
        return model[-1], model[:-1].transform(X), y
    return model, X, y


def test_export_text_of_scikit_learn():
    X, y = mixed()
    model = fit(X, y).to_sklearn()
    text = tree.export_text(model[-1], feature_names=model[:-1].get_feature_names_out().tolist())
    assert text.count("class: ") == model[-1].get_n_leaves()
    assert "|--- number <= 20.00" in text
    plain = fit(*iris()).to_sklearn()
    assert tree.export_text(plain).count("class: ") == plain.get_n_leaves()


@pytest.mark.parametrize("data", [iris, mixed])
def test_plot_tree_of_scikit_learn(data):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model, _, _ = encoded(data)
    figure = pyplot.figure()
    boxes = tree.plot_tree(model, ax=figure.add_subplot(), filled=True, class_names=[str(c) for c in model.classes_])
    pyplot.close(figure)
    assert len([box for box in boxes if "samples" in box.get_text()]) == model.tree_.node_count


def without_names(clf, X):
    """A tree of scikit-learn's that knows no names, and an array of the rows as it takes them."""
    model = clf.to_sklearn()
    if isinstance(model, Pipeline):
        return model[-1], model[:-1].transform(X)
    rows = in_reach(model, X)
    vars(model).pop("feature_names_in_", None)
    return model, np.asarray(rows, dtype=np.float64)


def assert_shap_adds_up(model, X):
    import shap

    explainer = shap.TreeExplainer(model)
    values = explainer.shap_values(X)
    assert values.shape == (len(X), model.n_features_in_, len(model.classes_))
    np.testing.assert_allclose(values.sum(axis=1) + explainer.expected_value, model.predict_proba(X), atol=1e-6)


@pytest.mark.filterwarnings(MATPLOTLIB_3_11)
@pytest.mark.parametrize("data", [iris, mixed])
def test_shap_values_add_up(data):
    pytest.importorskip("shap")
    model, X, _ = encoded(data)
    assert np.isnan(X).any() == (data is mixed)
    assert_shap_adds_up(model, X)


@pytest.mark.filterwarnings(MATPLOTLIB_3_11)
@few
@given(tidy_cases, st.integers(0, 2**32 - 1))
def test_shap_values_add_up_for_any_tree(case, seed):
    pytest.importorskip("shap")
    clf = case.fit(max_depth=3, leaf_penalty=0.0)
    assume(clf.get_n_leaves() > 1)
    assert_shap_adds_up(*without_names(clf, queries(clf, case, seed)))


@pytest.mark.filterwarnings(MATPLOTLIB_3_11)
def test_shap_values_of_a_missing_value_where_training_had_none():
    pytest.importorskip("shap")
    X = pd.DataFrame({"n": [1.0, 2.0, 3.0, 4.0] * 4, "b": [True, True, False, False] * 4})
    asked = pd.DataFrame({"n": [np.nan, np.nan, np.nan, 1.0, 4.0], "b": [1.0, 0.0, np.nan, np.nan, np.nan]})
    assert_shap_adds_up(*without_names(fit(X, [0, 1, 2, 3] * 4, k="all"), asked))


def run_onnx(model, X):
    """Labels and probabilities of the converted tree, on float32."""
    import onnxruntime
    from skl2onnx import to_onnx

    rows = np.asarray(X, dtype=np.float32)
    converted = to_onnx(model, rows[:1], options={"zipmap": False})
    # As docs/tables.md says: skl2onnx leaves out where missing values go, onnx/sklearn-onnx#1253.
    for attribute in converted.graph.node[0].attribute:
        if attribute.name == "nodes_missing_value_tracks_true":
            attribute.ints[:] = model.tree_.missing_go_to_left.tolist()
    session = onnxruntime.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": rows})


def assert_onnx_agrees(model, X):
    rows = np.asarray(X, dtype=np.float32)
    label, probability = run_onnx(model, rows)
    assert label.tolist() == model.predict(rows).tolist()
    np.testing.assert_allclose(probability, model.predict_proba(rows), atol=1e-6)


@pytest.mark.parametrize("names", [None, ("no", "yes", "it's")])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_onnx_agrees(names, n_classes):
    pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    X, y = iris()
    y = np.minimum(y, n_classes - 1)
    clf = fit(X, y if names is None else np.array(names)[y], max_depth=2)
    near = np.array([edges(clf, f) or [0.0] for f in (0, 1)], dtype=object)
    asked = np.concatenate([X, [[a, b, 0.0] for a in near[0] for b in near[1]], [[np.nan] * 3]])
    assert_onnx_agrees(clf.to_sklearn(), asked)


def test_onnx_agrees_behind_an_encoder():
    pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    model, X, _ = encoded(mixed)
    assert np.isnan(X).any()
    assert_onnx_agrees(model, X)


@few
@given(tidy_cases.filter(lambda case: np.asarray(case.y).dtype.kind != "f"), st.integers(0, 2**32 - 1))
def test_onnx_agrees_for_any_tree(case, seed):
    pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    clf = case.fit(max_depth=3, leaf_penalty=0.0)
    assert_onnx_agrees(*without_names(clf, queries(clf, case, seed)))


def see(model, X, y):
    """The view of dtreeviz on a tree."""
    import dtreeviz

    names = [f"f{i}" for i in range(X.shape[1])]
    return dtreeviz.model(model, X, y, feature_names=names, target_name="y", class_names=["p", "q", "r"])


def words():
    """Categories and booleans only, so that the encoded rows are complete: dtreeviz takes no NaN, nor other labels."""
    X, _ = mixed()
    return X[["flag", "word"]], np.where(X["flag"], np.where(X["word"] == "x", 0, 1), 2)


@pytest.mark.parametrize("data", [iris, words])
def test_dtreeviz_explains(data):
    pytest.importorskip("dtreeviz")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model, X, y = encoded(data)
    view = see(model, X, y)
    assert "f0" in view.explain_prediction_path(X[0])
    view.leaf_sizes()
    view.ctree_leaf_distributions()
    view.ctree_feature_space(features=["f0", "f1"])
    assert len(pyplot.get_fignums()) >= 3
    pyplot.close("all")


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs the program dot of Graphviz")
@pytest.mark.parametrize("data", [iris, words])
def test_dtreeviz_draws(data):
    pytest.importorskip("dtreeviz")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    svg = see(*encoded(data)).view().svg()
    pyplot.close("all")
    assert ElementTree.fromstring(svg).tag.endswith("svg")
