"""What is saved is what is loaded; whatever else is in a file is refused by a ValueError that names it."""

import copy
import dataclasses
import datetime
import inspect
import json
import math
import pickle
import re
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from support.messy import cases, queries
from support.profiles import examples

from topktree import TopKTreeClassifier, load
from topktree._data.features import Feature
from topktree._tree import model_file
from topktree._tree.model_file import FORMAT, VERSION

TREE_ARRAYS = (
    *("children_left", "children_right", "feature", "threshold", "category", "category_set"),
    *("missing_go_to_left", "unseen_go_to_left"),
    *("value", "impurity", "n_node_samples", "weighted_n_node_samples"),
)
FILE_OF_VERSION_1 = Path(__file__).parents[1] / "support" / "models" / "model-v1.json"
KEPT_FILES = {version: FILE_OF_VERSION_1.with_name(f"model-v{version}.json") for version in (2, 3)}


def people():
    """Numbers with missing values, booleans, categories; and classes that follow them, but for one row."""
    age = [20, 25, 30, 40, 40, 41, 41, 50, 55, 60, None, None] * 2
    smoker = [False, True] * 6 + [True, False] * 6
    colour = ["red", "blue", "green"] * 8
    y = []
    for a, s, c in zip(age, smoker, colour, strict=True):
        young = "medium" if c == "red" else "low"
        y.append("unknown" if a is None else young if a <= 40 else "high" if s else "medium")
    y[1] = "high"
    return pd.DataFrame({"age": age, "smoker": smoker, "colour": colour}), np.array(y)


def kept_table(version):
    """The people; for version 3, which has sets of categories, they live in towns."""
    X, y = people()
    if version == 3:
        X["town"] = [{"high": "abc", "low": "de", "medium": "af", "unknown": "gh"}[c][i % 2] for i, c in enumerate(y)]
        X = X.drop(columns="smoker")
    return X, y


def write_kept_file():
    """How the latest file was made: `python -c "import test_model_file as t; t.write_kept_file()"`, in tests/tree."""
    clf = TopKTreeClassifier(k="all", max_depth=3, max_thresholds=None)
    clf.fit(*kept_table(VERSION)).save(KEPT_FILES[VERSION])


def assert_same_model(one, other, rows=None):
    for name in TREE_ARRAYS:
        mine, theirs = getattr(one.tree_, name), getattr(other.tree_, name)
        assert mine.dtype == theirs.dtype, name
        np.testing.assert_array_equal(mine, theirs, err_msg=name)
    assert one.features_ == other.features_
    assert one.classes_.dtype.kind == other.classes_.dtype.kind  # strings may have been wider
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.n_features_in_ == other.n_features_in_
    assert getattr(one, "feature_names_in_", None) is None or (one.feature_names_in_ == other.feature_names_in_).all()
    assert hasattr(one, "feature_names_in_") == hasattr(other, "feature_names_in_")
    assert (one.cost_, type(one.cost_)) == (other.cost_, type(other.cost_))
    assert (one.train_errors_, one.status_) == (other.train_errors_, other.status_)
    assert one.search_ == other.search_
    np.testing.assert_array_equal(one.feature_importances_, other.feature_importances_)
    if rows is not None:
        assert np.array_equal(one.predict(rows), other.predict(rows))
        assert np.array_equal(one.predict_proba(rows), other.predict_proba(rows))
        assert np.array_equal(one.apply(rows), other.apply(rows))
        assert (one.decision_path(rows) != other.decision_path(rows)).nnz == 0


