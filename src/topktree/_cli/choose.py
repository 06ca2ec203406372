"""The work of `topktree choose`: k and depth by cross-validation, with the table of scores, a plot and the tree.

In: the arguments of the command. Out: on stdout the choice and its reason, or JSON; on stderr progress and warnings; a
picture, a model file and a report, if requested.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import click
from sklearn.metrics import get_scorer_names

from .._runtime.files import whole_file
from .._runtime.limits import TIME_LIMIT
from .._selection.classifier_cv import TopKTreeClassifierCV
from .._selection.rule import ONE_SE, best_of
from ..report.search import name_value, varying_parameters
from .columns import Labelled, read_labelled
from .files import check_apart, file_title, write_file
from .messages import Mistake, closest, counted, echo, estimator_messages, wants_style
from .table_files import TableFile

SCORERS = "accuracy, balanced_accuracy, f1_macro, roc_auc or neg_log_loss"
CHOSEN_MARK, BEST_MARK = "*", "+"


def choose_and_show(
    data: str,
    target: str,
    weight: str | None,
    types: dict[str, str],
    drop: tuple[str, ...],
    sep: str | None,
    decimal: str | None,
    plot: Path | None,
    save: Path | None,
    report: Path | None,
    to_json: bool,
    **parameters: Any,  # of TopKTreeClassifierCV, by its names
) -> None:
    """Choose the parameters, print the choice and write the files."""
    _check_scoring(parameters["scoring"])
    check_apart({"--plot": plot, "--save": save, "--report": report}, {"FILE": data})
    table = read_labelled(TableFile(data, sep, decimal), target, weight, types, drop)
    cv = TopKTreeClassifierCV(**parameters, verbose=int(sys.stderr.isatty()))
    start = time.perf_counter()
    with estimator_messages():
        cv.fit(table.X, table.y, table.weights)
    summary = summarise(cv, table, time.perf_counter() - start)
    try:
        if to_json:
            echo(json.dumps(summary, indent=1, allow_nan=False))
        else:
            print_choice(cv, summary)
    finally:  # even if the reader of the output is gone, as in `| head -5`
        write_file("--plot", plot, lambda path: _draw(cv, path))
        write_file("--save", save, cv.save)
        title = f"{target} of {Path(file_title(data)).name}"
        write_file("--report", report, lambda path: cv.report(path, title=title))


def _check_scoring(name: str | None) -> None:
    """Refuse an unknown scorer; scikit-learn's own message would list all of them."""
    if name is not None and name not in get_scorer_names():
        meant = closest(name, get_scorer_names())
        advice = f"; did you mean {meant!r}?" if meant else ""
        raise Mistake(f"--scoring {name}: must be the name of a scikit-learn scorer, such as {SCORERS}{advice}")


def _draw(cv: TopKTreeClassifierCV, path: Path) -> None:
    from matplotlib.figure import Figure  # without pyplot there is no window

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    cv.plot_scores(figure.add_subplot())
    with whole_file(path) as partial:
        figure.savefig(partial, dpi=150, format=path.suffix[1:].lower())


def summarise(cv: TopKTreeClassifierCV, table: Labelled, seconds: float) -> dict[str, Any]:
    """Return the summary, which is also the JSON.

    `leaves` is the number of leaves of the chosen tree; in the rows of `results` it is the mean over the folds.
    """
    results = _result_rows(cv)
    chosen = results[cv.best_index_]
    n_rows, n_features = table.X.shape
    return {
        "params": cv.best_params_,
        "score": chosen["score"],
        "se": chosen["se"],
        "leaves": cv.get_n_leaves(),
        "depth": cv.get_depth(),
        "train_accuracy": cv.best_estimator_.score(table.X, table.y, table.weights),
        "rule": cv.rule,
        "scoring": cv.scorer_.name,
        "folds": cv.n_splits_,
        "rows": n_rows,
        "features": n_features,
        "seconds": round(seconds, 3),
        "status": cv.status_,
        "best": results[best_of(cv.cv_results_)],
        "results": results,
    }


def _result_rows(cv: TopKTreeClassifierCV) -> list[dict[str, Any]]:
    """Return a dict per candidate: its parameters and results, with None for NaN, which JSON does not have."""

    def column(name: str) -> list[Any]:
        return [None if value != value else value for value in cv.cv_results_[name].tolist()]

    columns = {
        "score": column("mean_test_score"),
        "se": column("se_test_score"),
        "leaves": column("mean_n_leaves"),
        "seconds": column("seconds"),
        "status": column("status"),
        "fold_scores": zip(*(column(f"split{i}_test_score") for i in range(cv.n_splits_)), strict=True),
    }
    results = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [params | result for params, result in zip(cv.cv_results_["params"], results, strict=True)]


