"""What a report says, read from its file without a browser: numbers against scikit-learn, names as they are."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss, confusion_matrix

import topktree
from topktree import TopKTreeClassifier, TopKTreeClassifierCV
from topktree._data.features import encode
from topktree._data.table import read_table
from topktree._tree.naming import make_model
from topktree._tree.text import row_rules


@pytest.fixture(scope="module")
def people():
    """Numbers, texts, booleans and missing values; training rows and others."""
    random = np.random.default_rng(0)
    n = 600
    age = random.integers(18, 80, n).astype(float)
    job = random.choice(["clerk", "farmer", "nurse"], n)
    urban = random.random(n) < 0.5
    height = np.where(random.random(n) < 0.1, np.nan, random.normal(170, 10, n).round(1))
    rich = ((age > 45) & (job != "farmer")) ^ (random.random(n) < 0.15) ^ np.isnan(height)
    X = pd.DataFrame({"age": age, "job": job, "urban": urban, "height": height})
    y = np.where(rich, "high", "low")
    return X[:400], y[:400], X[400:], y[400:]


@pytest.fixture(scope="module")
def fitted(people):
    return TopKTreeClassifier(k=4, max_depth=3).fit(people[0], people[1], exact_root=True)


def read(path):
    text = path.read_text("utf-8")
    (content,) = re.findall(r'<script type="application/json" id="content">(.*?)</script>', text, re.DOTALL)
    return json.loads(content)


def report(classifier, tmp_path, *arguments, **options):
    classifier.report(tmp_path / "report.html", *arguments, **options)
    return read(tmp_path / "report.html")


def test_accuracy_confusion_and_brier_score(fitted, people, tmp_path):
    _, _, X, y = people
    data = report(fitted, tmp_path, X, y)["data"]
    predicted = fitted.predict(X)
    assert data["accuracy"] == accuracy_score(y, predicted)
    assert data["misclassified"] == np.count_nonzero(predicted != y)
    assert data["confusion"] == confusion_matrix(y, predicted).tolist()
    assert data["brier"] == pytest.approx(brier_score_loss(y == "low", fitted.predict_proba(X)[:, 1]))
    assert data["majority"]["share"] == np.mean(y == data["majority"]["name"])
    assert data["recall"] == pytest.approx(np.diag(confusion_matrix(y, predicted, normalize="true")))
    assert data["precision"] == pytest.approx(np.diag(confusion_matrix(y, predicted, normalize="pred")))


def test_calibration(fitted, people, tmp_path):
    _, _, X, y = people
    confidence, is_right = fitted.predict_proba(X).max(axis=1), fitted.predict(X) == y
    calibration = report(fitted, tmp_path, X, y)["calibration"]
    bins = calibration["bins"]
    assert len(bins) > 1
    expected = np.minimum((confidence * 10).astype(int), 9)
    for entry, b in zip(bins, np.unique(expected), strict=True):
        here = expected == b
        assert entry["n"] == here.sum()
        assert entry["confidence"] == pytest.approx(confidence[here].mean())
        assert entry["accuracy"] == pytest.approx(is_right[here].mean())
        assert 0 <= entry["low"] <= entry["accuracy"] <= entry["high"] <= 1
    off = [entry["n"] * abs(entry["confidence"] - entry["accuracy"]) for entry in bins]
    assert calibration["error"] == pytest.approx(sum(off) / len(y))


def test_nodes_are_those_of_the_tree(fitted, people, tmp_path):
    _, _, X, y = people
    content = report(fitted, tmp_path, X, y)
    nodes, tree = content["nodes"], fitted.tree_
    assert [node["rows"] for node in nodes] == tree.n_node_samples.tolist()
    path = fitted.decision_path(X).toarray()
    for i, node in enumerate(nodes):
        seen = [np.count_nonzero(y[path[:, i] == 1] == label) for label in fitted.classes_]
        expected = {c: [tree.value[i, c], seen[c]] for c in range(2) if tree.value[i, c] or seen[c]}
        assert {c: weights for c, *weights in node["counts"]} == expected
        assert node["counts"][0][0] == node["predicted"]
        assert node["total"] == tree.value[i].sum()
        assert node["others"] is None
    rules = [line.split(" -> ")[0] for line in fitted.export_rules().splitlines()]
    assert [node["rule"] for node in nodes if "rule" in node] == rules


def test_the_rule_of_a_row_says_what_new_values_are_treated_as(fitted, people, tmp_path):
    """The page's script takes one of two texts per condition; the command line makes the whole rule."""
    X = with_new_values(people[2])
    content = report(fitted, tmp_path, X, max_rows=len(X))
    model = make_model(fitted.tree_, fitted.features_, fitted.classes_)
    encoded = encode(read_table(fitted, X, reset=False), fitted.features_)
    features, n_treated = {feature["index"]: feature for feature in content["features"]}, 0
    for leaf, rule, values in zip(fitted.apply(X), row_rules(model, encoded), content["rows"]["values"], strict=True):
        known, texts = dict(zip(content["rows"]["features"], values, strict=True)), []
        for condition in content["nodes"][leaf]["conditions"]:
            feature, text = features[condition["feature"]], condition["text"]
            if known[feature["index"]] is None and not feature["missing"]:
                text = f"{feature['name']} is missing (treated as {condition['treated']})"
            elif known[feature["index"]] == "Infinity":
                text = f"{feature['name']} is not among the training values (treated as {condition['treated']})"
            n_treated += "treated as" in text
            texts.append(text)
        assert " and ".join(texts) == rule
    assert n_treated > 50


