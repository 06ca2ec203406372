"""`topktree show` and `topktree completion` against what the classifier and click say themselves."""

import json

import numpy as np
import pytest
from support.people import assert_mistake, make_people, run

from topktree import TopKTreeClassifier


@pytest.fixture(scope="module")
def clf():
    people = make_people()
    return TopKTreeClassifier(k=2, max_depth=3).fit(people.drop(columns="income"), people["income"])


@pytest.fixture
def model(clf, tmp_path):
    path = tmp_path / "model.json"
    clf.save(path)
    return path


@pytest.mark.parametrize("form", ["rules", "dot", "sql"])
def test_formats(clf, model, form):
    result = run("show", model, "--format", form)
    assert result.exit_code == 0, result.output
    assert result.stdout == getattr(clf, f"export_{form}")().rstrip() + "\n"


def test_text(clf, model):
    heading, tree = run("show", model).stdout.split("\n\n")
    assert tree == clf.export_text()
    assert heading == (
        f"{clf.get_n_leaves()} leaves, depth 3; k = 2, search complete; fitted to 240 rows, {clf.train_errors_} of "
        "them wrong\n6 features; 2 classes: high, low"
    )


def test_json(clf, model):
    assert json.loads(run("show", model, "--format", "json").stdout) == clf.export_dict()


def test_sql_of_a_table(clf, model):
    assert run("show", model, "--format", "sql", "--table", "people").stdout == clf.export_sql("people") + "\n"
    found = run("show", model, "--format", "sql", "--table", "main.people").stdout
    assert found == clf.export_sql(["main", "people"]) + "\n"


def test_standard_input_and_a_file(clf, model, tmp_path):
    path = tmp_path / "rules.txt"
    result = run("show", "-", "--format", "rules", "-o", path, input=model.read_bytes())
    assert result.exit_code == 0, result.output
    assert result.output == ""
    assert path.read_text() == clf.export_rules()
    assert run("show", model, "--format", "rules", "-o", "-").stdout == clf.export_rules()


def test_k_per_level_and_many_classes(tmp_path):
    path = tmp_path / "model.json"
    rows = np.arange(120)
    TopKTreeClassifier(k=[3, "all"], max_depth=2).fit(rows[:, None], rows % 60).save(path)
    heading = run("show", path).stdout.splitlines()[:2]
    assert "k = 3, all, " in heading[0]
    assert heading[1].endswith("60 classes: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 50 more")


def test_mistakes(model, tmp_path):
    assert_mistake(run("show", tmp_path / "none.json"), "none.json cannot be read: No such file")
    assert_mistake(run("show", "-", input=b"{"), "standard input is not a model that this version can read")
    assert_mistake(run("show", "-", input=b"\xff\x00"), "Error: standard input is not a model")
    assert_mistake(run("show", model, "--format", "xml"), "'xml'", "'rules'")
    assert_mistake(run("show", model, "--table", "t"), "--table t", "--format sql")
    assert_mistake(run("show", model, "-o", "no/such/a.txt"), "-o no/such/a.txt", "there is no folder")
    text = model.read_text()
    model.write_text(text.replace('"rows": 240', '"rows": 0'))
    assert_mistake(run("show", model), "node 0 must have rows")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    result = run("completion", shell)
    assert result.exit_code == 0, result.output
    assert f"_TOPKTREE_COMPLETE={shell}_complete" in result.stdout


def test_a_shell_without_completion():
    assert_mistake(run("completion", "tcsh"), "SHELL", "'tcsh'", "'bash'")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("topktree f", ["plain,fit"]),
        ("topktree fit FILE --target i", ["plain,income"]),
        ("topktree choose FILE --drop jo", ["plain,job"]),
        ("topktree show model --format r", ["plain,rules"]),
        ("topktree fit nosuch.csv --target i", []),
    ],
)
def test_completion(tmp_path, line, found):
    path = tmp_path / "people.csv.gz"
    make_people(5).to_csv(path, index=False)
    line = line.replace("FILE", str(path))
    environment = {"_TOPKTREE_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    assert run(env=environment).stdout.split() == found
