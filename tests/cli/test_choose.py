"""`topktree choose` as its user runs it, on small tables; the choice against the estimator's own."""

import gzip
import json
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.exceptions import FitFailedWarning

import topktree
from topktree import TopKTreeClassifierCV
from topktree._cli.main import main
from topktree._cli.table_files import TableFile

SMALL = ["--ks", "1,4", "--depths", "1,2,3", "--cv", "3"]
SMALL_GRID = {"ks": (1, 4), "max_depths": (1, 2, 3), "cv": 3}


@pytest.fixture(scope="module")
def people():
    """Numbers, texts, booleans and missing values; the class depends on two columns, a third a little, and chance."""
    random = np.random.default_rng(0)
    age = random.integers(18, 80, 240)
    job = random.choice(["clerk", "farmer", "nurse"], 240)
    noise = random.random(240) < 0.15
    urban = random.random(240) < 0.5
    rich = (((age > 45) & (job != "farmer")) | (urban & (age > 70))) ^ noise
    height = random.normal(170, 10, 240).round(1)
    height[::17] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "job": job,
            "height": height,
            "urban": urban,
            "count": random.integers(1, 4, 240),
            "income": np.where(rich, "high", "low"),
        }
    )


@pytest.fixture
def data(people, tmp_path):
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    return path


def choose(path, *arguments, **options):
    return CliRunner().invoke(main, ["choose", str(path), "--target", "income", *arguments], **options)


def fitted(people, weights=None, **parameters):
    X = people.drop(columns="income")
    return TopKTreeClassifierCV(**SMALL_GRID | parameters).fit(X, people["income"], weights)


def assert_mistake(result, *words):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1, result.stderr
    for word in words:
        assert word in result.stderr


def test_text(data, people):
    result = choose(data, *SMALL)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    cv = fitted(people)
    k, depth = cv.best_params_["k"], cv.best_params_["max_depth"]
    se = cv.cv_results_["se_test_score"][cv.best_index_]
    assert f"Chosen: k = {k}, depth {depth}, a tree of {cv.get_n_leaves()} leaves" in result.stdout
    assert f"{100 * cv.best_score_:.1f}% ± {100 * se:.1f} in 3 folds" in result.stdout
    assert f"{cv.train_errors_} of 240 rows are wrong" in result.stdout
    assert result.stdout.endswith(f"\n\n{cv.export_text().rstrip()}\n")
    lines = result.stdout.splitlines()
    assert lines[2].split() == ["depth", "k", "=", "1", "k", "=", "4"]
    assert [line.split()[0] for line in lines[4:7]] == ["1", "2", "3"]
    assert f"*{100 * cv.best_score_:.1f} ±{100 * se:.1f}" in lines[3 + depth]
    assert "* chosen" in result.stdout
    assert "\x1b" not in result.output


