"""`topktree fit` as its user runs it, on small tables; its numbers against the estimator's own."""

import errno
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from support.people import assert_mistake, make_people, run

import topktree
from topktree import TopKTreeClassifier
from topktree._cli.columns import Labelled
from topktree._cli.fit import hold_out

SMALL = ["--depth", "2", "-k", "3"]


@pytest.fixture(scope="module")
def people():
    return make_people().drop(columns="zone")


@pytest.fixture
def data(people, tmp_path):
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    return path


def fit(path, *arguments, **options):
    return run("fit", path, "--target", "income", *arguments, **options)


def fitted(frame, **parameters):
    return TopKTreeClassifier(**parameters).fit(frame.drop(columns="income"), frame["income"])


def split(people, share=0.2, seed=0):
    table = Labelled(people.drop(columns="income"), people["income"], None)
    train, test = hold_out(table, share, seed, "people.csv")
    return people.loc[train.y.index], people.loc[test.y.index]


def test_text(data, people):
    result = fit(data, *SMALL)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    train, test = split(people)
    clf = fitted(train, k=3, max_depth=2)
    wrong = np.count_nonzero(clf.predict(test.drop(columns="income")) != test["income"])
    lines = result.stdout.splitlines()
    assert lines[0].endswith(
        "people.csv: 5 features; 192 rows to fit the tree, 48 held out (--test-size 0.2) to test it"
    )
    share = 100 * (train["income"] == "low").mean()
    assert lines[1] == f"Target    income: 2 classes, low {share:.1f}%, high {100 - share:.1f}%"
    assert lines[2].startswith(f"Tree      {clf.get_n_leaves()} leaves, depth 2; k = 3, ")
    assert lines[2].endswith("the search ran to completion")
    assert lines[3].startswith(f"Test      accuracy {100 * (1 - wrong / 48):.1f}% ± ")
    assert f"; {wrong} of 48 rows wrong; always low: {100 * (test['income'] == 'low').mean():.1f}%" in lines[3]
    right = 100 * (1 - clf.train_errors_ / 192)
    assert lines[4] == f"Training  accuracy {right:.1f}%; {clf.train_errors_} of 192 rows wrong"
    assert result.stdout.endswith(f"\n\n{clf.export_text().rstrip()}\n")
    assert "\x1b" not in result.output


