"""Ensembles in files, on the command line and in other tools: what comes out is what went in."""

import json
import math
import re
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from support.ensembles import assert_same_forest, noisy
from support.messy import cases
from support.problems import user_criterion
from support.profiles import examples

import topktree
from topktree import TopKBoostingClassifier, TopKForestClassifier, TopKTreeClassifier
from topktree._cli.main import main

few = examples(0.2)
KINDS = {"forest": partial(TopKForestClassifier, random_state=0), "boosting": TopKBoostingClassifier}
MODELS = Path(__file__).parents[1] / "support" / "models"


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def people(n=120):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 80, n)),
            "colour": rng.choice(["red", "green", "blue"], n),
            "smoker": rng.random(n) < 0.5,
        }
    )
    return X, np.where((X.age > 45) ^ (X.colour == "red") ^ (rng.random(n) < 0.1), "high", "low")


@few
@given(cases(), st.sampled_from(sorted(KINDS)))
def test_what_is_loaded_is_what_was_saved(tmp_path_factory, case, kind):
    path = tmp_path_factory.mktemp("models") / "model.json"
    ensemble = KINDS[kind](n_estimators=3, **case.parameters | {"max_depth": 2})
    ensemble.fit(case.X, case.y, case.sample_weight)
    ensemble.save(path)
    loaded = topktree.load(path)
    assert type(loaded) is type(ensemble)
    assert_same_forest(loaded, ensemble)
    assert loaded.features_ == ensemble.features_
    assert loaded.status_ == ensemble.status_
    np.testing.assert_array_equal(loaded.classes_, ensemble.classes_)
    np.testing.assert_array_equal(loaded.predict_proba(case.X), ensemble.predict_proba(case.X))
    np.testing.assert_array_equal(loaded.feature_importances_, ensemble.feature_importances_)
    assert loaded.export_text() == ensemble.export_text()
    assert loaded.export_dict() == ensemble.export_dict()
    other = path.with_name("again.json")
    loaded.save(other)
    assert other.read_text() == path.read_text()


def test_what_a_forest_file_keeps(tmp_path):
    X, y = people()
    forest = TopKForestClassifier(n_estimators=20, oob_score=accuracy_score, random_state=np.random.RandomState(0)).fit(
        X, y
    )
    forest.save(tmp_path / "forest.json")
    loaded = topktree.load(tmp_path / "forest.json")
    assert loaded.oob_score_ == forest.oob_score_
    assert (loaded.oob_score, loaded.random_state) == (True, None)
    assert_same_forest(loaded, forest)