@pytest.mark.parametrize(
    ("arguments", "parameters"),
    [
        ([], {}),
        (["--rule", "best"], {"rule": "best"}),
        (["--penalties", "0,0.02,tie"], {"leaf_penalties": (0.0, 0.02, "tie")}),
        (["--ks", "1, All"], {"ks": (1, "all")}),
        (["--scoring", "neg_log_loss", "--seed", "3"], {"scoring": "neg_log_loss", "random_state": 3}),
        (["--cv", "4", "--jobs", "2"], {"cv": 4}),
        (["--criterion", "lookahead", "--refine", "yes"], {"criterion": "lookahead", "refine": True}),
        (
            ["--criterion", "gini, lookahead", "--refine", "both", "--lookahead-columns", "4"],
            {"criterion": ("gini", "lookahead"), "refine": (False, True), "lookahead_columns": 4},
        ),
        (
            ["--max-leaves", "none,3", "--min-samples-leaf", "1,20"],
            {"max_leaf_nodes": (None, 3), "min_samples_leaf": (1, 20)},
        ),
        (["--max-leaves", "4", "--min-samples-leaf", "6"], {"max_leaf_nodes": 4, "min_samples_leaf": 6}),
    ],
)
def test_json(data, people, arguments, parameters):
    result = choose(data, *SMALL, *arguments, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    cv = fitted(people, **parameters)
    assert found["params"] == cv.best_params_
    assert found["score"] == cv.best_score_
    assert found["se"] == cv.cv_results_["se_test_score"][cv.best_index_]
    assert (found["leaves"], found["depth"]) == (cv.get_n_leaves(), cv.get_depth())
    assert found["train_accuracy"] == pytest.approx(1 - cv.train_errors_ / 240)
    assert found["folds"] == cv.n_splits_
    assert (found["rows"], found["features"], found["status"]) == (240, 5, cv.status_)
    assert found["best"]["score"] == cv.cv_results_["mean_test_score"].max()
    assert [row["score"] for row in found["results"]] == cv.cv_results_["mean_test_score"].tolist()
    assert [row["leaves"] for row in found["results"]] == cv.cv_results_["mean_n_leaves"].tolist()
    assert [row["fold_scores"][1] for row in found["results"]] == cv.cv_results_["split1_test_score"].tolist()
    names = cv.best_params_.keys()
    assert [{name: row[name] for name in names} for row in found["results"]] == cv.cv_results_["params"]


def test_weights(data, people):
    found = json.loads(choose(data, *SMALL, "--weight", "count", "--json").stdout)
    cv = fitted(people.drop(columns="count"), weights=people["count"])
    assert (found["params"], found["score"]) == (cv.best_params_, cv.best_score_)
    assert found["features"] == 4


def test_a_table_per_value_of_the_other_parameters(data):
    arguments = ("--criterion", "entropy,lookahead", "--refine", "both", "--max-leaves", "none,4")
    result = choose(data, *SMALL, *arguments, "--penalties", "0,0.02", "--min-samples-leaf", "1,9")
    titles = [line for line in result.stdout.splitlines() if line.startswith("leaf penalty")]
    assert len(titles) == 32
    assert titles[0] == "leaf penalty 0, criterion entropy, not refined, at least 1 row per leaf, any number of leaves"
    assert "leaf penalty 0.02, criterion lookahead, refined, at least 9 rows per leaf, at most 4 leaves" in titles
    assert result.stdout.split("Chosen: ")[1].startswith("k = ")


def test_a_table_per_penalty(data):
    result = choose(data, *SMALL, "--penalties", "0,0.02,tie")
    titles = [line.strip() for line in result.stdout.splitlines() if line.startswith("leaf penalty")]
    assert titles == ["leaf penalty 0", "leaf penalty 0.02", "leaf penalty tie"]
    assert ", leaf penalty " in result.stdout.split("Chosen: ")[1]


def test_the_best_is_marked_and_named(data, people):
    cv = fitted(people)
    results = cv.cv_results_
    top = int(np.argmax(results["mean_test_score"]))
    assert top != cv.best_index_
    result = choose(data, *SMALL)
    best = results["params"][top]
    assert f"The best was k = {best['k']}, depth {best['max_depth']} with" in result.stdout
    assert "rule 1se takes the simplest within one standard error of it" in result.stdout
    assert f"+{100 * results['mean_test_score'][top]:.1f} " in result.stdout
    assert "* chosen   + best score" in result.stdout
    other = choose(data, *SMALL, "--rule", "best")
    assert f"Chosen: k = {best['k']}, depth {best['max_depth']}" in other.stdout
    assert "That is the best." in other.stdout


def test_save(data, people, tmp_path):
    path = tmp_path / "model.json"
    result = choose(data, *SMALL, "--save", str(path))
    assert result.exit_code == 0, result.output
    X = TableFile(str(data)).read().drop(columns="income")
    np.testing.assert_array_equal(topktree.load(path).predict(X), fitted(people).predict(X))


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")])
def test_plot(data, tmp_path, name, start):
    pytest.importorskip("matplotlib")
    result = choose(data, "--ks", "1", "--depths", "1,2", "--cv", "2", "--plot", str(tmp_path / name))
    assert result.exit_code == 0, result.output
    assert (tmp_path / name).read_bytes().startswith(start)


def test_standard_input_and_gzip(data, tmp_path):
    wanted = choose(data, *SMALL, "--json").stdout
    raw = data.read_bytes()
    (tmp_path / "people.csv.gz").write_bytes(gzip.compress(raw))
    (tmp_path / "with a BOM.csv").write_bytes(b"\xef\xbb\xbf" + raw)
    results = [choose("-", *SMALL, "--json", input=content) for content in (raw, gzip.compress(raw))]
    results += [choose(tmp_path / name, *SMALL, "--json") for name in ("people.csv.gz", "with a BOM.csv")]
    for result in results:
        assert result.exit_code == 0, result.output
        assert _without_times(result.stdout) == _without_times(wanted)


def _without_times(text):
    found = json.loads(text)
    for part in (found, found["best"], *found["results"]):
        del part["seconds"]
    return found


def test_columns_without_values_are_left_out(data, people, tmp_path):
    path = tmp_path / "other.csv"
    people.assign(notes="", remark=np.nan).to_csv(path, index=False)
    result = choose(path, *SMALL, "--json")
    assert json.loads(result.stdout)["features"] == 5
    lines = result.stderr.splitlines()
    assert lines == [f"Warning: the column {name!r} is left out: it is empty." for name in ("notes", "remark")]


def test_warnings_are_lines(data, people, tmp_path):
    path = tmp_path / "names.csv"
    many = pd.concat([people] * 6)
    many.assign(name=[f"n{i}" for i in range(len(many))]).to_csv(path, index=False)
    result = choose(path, "--ks", "1,64", "--depths", "1,6", "--cv", "2", "--time-limit", "0.001")
    assert result.exit_code == 0, result.output
    lines = result.stderr.splitlines()
    assert all(line.startswith("Warning: ") for line in lines)
    assert sum("categories in 'name'" in line for line in lines) == 1  # not one for every fold
    assert sum("time_limit=0.001" in line for line in lines) == 1
    assert "- not finished in time" in result.stdout


def test_fits_that_fail_are_said(data, monkeypatch):
    fit = TopKTreeClassifierCV.fit

    def warn(self, *arguments):
        import warnings

        warnings.warn("2 of 18 fits failed", FitFailedWarning, stacklevel=2)
        warnings.warn("a matter of programmers", FutureWarning, stacklevel=2)
        return fit(self, *arguments)

    monkeypatch.setattr(TopKTreeClassifierCV, "fit", warn)
    assert choose(data, *SMALL).stderr == "Warning: 2 of 18 fits failed\n"


def test_a_score_that_no_fit_has(data):
    assert_mistake(choose(data, *SMALL, "--scoring", "f1"), "none of the 6 candidates", "pos_label")


def test_a_narrow_terminal(data):
    result = choose(data, "--depths", "1", "--cv", "2", env={"FORCE_COLOR": "1", "COLUMNS": "40"})
    assert [line.count("k = ") for line in result.stdout.splitlines() if "depth  " in line] == [2, 2, 1]
    assert "\x1b[1m*" in result.stdout


def test_a_pipe_gets_no_colours_and_only_letters_that_it_has(data):
    command = [sys.executable, "-m", "topktree", "choose", str(data), "--target", "income", *SMALL]
    environment = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    environment |= {"TERM": "xterm-256color", "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert b"\x1b" not in result.stdout
    assert result.stderr == b""  # no line of progress either
    assert "in 3 folds ? standard error" in result.stdout.decode("ascii")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["is empty"]),
        (b"\n\n", ["is empty"]),
        (b"age,income\n", ["no rows"]),
        (b"age,income\n1,2\n1,2,3\n", ["not a CSV", "line 3"]),
        (b"age,income\n1,2,3\n4,5,6\n", ["more values"]),
        (b'age,income\n1,"2\n', ["not a CSV"]),
        ("âge,income\n1,é\n".encode("latin-1"), ["UTF-8"]),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", ["UTF-8"]),
        (gzip.compress(b"age,income\n1,a\n", mtime=0)[:-9], ["not a CSV"]),
        (b"\x1f\x8bage,income\n", ["cannot be read"]),
        (b"age:income\n1:a\n2:b\n", ["--target income", "Its columns: age:income (--sep "]),
        (b"age,Income \n1,a\n2,b\n", ["--target income", "Did you mean 'Income '?", "Its columns: age, Income"]),
        (b"age,wage\n1,a\n2,b\n", ["--target income", "Its columns: age, wage"]),
        (b"age,income\n1,a\n2,a\n3,a\n", ["at least two classes", "'a' in every row"]),
        (b"age,income\n1,a\n2,\n3,b\n4,NA\n", ["2 of 4 rows", "row 2"]),
        (b"age,income\n1,1.5\n2,1.5\n3,2\n4,1\n", ["must be classes", "1.5"]),
        (b"age,income\n1,10\n2,20\n3,30\n4,40\n", ["must be classes", "different value in each of the 4 rows"]),
        (b"age,income\n1,a\n2,b\n3,c\n", ["different value in each", "'a'"]),
        (b"income\na\nb\na\n", ["no columns to decide by"]),
        (b"notes,income\n,a\n,b\n,a\n", ["no columns to decide by"]),
        (b"age,income\n1,a\n2,b\n3,a\n", ["cv must be at most 2"]),
    ],
)
def test_files_that_will_not_do(tmp_path, content, words):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    assert_mistake(choose(path), *words)