def assert_same_tree(one, other):
    for name in TREE_ARRAYS:
        np.testing.assert_array_equal(getattr(one.tree_, name), getattr(other.tree_, name), err_msg=name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def fitted():
    return TopKTreeClassifier(k="all", max_depth=3, class_weight={"high": 2.0}).fit(*people())


@pytest.fixture(scope="module")
def good(folder, fitted):
    """The text of a good file."""
    path = folder / "good.json"
    fitted.save(path)
    return path.read_text(encoding="ascii")


@pytest.fixture
def tampered(folder):
    """Writes a file and gives its path."""

    def write(content):
        path = folder / "tampered model.json"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def load_or_refuse(path):
    """The model, or None if the file is refused as it should be."""
    try:
        return load(path)
    except ValueError as error:
        caught = error
    assert type(caught) is ValueError
    assert f"{path} is not a model that this version can read: " in str(caught)
    return None


def assert_refused(path):
    assert load_or_refuse(path) is None


def depths_near_the_limit():
    """Lists nested so deep that Python's limit is reached while reading them, or shortly after."""
    left = sys.getrecursionlimit() - len(inspect.stack())
    return range(left - 30, left + 5)


# Round trips


@given(cases(), st.integers(0, 2**32 - 1))
def test_what_is_loaded_is_what_was_saved(folder, case, seed):
    clf = case.fit()
    path = folder / "round trip.json"
    clf.save(path)
    loaded = load(path)
    assert_same_model(loaded, clf, queries(clf, case, seed))
    assert loaded.get_params() == clf.get_params()
    again = clone(loaded).fit(case.X, case.y, case.sample_weight)
    assert_same_tree(again, clf)
    assert (again.cost_, again.status_) == (clf.cost_, clf.status_)


@pytest.mark.parametrize("dtype", ["int8", "uint8", ">i4", "int64", "uint64", "float16", "float32", "bool", "U9", "O"])
def test_labels_keep_their_type(tmp_path, dtype):
    y = np.array([0, 1, 1, 0]).astype(dtype)
    clf = TopKTreeClassifier().fit([[0], [1], [1], [0]], y)
    clf.save(tmp_path / "m.json")
    loaded = load(tmp_path / "m.json")
    assert_same_model(loaded, clf)
    assert loaded.predict([[1]]).dtype.kind == clf.predict([[1]]).dtype.kind
    assert [type(label) for label in loaded.classes_.tolist()] == [type(label) for label in clf.classes_.tolist()]


@pytest.mark.parametrize(
    "parameters",
    [
        {"k": (3, 2, "all")},
        {"k": np.array([3, 2, 1])},
        {"k": range(3, 6)},
        {"k": np.int64(3)},
        {"class_weight": "balanced"},
        {"class_weight": {"a": 2, "b": 0.5}},
        {"class_weight": {np.str_("a"): np.float32(2), "b": np.int8(1)}},
        {"leaf_penalty": Fraction(1, 64)},
        {"leaf_penalty": "tie"},
        {"categorical_features": [0]},
        {"categorical_features": np.array([True, False])},
        {"categorical_features": (1,)},
        {"categorical_features": pd.Index([0, 1])},
        {"categorical_features": None},
        {"max_thresholds": None, "time_limit": 1e6, "memory_limit": 10**30, "n_jobs": 2, "verbose": False},
        {"min_samples_leaf": 2, "min_weight_fraction_leaf": 0.125},
    ],
    ids=str,
)
def test_whatever_parameters_fit_takes_are_saved(tmp_path, parameters):
    X = np.array([[0, 5], [1, 4], [2, 3], [3, 0], [0, 1], [1, 2]])
    y = np.array(["a", "b", "a", "b", "b", "a"])
    clf = TopKTreeClassifier(**{"max_depth": 3, **parameters}).fit(X, y)
    clf.save(tmp_path / "m.json")
    loaded = load(tmp_path / "m.json")
    assert_same_model(loaded, clf, X)
    assert_same_tree(clone(loaded).fit(X, y), clf)
    for name, value in clf.get_params().items():
        if isinstance(value, (str, float, int, dict)) or value is None:
            assert loaded.get_params()[name] == value


@pytest.mark.parametrize(
    "categories",
    [
        [1e20, 2.0],
        [2**63, 3],
        [-(10**30), 3],
        [0.1, 0.1 + 1e-16],
        ["\ud800", "a"],
        ["a\0", "a"],
        [1, "1"],
        [1e-320, 0.0],
    ],
    ids=ascii,
)
def test_odd_categories_are_saved(tmp_path, categories):
    X = pd.DataFrame({"c": pd.Series(categories * 2, dtype=object)})
    clf = TopKTreeClassifier(categorical_features=[0]).fit(X, [0, 1] * 2)
    clf.save(tmp_path / "m.json")
    assert_same_model(load(tmp_path / "m.json"), clf, X)


@pytest.mark.parametrize("sign", [1, -1])
def test_infinite_categories_are_not_the_text_of_them(tmp_path, sign):
    X = pd.DataFrame({"c": pd.Series([0.5, sign * np.inf, str(sign * np.inf)] * 2, dtype=object)})
    with pytest.warns(UserWarning, match="texts and other values"):
        clf = TopKTreeClassifier(max_depth=2).fit(X, [0, 1, 2] * 2)
    clf.save(tmp_path / "m.json")
    assert_same_model(load(tmp_path / "m.json"), clf, X)
    assert clf.predict(X).tolist() == [0, 1, 2] * 2


@pytest.mark.parametrize(
    "labels",
    [
        np.array([2**63 + 1, 3], dtype=np.uint64),
        np.array([2**70, 3], dtype=object),
        np.array([np.int64(1), np.int64(2)], dtype=object),
        np.array([np.True_, np.False_], dtype=object),
        np.array([np.str_("a"), "b"], dtype=object),
        np.array(["\ud800", "a"], dtype=object),
        pd.Series(["a", "b"], dtype="category"),
        pd.Series(["a", "b"], dtype="str"),
        pd.Series([1, 2], dtype="Int64"),
    ],
    ids=ascii,
)
def test_odd_labels_are_saved(tmp_path, labels):
    clf = TopKTreeClassifier().fit([[0], [1]], labels)
    clf.save(tmp_path / "m.json")
    assert_same_model(load(tmp_path / "m.json"), clf)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([b"a", b"b"]),
        np.array([b"a", b"b"], dtype=object),
        np.array([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)], dtype=object),
        np.array([Fraction(1, 3), Fraction(2, 3)], dtype=object),
        np.array([1, 2], dtype=np.longdouble),
    ],
    ids=lambda labels: f"{labels.dtype} of {type(labels[0]).__name__}",
)
def test_labels_that_a_file_cannot_hold(tmp_path, labels):
    clf = TopKTreeClassifier().fit([[0], [1]], labels)
    with pytest.raises(ValueError, match="classes must be strings, numbers or booleans to be saved, got"):
        clf.save(tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


def test_a_time_limit_is_remembered(tmp_path, fitted):
    clf = copy.copy(fitted)
    clf.status_ = "time_limit"
    clf.save(tmp_path / "m.json")
    assert load(tmp_path / "m.json").status_ == "time_limit"


def test_an_own_criterion_is_not_saved(tmp_path):
    def own(left, right):
        return -np.minimum(left, right).sum(axis=1)

    X, y = people()
    clf = TopKTreeClassifier(criterion=own).fit(X, y)
    clf.save(tmp_path / "m.json")
    loaded = load(tmp_path / "m.json")
    assert loaded.criterion is None
    assert_same_model(loaded, clf, X)
    assert np.array_equal(loaded.to_sklearn().predict(X), clf.predict(X))
    loaded.save(tmp_path / "again.json")
    assert_same_model(load(tmp_path / "again.json"), clf, X)
    for estimator in (loaded, clone(loaded)):
        with pytest.raises(ValueError, match=r"criterion must be one of .* got None"):
            estimator.fit(X, y)
    assert_same_tree(loaded.set_params(criterion=own).fit(X, y), clf)


def test_a_clone_of_a_loaded_model_is_not_fitted(tmp_path, fitted):
    fitted.save(tmp_path / "m.json")
    loaded = load(tmp_path / "m.json")
    assert clone(loaded).get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        clone(loaded).predict(people()[0])


def test_a_loaded_model_exports_the_same(tmp_path, fitted):
    fitted.save(tmp_path / "m.json")
    loaded = load(tmp_path / "m.json")
    for name in ("export_text", "export_rules", "export_dot", "export_sql", "export_dict"):
        assert getattr(loaded, name)() == getattr(fitted, name)()
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


def test_a_loaded_model_checks_its_input(tmp_path, fitted):
    fitted.save(tmp_path / "m.json")
    loaded = load(tmp_path / "m.json")
    X, _ = people()
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(X.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(X[["age", "smoker"]])


def test_arrays_have_no_names(tmp_path):
    clf = TopKTreeClassifier().fit([[0], [1]], [0, 1])
    clf.save(str(tmp_path / "m.json"))
    loaded = load(str(tmp_path / "m.json"))
    assert not hasattr(loaded, "feature_names_in_")
    assert_same_model(loaded, clf, [[0], [1], [0.5]])


# Writing


def test_a_file_is_ascii_json(good):
    content = json.loads(good)
    assert (content["format"], content["version"]) == (FORMAT, VERSION) == ("topktree-classifier", 3)
    assert good.endswith("}\n")


def test_fit_comes_before_save(tmp_path):
    with pytest.raises(NotFittedError):
        TopKTreeClassifier().save(tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("method", ["write_text", "replace"])
def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch, fitted, method, error):
    path = tmp_path / "m.json"
    path.write_text("the old one")
    write = Path.write_text

    def fail(self, text, **options):
        if method == "write_text":
            write(self, text[: len(text) // 2], **options)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Path, method, fail)
        with pytest.raises(type(error)):
            fitted.save(path)
    assert path.read_text() == "the old one"
    assert list(tmp_path.iterdir()) == [path]


def test_labels_that_cannot_be_saved_leave_the_old_file(tmp_path):
    path = tmp_path / "m.json"
    path.write_text("the old one")
    with pytest.raises(ValueError, match="classes"):
        TopKTreeClassifier().fit([[0], [1]], [b"a", b"b"]).save(path)
    assert path.read_text() == "the old one"
    assert list(tmp_path.iterdir()) == [path]


def test_a_save_replaces_the_old_file(tmp_path, fitted):
    path = tmp_path / "m.json"
    path.write_text("the old one")
    fitted.save(path)
    assert_same_model(load(path), fitted)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there(tmp_path, fitted):
    path = str(tmp_path / "no" / "m.json")
    with pytest.raises(FileNotFoundError, match=f"'{re.escape(path)}'$"):  # the path that was given
        fitted.save(path)


# Reading what is not a model


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "no.json")


def test_a_file_cut_short(tampered, good):
    for length in [*range(0, len(good) - 1, 7), *range(len(good) - 40, len(good) - 1)]:
        assert_refused(tampered(good[:length]))


@examples(0.5)
@given(st.binary(max_size=200))
def test_random_bytes(folder, content):
    path = folder / "random.json"
    path.write_bytes(content)
    assert_refused(path)


@examples(2)
@given(st.data())
def test_a_changed_byte_is_refused_or_harmless(folder, good, fitted, data):
    raw = bytearray(good.encode())
    position = data.draw(st.integers(0, len(raw) - 1))
    raw[position] = data.draw(st.integers(0, 255))
    path = folder / "changed.json"
    path.write_bytes(bytes(raw))
    if (loaded := load_or_refuse(path)) is not None:
        assert_harmless(loaded, fitted)


@pytest.mark.parametrize(
    "content",
    [
        *("", " ", "\n", "null", "true", "1", '"topktree-classifier"', "[]", "{}", "[{}]", '{"format": 1}'),
        *("NaN", "Infinity", "-Infinity", "[NaN]", "1e999", "{", "}", "'a'", '{"a": 1,}', "model", "\ufeff{}"),
        *('{"format": "topktree-classifier"}', '{"format": "topktree-classifier", "version": 1}', "1" * 5000),
        *(b"\xff\xfe{\x00}\x00", b"\x80", b"PK\x03\x04", "\x00"),
    ],
    ids=lambda content: ascii(content[:12]),
)
def test_other_content(tampered, content):
    assert_refused(tampered(content))


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 5000])
@pytest.mark.parametrize("key", ["cost", "seconds", "version", "rows", "leaf_penalty", "max_depth"])
def test_numbers_that_json_does_not_have(tampered, good, token, key):
    changed = good.replace(f'"{key}": ', f'"{key}": {token}, "was": ', 1)
    assert changed != good
    assert_refused(tampered(changed))


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_deep_nesting(tampered, content):
    assert_refused(tampered(content))


@pytest.mark.parametrize("key", ["seconds", "value", "k", "max_depth", "class_weight", "status", "version", "name"])
def test_nesting_near_the_recursion_limit(tampered, good, key):
    for depth in depths_near_the_limit():
        nested = "[" * depth + "]" * depth
        loaded = load_or_refuse(tampered(good.replace(f'"{key}": ', f'"{key}": {nested}, "was": ', 1)))
        assert loaded is None or key in ("seconds", "value")  # the first test is "is missing", which has no value


class Trap:
    """Fails the test if it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("the file was run",)


def test_a_pickle_is_refused(tampered, fitted):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for content in (fitted, Trap()):
            assert_refused(tampered(pickle.dumps(content, protocol)))


@pytest.mark.parametrize("version", [0, -1, VERSION + 1, 10**6, 1.0, 1.5, "1", None, True, [1], 2**70])
def test_other_versions(tampered, good, version):
    payload = json.loads(good)
    payload["version"] = version
    assert_refused(tampered(json.dumps(payload)))


def test_a_newer_version_is_named(tampered, good):
    payload = json.loads(good)
    payload["version"] = VERSION + 1
    with pytest.raises(
        ValueError, match=f"format version {VERSION + 1}, this version of topktree reads up to {VERSION}"
    ):
        load(tampered(json.dumps(payload)))


@pytest.mark.parametrize("format_name", ["topktree", "Topktree-classifier", "", None, 1, ["topktree-classifier"]])
def test_other_formats(tampered, good, format_name):
    payload = json.loads(good)
    payload["format"] = format_name
    assert_refused(tampered(json.dumps(payload)))


# Every part of a file


def paths_of(value, path=()):
    """The way to every value inside of a value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*path, key)
        yield from paths_of(inner, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


OTHERS = (None, True, 0, -1, 1.5, 2**63, 1e308, "text", [], [1], {})


def is_for_people_only(payload, path):
    """Parts that no prediction depends on."""
    if path[0] == "topktree" or (path[0] == "search" and len(path) > 1):
        return True
    if path[0] == "nodes" and len(path) > 2:
        return payload["nodes"][path[1]].get("test") == "is missing" and path[2] == "value"
    return False


def may_be(payload, path, value):
    """Whether another type than the value's own is good too."""
    old = at(payload, path)
    numbers = (int, float)
    if path[0] == "parameters" and len(path) > 1:
        return True  # the classifier's own checks say
    if type(old) in numbers and type(value) in numbers:
        return path[0] == "cost" or "counts" in path or path[-1] in ("value", "impurity", "confidence")
    return path[0] == "features" and "categories" in path and len(path) > 3 and type(value) in (*numbers, str, bool)


def assert_harmless(clf, expected):
    """A model that was loaded in spite of a change does all that a model does."""
    X, _ = people()
    X = X.set_axis(clf.feature_names_in_, axis=1) if hasattr(clf, "feature_names_in_") else X.to_numpy()
    assert set(clf.predict(X)) <= set(clf.classes_)
    clf.predict_proba(X)
    assert clf.export_text().count("class: ") == clf.get_n_leaves()
    clf.export_dict()
    assert np.array_equal(clf.to_sklearn().predict(X), clf.predict(X))
    assert clf.tree_.node_count == expected.tree_.node_count


def test_whatever_is_of_another_type_is_refused(tampered, good, fitted):
    payload = json.loads(good)
    wrong = []
    for path in paths_of(payload):
        for other in OTHERS:
            changed = copy.deepcopy(payload)
            at(changed, path[:-1])[path[-1]] = other
            loaded = load_or_refuse(tampered(json.dumps(changed)))
            anything_goes = is_for_people_only(payload, path)
            same_type = type(other) is type(at(payload, path))
            if loaded is None:
                wrong += [(path, other)] if anything_goes else []
            elif anything_goes:
                assert_same_tree(loaded, fitted)
            elif same_type or may_be(payload, path, other):
                assert_harmless(loaded, fitted)
                if path[0] == "parameters" and len(path) == 2 and path[1] != "class_weight":
                    assert loaded.get_params()[path[1]] == other
            else:
                wrong.append((path, other))
    assert wrong == []


def test_a_search_that_makes_no_sense_can_be_reported(tampered, good, tmp_path):
    payload = json.loads(good)
    for key in payload["search"]:
        for other in (None, True, -1, 1.5, "text", [1], [None], [{}], {"a": 1}):
            changed = copy.deepcopy(payload)
            changed["search"][key] = other
            loaded = load(tampered(json.dumps(changed)))
            loaded.report(tmp_path / "report.html")
    for key, value in payload["search"]["root"][0].items():
        if key == "value":  # its test is "is missing", which has none
            continue
        changed = copy.deepcopy(payload)
        changed["search"]["root"][0][key] = {"not": value}
        assert "root" not in load(tampered(json.dumps(changed))).search_


def test_whatever_is_missing_is_refused(tampered, good, fitted):
    payload = json.loads(good)
    wrong = []
    for path in paths_of(payload):
        changed = copy.deepcopy(payload)
        del at(changed, path[:-1])[path[-1]]
        loaded = load_or_refuse(tampered(json.dumps(changed)))
        is_parameter = path[0] == "parameters" and len(path) > 1  # has a default
        is_category = path[-2:-1] == ("categories",) and at(payload, path) != "red"  # which the tree does not test
        if is_for_people_only(payload, path) or is_parameter or is_category:
            if loaded is not None:
                assert_harmless(loaded, fitted)
        elif loaded is not None:
            wrong.append(path)
    assert wrong == []


@pytest.mark.parametrize("value", [-1, -2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 100, 2**31, 2**63 - 1, -(2**63) + 1])
def test_children_are_where_their_parent_says(tampered, good, value):
    payload = json.loads(good)
    inner = [i for i, node in enumerate(payload["nodes"]) if "test" in node]
    for node in inner:
        for side in ("left", "right"):
            changed = copy.deepcopy(payload)
            if changed["nodes"][node][side] != value:
                changed["nodes"][node][side] = value
                assert_refused(tampered(json.dumps(changed)))
        changed = copy.deepcopy(payload)
        changed["nodes"][node].update(left=value, right=value)
        assert_refused(tampered(json.dumps(changed)))


def test_children_that_change_places(tampered, good):
    payload = json.loads(good)
    root = payload["nodes"][0]
    root["left"], root["right"] = root["right"], root["left"]
    assert_refused(tampered(json.dumps(payload)))


@pytest.mark.parametrize("child", [-1, -2, 0, 1])
def test_a_test_without_children(tampered, good, child):
    payload = json.loads(good)
    payload["nodes"] = payload["nodes"][:1]
    payload["nodes"][0].update(left=child, right=child)
    assert_refused(tampered(json.dumps(payload)))


def test_nodes_that_nothing_leads_to(tampered, good):
    payload = json.loads(good)
    leaf = next(node for node in payload["nodes"] if "test" not in node)
    for position in (0, 1, len(payload["nodes"])):
        changed = copy.deepcopy(payload)
        changed["nodes"].insert(position, leaf)
        assert_refused(tampered(json.dumps(changed)))


def test_long_chains_are_no_problem(tampered, good):
    payload = json.loads(good)
    inner = next(node for node in payload["nodes"] if node.get("test") == "<=")
    leaf = next(node for node in payload["nodes"] if "test" not in node)
    n = 3000
    chain = []
    for i in range(n):
        chain += [{**inner, "left": 2 * i + 1, "right": 2 * i + 2, "value": 100.0 - i / 100}, leaf]
    payload["nodes"] = [*chain, leaf]
    assert load(tampered(json.dumps(payload))).get_depth() == n


@pytest.mark.parametrize(
    "counts",
    [
        *([1.0, 1.0, 1.0], [1.0] * 5, [], [0.0] * 4, [-1.0, 2.0, 2.0, 2.0], [1e308] * 4, ["1"] * 4, [True] * 4),
        *([None] * 4, [[1]] * 4, {"0": 1}, [2**63] * 4, [5e-324, 0.0, 0.0, -5e-324]),
    ],
    ids=ascii,
)
def test_counts_that_cannot_be(tampered, good, counts):
    payload = json.loads(good)
    for node in (0, len(payload["nodes"]) - 1):
        changed = copy.deepcopy(payload)
        changed["nodes"][node]["counts"] = counts
        assert_refused(tampered(json.dumps(changed)))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *[("rows", value) for value in (0, -1, 1.0, 2**63)],
        *[("feature_index", value) for value in (-1, 3, 1.0, True, 2**63, "age")],
        *[("test", value) for value in ("<", ">=", "!=", "", None, 1, "IS MISSING")],
    ],
)
def test_nodes_that_cannot_be(tampered, good, key, value):
    payload = json.loads(good)
    for node in range(len(payload["nodes"])):
        changed = copy.deepcopy(payload)
        if key in changed["nodes"][node]:
            changed["nodes"][node][key] = value
            assert_refused(tampered(json.dumps(changed)))