@pytest.mark.parametrize(
    ("arguments", "parameters"),
    [
        ([], {}),
        (["-k", "all", "--depth", "2"], {"k": "all", "max_depth": 2}),
        (["-k", "4,all,1", "--depth", "3"], {"k": [4, "all", 1], "max_depth": 3}),
        (["--leaf-penalty", "0.01"], {"leaf_penalty": 0.01}),
        (["--leaf-penalty", "tie"], {"leaf_penalty": "tie"}),
        (["--criterion", "gini", "--min-samples-leaf", "9"], {"criterion": "gini", "min_samples_leaf": 9}),
        (["--criterion", "lookahead", "-k", "1"], {"criterion": "lookahead", "k": 1}),
        (
            ["--criterion", "lookahead", "--lookahead-columns", "5", "--refine", "--max-leaves", "7", "--depth", "6"],
            {"criterion": "lookahead", "lookahead_columns": 5, "refine": True, "max_leaf_nodes": 7, "max_depth": 6},
        ),
        (["--class-weight", "balanced", "--distinct-splits"], {"class_weight": "balanced", "distinct_splits": True}),
        (["--max-thresholds", "none"], {"max_thresholds": None}),
        (["--max-thresholds", "3", "--memory-limit", "10M", "--jobs", "2"], {"max_thresholds": 3}),
    ],
)
def test_parameters(data, people, arguments, parameters):
    result = fit(data, *arguments, "--test-size", "0", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    clf = fitted(people, **parameters)
    assert (found["leaves"], found["depth"], found["cost"]) == (clf.get_n_leaves(), clf.get_depth(), clf.cost_)
    assert (found["status"], found["train"]["errors"]) == (clf.status_, clf.train_errors_)
    named = {name: value for name, value in parameters.items() if name in found["params"]}
    assert found["params"] | named == found["params"]
    assert found["test"] is None
    assert found["classes"] == ["high", "low"]


def test_held_out_rows_have_every_class_in_proportion():
    y = pd.Series(["a"] * 60 + ["b"] * 30 + ["c"] * 9 + ["d"])
    table = Labelled(pd.DataFrame({"x": range(100)}), y, np.arange(100.0))
    train, test = hold_out(table, 0.2, 0, "t.csv")
    counts = test.y.value_counts()
    assert counts.sum() == 20
    assert abs(counts["a"] - 12) <= 1
    assert abs(counts["b"] - 6) <= 1
    assert "d" not in counts  # its only row is needed for training
    assert sorted([*train.y.index, *test.y.index]) == list(range(100))
    np.testing.assert_array_equal(test.weights, test.y.index)
    again, other = hold_out(table, 0.2, 0, "t.csv")[1], hold_out(table, 0.2, 1, "t.csv")[1]
    assert list(again.y.index) == list(test.y.index) != list(other.y.index)
    # More classes than test rows, which scikit-learn's own function refuses.
    many = Labelled(pd.DataFrame({"x": range(90)}), pd.Series(np.repeat(np.arange(30), 3)), None)
    assert len(hold_out(many, 0.1, 0, "t.csv")[1].y) == 9


def test_seed(data):
    first, same, other = (json.loads(fit(data, "--seed", seed, "--json").stdout)["test"] for seed in ("1", "1", "2"))
    assert first == same
    assert first != other


def test_another_file(data, people, tmp_path):
    more = make_people(100, seed=5).drop(columns="zone")
    path = tmp_path / "more.csv"
    more.assign(note="x").sample(frac=1, random_state=0).to_csv(path, index=False)
    result = fit(data, *SMALL, "--test", path, "--json")
    found = json.loads(result.stdout)
    clf = fitted(people, k=3, max_depth=2)
    assert found["train"]["rows"] == 240
    assert found["test"]["rows"] == 100
    assert found["test"]["accuracy"] == pytest.approx(clf.score(more.drop(columns="income"), more["income"]))
    assert f"100 of {path} to test it" in fit(data, *SMALL, "--test", path).stdout


def test_weights(data, people, tmp_path):
    found = json.loads(fit(data, *SMALL, "--weight", "count", "--test", data, "--json").stdout)
    X, y = people.drop(columns=["income", "count"]), people["income"]
    clf = TopKTreeClassifier(k=3, max_depth=2).fit(X, y, people["count"])
    assert found["features"] == 4
    assert found["cost"] == clf.cost_
    assert found["test"]["accuracy"] == pytest.approx(clf.score(X, y, people["count"]))
    assert found["test"]["errors"] == clf.train_errors_
    text = fit(data, "--weight", "count").stdout
    assert "4 features, weighted by count; " in text
    zero = tmp_path / "zero.csv"
    people.assign(count=0).to_csv(zero, index=False)
    assert_mistake(fit(data, "--weight", "count", "--test", zero), "--weight count", "weight 0")


def test_types_and_drop(tmp_path):
    people = make_people()
    path, model = tmp_path / "people.csv", tmp_path / "model.json"
    people.assign(urban=np.where(people["urban"], "yes", "no")).to_csv(path, index=False)
    arguments = ["--type", "zone=category", "--type", "urban=boolean", "--type", "count=category", "--drop", "height"]
    assert fit(path, *arguments, "--save", model).exit_code == 0
    features = {feature.name: feature for feature in topktree.load(model).features_}
    assert set(features) == {"age", "job", "urban", "zone", "count"}
    assert features["zone"].categories == ("007", "010", "7")
    assert features["urban"].kind == "boolean"
    assert features["count"].categories == ("1", "2", "3")
    assert features["age"].kind == "number"


@pytest.mark.parametrize("target", [[0, 1], [True, False], [1.0, 2.0], ["x", "y"]])
def test_targets(data, people, tmp_path, target):
    path, model = tmp_path / "t.csv", tmp_path / "model.json"
    people.assign(income=np.where(people["income"] == "high", target[0], target[1])).to_csv(path, index=False)
    found = json.loads(fit(path, "--test", path, "--save", model, "--json").stdout)
    assert found["classes"] == sorted(target)
    assert [type(label) for label in found["classes"]] == [type(label) for label in sorted(target)]
    assert found["test"] == found["train"]
    assert topktree.load(model).classes_.tolist() == sorted(target)


def test_classes_that_look_like_numbers_in_the_test_file(tmp_path):
    (tmp_path / "train.csv").write_text("a,c\n1,0\n2,1\n3,0\n4,1\n5,x\n6,x\n")
    (tmp_path / "test.csv").write_text("a,c\n1,0\n2,1\n")  # numbers here, texts there
    result = run("fit", tmp_path / "train.csv", "--target", "c", "--test", tmp_path / "test.csv", "--json")
    assert json.loads(result.stdout)["test"]["errors"] == 0


def content(path):
    (text,) = re.findall(r'id="content">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    return json.loads(text)


def test_report_and_save(data, people, tmp_path):
    assert fit(data, "--report", tmp_path / "r.html", "--save", tmp_path / "m.json").exit_code == 0
    _, test = split(people)
    saved = topktree.load(tmp_path / "m.json")
    report = content(tmp_path / "r.html")
    assert report["title"] == "income of people.csv"
    assert report["data"]["total"] == len(test)
    assert report["data"]["accuracy"] == saved.score(test.drop(columns="income"), test["income"])
    assert all(choice["exact"] for choice in report["search"]["root"]["choices"])
    assert fit(data, "--report", tmp_path / "r.html", "--test-size", "0").exit_code == 0
    assert content(tmp_path / "r.html")["data"] is None


def test_the_report_has_as_many_rows_as_asked_for(data, tmp_path):
    fit(data, "--report", tmp_path / "r.html")
    assert content(tmp_path / "r.html")["rows"] is None
    fit(data, "--report", tmp_path / "r.html", "--report-rows", 3)
    assert len(content(tmp_path / "r.html")["rows"]["values"]) == 3


@pytest.mark.parametrize(
    ("arguments", "option", "other"),
    [
        (["fit", "people.csv", "--target", "income", "--save", "people.csv"], "--save people.csv", "FILE"),
        (["fit", "people.csv", "--target", "income", "--report", "./people.csv"], "--report people.csv", "FILE"),
        (["fit", "people.csv", "--target", "income", "--save", "a", "--report", "a"], "--report a", "--save"),
        (["fit", "people.csv", "--target", "income", "--test", "t.csv", "--save", "t.csv"], "--save t.csv", "--test"),
        (
            ["choose", "people.csv", "--target", "income", "--save", "a.png", "--plot", "a.png"],
            "--save a.png",
            "--plot",
        ),
        (["predict", "m.json", "people.csv", "-o", "people.csv"], "-o people.csv", "FILE"),
        (["show", "m.json", "-o", "m.json"], "-o m.json", "MODEL"),
    ],
)
def test_no_file_is_written_over_another(data, monkeypatch, arguments, option, other):
    monkeypatch.chdir(data.parent)
    before = data.read_bytes()
    assert_mistake(run(*arguments), f"{option}: that is the file of {other}")
    assert data.read_bytes() == before


def test_standard_input_is_one_table(data):
    assert_mistake(run("fit", "-", "--target", "income", "--test", "-"), "cannot both be standard input")


def test_report_with_weights(data, people, tmp_path):
    result = fit(data, "--report", tmp_path / "r.html", "--weight", "count", "--json")
    report = content(tmp_path / "r.html")["data"]
    assert report["accuracy"] == pytest.approx(json.loads(result.stdout)["test"]["accuracy"])
    assert report["total"] == split(people)[1]["count"].sum()
    assert report["weighted"]


def test_report_of_a_choice(data, tmp_path):
    arguments = ["--ks", "1,2", "--depths", "1", "--cv", "2", "--report", tmp_path / "r.html"]
    assert run("choose", data, "--target", "income", *arguments).exit_code == 0
    report = content(tmp_path / "r.html")
    assert report["title"] == "income of people.csv"
    assert [line["name"] for line in report["choices"]["grid"]["lines"]] == ["k = 1", "k = 2"]


def test_a_package_that_is_not_there(data, tmp_path, monkeypatch):
    def report(*arguments, **options):
        raise ImportError("needs matplotlib")

    monkeypatch.setattr(TopKTreeClassifier, "report", report)
    result = fit(data, "--report", tmp_path / "r.html")
    assert result.exit_code == 2
    assert result.stderr == f"Error: --report {tmp_path / 'r.html'}: needs matplotlib\n"


@pytest.mark.parametrize(("command", "name"), [("fit", "_cli.fit.print_fit"), ("choose", "_cli.choose.print_choice")])
def test_files_are_written_if_nobody_reads_on(data, tmp_path, monkeypatch, command, name):
    def print_nothing(*arguments):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(f"topktree.{name}", print_nothing)
    assert run(command, data, "--target", "income", "--save", tmp_path / "model.json").exit_code == 1
    assert topktree.load(tmp_path / "model.json").classes_.tolist() == ["high", "low"]


def test_time_limit(tmp_path):
    random = np.random.default_rng(0)
    path = tmp_path / "chance.csv"
    pd.DataFrame(random.random((1000, 12))).assign(income=random.random(1000) < 0.5).to_csv(path, index=False)
    result = fit(path, "-k", "all", "--depth", "5", "--time-limit", "0.2")
    assert result.exit_code == 0, result.output
    assert "stopped at the time limit, after the search with k = " in result.stdout


def test_many_classes_and_long_names(tmp_path):
    random = np.random.default_rng(0)
    path = tmp_path / "many.csv"
    name = "a name of a column that goes on " * 5 + "\u00e4\n2"
    label = [f"class {i:03} {'x' * 60}" for i in range(100)]
    pd.DataFrame({name: random.integers(0, 100, 600), "income": [label[i % 100] for i in range(600)]}).to_csv(
        path, index=False
    )
    result = fit(path, "--depth", "2")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["Data", "Target", "Tree", "Test", "Training"]
    assert "100 classes, " in lines[1]
    assert lines[1].endswith("and 95 more")
    assert max(map(len, lines[:5])) < 400
    assert "--- class: " in lines[-1]


def test_a_large_tree_is_not_printed(tmp_path):
    random = np.random.default_rng(0)
    path = tmp_path / "t.csv"
    pd.DataFrame(random.random((2000, 3))).assign(income=random.integers(0, 4, 2000)).to_csv(path, index=False)
    result = fit(path, "-k", "1", "--depth", "9")
    assert "leaves is too large to be read here: --save it" in result.stdout
    assert "|---" not in result.stdout


def test_columns_left_out_are_said(data, people, tmp_path):
    path = tmp_path / "index.csv"
    people.assign(notes="").to_csv(path)  # with numbers of rows, in a column without a name
    result = fit(path, "--json")
    assert json.loads(result.stdout)["features"] == 5
    assert result.stderr.splitlines() == [
        f"Warning: the column 1 of {path} is left out: it has no name.",
        "Warning: the column 'notes' is left out: it is empty.",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-k", "0"], ["-k 0", ">= 1", "'0'"]),
        (["-k", "8,4"], ["k must have one entry per level, at least max_depth=5", "(8, 4)"]),
        (["-k", "many"], ["-k many", "'many'"]),
        (["--depth", "-1"], ["--depth", "-1", "0<=x<=999"]),
        (["--depth", "x"], ["--depth", "'x'"]),
        (["--leaf-penalty", "2"], ["--leaf-penalty 2", "from 0 to 1"]),
        (["--criterion", "best"], ["--criterion", "'entropy'"]),
        (["--min-samples-leaf", "0"], ["--min-samples-leaf", "0"]),
        (["--max-thresholds", "0"], ["--max-thresholds 0", ">= 1"]),
        (["--memory-limit", "much"], ["--memory-limit much", "500M"]),
        (["--test-size", "1"], ["--test-size", "0<=x<1"]),
        (["--test-size", "0.2", "--test", "a.csv"], ["--test and --test-size"]),
        (["--test", "none.csv"], ["none.csv cannot be read"]),
        (["--jobs", "0"], ["--jobs 0"]),
        (["--type", "age"], ["--type age", "COLUMN=KIND"]),
        (["--type", "age=text"], ["--type age=text", "number, boolean, category"]),
        (["--type", "agee=number"], ["--type agee", "Did you mean 'age'?"]),
        (["--type", "job=number"], ["'job'", "must hold numbers, as --type says", "in row 1"]),
        (["--type", "age=boolean"], ["'age'", "must hold booleans"]),
        (["--drop", "income"], ["--drop income", "that is the target"]),
        (["--drop", "count", "--weight", "count"], ["--drop count", "that is the weight"]),
        (["--drop", "jbo"], ["--drop jbo", "'job'"]),
        (["--save", "no/such/model.json"], ["--save", "there is no folder no/such"]),
        (["--report", "."], ["--report", "that is a folder"]),
        (["--nosuch"], ["--nosuch", "Try 'topktree fit --help'."]),
    ],
)
def test_mistakes(data, arguments, words):
    assert_mistake(fit(data, *arguments), *words)


def test_mistakes_without_a_table(tmp_path):
    assert_mistake(run("fit"), "Missing argument 'FILE'")
    assert_mistake(run("fit", "a.csv"), "Missing option '--target'")
    assert_mistake(run("fitt"), "No such command 'fitt'. Did you mean 'fit'?")
    assert_mistake(run("--nosuch"), "--nosuch", "Try 'topktree --help'.")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("age,wage\n1,2\n", ["--target income: ", "has no such column"]),
        ("age,job,height,count,income\n1,a,2,1,low\n", ["lacks the column urban, which the model needs"]),
        (
            "age,job,height,urban,count,income\n1,a,2,True,1,middle\n",
            ["classes of the training rows", "'middle' in 1 row"],
        ),
        (
            "age,job,height,urban,count,income\nold,a,2,True,1,low\n",
            ["'age'", "numbers, as in training", "'old' in row 1"],
        ),
        ("age,job,height,urban,count,income\n1,a,2,True,1,\n", ["must have a value in every row"]),
    ],
)
def test_test_files_that_will_not_do(data, tmp_path, content, words, monkeypatch):
    def too_late(*arguments):
        raise AssertionError("the search was started")

    monkeypatch.setattr(TopKTreeClassifier, "fit", too_late)
    path = tmp_path / "test.csv"
    path.write_text(content)
    assert_mistake(fit(data, "--test", path), *words)


