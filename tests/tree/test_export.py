"""Text, rules, DOT, SQL and dicts say what the tree does: read back or run, they decide as `predict`."""

import json
import math
import re
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from support.messy import TIDY_COLUMNS, cases, is_missing, queries, sql_rows
from support.profiles import examples

from topktree import TopKTreeClassifier

some = examples(0.6)
more = examples(1.5)

FORMATS = ("export_text", "export_rules", "export_dot", "export_sql", "export_dict")
tidy_cases = cases(TIDY_COLUMNS, labels=("int", "bool", "float"), odd_names=False)


def ages():
    """Those between 30 and 40 are "yes", but for one smoker; one old person is "maybe"."""
    age = [20, 25, 30, 31, 35, 40, 41, 50, 60, 35]
    smoker = [False] * 9 + [True]
    return pd.DataFrame({"age": age, "smoker": smoker}), ["no"] * 3 + ["yes"] * 3 + ["no", "maybe", "no", "no"]


def fitted(**parameters):
    return TopKTreeClassifier(**{"k": "all", "max_depth": 3, "leaf_penalty": "tie", **parameters}).fit(*ages())


def leaves_of(clf):
    return np.flatnonzero(clf.tree_.children_left == -1)


def rows_of(X):
    """Each row as a dict of plain values, None for missing."""
    return [dict(zip(X.columns, row, strict=True)) for row in sql_rows(X)]