def test_tests_must_suit_their_feature(tampered, good):
    payload = json.loads(good)
    values = {"<=": 30.5, "=": False, "is missing": None}
    values_of_kinds = {"number": ("<=", "is missing"), "boolean": ("=", "is missing"), "category": ("is missing",)}
    for f, feature in enumerate(payload["features"]):
        for test, value in values.items():
            changed = copy.deepcopy(payload)
            changed["nodes"][0].update(feature=feature["name"], feature_index=f, test=test, value=value, missing="yes")
            file = tampered(json.dumps(changed))
            if test in values_of_kinds[feature["kind"]]:
                load(file)
            else:
                assert_refused(file)
    for value in ("purple", "Red", 0, None, True, ["red"]):
        changed = copy.deepcopy(payload)
        changed["nodes"][0].update(feature_index=2, test="=", value=value)
        assert_refused(tampered(json.dumps(changed)))


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "text"},
        {"kind": "number", "categories": ["a"]},
        {"categories": ["a", "a"]},
        {"categories": [1, 1.0]},
        {"categories": [None]},
        {"categories": [[1]]},
        {"categories": [True, "a"]},
        {"name": None},
        {"has_missing": 1},
    ],
    ids=str,
)
def test_features_that_cannot_be(tampered, good, change):
    payload = json.loads(good)
    payload["features"][2].update(change)
    assert_refused(tampered(json.dumps(payload)))