def test_what_a_boosting_file_keeps(tmp_path):
    X, y = people()
    boosting = TopKBoostingClassifier(n_estimators=4).fit(X, y)
    boosting.save(tmp_path / "boosting.json")
    loaded = topktree.load(tmp_path / "boosting.json")
    for name in ("estimator_weights_", "estimator_errors_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(boosting, name))
    assert loaded.stopped_ == boosting.stopped_
    for shares, same in zip(loaded.staged_predict_proba(X), boosting.staged_predict_proba(X), strict=True):
        np.testing.assert_array_equal(shares, same)


def test_a_criterion_of_ones_own_is_lost(tmp_path, kind):
    X, y = people()
    kind(n_estimators=2, criterion=user_criterion, max_depth=2).fit(X, y).save(tmp_path / "model.json")
    loaded = topktree.load(tmp_path / "model.json")
    assert loaded.criterion is None
    loaded.save(tmp_path / "again.json")
    with pytest.raises(ValueError, match="criterion must be"):
        loaded.fit(X, y)


def test_unfitted(tmp_path, kind):
    X, _ = people()
    model = kind()
    calls = [
        lambda: model.save(tmp_path / "model.json"),
        lambda: model.predict(X),
        lambda: model.predict_proba(X),
        lambda: model.apply(X),
        model.to_sklearn,
        model.export_text,
        model.export_dict,
        model.get_n_leaves,
        lambda: model.feature_importances_,
    ]
    for call in calls:
        with pytest.raises(NotFittedError):
            call()
    assert not list(tmp_path.iterdir())


def change(payload, path, value):
    *parents, last = path
    for key in parents:
        payload = payload[key]
    if value is None:
        del payload[last]
    else:
        payload[last] = value


@pytest.mark.parametrize(
    ("name", "path", "value", "message"),
    [
        ("forest", ("format",), "topktree-jungle", 'its "format" is not'),
        ("forest", ("version",), 4, "format version 4"),
        ("forest", ("kind",), "jungle", '"kind" must be "forest" or "boosting"'),
        ("forest", ("trees",), [], '"trees" must be objects'),
        ("forest", ("trees",), [1], '"trees" must be objects'),
        ("forest", ("trees",), None, '"trees" must be there'),
        ("forest", ("trees", 0, "nodes"), [], '"nodes" must not be empty'),
        ("forest", ("trees", 1, "nodes", 0, "feature_index"), 9, "a feature that is not there"),
        ("forest", ("trees", 1, "status"), "done", '"status" must be one of'),
        ("forest", ("status",), "done", '"status" must be one of'),
        ("forest", ("oob_score",), "good", '"oob_score" must be'),
        ("forest", ("parameters", "n_estimators"), 0, "n_estimators must be"),
        ("forest", ("parameters", "max_features"), "auto", "max_features must be"),
        ("forest", ("parameters", "colour"), "red", "the parameter 'colour'"),
        ("boosting", ("trees", 0, "vote"), None, '"vote"'),
        ("boosting", ("trees", 0, "vote"), 0, '"vote"'),
        ("boosting", ("trees", 0, "error"), 1.5, '"error"'),
        ("boosting", ("stopped",), 5, '"stopped" must be one of'),
        ("boosting", ("parameters", "learning_rate"), -1, "learning_rate must be"),
        ("boosting", ("kind",), "forest", "the parameter 'learning_rate'"),
    ],
)
def test_files_that_cannot_be(tmp_path, name, path, value, message):
    X, y = people()
    file = tmp_path / "model.json"
    KINDS[name](n_estimators=2, max_depth=2).fit(X, y).save(file)
    payload = json.loads(file.read_text())
    change(payload, path, value)
    file.write_text(json.dumps(payload))
    with pytest.raises(ValueError, match=re.escape(str(file)) + ".*" + re.escape(message)):
        topktree.load(file)


def test_versions_that_are_kept(tmp_path):
    """Files of version 1 are read for ever."""
    for name in KINDS:
        loaded = topktree.load(MODELS / f"{name}-v1.json")
        X, y = people()
        assert loaded.score(X, y) > 0.8
        loaded.save(tmp_path / "again.json")
        assert topktree.load(tmp_path / "again.json").export_text() == loaded.export_text()


def leaf_of_version_1(nodes, row):
    """The leaf of a row by the rules of version 1: a missing or a new value makes every test but `is missing` false."""
    node = nodes[0]
    while "test" in node:
        value = row[node["feature"]]
        is_missing = value is None or value != value
        if node["test"] == "<=":
            side = "left" if not is_missing and value <= node["value"] else "right"
        elif node["test"] == "=":
            side = "right" if not is_missing and value == node["value"] else "left"
        else:
            side = "right" if is_missing else "left"
        node = nodes[node[side]]
    return node


@pytest.mark.parametrize("name", ["forest", "boosting", "forest-per-tree", "boosting-stopped"])
def test_files_of_version_1_treat_new_values_as_they_did(name):
    content = json.loads((MODELS / f"{name}-v1.json").read_text(encoding="utf-8"))
    X, _ = people()
    X["smoker"] = X["smoker"].astype(object)
    X.loc[::3, "smoker"] = None
    X.loc[1::4, "colour"] = None
    X.loc[2::4, "colour"] = "violet"
    votes = np.zeros((len(X), len(content["classes"])))
    for tree in content["trees"]:
        for i, row in enumerate(X.to_dict("records")):
            leaf = leaf_of_version_1(tree["nodes"], row)
            if content["kind"] == "forest":
                votes[i] += np.array(leaf["counts"]) / sum(leaf["counts"])
            else:
                votes[i, content["classes"].index(leaf["prediction"])] += tree["vote"]
    loaded = topktree.load(MODELS / f"{name}-v1.json")
    np.testing.assert_array_equal(loaded.predict(X), np.array(content["classes"])[votes.argmax(axis=1)])


@pytest.mark.parametrize(
    ("name", "n_trees", "n_high", "shares"),
    [
        ("forest-per-tree", 3, 58, [0.7406612669245648, 0.22546419098143233, 0.5340640447023425, 0.24444444444444446]),
        ("boosting-stopped", 2, 57, [0.8807970779778823, 0.11920292202211755, 0.6545265785473169, 0.3454734214526831]),
    ],
)
def test_files_with_parameters_that_are_gone_predict_as_they_did(tmp_path, name, n_trees, n_high, shares):
    """`max_features_per_tree` of forests, and early stopping of boosting; both were dropped before the release."""
    X, _ = people()
    loaded = topktree.load(MODELS / f"{name}-v1.json")
    loaded.save(tmp_path / "again.json")
    for model in (loaded, topktree.load(tmp_path / "again.json")):
        assert len(model) == n_trees
        assert np.count_nonzero(model.predict(X) == "high") == n_high
        np.testing.assert_allclose(model.predict_proba(X)[:4, 0], shares, rtol=1e-12)


@pytest.mark.parametrize(("name", "foreign"), [("forest", "tol"), ("boosting", "max_features_per_tree")])
def test_parameters_that_another_ensemble_had_are_refused(tmp_path, name, foreign):
    content = json.loads((MODELS / f"{name}-v1.json").read_text(encoding="utf-8"))
    content["parameters"][foreign] = 1
    (tmp_path / "model.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=f"'{foreign}', which this version does not know"):
        topktree.load(tmp_path / "model.json")


# The command line.


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path, kind):
    X, y = people()
    model = kind(n_estimators=3, max_depth=2).fit(X, y)
    model.save(tmp_path / "model.json")
    X.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path, model, X


def test_predict_command(files):
    folder, model, X = files
    result = run("predict", folder / "model.json", folder / "rows.csv", "--proba", "-o", folder / "out.csv")
    assert result.exit_code == 0, result.output
    out = pd.read_csv(folder / "out.csv")
    np.testing.assert_array_equal(out["prediction"], model.predict(X))
    np.testing.assert_allclose(out[["proba_high", "proba_low"]], model.predict_proba(X))
    result = run("predict", folder / "model.json", folder / "rows.csv", "--rule")
    assert result.exit_code == 2
    assert "--rule: is for a model that is one tree, this is an ensemble of 3" in result.stderr


def test_show_command(files):
    folder, model, _ = files
    result = run("show", folder / "model.json")
    assert result.exit_code == 0
    assert f"of 3 trees, {model.get_n_leaves()} leaves in all; k = 8" in result.stdout
    assert "3 features; 2 classes: high, low" in result.stdout
    assert model.export_text() in result.stdout
    assert json.loads(run("show", folder / "model.json", "--format", "json").stdout) == model.export_dict()
    for form in ("sql", "dot", "rules"):
        result = run("show", folder / "model.json", "--format", form)
        assert result.exit_code == 2
        assert "is for a model that is one tree, this is an ensemble of 3" in result.stderr


# Other tools.


def test_votes_add_up(kind):
    X, y = people()
    model = kind(n_estimators=3, max_depth=2).fit(X, y)
    votes = [tree["vote"] for tree in model.export_dict()["trees"]]
    assert math.isclose(sum(votes), 1)
    mean = np.average([tree.feature_importances_ for tree in model], axis=0, weights=votes)
    np.testing.assert_allclose(model.feature_importances_, mean / mean.sum())


def test_trees_of_an_ensemble_are_classifiers(tmp_path, kind):
    X, y = people()
    tree = kind(n_estimators=3, max_depth=2).fit(X, y)[1]
    assert isinstance(tree, TopKTreeClassifier)
    assert tree.predict(X).shape == y.shape
    tree.report(tmp_path / "tree.html", X, y)
    tree.save(tmp_path / "tree.json")
    assert topktree.load(tmp_path / "tree.json").export_text() == tree.export_text()
    assert tree.to_sklearn().predict(X).tolist() == tree.predict(X).tolist()
    assert tree.search_["root"] == []


@pytest.mark.filterwarnings("ignore")  # of other packages, as they are imported
def test_shap_and_onnx_read_a_forest():
    shap = pytest.importorskip("shap")
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = noisy(200)
    forest = TopKForestClassifier(n_estimators=4, max_depth=3, random_state=0).fit(X, y)
    theirs = forest.to_sklearn()
    values = shap.TreeExplainer(theirs)(X[:20])
    np.testing.assert_allclose(values.values.sum(axis=1) + values.base_values, forest.predict_proba(X[:20]), atol=1e-6)
    onnx = skl2onnx.to_onnx(theirs, X[:1].astype(np.float32), options={"zipmap": False})
    session = onnxruntime.InferenceSession(onnx.SerializeToString(), providers=["CPUExecutionProvider"])
    labels, shares = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})
    np.testing.assert_array_equal(labels, forest.predict(X))
    np.testing.assert_allclose(shares, forest.predict_proba(X), atol=1e-6)