def printable(text):
    """The text as one line."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


# A reader that knows nothing of the tree, only words and numbers.


def holds(condition, row):
    """Whether a row satisfies a condition as people read it."""
    if condition == "always":
        return True
    if condition.startswith("(") and condition.endswith(")"):
        return holds(condition[1:-1], row)
    if condition.endswith(" or missing"):
        bare = condition.removesuffix(" or missing")
        name = re.search(r"\bf\d+\b", bare)[0]
        return row[name] is None or holds(bare, row)
    if found := re.fullmatch(r"(\S+) is missing", condition):
        return row[found[1]] is None
    if found := re.fullmatch(r"(\S+) is not missing", condition):
        return row[found[1]] is not None
    if found := re.fullmatch(r"(\S+) < (\S+) <= (\S+)", condition):
        low, name, high = found.groups()
        return row[name] is not None and float(low) < row[name] <= float(high)
    if found := re.fullmatch(r"(\S+) (<=|>) (\S+)", condition):
        name, sign, number = found.groups()
        if row[name] is None:
            return False
        return row[name] <= float(number) if sign == "<=" else row[name] > float(number)
    if found := re.fullmatch(r"(\S+) not in \{(.*)\}", condition):
        return row[found[1]] is not None and str(row[found[1]]) not in map(unquoted, found[2].split(", "))
    if found := re.fullmatch(r"(\S+) in \{(.*)\}", condition):
        return row[found[1]] is not None and str(row[found[1]]) in map(unquoted, found[2].split(", "))
    name, sign, value = re.fullmatch(r"(\S+) (=|!=) (.+)", condition).groups()
    return row[name] is not None and (str(row[name]) == unquoted(value)) == (sign == "=")


def unquoted(text):
    return json.loads(text) if text.startswith('"') else text


def read_rule(line):
    """Conditions, class, confidence and size of one line of rules."""
    conditions, outcome = line.split(" -> ")
    name, percent, rows = re.fullmatch(r"(.+) \(([\d.]+)% of (?:weight \S+ in )?(\d+) rows?.*\)", outcome).groups()
    return conditions.split(" and "), name, float(percent), int(rows)


def descend(lines, row):
    """The line of the leaf that a row comes to in the indented text."""
    depth = 0
    candidates = list(lines)
    while True:
        heads = [i for i, line in enumerate(candidates) if line.startswith("|   " * depth + "|--- ")]
        texts = [candidates[i].removeprefix("|   " * depth + "|--- ") for i in heads]
        if len(heads) == 1 and texts[0].startswith("class: "):
            return candidates[heads[0]]
        assert len(heads) == 2, texts
        answers = [holds(text, row) for text in texts]
        assert sum(answers) == 1, (texts, row)
        chosen = answers.index(True)
        candidates = candidates[heads[chosen] + 1 : heads[1] if chosen == 0 else None]
        depth += 1


# Rules


def test_rules_have_a_line_per_leaf_and_merge_conditions():
    clf = fitted(min_samples_leaf=3)
    assert clf.export_rules() == (
        "age <= 30 -> no (100.0% of 3 rows; no 3)\n"
        "30 < age <= 40 -> yes (75.0% of 4 rows; no 1, yes 3)\n"
        "age > 40 -> no (66.7% of 3 rows; maybe 1, no 2)\n"
    )


def test_rules_merge_both_ends_and_keep_the_tightest():
    X = np.arange(8.0)[:, None] * 10
    clf = TopKTreeClassifier(k="all", max_depth=4).fit(X, [0, 0, 1, 0, 0, 1, 1, 0])
    assert clf.export_rules() == (
        "x0 <= 15 -> 0 (100.0% of 2 rows; 0 2)\n"
        "15 < x0 <= 25 -> 1 (100.0% of 1 row; 1 1)\n"
        "25 < x0 <= 45 -> 0 (100.0% of 2 rows; 0 2)\n"
        "45 < x0 <= 65 -> 1 (100.0% of 2 rows; 1 2)\n"
        "x0 > 65 -> 0 (100.0% of 1 row; 0 1)\n"
    )


def test_rules_gather_excluded_categories():
    X = pd.DataFrame({"colour": ["red", "blue", "green", "grey"] * 3})
    clf = TopKTreeClassifier(k="all", max_depth=3).fit(X, ["a", "b", "c", "c"] * 3)
    first, *rest = sorted(clf.export_rules().splitlines(), key=len, reverse=True)
    assert re.match(r"colour not in \{(red, blue|blue, red)\} -> c \(100\.0% of 6 rows; c 6\)", first)
    assert len(rest) == 2


def test_missing_values_are_part_of_a_rule_where_training_had_them():
    X = pd.DataFrame({"n": [1.0, 2.0, 3.0, 4.0, None, None], "b": [True] * 6})
    clf = TopKTreeClassifier(k="all", max_depth=1).fit(X, [0, 0, 1, 1, 1, 1])
    assert clf.export_rules() == (
        "n <= 2 -> 0 (100.0% of 2 rows; 0 2)\n(n > 2 or missing) -> 1 (100.0% of 4 rows; 1 4)\n"
    )
    clf = TopKTreeClassifier(k="all", max_depth=1).fit(X, [1, 1, 0, 0, 1, 1])
    assert clf.export_rules() == (
        "(n <= 2 or missing) -> 1 (100.0% of 4 rows; 1 4)\nn > 2 -> 0 (100.0% of 2 rows; 0 2)\n"
    )
    clf = TopKTreeClassifier(k="all", max_depth=1).fit(X, [0, 0, 0, 0, 1, 1])
    assert clf.export_rules() == (
        "n is missing -> 1 (100.0% of 2 rows; 1 2)\nn is not missing -> 0 (100.0% of 4 rows; 0 4)\n"
    )


@some
@given(tidy_cases)
def test_a_training_row_satisfies_the_rule_of_its_leaf_and_no_other(case):
    clf = case.fit()
    rules = [read_rule(line) for line in clf.export_rules().splitlines()]
    leaves = leaves_of(clf)
    assert len(rules) == len(leaves)
    in_use = case.weights() > 0
    sizes = np.zeros(len(rules), dtype=int)
    for row, leaf, counts in zip(rows_of(case.X), clf.apply(case.X), in_use, strict=True):
        if not counts:
            continue
        true = [i for i, (conditions, *_) in enumerate(rules) if all(holds(c, row) for c in conditions)]
        assert true == [np.flatnonzero(leaves == leaf)[0]], (row, rules)
        sizes[true[0]] += 1
    assert [rows for *_, rows in rules] == sizes.tolist()
    predicted = clf.classes_[np.argmax(clf.tree_.value[leaves], axis=1)]
    assert [name for _, name, *_ in rules] == [str(label) for label in predicted.tolist()]


@some
@given(tidy_cases)
def test_a_rule_names_a_feature_once(case):
    for line in case.fit().export_rules().splitlines():
        names = re.findall(r"\bf\d+\b", line.split(" -> ")[0])
        assert len(names) == len(set(names)), line


def test_numbers_that_float32_cannot_tell_apart_read_differently():
    values = [0.1, math.nextafter(0.1, 1), float(np.nextafter(np.float32(0.1), np.float32(1)))]
    clf = TopKTreeClassifier(k="all", max_depth=2).fit(np.array(values * 2)[:, None], [0, 1, 2] * 2)
    for line in clf.export_rules().splitlines():
        if found := re.match(r"(\S+) < x0 <= (\S+)", line):
            assert float(found[1]) < float(found[2]), line


# Text


def test_text_looks_as_in_scikit_learn():
    X = pd.DataFrame({"age": [20, 30, 40, 50], "colour": ["red", "blue", "red", "blue"]})
    clf = TopKTreeClassifier(k="all", max_depth=2).fit(X, ["no", "no", "yes", "maybe"])
    assert clf.export_text() == (
        "|--- age <= 35\n"
        "|   |--- class: no (100.0% of 2 rows; no 2)\n"
        "|--- age > 35\n"
        "|   |--- age <= 45\n"
        "|   |   |--- class: yes (100.0% of 1 row; yes 1)\n"
        "|   |--- age > 45\n"
        "|   |   |--- class: maybe (100.0% of 1 row; maybe 1)\n"
    )


@some
@given(tidy_cases)
def test_text_leads_every_training_row_to_its_leaf(case):
    clf = case.fit()
    lines = clf.export_text().splitlines()
    of_leaves = [line for line in lines if "|--- class: " in line]
    leaves = leaves_of(clf)
    assert len(of_leaves) == len(leaves)
    for row, leaf, weight in zip(rows_of(case.X), clf.apply(case.X), case.weights(), strict=True):
        if weight > 0:
            line = descend(lines, row)
            size = f" {clf.tree_.n_node_samples[leaf]} row"
            label = clf.classes_[np.argmax(clf.tree_.value[leaf])]
            assert line.strip("| -").startswith(f"class: {label} ("), line
            assert size in line, line


@some
@given(cases())
def test_whatever_the_names_there_is_a_line_per_node(case):
    clf = case.fit()
    names = [str(label) for label in clf.classes_.tolist()]
    lines = clf.export_text().split("\n")
    assert lines.pop() == ""
    n_leaves = clf.get_n_leaves()
    assert len(lines) == clf.tree_.node_count - 1 + n_leaves
    assert all(line.isprintable() for line in lines)
    rules = clf.export_rules().split("\n")
    assert rules.pop() == ""
    assert len(rules) == n_leaves
    assert all(line.isprintable() for line in rules)
    for leaf, rule in zip(leaves_of(clf), rules, strict=True):
        name = names[np.argmax(clf.tree_.value[leaf])]
        assert f" -> {printable(name)} (" in rule


def test_line_breaks_stay_on_one_line():
    X = pd.DataFrame({"a\nb": ["x\r\ny", "z\u2028"] * 2})
    clf = TopKTreeClassifier().fit(X, ["no\n", "yes"] * 2)
    assert clf.export_text().splitlines() == [
        r'|--- a\nb = "x\r\ny"',
        r"|   |--- class: no\n (100.0% of 2 rows; no\n 2)",
        r'|--- a\nb = "z\u2028"',
        r"|   |--- class: yes (100.0% of 2 rows; yes 2)",
    ]
    assert clf.export_rules().splitlines() == [
        r'a\nb = "x\r\ny" -> no\n (100.0% of 2 rows; no\n 2)',
        r'a\nb = "z\u2028" -> yes (100.0% of 2 rows; yes 2)',
    ]


def test_words_are_told_from_numbers():
    X = pd.DataFrame({"a": pd.Series([1, "1", 1, "1"], dtype=object)})
    text = TopKTreeClassifier().fit(X, [0, 1, 0, 1]).export_text()
    assert [line for line in text.splitlines() if "class" not in line] == ["|--- a = 1", '|--- a = "1"']


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("red", "red"),
        ("Never-married", "Never-married"),
        ("größe_2", "größe_2"),
        ("<0", '"<0"'),
        ("7", '"7"'),
        ("007", '"007"'),
        ("2020-01-01", '"2020-01-01"'),
        ("missing", '"missing"'),
        ("NaN", '"NaN"'),
        ("True", '"True"'),
        ("and", '"and"'),
        ("no schooling", '"no schooling"'),
        ('say "x"', '"say \\"x\\""'),
        ("", '""'),
        ("-", '"-"'),
        (7, "7"),
        (0.5, "0.5"),
        (True, "True"),
    ],
)
def test_values_are_quoted_where_they_could_be_read_as_something_else(value, text):
    X = pd.DataFrame({"a": pd.Series([value, "other", "third"] * 4, dtype=object)})
    assert f"a = {text} ->" in TopKTreeClassifier(max_depth=2).fit(X, [0, 1, 2] * 4).export_rules()


def test_a_category_of_two_values_names_the_other():
    X = pd.DataFrame({"sex": ["female", "male"] * 4, "smoker": [True, True, False, False] * 2})
    text = TopKTreeClassifier(k="all", max_depth=2).fit(X, [0, 1, 2, 3] * 2).export_text()
    assert "!=" not in text
    assert all(said in text for said in ("sex = female", "sex = male", "smoker = True", "smoker = False"))


def test_chains_of_other_values_are_merged_in_text():
    X = pd.DataFrame({"colour": ["red", "blue", "green", "grey"] * 3})
    text = TopKTreeClassifier(k="all", max_depth=3).fit(X, ["a", "b", "c", "d"] * 3).export_text()
    conditions = [line.strip("|- ") for line in text.splitlines() if "class" not in line]
    assert sum(" = " in said for said in conditions) == 4
    assert sum("!=" in said for said in conditions) == 1
    assert sum("not in {" in said for said in conditions) == 1


def test_ordered_categories_are_compared():
    size = pd.Categorical(["S", "M", "L", "XL"] * 3, categories=["S", "M", "L", "XL"], ordered=True)
    clf = TopKTreeClassifier(k="all", max_depth=2).fit(pd.DataFrame({"size": size}), [0, 1, 1, 0] * 3)
    assert clf.export_rules() == (
        'size <= "S" -> 0 (100.0% of 3 rows; 0 3)\n'
        '"S" < size <= "L" -> 1 (100.0% of 6 rows; 1 6)\n'
        'size > "L" -> 0 (100.0% of 3 rows; 0 3)\n'
    )
    assert run_sql(clf, pd.DataFrame({"size": ["XL", "L", "M", "S"]})) == [0, 1, 1, 0]
    assert clf.export_dict()["nodes"][0]["value"] in ("S", "L")


# Counts and confidences


@some
@given(cases())
def test_dict_has_the_counts_of_the_training_rows(case):
    clf = case.fit()
    nodes = clf.export_dict()["nodes"]
    weights, classes = case.weights(), np.searchsorted(clf.classes_, np.asarray(case.y))
    on_path = clf.decision_path(case.X).toarray().astype(bool)
    exact = np.array_equal(weights, np.rint(weights))
    for node, entry in enumerate(nodes):
        rows = on_path[:, node] & (weights > 0)
        counts = np.bincount(classes[rows], weights[rows], minlength=len(clf.classes_))
        assert entry["rows"] == rows.sum()
        np.testing.assert_allclose(entry["counts"], counts, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-5)
        assert entry["confidence"] == max(entry["counts"]) / sum(entry["counts"])
        assert entry["prediction"] == clf.classes_[np.argmax(entry["counts"])]


@some
@given(cases())
def test_dict_is_json(case):
    content = case.fit().export_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1, 2], dtype=np.int8),
        np.array([1, 2], dtype=np.float32),
        np.array([False, True]),
        np.array(["a", "b"]),
        np.array(["a", "b"], dtype=object),
        np.array([np.int64(1), np.int64(2)], dtype=object),
        np.array([np.True_, np.False_], dtype=object),
        np.array([np.str_("a"), np.str_("b")], dtype=object),
        pd.Series(["a", "b"], dtype="category"),
        pd.Series([1, 2], dtype="Int64"),
        [True, False],
    ],
    ids=lambda labels: f"{getattr(labels, 'dtype', 'list')} of {type(labels[0]).__name__}",
)
def test_every_kind_of_label_can_be_exported(labels):
    clf = TopKTreeClassifier().fit([[0], [1]], labels)
    assert json.loads(json.dumps(clf.export_dict()))["classes"] == [
        getattr(label, "item", lambda label=label: label)() for label in clf.classes_.tolist()
    ]
    predicted = run_sql(clf, pd.DataFrame({"x0": [0, 1]}))
    assert predicted == clf.predict([[0], [1]]).tolist()


def test_dict_describes_tests_and_children():
    X = pd.DataFrame({"n": [1.0, 2.0, None, 4.0] * 2, "b": [True, False] * 4, "c": list("xyxy") * 2})
    clf = TopKTreeClassifier(k="all", max_depth=3).fit(X, [0, 1, 2, 3] * 2)
    content = clf.export_dict()
    assert [feature["name"] for feature in content["features"]] == ["n", "b", "c"]
    assert [feature["kind"] for feature in content["features"]] == ["number", "boolean", "category"]
    assert [feature["has_missing"] for feature in content["features"]] == [True, False, False]
    assert content["features"][2]["categories"] == ["x", "y"]
    assert content["classes"] == [0, 1, 2, 3]
    for node, entry in enumerate(content["nodes"]):
        assert ("test" in entry) == (clf.tree_.children_left[node] != -1)
        if "test" in entry:
            assert (entry["left"], entry["right"]) == (clf.tree_.children_left[node], clf.tree_.children_right[node])
            assert entry["feature"] == "nbc"[entry["feature_index"]]
            assert entry["test"] in ("<=", "=", "is missing")


def test_weights_are_counted_and_shown():
    X, y = [[0], [0], [1], [1]], ["a", "b", "b", "b"]
    clf = TopKTreeClassifier().fit(X, y, [3, 1, 0.5, 0.5])
    assert clf.export_rules() == (
        "x0 <= 0 -> a (75.0% of weight 4 in 2 rows; a 3, b 1)\nx0 > 0 -> b (100.0% of weight 1 in 2 rows; b 1)\n"
    )
    assert "class: a (75.0% of weight 4 in 2 rows; a 3, b 1)" in clf.export_text()
    assert r'label="a\n75.0% of weight 4 in 2 rows\na 3, b 1"' in clf.export_dot()
    leaf = clf.export_dict()["nodes"][1]
    assert (leaf["rows"], leaf["counts"], leaf["confidence"]) == (2, [3.0, 1.0], 0.75)


def test_class_weights_are_counted():
    clf = TopKTreeClassifier(class_weight={"a": 2.5}).fit([[0], [0], [1], [1]], ["a", "b", "b", "b"])
    assert "a (71.4% of weight 3.5 in 2 rows; a 2.5, b 1)" in clf.export_rules()


def test_rows_without_weight_are_not_counted():
    clf = TopKTreeClassifier().fit([[0], [0], [1], [1]], ["a", "b", "b", "b"], [1, 0, 1, 1])
    assert clf.export_rules() == "x0 <= 0 -> a (100.0% of 1 row; a 1)\nx0 > 0 -> b (100.0% of 2 rows; b 2)\n"


# DOT

QUOTED = r'"((?:[^"\\]|\\.)*)"'


def read_dot(dot):
    """Labels of the nodes, and the edges with theirs."""
    first, *statements, last, end = dot.split("\n")
    assert (first, last, end) == ("digraph Tree {", "}", "")
    labels, arrows = {}, {}
    for statement in statements:
        if found := re.fullmatch(rf"(\d+) \[label={QUOTED}, fillcolor={QUOTED}\];", statement):
            assert re.fullmatch("#[0-9a-f]{6}", found[3])
            assert int(found[1]) not in labels
            labels[int(found[1])] = re.sub(r"\\(.)", lambda c: "\n" if c[1] == "n" else c[1], found[2])
        elif found := re.fullmatch(r'(\d+) -> (\d+) \[label="(yes|no)"\];', statement):
            arrows[int(found[1]), int(found[2])] = found[3]
        else:
            assert re.fullmatch(r"(node|edge) \[.*\];", statement), statement
    return labels, arrows


@some
@given(cases())
def test_dot_has_every_node_and_edge(case):
    clf = case.fit()
    labels, arrows = read_dot(clf.export_dot())
    tree, nodes = clf.tree_, clf.export_dict()["nodes"]
    assert sorted(labels) == list(range(tree.node_count))
    inner = np.flatnonzero(tree.children_left != -1).tolist()
    assert sorted(arrows) == sorted(
        (node, child) for node in inner for child in (tree.children_left[node], tree.children_right[node])
    )
    for node in inner:
        assert arrows[node, tree.children_left[node]] == "yes"
        assert labels[node].startswith(f"{printable(nodes[node]['feature'])} {nodes[node]['test']}")
    for leaf in leaves_of(clf):
        assert labels[leaf].startswith(f"{printable(str(nodes[leaf]['prediction']))}\n")
        assert f" {nodes[leaf]['rows']} row" in labels[leaf]


def test_dot_escapes_names():
    X = pd.DataFrame({'a "b" \\ c\nd': [0, 1]})
    labels, _ = read_dot(TopKTreeClassifier().fit(X, ['"', "\\"]).export_dot())
    assert labels[0].startswith('a "b" \\ c\\nd <= 0?\n')
    assert labels[1].startswith('"\n')
    assert labels[2].startswith("\\\n")


def test_dot_keeps_class_names_with_semicolons_whole():
    labels, _ = read_dot(TopKTreeClassifier().fit([[0], [1]], ["a; b", "c"]).export_dot())
    assert labels[1] == "a; b\n100.0% of 1 row\na; b 1"


# SQL


def run_sql(clf, X, **options):
    """The predictions of a database that holds the rows; columns have no type, as SQLite allows."""
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in X.columns)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE t (__row, {names})")
        marks = ", ".join("?" * (X.shape[1] + 1))
        rows = [[i, *row] for i, row in enumerate(sql_rows(X))]
        database.executemany(f"INSERT INTO t VALUES ({marks})", rows)
        sql = clf.export_sql("t", **options) + " ORDER BY __row"
        return [prediction for (prediction,) in database.execute(sql)]


def reads_numbers_exactly(thresholds):
    """Whether SQLite reads these as Python does; where it has no long double it may be off by a bit."""
    with closing(sqlite3.connect(":memory:")) as database:
        return all(database.execute(f"SELECT {t!r}").fetchone()[0] == t for t in thresholds)


@more
@given(cases(), st.integers(0, 2**32 - 1))
def test_a_database_predicts_the_same(case, seed):
    clf = case.fit()
    assume(reads_numbers_exactly([t for t in clf.tree_.threshold.tolist() if math.isfinite(t)]))
    asked = queries(clf, case, seed)
    assert run_sql(clf, asked) == clf.predict(asked).tolist()


def test_sql_without_a_table_is_an_expression():
    X = pd.DataFrame({"age": [20, 30, 40, 50]})
    clf = TopKTreeClassifier().fit(X, ["no", "no", "it's", "it's"])
    expression = clf.export_sql()
    assert expression.startswith('CASE\n  WHEN ("age" <= 35 OR "age" IS NULL)\n')
    assert expression.endswith("END")
    with closing(sqlite3.connect(":memory:")) as database:
        rows = database.execute(f"SELECT {expression} FROM (SELECT 35 AS age UNION ALL SELECT 36)").fetchall()
    assert rows == [("no",), ("it's",)]


def test_sql_with_a_table_is_a_query():
    clf = fitted()
    sql = clf.export_sql("my table")
    assert sql == f'SELECT {clf.export_sql()} AS prediction\nFROM "my table"'


def test_a_table_in_a_schema_is_a_sequence():
    clf = fitted()
    for table in (("main", 'the "t"'), ["main", 'the "t"']):
        sql = clf.export_sql(table)
        assert sql.endswith('FROM "main"."the ""t"""')
        with closing(sqlite3.connect(":memory:")) as database:
            database.execute('CREATE TABLE "the ""t""" (age, smoker)')
            database.execute('INSERT INTO "the ""t""" VALUES (35, 0)')
            assert database.execute(sql).fetchall() == [("yes",)]