@pytest.mark.parametrize(
    "change",
    [
        {"classes": ["high", "high", "low", "medium"]},
        {"classes": ["high", "low", "medium", None]},
        {"classes": ["high", "low", "medium", ["unknown"]]},
        {"classes": ["high", "low", "medium"]},
        {"classes": []},
        {"classes": ["much longer than before", "low", "medium", "unknown"]},
        {"classes": [1, 2, 3, 3.5], "class_type": "<i8"},
        {"classes": [1, 2, 3, 300], "class_type": "|u1"},
        {"classes": [1, 2, 3, -1], "class_type": "|u1"},
        {"classes": [1, 2, 3, 4], "class_type": "|b1"},
        {"classes": [1, 1.0, 2, 3], "class_type": "object"},
        *(
            {"class_type": name}
            for name in ("<i8", "<f8", "<U1", "|S9", "V8", "M8[s]", "text", "U,U", "i8,(1i8", "<U-1")
        ),
        *(
            {"class_type": name}
            for name in ("", "<", "Object", "bytes", "f16", "i8,", "b,(", "u0", "<U99999999999", "f\0")
        ),
    ],
    ids=ascii,
)
def test_classes_that_cannot_be(tampered, good, change):
    payload = json.loads(good)
    payload.update(change)
    assert_refused(tampered(json.dumps(payload)))


