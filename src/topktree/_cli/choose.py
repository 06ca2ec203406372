"""The work of `topktree choose`: k and depth by cross-validation, with the table of scores, a plot and the tree.

In: the arguments of the command. Out: on stdout the choice and its reason, or JSON; on stderr progress and warnings; a
picture, a model file and a report, where they are asked for.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import click
from sklearn.metrics import get_scorer_names

from .._selection.classifier_cv import TopKTreeClassifierCV
from .choose_summary import print_choice, summarise
from .columns import read_labelled
from .files import check_apart, file_title, write_file
from .messages import Mistake, closest, warnings_as_lines
from .options import ColumnOptions

SCORERS = "accuracy, balanced_accuracy, f1_macro, roc_auc or neg_log_loss"


def choose_and_show(
    data: str,
    columns: ColumnOptions,
    plot: Path | None,
    save: Path | None,
    report: Path | None,
    to_json: bool,
    **parameters: Any,  # of TopKTreeClassifierCV, by its names
) -> None:
    """Choose the parameters, print the choice and write the files."""
    _check_scoring(parameters["scoring"])
    check_apart({"--plot": plot, "--save": save, "--report": report}, {"FILE": data})
    table = read_labelled(data, columns)
    cv = TopKTreeClassifierCV(**parameters, verbose=int(sys.stderr.isatty()))
    start = time.perf_counter()
    try:
        with warnings_as_lines():
            cv.fit(table.X, table.y, table.weights)
    except (TypeError, ValueError) as error:
        raise Mistake(str(error)) from error
    summary = summarise(cv, table, time.perf_counter() - start)
    try:
        if to_json:
            click.echo(json.dumps(summary, indent=1, allow_nan=False))
        else:
            print_choice(cv, summary)
    finally:  # also when the output's reader has gone, as in `| head -5`
        if plot is not None:
            write_file("--plot", plot, lambda: _draw(cv, plot))
        if save is not None:
            write_file("--save", save, lambda: cv.save(save))
        if report is not None:
            title = f"{columns.target} of {Path(file_title(data)).name}"
            write_file("--report", report, lambda: cv.report(report, title=title))


def _check_scoring(name: str | None) -> None:
    """Refuse an unknown scorer; scikit-learn's own message would list all of them."""
    if name is not None and name not in get_scorer_names():
        meant = closest(name, get_scorer_names())
        advice = f"; did you mean {meant!r}?" if meant else ""
        raise Mistake(f"--scoring {name}: must be the name of a scikit-learn scorer, such as {SCORERS}{advice}")


def _draw(cv: TopKTreeClassifierCV, path: Path) -> None:
    from matplotlib.figure import Figure  # without pyplot there is no window

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    cv.plot(figure.add_subplot())
    figure.savefig(path, dpi=150)