def test_a_long_list_of_columns_is_cut(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{i}" for i in range(100)) + "\n" + ",".join("1" * 100) + "\n")
    assert_mistake(choose(path), "c29 and 70 more")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ks", "0"], ["--ks", ">= 1", "'0'"]),
        (["--ks", "1,two"], ["--ks", "'two'"]),
        (["--ks", "1,,2"], ["--ks", "separated by commas"]),
        (["--ks", ""], ["--ks"]),
        (["--depths", "2.5"], ["--depths", "'2.5'"]),
        (["--depths", "all"], ["--depths", "'all'"]),
        (["--depths", "-1"], ["--depths", "'-1'"]),
        (["--penalties", "2"], ["--penalties", "from 0 to 1", "'2'"]),
        (["--penalties", "nan"], ["--penalties", "'nan'"]),
        (["--max-leaves", "4,1"], ["--max-leaves", ">= 2", "'1'"]),
        (["--min-samples-leaf", "0"], ["--min-samples-leaf", ">= 1", "'0'"]),
        (["--criterion", "entropy,best"], ["--criterion", "lookahead", "'best'"]),
        (["--jobs", "0"], ["--jobs", "-1"]),
        (["--cv", "1000"], ["cv must be at most"]),
        (["--scoring", "acuracy"], ["--scoring", "did you mean 'accuracy'?"]),
        (["--weight", "job"], ["'job'", "must hold numbers, to be weights", "row 1"]),
        (["--weight", "urban"], ["'urban'", "must be numbers"]),
        (["--weight", "height"], ["'height'", "of 240 rows have none"]),
        (["--weight", "cuont"], ["--weight cuont", "'count'"]),
        (["--weight", "income"], ["that is the target"]),
        (["--save", "no/such/folder/model.json"], ["--save", "there is no folder no/such/folder"]),
        (["--save", "."], ["--save", "that is a folder"]),
        (["--plot", "no/such/folder/a.png"], ["--plot", "there is no folder"]),
        (["--plot", "a.txt"], ["--plot", ".png, .svg or .pdf"]),
    ],
)
def test_mistakes(data, arguments, words):
    assert_mistake(choose(data, *arguments), *words)