@examples(2)
@given(st.text("biufUOSVMm<>|=0128,()[]: x", max_size=7))
def test_any_class_type_is_understood_or_refused(folder, good, name):
    payload = json.loads(good)
    payload["class_type"] = name
    path = folder / "class type.json"
    path.write_text(json.dumps(payload))
    if (loaded := load_or_refuse(path)) is not None:
        assert loaded.classes_.tolist() == payload["classes"]


def test_a_small_file_takes_little_memory(tampered, good):
    payload = json.loads(good)
    payload["class_type"] = "<U9999999"
    if (loaded := load_or_refuse(tampered(json.dumps(payload)))) is not None:
        assert loaded.classes_.nbytes < 10**6


@pytest.mark.parametrize(
    "change",
    [
        {"k": 0},
        {"k": "every"},
        {"k": [1]},
        {"max_depth": -1},
        {"max_depth": 10**400},
        {"criterion": "variance"},
        {"criterion": ""},
        {"criterion": []},
        {"class_weight": [["high", -1]]},
        {"class_weight": [["high"]]},
        {"class_weight": [[["high"], 1]]},
        {"class_weight": ["ab"]},
        {"time_limit": 0},
        {"n_jobs": 0},
        {"another": 1},
        {"self": 1},
        {"": 1},
    ],
    ids=lambda change: str(change)[:40],
)
def test_parameters_that_cannot_be(tampered, good, change):
    payload = json.loads(good)
    payload["parameters"].update(change)
    assert_refused(tampered(json.dumps(payload)))