def with_many_jobs(X):
    return X.assign(job=X["job"] + " of " + (X["age"] // 10).astype(int).astype(str))


def with_new_values(X):
    """The rows, every other one with values that training did not have."""
    X = X.copy()
    X.iloc[::4, X.columns.get_loc("age")] = np.nan
    X.iloc[1::4, X.columns.get_loc("job")] = "pilot"
    X["urban"] = X["urban"].astype(object)
    X.iloc[::6, X.columns.get_loc("urban")] = None
    X.iloc[::10, X.columns.get_loc("job")] = None
    return X


@pytest.mark.parametrize("max_thresholds", [32, None])
def test_rows_follow_the_same_way_in_python(people, tmp_path, max_thresholds):
    """What the page's script does with the tests of the nodes, done here."""
    X, y, X_test, y_test = people
    fitted = TopKTreeClassifier(k=2, max_depth=6, max_thresholds=max_thresholds).fit(with_many_jobs(X), y)
    X, y = with_new_values(with_many_jobs(X_test)), y_test
    content = report(fitted, tmp_path, X, y, max_rows=150)
    assert any(node.get("test") == "in" for node in content["nodes"]) == (max_thresholds is None)
    rows = content["rows"]
    assert len(rows["values"]) == 150
    assert rows["total"] == len(X)
    assert rows["labels"] == y[:150].tolist()
    leaves = fitted.apply(X)
    for values, leaf in zip(rows["values"], leaves[:150], strict=True):
        known = dict(zip(rows["features"], values, strict=True))
        i = 0
        while "left" in content["nodes"][i]:
            node = content["nodes"][i]
            value = known[node["feature"]]
            if value is None:
                yes = node["missing"]
            elif node["test"] == "is missing":
                yes = False
            elif value == "Infinity":  # the only such value is a category that training did not have
                yes = node["unseen"]
            elif node["test"] == "in":
                yes = value in node["value"]
            else:
                yes = value <= node["value"] if node["test"] == "<=" else value == node["value"]
            i = node["left"] if yes else node["right"]
        assert i == leaf


def test_new_values_follow_the_heavier_branch(people, tmp_path):
    X, y, _, _ = people
    clf = TopKTreeClassifier(k=4, max_depth=4).fit(X, y)
    content = report(clf, tmp_path)
    kinds = {feature["index"]: feature for feature in content["features"]}
    nodes = content["nodes"]
    tested = set()
    for node in nodes:
        if "left" in node:
            is_heavier = nodes[node["left"]]["rows"] >= nodes[node["right"]]["rows"]
            feature = kinds[node["feature"]]
            tested.add(feature["name"])
            assert node["missing"] == is_heavier or feature["missing"]
            assert node["unseen"] == (is_heavier and feature["kind"] == "category")
    assert tested >= {"age", "job", "height"}


def test_choices_at_the_root(fitted, tmp_path):
    root = report(fitted, tmp_path)["search"]["root"]
    assert [choice["cost"] for choice in root["choices"]] == [choice["cost"] for choice in fitted.search_["root"]]
    assert all(choice["exact"] for choice in root["choices"])
    (chosen,) = [choice for choice in root["choices"] if choice["chosen"]]
    assert f"|--- {chosen['literal']}\n" in fitted.export_text()
    assert root["unit"] == "errors"


def test_without_rows_only_training_data_are_shown(fitted, tmp_path):
    content = report(fitted, tmp_path)
    assert content["data"] is None
    assert content["rows"] is None
    assert content["training"]["misclassified"] == fitted.train_errors_


def test_rows_without_labels_can_be_followed(fitted, people, tmp_path):
    content = report(fitted, tmp_path, people[2], max_rows=100)
    assert content["data"] is None
    assert content["rows"]["labels"] is None
    assert len(content["rows"]["values"]) == 100


def test_no_row_is_in_the_file_unless_asked_for(fitted, people, tmp_path):
    content = report(fitted, tmp_path, people[2], people[3])
    assert content["rows"] is None
    assert content["data"]["total"] == 200


def said_of_contents(path):
    (said,) = re.findall('<p id="data-in-file">(.*?)</p>', path.read_text("utf-8"))
    return said


@pytest.mark.parametrize("max_rows", [0, 50, 200, 500])
@pytest.mark.parametrize("labelled", [False, True])
def test_the_page_says_what_data_it_contains(fitted, people, tmp_path, max_rows, labelled):
    _, _, X, y = people
    content = report(fitted, tmp_path, X, y if labelled else None, max_rows=max_rows)
    said = said_of_contents(tmp_path / "report.html")
    counted = "training and test rows" if labelled else "training rows"
    assert f"and counts of the {counted}." in said
    if max_rows == 0:
        assert said.endswith("It contains no rows of data.")
        return
    used = len(fitted.tree_.used_features())
    assert {len(values) for values in content["rows"]["values"]} == {used}
    which = "all" if max_rows >= 200 else "the first 50"
    classes = ", and their classes" if labelled else ""
    values = f"their values of the {used} features that the tree uses{classes}"
    assert said.endswith(f"It also contains {which} of the 200 test rows: {values}.")


def test_a_single_leaf_needs_no_rows(people, tmp_path):
    content = report(TopKTreeClassifier(max_depth=0).fit(*people[:2]), tmp_path, *people[2:], max_rows=50)
    assert content["rows"] is None
    assert said_of_contents(tmp_path / "report.html").endswith("It contains no rows of data.")


@pytest.fixture(scope="module")
def many_classes():
    """2,500 classes, of which a tree of 64 leaves confuses most."""
    random = np.random.default_rng(3)
    y = np.concatenate([np.arange(2500), random.integers(0, 2500, 7500)])
    X = np.column_stack([y + random.normal(0, 30, len(y)), random.random(len(y))])
    return TopKTreeClassifier(k=1, max_depth=6).fit(X, y), X, y


def test_many_classes_give_a_small_file(many_classes, tmp_path):
    clf, X, y = many_classes
    content = report(clf, tmp_path, X, y)
    assert clf.get_n_leaves() > 50
    assert (tmp_path / "report.html").stat().st_size < 1_000_000
    for part in (content["training"], content["data"]):
        assert part["confusion"] is None
        assert part["accuracy"] == clf.score(X, y)
        assert part["misclassified"] == np.count_nonzero(clf.predict(X) != y)
        confused = pd.Series(list(zip(y.tolist(), clf.predict(X).tolist(), strict=True)))
        confused = confused[clf.predict(X) != y].value_counts()
        assert part["n_pairs"] == len(confused)
        assert [n for _, _, n in part["pairs"]] == confused.iloc[:50].tolist()
        assert all(confused[(actual, predicted)] == n for actual, predicted, n in part["pairs"])


def test_of_many_classes_a_node_lists_the_heaviest(many_classes, tmp_path):
    clf, X, y = many_classes
    path = clf.decision_path(X).toarray()
    for i, node in enumerate(report(clf, tmp_path, X, y)["nodes"]):
        listed = [c for c, *_ in node["counts"]]
        value = clf.tree_.value[i]
        assert listed[0] == node["predicted"]
        assert [n for _, n, _ in node["counts"]] == np.sort(value)[::-1][: len(listed)].tolist()
        assert [n for _, _, n in node["counts"]] == value[listed].tolist()  # the test rows are the training rows
        n_others, n, seen = node["others"] or (0, 0, 0)
        assert len(listed) == min(30, np.count_nonzero(value))
        assert n_others == np.count_nonzero(value) - len(listed)
        assert n == seen == node["total"] - value[listed].sum()
        assert node["seen_total"] == path[:, i].sum()


def test_of_many_categories_only_those_of_rows_in_the_file_are_told(tmp_path):
    names = [f"client {i}" for i in range(200)]
    X = pd.DataFrame({"client": names * 3, "size": np.arange(600)})
    y = (X["client"] == "client 7") ^ (X["size"] < 300)
    clf = TopKTreeClassifier(k="all", max_depth=2).fit(X, y)
    for max_rows, expected in ((0, {7}), (3, {0, 1, 2, 7})):
        content = report(clf, tmp_path, X, y, max_rows=max_rows)
        (feature,) = [feature for feature in content["features"] if feature["name"] == "client"]
        assert {option["text"] for option in feature["options"]} == {
            *(f'"client {i}"' for i in expected),
            "(another training value)",
        }
        assert content["data"]["total"] == 600


@pytest.mark.parametrize(("leaf_penalty", "unit"), [(0.0, "errors"), ("tie", "errors"), (0.01, "cost")])
def test_what_the_choices_are_compared_by(people, leaf_penalty, unit, tmp_path):
    clf = TopKTreeClassifier(k=2, max_depth=2, leaf_penalty=leaf_penalty).fit(*people[:2])
    root = report(clf, tmp_path)["search"]["root"]
    assert root["unit"] == unit
    assert min(choice["cost"] for choice in root["choices"] if choice["chosen"]) == clf.cost_


def test_classes_that_training_had_not_count_as_wrong(fitted, people, tmp_path):
    _, _, X, y = people
    y = y.astype(object)
    y[:7] = "middling"
    content = report(fitted, tmp_path, X, y, max_rows=100)
    data = content["data"]
    assert data["unknown"] == 7
    assert content["nodes"][0]["seen_total"] == len(y)
    assert sum(node["seen_total"] for node in content["nodes"] if "rule" in node) == len(y)
    assert content["rows"]["labels"][:8] == ["middling"] * 7 + [y[7]]
    assert data["misclassified"] == np.count_nonzero(fitted.predict(X) != y)
    assert data["actual"] == ["high", "low", "(other)"]


def test_cross_validation_tells_what_it_chose_from(people, tmp_path):
    X, y, X_test, y_test = people
    cv = TopKTreeClassifierCV(ks=(1, 4), max_depths=(1, 2), cv=3).fit(X, y)
    content = report(cv, tmp_path, X_test, y_test)
    lines = content["choices"]["grid"]["lines"]
    assert [line["name"] for line in lines] == ["k = 1", "k = 4"]
    scores = [point["score"] for line in lines for point in line["points"]]
    assert scores == pytest.approx(cv.cv_results_["mean_test_score"].tolist())
    assert sum(point["chosen"] for line in lines for point in line["points"]) == 1
    assert content["data"]["accuracy"] == cv.score(X_test, y_test)
    assert ["ks", "(1, 4)"] in content["parameters"]


def test_pruning_says_what_each_leaf_buys(fitted, people, tmp_path):
    steps = report(fitted, tmp_path, people[2], people[3])["choices"]["pruning"]
    path = fitted.pruning_path()
    assert [step["leaves"] for step in steps] == path.n_leaves.tolist()
    assert [step["train"] for step in steps] == pytest.approx(1 - path.errors)
    assert steps[0]["test"] == pytest.approx(fitted.score(people[2], people[3]))


@pytest.mark.parametrize(
    ("k", "words"),
    [
        (1, "Every node is split on the column that scores best"),
        (np.int64(4), "the 4 columns that score best"),
        ("all", "At every node all columns are tried"),
        (("all", "all"), "At every node all columns are tried"),
        (np.array([4, 2]), "by level from the root 4, 2 of them"),
        ((4, "all"), "by level from the root 4, all of them"),
    ],
    ids=str,
)
def test_k_in_words(people, k, words, tmp_path):
    search = report(TopKTreeClassifier(k=k, max_depth=2).fit(*people[:2]), tmp_path)["search"]
    assert words in search["words"][0]


def test_a_pruned_tree_is_not_said_to_be_what_was_searched(fitted, people, tmp_path):
    pruned = fitted.prune(people[2], people[3], rule="1se")
    assert pruned.get_n_leaves() < fitted.get_n_leaves()
    search = report(pruned, tmp_path)["search"]
    assert "was pruned after the search" in search["words"][1]
    assert search["root"] is None
    assert len(report(fitted, tmp_path)["search"]["words"]) == 2


@pytest.mark.parametrize("criterion", ["gain_ratio", lambda left, right: right[:, 0]], ids=["gain_ratio", "function"])
def test_criteria(people, criterion, tmp_path):
    clf = TopKTreeClassifier(k=3, max_depth=2, criterion=criterion).fit(*people[:2])
    choices = report(clf, tmp_path)["search"]["root"]["choices"]
    assert len(choices) == 3
    assert all(choice["score_text"] == "" for choice in choices) == callable(criterion)


def test_weights(people, tmp_path):
    X, y, _, _ = people
    weights = np.random.default_rng(1).random(len(y))
    clf = TopKTreeClassifier(k=2, max_depth=2, class_weight="balanced").fit(X, y, sample_weight=weights)
    content = report(clf, tmp_path)
    assert content["weighted"]
    assert content["training"]["misclassified"] == pytest.approx(clf.cost_)
    assert content["search"]["root"]["unit"] == "cost"


def test_weights_of_the_test_rows(fitted, people, tmp_path):
    _, _, X, y = people
    weights = np.random.default_rng(2).integers(0, 4, len(y)).astype(float)
    content = report(fitted, tmp_path, X, y, weights)
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    same = report(fitted, tmp_path, X.iloc[repeated], y[repeated])
    assert content["data"]["weighted"]
    for key in ("accuracy", "confusion", "brier"):
        np.testing.assert_allclose(content["data"][key], same["data"][key])
    assert content["calibration"]["error"] == pytest.approx(same["calibration"]["error"])
    with pytest.raises(ValueError, match=r"non-zero number|> 0 in some row"):
        report(fitted, tmp_path, X, y, np.zeros(len(y)))


def test_a_saved_model_gives_the_same_file(fitted, people, tmp_path):
    fitted.report(tmp_path / "a.html", people[2], people[3], title="T")
    fitted.save(tmp_path / "model.json")
    topktree.load(tmp_path / "model.json").report(tmp_path / "b.html", people[2], people[3], title="T")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_model_without_a_known_search(fitted, tmp_path):
    fitted.save(tmp_path / "model.json")
    loaded = topktree.load(tmp_path / "model.json")
    loaded.search_ = {}
    content = report(loaded, tmp_path)["search"]
    assert content["root"] is None
    assert content["trace"] == []


@pytest.mark.parametrize("max_depth", [0, 1])
def test_small_trees(people, max_depth, tmp_path):
    content = report(TopKTreeClassifier(max_depth=max_depth).fit(*people[:2]), tmp_path, people[2], people[3])
    assert len(content["nodes"]) == 2 * max_depth + 1


def test_other_names(fitted, people, tmp_path):
    names, classes = ["a", "b", "c", "d"], ["A", "B"]
    _, _, X, y = people
    options = {"feature_names": names, "class_names": classes, "title": "Who?", "max_rows": 100}
    content = report(fitted, tmp_path, X, y, **options)
    assert content["rows"]["labels"] == ["A" if label == "high" else "B" for label in y[:100]]
    assert content["title"] == "Who?"
    assert content["classes"] == classes
    assert {feature["name"] for feature in content["features"]} == set(names)


def test_names_are_text_wherever_they_stand(tmp_path):
    bad = ["<script>alert(1)</script>", "</script><b>", "<!--", "]]>", "\u2028\u2029 &amp;"]
    random = np.random.default_rng(0)
    X = pd.DataFrame({name: random.random(60) for name in bad})
    y = np.where(X[bad[0]] > 0.5, "</title><script>alert(2)</script>", "<img src=x onerror=alert(3)>")
    clf = TopKTreeClassifier(k=2, max_depth=2).fit(X, y)
    clf.report(tmp_path / "r.html", X, y, title="</title><script>alert(4)</script>")
    text = (tmp_path / "r.html").read_text("utf-8")
    assert len(re.findall("<script", text)) == 2  # the content and the page's own
    assert len(re.findall("</script", text)) == 2
    assert "<img" not in text
    assert "<!--" not in text
    assert f"<title>{html.escape('</title><script>alert(4)</script>')}</title>" in text
    assert {feature["name"] for feature in read(tmp_path / "r.html")["features"]} >= set(bad[:4])


def test_the_file_needs_nothing_else(fitted, people, tmp_path):
    fitted.report(tmp_path / "r.html", people[2], people[3])
    text = (tmp_path / "r.html").read_text("utf-8")
    assert "default-src 'none'" in text
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[\w./-]*", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a name, not a place
    assert len(text) < 200_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y_test": ["high"]}, "X_test must be given"),
        ({"sample_weight": [1.0]}, "y_test must be given"),
        ({"title": 3}, "title must be"),
        ({"max_rows": -1}, "max_rows must be"),
        ({"class_names": ["one"]}, "class_names must have 2 names"),
    ],
)
def test_bad_arguments(fitted, tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        fitted.report(tmp_path / "r.html", **arguments)
    assert not (tmp_path / "r.html").exists()


def test_labels_and_rows_must_fit(fitted, people, tmp_path):
    with pytest.raises(ValueError, match="y must have a label for each"):
        fitted.report(tmp_path / "r.html", people[2], people[3][:5])


def test_a_file_that_was_there_survives_an_error(fitted, people, tmp_path):
    (tmp_path / "r.html").write_text("before")
    with pytest.raises(ValueError, match="labels that training had"):
        fitted.report(tmp_path / "r.html", people[2], np.arange(200))
    assert (tmp_path / "r.html").read_text() == "before"
    with pytest.raises(FileNotFoundError):
        fitted.report(tmp_path / "no folder" / "r.html")