@pytest.mark.parametrize("arguments", [["--cv", "1"], ["--rule", "worst"], ["--time-limit", "0"], ["--seed", "x"]])
def test_mistakes_that_click_finds(data, arguments):
    result = choose(data, *arguments)
    assert result.exit_code == 2
    assert arguments[0] in result.stderr


def test_weights_that_will_not_do(tmp_path):
    path = tmp_path / "table.csv"
    for weight, word in (("-1", "-1"), ("inf", "inf"), ("much", "'much' in row 2")):
        path.write_text(f"age,w,income\n1,1,a\n2,{weight},b\n3,1,a\n4,1,b\n")
        assert_mistake(choose(path, "--weight", "w", "--cv", "2"), "'w' of", word)


def test_no_such_file(tmp_path):
    assert_mistake(choose(tmp_path / "none.csv"), "none.csv cannot be read: No such file")
    assert_mistake(choose(tmp_path), "cannot be read: Is a directory")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device")
def test_a_disk_that_is_full(data, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "a.svg"
    path.symlink_to("/dev/full")
    result = choose(data, *SMALL, "--plot", str(path))
    assert result.exit_code == 2
    assert result.stderr == f"Error: --plot {path}: No space left on device\n"
    assert "Chosen: " in result.stdout  # what was computed is not lost


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(data, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    assert_mistake(choose(data, "--save", str(folder / "model.json")), "--save", "permission")


def test_without_pandas(data):
    code = "import sys; sys.modules['pandas'] = None; from topktree.__main__ import main; main()"
    command = [sys.executable, "-c", code, "choose", str(data), "--target", "income"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (2, "Error: tables need pandas: pip install 'topktree[cli]'\n")


def test_without_matplotlib(data, monkeypatch):
    monkeypatch.setattr("topktree._cli.commands.find_spec", lambda name: None)
    assert_mistake(choose(data, "--plot", "a.png"), "pip install 'topktree[cli,plot]'")


def test_ctrl_c(tmp_path, ctrl_c):
    path = tmp_path / "chance.csv"
    random = np.random.default_rng(0)
    pd.DataFrame(random.random((2000, 20))).assign(income=random.random(2000) < 0.5).to_csv(path, index=False)
    ctrl_c()
    start = time.monotonic()
    result = choose(path, "--ks", "64,all", "--depths", "6", "--cv", "2")
    assert time.monotonic() - start < 10
    assert result.exit_code == 1
    assert result.output == "Interrupted.\n"