# The file of version 1


def test_files_with_a_checksum_are_read_whatever_it_says(tampered, good, fitted):
    for checksum in ("sha256:0", None):
        assert_same_model(load(tampered(json.dumps({**json.loads(good), "checksum": checksum}))), fitted)
    assert "checksum" in json.loads(FILE_OF_VERSION_1.read_text())
    assert "checksum" not in json.loads(good)


def test_a_file_of_version_1_is_still_read():
    clf = load(FILE_OF_VERSION_1)
    rows = pd.DataFrame(
        [
            (40, True, "blue", "low"),
            (40, False, "red", "medium"),
            (-math.inf, False, "green", "low"),
            (40.5, True, "purple", "low"),
            (40.6, False, "red", "medium"),
            (40.6, True, "red", "high"),
            (math.inf, True, None, "high"),
            (50, None, "blue", "medium"),
            (30, None, None, "low"),
            (None, True, "red", "unknown"),
            (None, None, None, "unknown"),
        ],
        columns=["age", "smoker", "colour", "expected"],
    )
    X, expected = rows.drop(columns="expected"), rows["expected"]
    assert clf.predict(X).tolist() == expected.tolist()
    assert clf.classes_.tolist() == ["high", "low", "medium", "unknown"]
    assert clf.classes_.dtype == "<U7"
    proba = dict(zip(expected, clf.predict_proba(X).tolist(), strict=True))
    assert proba["unknown"] == [0, 0, 0, 1]
    assert proba["low"] == [1 / 6, 5 / 6, 0, 0]
    assert (clf.cost_, clf.train_errors_, clf.status_) == (1, 1, "optimal")
    assert clf.feature_names_in_.tolist() == ["age", "smoker", "colour"]
    assert (clf.k, clf.max_depth, clf.get_depth(), clf.get_n_leaves()) == ("all", 3, 3, 5)
    assert clf.export_text() == (
        "|--- age is missing\n"
        "|   |--- class: unknown (100.0% of 4 rows; unknown 4)\n"
        "|--- age is not missing\n"
        "|   |--- age <= 40.50000190734863\n"
        "|   |   |--- colour = red\n"
        "|   |   |   |--- class: medium (100.0% of 4 rows; medium 4)\n"
        "|   |   |--- colour != red\n"
        "|   |   |   |--- class: low (83.3% of 6 rows; high 1, low 5)\n"
        "|   |--- age > 40.50000190734863\n"
        "|   |   |--- smoker = False\n"
        "|   |   |   |--- class: medium (100.0% of 5 rows; medium 5)\n"
        "|   |   |--- smoker = True\n"
        "|   |   |   |--- class: high (100.0% of 5 rows; high 5)\n"
    )