def test_too_few_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,income\n1,x\n2,y\n")
    assert_mistake(fit(path), "too few rows to hold some out: --test-size 0")
    assert fit(path, "--test-size", "0").exit_code == 0


def test_a_terminal_that_wants_no_colours(data):
    bold = "\x1b[1mTest"
    assert bold in fit(data, *SMALL, env={"FORCE_COLOR": "1", "NO_COLOR": ""}).stdout
    assert "\x1b" not in fit(data, *SMALL, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout


def test_ctrl_c(tmp_path, ctrl_c):
    path = tmp_path / "chance.csv"
    random = np.random.default_rng(0)
    pd.DataFrame(random.random((3000, 20))).assign(income=random.random(3000) < 0.5).to_csv(path, index=False)
    ctrl_c()
    result = fit(path, "-k", "all", "--depth", "6")
    assert result.exit_code == 1
    assert result.output == "Interrupted.\n"


def test_a_target_that_looks_like_a_regression_is_one_line(tmp_path):
    path = tmp_path / "prices.csv"
    pd.DataFrame({"size": range(100), "income": [i % 70 for i in range(100)]}).to_csv(path, index=False)
    lines = fit(path, *SMALL, "--test-size", "0").stderr.splitlines()
    assert [line[:43] for line in lines] == ["Warning: y has 70 classes in 100 rows, and "]


def test_pipes_and_devices_are_written_to_and_stay(data, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        text = pool.submit(pipe.read_text, "utf-8")
        assert fit(data, "--save", pipe).exit_code == 0
        assert json.loads(text.result(timeout=30))["format"] == "topktree-classifier"
    assert pipe.is_fifo()


@pytest.mark.parametrize("kind", ["category", "boolean"])
def test_the_type_of_the_target_holds_for_test_files_too(tmp_path, kind):
    frame = pd.DataFrame({"a": [1, 2, 3, 4] * 5, "y": ["01", "00", "01", "00"] * 5})
    if kind == "boolean":
        frame["y"] = frame["y"].map({"01": "yes", "00": "no"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    arguments = ["--target", "y", "--type", f"y={kind}", "--test", tmp_path / "t.csv", "--json"]
    result = run("fit", tmp_path / "t.csv", *arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["test"]["errors"] == 0


def test_dates_as_classes_in_test_files(tmp_path):
    frame = pd.DataFrame({"a": [1, 2] * 5, "y": pd.to_datetime(["2020-01-01", "2021-01-01"] * 5)})
    frame.to_parquet(tmp_path / "t.parquet")
    result = run("fit", tmp_path / "t.parquet", "--target", "y", "--test", tmp_path / "t.parquet", "--json")
    assert json.loads(result.stdout)["test"]["errors"] == 0


def test_lists_are_no_classes(tmp_path):
    pd.DataFrame({"a": [1, 2] * 5, "y": [["p"], ["q"]] * 5}).to_parquet(tmp_path / "t.parquet")
    assert_mistake(run("fit", tmp_path / "t.parquet", "--target", "y"), "it has lists or the like")


@pytest.mark.parametrize("option", ["--test-size", "--time-limit"])
@pytest.mark.parametrize("number", ["nan", "inf"])
def test_numbers_that_are_not_finite(data, option, number):
    assert_mistake(fit(data, option, number), option, number)


def test_one_type_per_column(data):
    assert_mistake(fit(data, "--type", "age=number", "--type", "age=category"), "age is a number already")


@pytest.mark.parametrize("weight", [1e-200, 1e200])
def test_weights_of_any_size(people, tmp_path, weight):
    people.assign(w=weight).to_csv(tmp_path / "w.csv", index=False)
    result = run("fit", tmp_path / "w.csv", "--target", "income", "--weight", "w", "--json")
    assert json.loads(result.stdout)["test"]["se"] > 0


def test_decimal_weights(people, tmp_path):
    people.assign(w=[Decimal(1)] * len(people)).to_parquet(tmp_path / "w.parquet")
    assert run("fit", tmp_path / "w.parquet", "--target", "income", "--weight", "w").exit_code == 0


@pytest.mark.parametrize("held_out", [False, True])
def test_values_of_test_rows_that_training_did_not_have(tmp_path, held_out):
    """A process of its own, because Python itself would print a warning that nobody catches."""
    train, test = make_people(), make_people(60, seed=3).assign(job="pilot")
    if held_out:
        train = train.assign(job=[f"job {i % 90}" for i in range(len(train))])[["job", "income"]]
        arguments, where = [], r"held out \(--test-size 0.2\): job has a value in \d+ rows?"
    else:
        arguments, where = ["--test", "test.csv"], "of test.csv: job has a value in 60 rows"
    train.to_csv(tmp_path / "train.csv", index=False)
    test.to_csv(tmp_path / "test.csv", index=False)
    command = [sys.executable, "-m", "topktree", "fit", "train.csv", "--target", "income", "--depth", "2", *arguments]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert re.fullmatch(f"Warning: test rows {where} that training did not have\n", result.stderr)


def test_choose_weighs_the_training_accuracy_too(data):
    arguments = ["--target", "income", "--weight", "count", "--json"]
    chosen = json.loads(run("choose", data, *arguments, "--ks", "1", "--depths", "1", "--cv", "2").stdout)
    fitted = json.loads(run("fit", data, *arguments, "-k", "1", "--depth", "1", "--test-size", "0").stdout)
    assert chosen["train_accuracy"] == pytest.approx(fitted["train"]["accuracy"])
    assert chosen["train_accuracy"] != pytest.approx(1 - fitted["train"]["errors"] / fitted["train"]["rows"])


@pytest.mark.parametrize(
    "arguments", [["fit", "-", "--target", "y"], ["predict", "model.json", "-"], ["show", "-"]], ids=lambda a: a[0]
)
def test_a_closed_standard_input(arguments, tmp_path):
    TopKTreeClassifier(max_depth=1).fit([[0], [1]], [0, 1]).save(tmp_path / "model.json")
    command = [sys.executable, "-m", "topktree", *arguments]
    shell = " ".join(map(shlex.quote, command)) + " <&-"
    result = subprocess.run(["sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr == "Error: standard input is closed\n"


def test_help_keeps_its_lines():
    text = run("completion", "--help").stdout
    assert "\\b" not in text
    assert sum(line.startswith(("  bash:", "  zsh:", "  fish:")) for line in text.splitlines()) == 3