def test_sql_booleans_are_stored_as_0_and_1():
    X = pd.DataFrame({"b": pd.array([True, False, None, True], dtype="boolean")})
    clf = TopKTreeClassifier().fit(X, [True, False, False, True])
    assert run_sql(clf, X) == [1, 0, 0, 1]
    assert run_sql(clf, pd.DataFrame({"b": [1, 0]})) == [1, 0]


def test_sql_may_have_columns_named_true_and_false():
    # SQLite takes TRUE for the column of that name, if there is one.
    X = pd.DataFrame({"b": [True, False, True, False], "True": [7, 7, 7, 8], "false": [9, 9, 9, 9]})
    clf = TopKTreeClassifier(max_depth=1).fit(X, [True, False, True, False])
    assert clf.tree_.feature[0] == 0
    assert run_sql(clf, X) == [1, 0, 1, 0]


def test_sql_keeps_the_type_of_the_labels():
    for labels in ([1, 2], [1.0, 2.0], ["1", "2"], [-1, 10**15]):
        clf = TopKTreeClassifier().fit([[0], [1]], labels)
        predicted = run_sql(clf, pd.DataFrame({"x0": [0, 1]}))
        assert predicted == labels
        assert [type(label) for label in predicted] == [type(label) for label in labels]


@pytest.mark.parametrize(
    "start", [2**53, -(2**53) - 40, 2**60, -(2**60), 2**63 - 10_000, -(2**63), 1_700_000_000 * 10**9]
)
@pytest.mark.parametrize("step", [1, 2, 128, 256, 1024])
def test_sql_integers_beyond_2_53_round_as_float64_do(start, step):
    values = [start + i * step for i in range(8)]
    X = pd.DataFrame({"id": values})
    clf = TopKTreeClassifier(k="all", max_depth=4, max_thresholds=None).fit(X, [0, 0, 1, 1, 0, 2, 2, 1])
    asked = sorted(v + d for v in values for d in (-1, 0, 1, step // 2) if -(2**63) <= v + d < 2**63)
    frame = pd.DataFrame({"id": asked})
    assert run_sql(clf, frame) == clf.predict(frame).tolist()
    floats = pd.DataFrame({"id": [float(value) for value in asked]})
    assert run_sql(clf, floats) == clf.predict(floats).tolist()


def test_sql_categories_keep_their_type():
    X = pd.DataFrame({"a": pd.Series([1, "1", 2, "it's", None] * 2, dtype=object)})
    clf = TopKTreeClassifier(k="all").fit(X, [0, 1, 2, 3, 4] * 2)
    assert clf.train_errors_ == 0
    assert run_sql(clf, X) == [0, 1, 2, 3, 4] * 2


def test_sql_refuses_names_that_repeat():
    X, y = ages()
    clf = TopKTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"feature_names must be different for SQL, got 'a' more than once"):
        clf.export_sql(feature_names=["a", "a"])


def test_sql_of_a_frame_with_repeated_names_is_refused_or_tells_them_apart():
    X = pd.DataFrame([[0, 0], [0, 1], [1, 0], [1, 1]] * 2, columns=["a", "a"])
    clf = TopKTreeClassifier(k="all").fit(X, [0, 1, 2, 3] * 2)
    assert {'"a"', '"a.1"'} <= set(re.findall(r'"[^"]*"', clf.export_sql()))


def test_an_infinite_category_is_no_text():
    X = pd.DataFrame({"a": pd.Series([np.inf, "inf", 1, "b"] * 3, dtype=object)})
    clf = TopKTreeClassifier(k="all", max_depth=3).fit(X, [0, 1, 2, 3] * 3)
    assert clf.train_errors_ == 0
    with pytest.raises(ValueError, match="SQL must have finite numbers, got the label or category inf"):
        clf.export_sql()


@pytest.mark.parametrize("frame", [{"a\0b": ["x", "y"]}, {"a": ["x\0", "y\0"]}])
def test_sql_refuses_the_character_nul(frame):
    clf = TopKTreeClassifier().fit(pd.DataFrame(frame), [0, 1])
    with pytest.raises(ValueError, match="SQL must have names and values without the character NUL"):
        clf.export_sql()
    assert "\0" not in clf.export_dot() + clf.export_text() + clf.export_rules()


def test_boolean_categories_are_booleans():
    X = pd.DataFrame({"a": pd.Categorical([True, False] * 3)})
    clf = TopKTreeClassifier().fit(X, [0, 1] * 3)
    assert "TRUE" in clf.export_sql() or "FALSE" in clf.export_sql()
    assert run_sql(clf, X) == [0, 1] * 3


# Names, single leaves, order of calls


def test_names_can_be_given():
    clf = fitted(max_depth=2)
    names = {"feature_names": ["years", "smokes"], "class_names": np.array(["M", "N", "Y"])}
    for name in ("export_text", "export_rules", "export_dot"):
        text = getattr(clf, name)(**names)
        assert "years" in text
        assert "Y 3" in text
        assert "age" not in text
    assert '"years" <= ' in clf.export_sql(feature_names=names["feature_names"])
    assert '"years" <= ' in clf.export_sql(feature_names=pd.Index(names["feature_names"]))


@pytest.mark.parametrize("name", FORMATS[:4])
def test_the_number_of_feature_names_must_fit(name):
    with pytest.raises(ValueError, match="feature_names must have 2 names, got 3"):
        getattr(fitted(), name)(feature_names=["a", "b", "c"])


@pytest.mark.parametrize("name", FORMATS[:3])
def test_the_number_of_class_names_must_fit(name):
    with pytest.raises(ValueError, match="class_names must have 3 names, got 2"):
        getattr(fitted(), name)(class_names=["a", "b"])


def test_a_single_leaf():
    X, y = ages()
    clf = TopKTreeClassifier(max_depth=0).fit(X, y)
    summary = "60.0% of 10 rows; maybe 1, no 6, yes 3"
    assert clf.export_text() == f"|--- class: no ({summary})\n"
    assert clf.export_rules() == f"always -> no ({summary})\n"
    labels, arrows = read_dot(clf.export_dot())
    assert labels == {0: "no\n60.0% of 10 rows\nmaybe 1, no 6, yes 3"}
    assert arrows == {}
    assert run_sql(clf, X) == ["no"] * 10
    with closing(sqlite3.connect(":memory:")) as database:
        assert database.execute(f"SELECT {clf.export_sql()}").fetchall() == [("no",)]
    (node,) = clf.export_dict()["nodes"]
    assert node == {
        "rows": 10,
        "counts": [1.0, 6.0, 3.0],
        "prediction": "no",
        "confidence": 0.6,
        "impurity": node["impurity"],
    }


@pytest.mark.parametrize("name", FORMATS)
def test_fit_comes_first(name):
    with pytest.raises(NotFittedError):
        getattr(TopKTreeClassifier(), name)()


def test_arrays_have_numbered_names():
    clf = TopKTreeClassifier().fit([[0.0, 1.0], [0.0, 2.0]], [0, 1])
    assert clf.export_text().startswith("|--- x1 <= 1\n")


def test_deep_trees_are_no_problem():
    X = np.arange(400.0)[:, None]
    clf = TopKTreeClassifier(k=1, max_depth=399, max_thresholds=None, criterion=_cut_off_one).fit(X, np.arange(400) % 2)
    assert clf.get_depth() > 250
    for name in FORMATS:
        assert getattr(clf, name)()


def _cut_off_one(left, right):
    """Prefers the most uneven split."""
    return np.maximum(left.sum(axis=1), right.sum(axis=1))


def test_missing_is_what_the_helpers_say():
    assert all(is_missing(value) for value in (None, math.nan, pd.NA))
    assert not any(is_missing(value) for value in (0, "", False, math.inf))