def test_a_file_of_version_1_can_be_saved_in_the_next(tmp_path):
    old = load(FILE_OF_VERSION_1)
    old.save(tmp_path / "next.json")
    assert json.loads((tmp_path / "next.json").read_text())["version"] == VERSION
    assert_same_model(load(tmp_path / "next.json"), old, people()[0])


@pytest.mark.parametrize("version", KEPT_FILES)
def test_the_kept_file_can_be_made_again(version):
    assert json.loads(KEPT_FILES[version].read_text())["version"] == version
    kept = load(KEPT_FILES[version])
    assert (kept.tree_.category_set.shape[1] > 0) == (version == 3)
    X, y = kept_table(version)
    assert_same_tree(clone(kept).fit(X, y), kept)
    assert np.count_nonzero(kept.predict(X) != y) == kept.train_errors_


class Unsearched(tuple):
    """Categories that are not searched one by one."""

    def __contains__(self, value):
        raise AssertionError("searched")

    def index(self, *arguments):
        raise AssertionError("searched")


def test_reading_a_tree_goes_through_the_categories_once_and_not_for_every_node(monkeypatch):
    clf = TopKTreeClassifier(k="all", max_depth=3).fit(*people())
    features = tuple(dataclasses.replace(f, categories=Unsearched(f.categories)) for f in clf.features_)
    indexed = []

    def counted(feature):
        indexed.append(feature.name)
        return category_index(feature)

    category_index = model_file._category_index
    monkeypatch.setattr(model_file, "_category_index", counted)
    content = clf.export_dict()
    tree = model_file.read_tree(content["nodes"], features, content["classes"])
    np.testing.assert_array_equal(tree.category, clf.tree_.category)
    assert (tree.category >= 0).any()
    assert indexed == [feature.name for feature in features]


