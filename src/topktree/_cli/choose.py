"""`topktree choose`: k and depth by cross-validation, with the table, the picture and the tree.

In: a file and a grid, as arguments. Out: on stdout what was chosen and why, or all of it as JSON; on stderr progress
and warnings; a picture, a model file and a report, where they are asked for.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from sklearn.metrics import get_scorer_names

from .._runtime import checks
from .._selection.classifier_cv import TopKTreeClassifierCV
from .._selection.rule import BEST, ONE_SE
from .choose_summary import Choice, as_json, print_choice
from .columns import ColumnOptions, Labelled, read_labelled
from .messages import (
    Mistake,
    check_apart,
    check_output,
    closest,
    jobs_option,
    json_option,
    limit_option,
    list_of,
    list_of_ks,
    output_option,
    report_title,
    seed_option,
    warnings_as_lines,
    write_file,
)
from .options import columns_options
from .table_files import file_title

PICTURES = (".png", ".svg", ".pdf")
SCORERS = "accuracy, balanced_accuracy, f1_macro, roc_auc or neg_log_loss"


def _scoring(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """The name of a scorer; scikit-learn's own message would list all of them."""
    if name is not None and name not in get_scorer_names():
        meant = closest(name, get_scorer_names())
        advice = f"; did you mean {meant!r}?" if meant else ""
        raise Mistake(f"--scoring {name}: must be the name of a scikit-learn scorer, such as {SCORERS}{advice}")
    return name


def _picture_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in PICTURES:
        raise Mistake(f"--plot {path}: the name must end in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}")
    if path is not None and find_spec("matplotlib") is None:
        raise Mistake("--plot needs matplotlib: pip install 'topktree[cli,plot]'")
    return check_output(context, parameter, path)


@click.command("choose", short_help="k and depth by cross-validation, and the tree.")
@columns_options
@click.option(
    "--ks",
    metavar="A,B",
    default="1,2,4,8,16",
    show_default=True,
    callback=list_of_ks,
    help='Values of k to try: numbers, or "all".',
)
@click.option(
    "--depths",
    "max_depths",
    metavar="A,B",
    default="2,3,4,5,6",
    show_default=True,
    callback=list_of(int, None, checks.check_max_depth, f"whole numbers from 0 to {checks.MAX_DEPTH}"),
    help="Depths to try.",
)
@click.option(
    "--penalties",
    "leaf_penalties",
    metavar="A,B",
    default="0",
    show_default=True,
    callback=list_of(float, "tie", checks.check_leaf_penalty, 'numbers from 0 to 1, or "tie"'),
    help='Leaf penalties to try: shares of the rows, or "tie".',
)
@click.option(
    "--rule",
    type=click.Choice([ONE_SE, BEST]),
    default=ONE_SE,
    show_default=True,
    help="The simplest within one standard error of the best, or the best.",
)
@click.option("--cv", metavar="N", type=click.IntRange(min=2), default=5, show_default=True, help="Folds.")
@click.option(
    "--scoring", metavar="NAME", callback=_scoring, help="A scikit-learn scorer to choose by.  [default: accuracy]"
)
@limit_option("Choose among what is finished by then.")
@jobs_option("Fits at a time, -1: one per core.")
@seed_option("Of the order of the rows in the folds.")
@output_option("--plot", callback=_picture_file, help="Draw the scores: png, svg or pdf.")
@output_option("--save", help="Write the tree to a model file (JSON).")
@output_option("--report", help="Write a report on the tree (HTML).")
@json_option()
def choose_command(
    data: str,
    columns: ColumnOptions,
    plot: Path | None,
    save: Path | None,
    report: Path | None,
    to_json: bool,
    **parameters: Any,  # of TopKTreeClassifierCV, by its names
) -> None:
    """Choose k and depth of a tree by cross-validation, say why, and show the tree.

    FILE is a table: CSV, also compressed by gzip, Parquet or Feather; - is standard input. The first line of CSV names
    the columns. Numbers are numbers, texts are categories, and missing values may be where they are, but in the target.
    """
    check_apart({"--plot": plot, "--save": save, "--report": report}, {"FILE": data})
    choice = _choose(read_labelled(data, columns), parameters)
    try:
        if to_json:
            click.echo(json.dumps(as_json(choice), indent=1, allow_nan=False))
        else:
            print_choice(choice)
    finally:  # also if nobody reads on, as in `| head -5`
        if plot is not None:
            write_file("--plot", plot, lambda: _draw(choice.cv, plot))
        if save is not None:
            write_file("--save", save, lambda: choice.cv.save(save))
        if report is not None:
            title = report_title(columns.target, file_title(data))
            write_file("--report", report, lambda: choice.cv.report(report, title=title))


def _choose(table: Labelled, parameters: dict[str, Any]) -> Choice:
    cv = TopKTreeClassifierCV(**parameters, verbose=int(sys.stderr.isatty()))
    start = time.perf_counter()
    try:
        with warnings_as_lines():
            cv.fit(table.X, table.y, table.weights)
    except (TypeError, ValueError) as error:
        raise Mistake(str(error)) from error
    return Choice(cv, table, time.perf_counter() - start)


def _draw(cv: TopKTreeClassifierCV, path: Path) -> None:
    from matplotlib.figure import Figure  # without pyplot: no window, no display

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    cv.plot(figure.add_subplot())
    figure.savefig(path, dpi=150)
