"""`topktree reproduce` as its user runs it, small: one dataset, two splits; its numbers against fits made here."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.model_selection import train_test_split
from topktree_evidence import splits
from topktree_evidence.laboratory import STUDIES
from topktree_evidence.store import locked, read_table
from topktree_evidence.studies.paper import accuracy, fits
from topktree_evidence.study import Settings

from topktree import Binarizer, TopKTreeClassifier, datasets
from topktree._cli.main import main

DATA = Path(os.environ.get("TOPKTREE_DATA") or Path(__file__).parents[3] / "shared" / "datasets")
SMALL = ["--datasets", "hayes-roth", "--splits", "2", "--data", str(DATA)]

needs_data = pytest.mark.skipif(not (DATA / "hayes-roth.csv.gz").is_file(), reason="no hayes-roth in $TOPKTREE_DATA")


def reproduce(out, *arguments):
    return CliRunner().invoke(main, ["reproduce", *arguments, "--out", str(out)])


def paper_split(seed, name="hayes-roth"):
    """What the authors train and test on, from the file, step by step."""
    bunch = datasets.load(name, DATA)
    X = Binarizer(strategy="paper", max_columns=100).fit_transform(bunch.data.astype(str).astype(object))
    order = np.arange(len(X))
    np.random.RandomState(4).shuffle(order)
    return train_test_split(X[order], bunch.target[order], train_size=0.8, shuffle=True, random_state=seed)


def table(path):
    """The rows of a file; what is missing is None."""
    frame = read_table(path)
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def rows(out, name, **wanted):
    found = [
        row
        for row in table(out / "runs" / f"{name}.csv")
        if all(row[column] == value for column, value in wanted.items())
    ]
    assert found
    return found


def pictures(out):
    return {path.name for path in (out / "paper").iterdir() if path.suffix in (".png", ".svg")}


@needs_data
def test_fig2(tmp_path):
    result = reproduce(tmp_path, "fig2", *SMALL, "--max-depth", "4")
    assert result.exit_code == 0, result.output
    assert len(rows(tmp_path, "fig2")) == 2 * 2 * 8 * 4  # columns, splits, k, depth
    for seed in (42, 43):
        X_train, X_test, y_train, y_test = paper_split(seed)
        assert X_train.shape == (128, 15)
        for k, depth in ((1, 4), (3, 3), ("all", 4)):
            tree = TopKTreeClassifier(k=k, max_depth=depth).fit(X_train, y_train)
            (row,) = rows(tmp_path, "fig2", columns="paper", seed=seed, k=k, depth=depth)
            assert row["status"] == "finished"
            assert row["train_errors"] == tree.train_errors_
            assert row["test_errors"] == np.count_nonzero(tree.predict(X_test) != y_test)
            assert row["leaves"] == tree.get_n_leaves()
    accuracy = [1 - row["test_errors"] / 32 for row in rows(tmp_path, "fig2", columns="paper", k=3, depth=3)]
    (cell,) = [
        cell
        for cell in table(tmp_path / "paper" / "fig2.csv")
        if (cell["columns"], cell["k"], cell["depth"]) == ("paper", 3, 3)
    ]
    assert cell["test_mean"] == pytest.approx(np.mean(accuracy), abs=1e-6)
    assert cell["test_sd"] == pytest.approx(np.std(accuracy, ddof=1), abs=1e-6)
    assert (cell["splits"], cell["finished"]) == (2, 2)
    assert pictures(tmp_path) == {f"fig2-appendix{kind}.{end}" for kind in ("", "-default") for end in ("png", "svg")}
    page = (tmp_path / "paper.md").read_text()
    assert "| hayes-roth |" in page
    assert "(paper/fig2-appendix.png)" in page
    assert "Not in this run, because the data are missing or were not asked for: connect-4" in page


@needs_data
@pytest.mark.parametrize("name", ["hayes-roth", "car", "tic-tac-toe", "monks-1"])
def test_default_columns_are_those_of_the_classifier(name):
    whole = splits.problem(name, splits.DEFAULT_COLUMNS, str(DATA))
    X_train, X_test, y_train, _ = train_test_split(whole.X, whole.y, train_size=0.8, shuffle=True, random_state=44)
    tree = TopKTreeClassifier(k=4, max_depth=4).fit(X_train, y_train)
    columns_train, columns_test, same_labels, _ = splits.split(name, splits.DEFAULT_COLUMNS, 44, str(DATA))
    np.testing.assert_array_equal(same_labels, y_train)
    other = TopKTreeClassifier(k=4, max_depth=4).fit(columns_train, y_train)
    np.testing.assert_array_equal(other.predict(columns_test), tree.predict(X_test))


@needs_data
def test_fig4(tmp_path):
    result = reproduce(tmp_path, "fig4", *SMALL)
    assert result.exit_code == 0, result.output
    found = rows(tmp_path, "fig4", seed=42)
    assert [row["k"] for row in found] == list(range(1, 16))
    assert {row["depth"] for row in found} == {3}
    errors = [row["train_errors"] for row in found]
    assert errors == sorted(errors, reverse=True)
    X_train, _, y_train, _ = paper_split(42)
    assert errors[-1] == TopKTreeClassifier(k="all", max_depth=3).fit(X_train, y_train).train_errors_
    assert pictures(tmp_path) == {"fig4.png", "fig4.svg"}


@needs_data
def test_fig6(tmp_path):
    result = reproduce(tmp_path, "fig6", *SMALL, "--max-depth", "3", "--time-limit", "60")
    assert result.exit_code == 0, result.output
    found = rows(tmp_path, "fig6")
    assert len(found) == 8 * 3
    X_train, _, y_train, _ = paper_split(42)
    for row in found:
        tree = TopKTreeClassifier(k=row["k"], max_depth=row["depth"]).fit(X_train, y_train)
        assert (row["status"], row["errors"], row["leaves"]) == ("finished", tree.train_errors_, tree.get_n_leaves())
        assert (row["rows"], row["columns"]) == (128, 15)
        assert 0 < row["seconds"] < 60
    assert pictures(tmp_path) == {"fig6.png", "fig6.svg"}
    assert "| hayes-roth | categorical | 160 | 128 | 15 | 15 |" in (tmp_path / "paper.md").read_text()


@needs_data
def test_choosing(tmp_path):
    result = reproduce(tmp_path, "choosing", *SMALL)
    assert result.exit_code == 0, result.output
    assert {row["method"] for row in rows(tmp_path, "choosing")} >= {
        "topk",
        "topk-distinct",
        "topk-penalty",
        "scikit-learn",
    }
    page = (tmp_path / "choosing-k.md").read_text()
    assert "| hayes-roth | 2 |" in page
    assert (tmp_path / "choosing" / "gains.png").is_file()
    assert (tmp_path / "paper.md").is_file()
    again = reproduce(tmp_path, "choosing", *SMALL)
    assert "0 made now" in again.output


@pytest.mark.skipif(not (DATA / "fico-1000.csv.gz").is_file(), reason="no fico-1000 in $TOPKTREE_DATA")
def test_fig3(tmp_path):
    result = reproduce(tmp_path, "fig3", "--data", str(DATA), "--sizes", "2", "--max-depth", "4", "--time-limit", "2")
    assert result.exit_code == 0, result.output
    found = rows(tmp_path, "fig3", solver="topktree")
    assert {(row["sweep"], row["size"]) for row in found} == {
        (s, n) for s, e in (("features", 1407), ("samples", 1000)) for n in (10, e)
    }
    X = Binarizer(strategy="paper", max_columns=None).fit_transform(datasets.load("fico-1000", DATA).data)
    y = datasets.load("fico-1000", DATA).target
    tree = TopKTreeClassifier(k=2, max_depth=4, leaf_penalty=0.001).fit(X, y)
    for sweep, size in (("features", 1407), ("samples", 1000)):
        (row,) = rows(tmp_path, "fig3", solver="topktree", k=2, sweep=sweep, size=size)
        assert (row["errors"], row["leaves"]) == (tree.train_errors_, tree.get_n_leaves())
    assert pictures(tmp_path) == {"fig3.png", "fig3.svg"}
    assert "| Top-16 |" in (tmp_path / "paper.md").read_text()


@needs_data
def test_beyond_the_paper(tmp_path):
    result = reproduce(tmp_path, "noise", "random-k", "criteria", "wider", *SMALL, "--max-depth", "4")
    assert result.exit_code == 0, result.output
    X_train, X_test, y_train, y_test = paper_split(43)
    y_train, y_test = (np.unique(y, return_inverse=True)[1] for y in (y_train, y_test))
    noisy = fits.with_noise(y_train, 0.3, 43)
    tree = TopKTreeClassifier(k=4, max_depth=3).fit(X_train, noisy)
    (row,) = rows(tmp_path, "noise", seed=43, noise=0.3, k=4, depth=3)
    assert row["train_errors"] == tree.train_errors_  # of the labels it was given
    assert row["test_errors"] == np.count_nonzero(tree.predict(X_test) != y_test)  # of the true ones
    for criterion in accuracy.CRITERIA:
        tree = TopKTreeClassifier(k=4, max_depth=3, criterion=criterion).fit(X_train, y_train)
        (row,) = rows(tmp_path, "criteria", seed=43, criterion=criterion, k=4, depth=3)
        assert row["train_errors"] == tree.train_errors_
    (top,), (random,) = (rows(tmp_path, "random-k", seed=43, k=3, depth=3, candidates=c) for c in ("top", "random"))
    assert top["train_errors"] == TopKTreeClassifier(k=3, max_depth=3).fit(X_train, y_train).train_errors_
    assert random["train_errors"] != top["train_errors"]
    assert {row["k"] for row in rows(tmp_path, "wider")} == {32, 64}
    assert pictures(tmp_path) == {f"{n}.{e}" for n in ("noise", "random-k", "criteria") for e in ("png", "svg")}


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 1.0])
def test_label_noise(share):
    y = np.random.default_rng(1).integers(0, 3, 20_000)
    noisy = fits.with_noise(y, share, 7)
    flipped = noisy != y
    assert flipped.mean() == pytest.approx(share, abs=0.015)
    assert np.array_equal(noisy, fits.with_noise(y, share, 7))
    if share:
        assert not np.array_equal(noisy, fits.with_noise(y, share, 8))
        # the other classes share the flips evenly, and greater shares flip the same rows and more
        assert np.bincount((noisy - y)[flipped] % 3, minlength=3)[1:] == pytest.approx(flipped.sum() / 2, rel=0.1)
        assert (flipped <= (fits.with_noise(y, 1.0, 7) != y)).all()


def test_random_candidates_are_random_and_repeatable():
    X = np.random.default_rng(0).random((300, 12)) < 0.5
    y = X[:, 3] & X[:, 7]
    greedy = TopKTreeClassifier(k=1, max_depth=1).fit(X, y)
    assert greedy.tree_.feature[0] in (3, 7)
    roots = [
        [
            TopKTreeClassifier(k=1, max_depth=1, criterion=fits.RandomScores(seed), leaf_penalty=0.0)
            .fit(X, y ^ X[:, 5])
            .tree_.feature[0]
            for seed in range(20)
        ]
        for _ in range(2)
    ]
    assert roots[0] == roots[1]
    assert len(set(roots[0])) > 4


@needs_data
def test_a_second_time_nothing_is_made_and_the_files_are_the_same(tmp_path):
    first = reproduce(tmp_path, "fig4", *SMALL)
    assert "30 made now" in first.output
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    second = reproduce(tmp_path, "fig4", *SMALL)
    assert "30 of 30 runs finished; 0 made now" in second.output
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files


@needs_data
def test_no_resume_sets_the_old_runs_aside(tmp_path):
    reproduce(tmp_path, "fig4", *SMALL)
    before = (tmp_path / "runs" / "fig4.csv").read_bytes()
    result = reproduce(tmp_path, "fig4", *SMALL, "--no-resume")
    assert "30 made now" in result.output
    assert (tmp_path / "runs" / "fig4.csv.1").read_bytes() == before


@needs_data
def test_a_damaged_file_of_runs(tmp_path):
    reproduce(tmp_path, "fig4", *SMALL)
    before_table = table(tmp_path / "paper" / "fig4.csv")
    path = tmp_path / "runs" / "fig4.csv"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:5], b"gar\xffbage\n", *lines[6:-1], lines[-1][:20]]))
    result = reproduce(tmp_path, "fig4", *SMALL)
    assert result.exit_code == 0
    assert "2 lines are damaged" in result.output
    assert "2 made now" in result.output
    for before, after in zip(before_table, table(tmp_path / "paper" / "fig4.csv"), strict=True):
        assert {**before, "seconds": None} == {**after, "seconds": None}


@needs_data
@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT], ids=["kill", "ctrl-c"])
def test_an_interrupted_command_goes_on(tmp_path, sign):
    command = [sys.executable, "-m", "topktree", "reproduce", "fig4", "--data", str(DATA), "--out", str(tmp_path)]
    command += ["--datasets", "car", "--splits", "10"]
    path = tmp_path / "runs" / "fig4.csv"
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=_default_signals) as process:
        deadline = time.monotonic() + 60
        while not (path.exists() and path.read_text().count("\n") > 10):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(sign)
        _, errors = process.communicate()
    if sign == signal.SIGINT:
        assert process.returncode == 1
        assert "the same command" in errors
        assert "Traceback" not in errors
    kept = path.read_bytes().count(b"\n") - 1
    assert 10 <= kept < 210
    result = reproduce(tmp_path, "fig4", "--data", str(DATA), "--datasets", "car")
    assert result.exit_code == 0, result.output
    assert "210 of 210 runs finished" in result.output
    made = int(result.output.split(" made now")[0].split()[-1])
    assert 210 - kept <= made <= 211 - kept  # at most the line that was being written


def _default_signals():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_no_data_at_all(tmp_path, monkeypatch):
    monkeypatch.delenv("TOPKTREE_DATA", raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", _no_network)
    result = reproduce(tmp_path, "fig4", "theorem2", "--max-depth", "3")
    assert result.exit_code == 2
    for name in ("car", "hayes-roth", "tic-tac-toe"):
        assert f"{name}: left out." in result.output
    assert "$TOPKTREE_DATA" in result.output
    assert "OpenML" in result.output
    assert "Not made for want of data: fig4" in result.output
    assert "Traceback" not in result.output
    assert (tmp_path / "paper" / "theorem2.csv").is_file()  # what needs no data is there
    assert not (tmp_path / "runs" / "fig4.csv").exists()


def _no_network(*arguments, **options):
    raise OSError("no network")


@needs_data
def test_a_missing_dataset_is_left_out(tmp_path):
    result = reproduce(tmp_path, "fig2", "--datasets", "hayes-roth,miniboone", *SMALL[2:], "--max-depth", "2")
    assert result.exit_code == 0, result.output
    assert "miniboone: left out." in result.output
    assert {row["dataset"] for row in rows(tmp_path, "fig2")} == {"hayes-roth"}
    assert "miniboone" in (tmp_path / "paper.md").read_text()


@needs_data
def test_a_run_stopped_at_the_limit_is_a_gap(tmp_path):
    name = "tic-tac-toe"
    arguments = ["--datasets", name, *SMALL[2:], "--max-depth", "6", "--time-limit", "0.05"]
    result = reproduce(tmp_path, "fig2", *arguments)
    assert "stopped at the limit" in result.output
    cells = [row for row in table(tmp_path / "paper" / "fig2.csv") if row["columns"] == "paper" and row["depth"] == 6]
    assert {cell["test_mean"] is None for cell in cells} == {True, False}
    assert next(cell for cell in cells if cell["k"] == "all")["test_mean"] is None
    assert all((cell["test_mean"] is None) == (cell["finished"] < cell["splits"]) for cell in cells)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fig5"], ["fig5", "fig4"]),
        ([], ["WHAT"]),
        (["fig4", "--datasets", "iris"], ["iris", "hayes-roth"]),
        (["fig4", "--datasets", ","], ["no name is given"]),
        (["fig4", "--data", "no/such/folder"], ["--data", "no/such/folder"]),
        (["fig4", "--jobs", "0"], ["--jobs", "-1"]),
        (["fig4", "--jobs", "two"], ["--jobs", "two"]),
        (["fig4", "--splits", "0"], ["--splits", "1<=x<=100"]),
        (["fig4", "--time-limit", "0"], ["--time-limit", "x>0"]),
        (["fig4", "--max-depth", "0"], ["--max-depth", "1<=x<=30"]),
        (["fig4", "--datasets", "connect-4"], ["--datasets", "fig4"]),
        (["fig4", "--max-depth", "2"], ["--max-depth", "fig4"]),
    ],
)
def test_mistakes(tmp_path, arguments, words):
    result = reproduce(tmp_path, *arguments)
    assert result.exit_code == 2
    assert all(word in result.output for word in words), result.output
    assert "Traceback" not in result.output


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    result = reproduce(tmp_path / "file" / "out", "theorem2", "--max-depth", "1")
    assert result.exit_code == 2
    assert "--out" in result.output


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks")
def test_two_commands_do_not_write_to_one_folder(tmp_path):
    (tmp_path / "runs").mkdir()
    with locked(tmp_path / "runs"):
        result = reproduce(tmp_path, "theorem2", "--max-depth", "1")
    assert result.exit_code == 2
    assert "another command is writing to" in result.output
    assert not (tmp_path / "runs" / "theorem2.csv").exists()
    assert reproduce(tmp_path, "theorem2", "--max-depth", "1").exit_code == 0


def test_every_run_of_the_paper_is_planned():
    settings = Settings()
    assert len(splits.names()) == 24
    assert len(STUDIES["fig2"].tasks(settings)) == 2 * 8 * 8 * (22 * 10 + 2)
    assert len(STUDIES["fig4"].tasks(settings)) == 10 * (21 + 15 + 27)
    assert len(STUDIES["fig6"].tasks(settings)) == 24 * 8 * 8
    seeds = {task["seed"] for task in STUDIES["fig2"].tasks(settings) if task["dataset"] == "car"}
    assert seeds == set(range(42, 52))
    assert {task["seed"] for task in STUDIES["fig2"].tasks(settings) if task["dataset"] in ("avila", "ml-prove")} == {
        42
    }


@needs_data
def test_a_command_for_one_dataset_keeps_the_others(tmp_path):
    reproduce(tmp_path, "fig2", *SMALL, "--max-depth", "2")
    reproduce(tmp_path, "fig2", "--datasets", "monks-1", *SMALL[2:], "--max-depth", "1")
    found = {(row["dataset"], row["depth"]) for row in table(tmp_path / "paper" / "fig2.csv")}
    assert found == {("hayes-roth", 1), ("hayes-roth", 2), ("monks-1", 1)}
    page = (tmp_path / "paper.md").read_text()
    assert "| hayes-roth |" in page
    assert "| monks-1 |" in page


@needs_data
def test_pictures_that_are_no_longer_drawn_go_away(tmp_path):
    reproduce(tmp_path, "fig2", *SMALL, "--max-depth", "1")
    stale = tmp_path / "paper" / "fig2.png"  # of datasets that are not there
    stale.write_bytes(b"")
    reproduce(tmp_path, "fig2", *SMALL, "--max-depth", "1")
    assert not stale.exists()
    assert (tmp_path / "paper" / "fig2-appendix.png").exists()


@needs_data
@pytest.mark.parametrize("content", [b"", b"a,b\n1,2,3\n", b"\xff\xfe\n", b"dataset,k\ncar,1\n", b'"open'])
def test_a_damaged_table_is_left_out_of_the_page(tmp_path, content):
    reproduce(tmp_path, "fig4", *SMALL)
    assert "![Training and test" in (tmp_path / "paper.md").read_text()
    (tmp_path / "paper" / "fig4.csv").write_bytes(content)
    result = reproduce(tmp_path, "page")
    assert result.exit_code == 0
    assert "fig4.csv" in result.output
    assert "`topktree reproduce fig4` makes it again" in result.output
    assert "![Training and test" not in (tmp_path / "paper.md").read_text()


@needs_data
@pytest.mark.parametrize("name", ["electrical-grid-stability-without-stab", "dry-bean-repaired"])
def test_only_a_variant(tmp_path, name):
    if not (DATA / f"{splits.file_name(name)}.csv.gz").is_file():
        pytest.skip(f"no {name} in $TOPKTREE_DATA")
    result = reproduce(tmp_path, "fig2", "--datasets", name, "--splits", "1", "--max-depth", "1", *SMALL[4:])
    assert result.exit_code == 0, result.output
    assert len(rows(tmp_path, "fig2", dataset=name)) == 16


@needs_data
def test_everything_stopped(tmp_path):
    arguments = ["--datasets", "car", "--splits", "1", "--data", str(DATA), "--time-limit", "1e-6"]
    result = reproduce(tmp_path, "fig4", "fig2", *arguments)
    assert result.exit_code == 0, result.output
    assert result.output.count("stopped at the limit") == 2
    assert any(row["test_mean"] is None for row in table(tmp_path / "paper" / "fig4.csv"))


@needs_data
def test_names_of_datasets_in_any_case_and_order(tmp_path):
    result = reproduce(tmp_path, "fig4", "--datasets", " Hayes-Roth ,hayes-roth", *SMALL[2:])
    assert "30 of 30 runs finished" in result.output


@needs_data
def test_data_that_is_gone_does_not_undo_what_is_known(tmp_path):
    (tmp_path / "empty").mkdir()
    arguments = ["--datasets", "hayes-roth", "--splits", "2", "--max-depth", "3"]
    reproduce(tmp_path, "fig2", *arguments, "--data", str(DATA))
    before = (tmp_path / "runs" / "fig2.csv").read_bytes()
    again = reproduce(tmp_path, "fig2", *arguments, "--data", str(tmp_path / "empty"), "--time-limit", "600")
    assert again.exit_code == 0
    assert (tmp_path / "runs" / "fig2.csv").read_bytes() == before


@needs_data
def test_values_that_are_no_numbers_are_damage(tmp_path):
    reproduce(tmp_path, "fig4", *SMALL)
    path = tmp_path / "runs" / "fig4.csv"
    lines = path.read_text().splitlines(keepends=True)
    lines[3] = lines[3].replace(",128,", ",abc,")
    lines[4] = lines[4].replace(",128,", ",,")
    lines[5] = lines[5].replace(",0.0,", ",0,")  # the same number
    path.write_text("\ufeff" + "".join(lines), encoding="utf-8")
    result = reproduce(tmp_path, "fig4", *SMALL)
    assert "2 lines are damaged" in result.output
    assert "2 made now" in result.output


def test_a_theory_run_that_fails_is_left_out_of_the_page(tmp_path, monkeypatch):
    lemma = STUDIES["lemma"]

    def run(task, settings):
        if task["dataset"] == "monks-1":
            raise ArithmeticError("no")
        return lemma.run(task, settings)

    monkeypatch.setitem(STUDIES, "lemma", replace(lemma, run=run))
    result = reproduce(tmp_path, "lemma", "--max-depth", "2")
    assert result.exit_code == 1
    assert "1 failed (see runs/lemma.csv)" in result.output
    assert {row["dataset"] for row in table(tmp_path / "paper" / "lemma.csv")} == {
        "tic-tac-toe",
        "monks-2",
        "monks-3",
        "balance-scale",
        "parity",
    }
    assert "5 of 5 search spaces" in (tmp_path / "paper.md").read_text()