@pytest.mark.parametrize(
    ("value", "codes"),
    [
        (["1", 1], (0, 1)),
        ([{"number": "inf"}], (2,)),
        ([], "has no set of categories"),
        ("1", "has no set of categories"),
        (None, "has no set of categories"),
        ([1, 1.0], "has a set with a duplicate category"),
        ([1, 2], "has an unknown category: 2"),
        ([1, [1]], "has an unknown category"),
        ([1, {"number": "x"}], "has an unknown value"),
    ],
)
def test_a_set_is_read_category_by_category(value, codes):
    features = (Feature("c", "category", (1, "1", math.inf)), Feature("o", "category", (1,), ordered=True))
    test = {"test": "in", "value": value, "missing": "no", "unseen": "yes"}
    if isinstance(codes, str):
        with pytest.raises(ValueError, match=codes):
            model_file.read_test(0, test, features)
    else:
        found = model_file.read_test(0, test, features)
        assert (found.categories, found.unseen) == (codes, True)
        assert model_file.describe_test(found, features)["value"] == [
            {"number": "inf"} if c == math.inf else c for c in (features[0].categories[code] for code in codes)
        ]
        with pytest.raises(ValueError, match="tests a category by 'in'"):
            model_file.read_test(1, test, features)


def test_only_a_category_has_sets():
    test = {"test": "in", "value": [False], "missing": "no", "unseen": "no"}
    with pytest.raises(ValueError, match="compares a boolean with"):
        model_file.read_test(0, test, (Feature("b", "boolean"),))
    with pytest.raises(ValueError, match="tests a number by 'in'"):
        model_file.read_test(0, test, (Feature("n", "number"),))


@pytest.mark.parametrize(("value", "code"), [(1, 0), (1.0, 0), ("1", 1), (2, None), ([1], None), (None, None)])
def test_a_category_is_found_by_value_and_type(value, code):
    features = (Feature("c", "category", (1, "1")),)
    test = {"test": "=", "value": value, "missing": "no", "unseen": "no"}
    if code is None:
        with pytest.raises(ValueError, match="has an unknown category"):
            model_file.read_test(0, test, features)
    else:
        assert model_file.read_test(0, test, features).value == code