def print_choice(cv: TopKTreeClassifierCV, summary: dict[str, Any]) -> None:
    """Print tables, sentences and the tree; the chosen score is bold on a terminal."""
    unit = " in %" if cv.scorer_.is_share else ""
    echo(f"{summary['scoring']}{unit} in {summary['folds']} folds ± standard error, and leaves\n")
    for title in dict.fromkeys(_others(cv, row) for row in summary["results"]):
        for lines in _tables(cv, summary, title):
            echo("\n".join([*lines, ""]))
    wrong = f"{cv.train_errors_:,} of {summary['rows']:,} rows are wrong"
    size = f"{counted(summary['features'], 'feature')}, {summary['seconds']:,.2f} seconds"
    echo(f"{_legend(cv, summary)}\n\n{_reason(cv, summary)}")
    echo(f"Training accuracy {summary['train_accuracy']:.1%}: {wrong}. {size}.")
    echo(f"\n{cv.export_text().rstrip()}")


def _others(cv: TopKTreeClassifierCV, row: dict[str, Any]) -> str:
    """Return the values of the parameters that vary besides k and depth."""
    return ", ".join(name_value(name, row[name]) for name in varying_parameters(cv.cv_results_))


def _tables(cv: TopKTreeClassifierCV, summary: dict[str, Any], others: str) -> list[list[str]]:
    """Return the scores of one title, depths down and ks across, in as many tables as the terminal's width needs."""
    rows = [row for row in summary["results"] if _others(cv, row) == others]
    title = [others] if others else []
    depths = sorted({row["max_depth"] for row in rows})
    cells = {(row["k"], row["max_depth"]): _cell(cv, summary, row) for row in rows}
    ks = list(dict.fromkeys(row["k"] for row in rows))
    columns = [[f"k = {k}", *(cells[k, depth] for depth in depths)] for k in ks]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() or wants_style() else math.inf
    tables: list[list[str]] = []
    for n in range(len(ks), 0, -1):
        parts = [columns[i : i + n] for i in range(0, len(ks), n)]
        tables = [title + _aligned([["depth", *map(str, depths)], *part]) for part in parts]
        if all(len(click.unstyle(line)) <= width for lines in tables for line in lines):
            break
    return tables


def _aligned(columns: list[list[str]]) -> list[str]:
    """Return the lines of a table: headings, a rule, and rows aligned to the right."""
    padded = []
    for column in columns:
        lengths = [len(click.unstyle(cell)) for cell in column]
        padded.append([" " * (max(lengths) - n) + cell for n, cell in zip(lengths, column, strict=True)])
    heading, *lines = ["  ".join(cells) for cells in zip(*padded, strict=True)]
    dash = "─" if "utf" in sys.stdout.encoding.lower() else "-"
    return [heading, dash * len(heading), *lines]


def _cell(cv: TopKTreeClassifierCV, summary: dict[str, Any], row: dict[str, Any]) -> str:
    """Return mark, score and leaves of a candidate."""
    if row["score"] is None:
        return "-" if row["status"] == TIME_LIMIT else "failed"
    is_chosen = row is summary["results"][cv.best_index_]
    mark = CHOSEN_MARK if is_chosen else BEST_MARK if row is summary["best"] else " "
    text = f"{mark}{_number(cv, row['score'])} ±{_number(cv, row['se'])} {row['leaves']:>2,.0f}"
    return click.style(text, bold=True) if is_chosen else text


def _legend(cv: TopKTreeClassifierCV, summary: dict[str, Any]) -> str:
    marks = [f"{CHOSEN_MARK} chosen"]
    marks += [f"{BEST_MARK} best score"] if summary["best"] is not summary["results"][cv.best_index_] else []
    marks += ["- not finished in time"] if any(row["status"] == TIME_LIMIT for row in summary["results"]) else []
    return "   ".join(marks)


def _reason(cv: TopKTreeClassifierCV, summary: dict[str, Any]) -> str:
    """Return what was chosen, and why."""
    chosen, best = summary["results"][cv.best_index_], summary["best"]

    def name(row: dict[str, Any]) -> str:
        others = _others(cv, row)
        return f"k = {row['k']}, depth {row['max_depth']}" + (f", {others}" if others else "")

    def score(row: dict[str, Any]) -> str:
        return f"{_number(cv, row['score'])}{'%' if cv.scorer_.is_share else ''} ± {_number(cv, row['se'])}"

    leaves = counted(summary["leaves"], "leaf", "leaves")
    result = f"{summary['scoring']} {score(chosen)} in {cv.n_splits_} folds"
    text = f"Chosen: {name(chosen)}, a tree of {leaves} with {result}."
    if best is not chosen:
        rule = "rule 1se takes the simplest within one standard error of it"
        about = counted(round(best["leaves"]), "leaf", "leaves")
        return f"{text} The best was {name(best)} with {score(best)} and about {about}; {rule}."
    if cv.rule == ONE_SE:
        return f"{text} That is the best, and rule 1se found no smaller tree within one standard error of it."
    return f"{text} That is the best."


def _number(cv: TopKTreeClassifierCV, value: float) -> str:
    """Return a score or a standard error, in percent if the score is a share."""
    return f"{100 * value:.1f}" if cv.scorer_.is_share else f"{value:.3f}"
