"""`topktree choose`: k and depth by cross-validation, with the table, the picture and the tree.

In: a file and a grid, as arguments. Out: on stdout what was chosen and why, or all of it as JSON; on stderr progress
and warnings; a picture and a model file, where they are asked for.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import get_scorer_names

from . import _parameters
from .choice import BEST, ONE_SE
from .classifier_cv import TopKTreeClassifierCV
from .cli_choice_text import Choice, as_json, print_choice
from .cli_tables import Labelled, Mistake, closest, file_title, read_table_file, split_table

PICTURES = (".png", ".svg", ".pdf")
SCORERS = "accuracy, balanced_accuracy, f1_macro, roc_auc or neg_log_loss"


def _list_of(number: Callable[[str], Any], word: str | None, check: Callable[[Any], None], allowed: str) -> Any:
    """A click callback for values separated by commas: numbers, or the one word that is allowed too."""

    def parse(context: click.Context, parameter: click.Parameter, text: str) -> tuple[Any, ...]:
        parts = [part.strip().lower() for part in text.split(",")]
        values: list[Any] = []
        for part in parts:
            try:
                values.append(part if part == word else number(part))
                check(values[-1])
            except ValueError:
                wrong = f", got {part!r}" if part else ""
                message = f"{parameter.opts[0]} {text}: must be {allowed}, separated by commas{wrong}"
                raise Mistake(message) from None
        return tuple(values)

    return parse


def _n_jobs(context: click.Context, parameter: click.Parameter, value: int) -> int:
    if value == 0:
        raise Mistake("--jobs 0: must be 1 or more, or -1 for one per core")
    return value


def _scoring(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """The name of a scorer; scikit-learn's own message would list all of them."""
    if name is not None and name not in get_scorer_names():
        meant = closest(name, get_scorer_names())
        advice = f"; did you mean {meant!r}?" if meant else ""
        raise Mistake(f"--scoring {name}: must be the name of a scikit-learn scorer, such as {SCORERS}{advice}")
    return name


def _output_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """A file that can probably be written: better to hear it now than when all is computed."""
    if path is None:
        return None
    option = f"{parameter.opts[0]} {path}"
    if path.is_dir():
        raise Mistake(f"{option}: that is a folder")
    if not path.parent.is_dir():
        raise Mistake(f"{option}: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise Mistake(f"{option}: cannot be written, for want of permission")
    return path


def _picture_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in PICTURES:
        raise Mistake(f"--plot {path}: the name must end in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}")
    if path is not None and find_spec("matplotlib") is None:
        raise Mistake("--plot needs matplotlib: pip install 'topktree[cli,plot]'")
    return _output_file(context, parameter, path)


@click.command("choose", short_help="k and depth by cross-validation, and the tree.")
@click.argument("data", metavar="FILE")
@click.option("--target", metavar="COLUMN", required=True, help="The classes to predict.")
@click.option(
    "--ks",
    metavar="A,B",
    default="1,2,4,8,16",
    show_default=True,
    callback=_list_of(int, "all", lambda k: _parameters.check_k(k, 0), 'whole numbers from 1 on, or "all"'),
    help='Values of k to try: numbers, or "all".',
)
@click.option(
    "--depths",
    "max_depths",
    metavar="A,B",
    default="2,3,4,5,6",
    show_default=True,
    callback=_list_of(int, None, _parameters.check_max_depth, f"whole numbers from 0 to {_parameters.MAX_DEPTH}"),
    help="Depths to try.",
)
@click.option(
    "--penalties",
    "leaf_penalties",
    metavar="A,B",
    default="0",
    show_default=True,
    callback=_list_of(float, "tie", _parameters.check_leaf_penalty, 'numbers from 0 to 1, or "tie"'),
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
@click.option("--weight", metavar="COLUMN", help="Weights of the rows.")
@click.option(
    "--time-limit",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="Choose among what is finished by then.",
)
@click.option(
    "--jobs",
    "n_jobs",
    metavar="N",
    type=click.IntRange(min=-1),
    default=1,
    show_default=True,
    callback=_n_jobs,
    help="Fits at a time, -1: one per core.",
)
@click.option(
    "--seed",
    "random_state",
    metavar="N",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Of the order of the rows in the folds.",
)
@click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=_picture_file,
    help="Draw the scores: png, svg or pdf.",
)
@click.option(
    "--save",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=_output_file,
    help="Write the tree to a model file (JSON).",
)
@click.option("--json", "to_json", is_flag=True, help="Print JSON instead of text.")
def choose_command(
    data: str,
    target: str,
    weight: str | None,
    plot: Path | None,
    save: Path | None,
    to_json: bool,
    **parameters: Any,  # of TopKTreeClassifierCV, by its names
) -> None:
    """Choose k and depth of a tree by cross-validation, say why, and show the tree.

    FILE is a table: CSV, also compressed by gzip; - is standard input. Its first line names the columns. Numbers are
    numbers, texts are categories, and missing values may be where they are, but in the target.
    """
    try:
        table = split_table(read_table_file(data), file_title(data), target, weight)
        for name in table.empty:
            _say(f"Warning: the column {name!r} is left out: it is empty.")
        choice = _choose(table, parameters)
        if to_json:
            click.echo(json.dumps(as_json(choice), indent=1, allow_nan=False))
        else:
            print_choice(choice)
        if plot is not None:
            _write("--plot", plot, lambda: _draw(choice.cv, plot))
        if save is not None:
            _write("--save", save, lambda: choice.cv.save(save))
    except KeyboardInterrupt:
        _say("Interrupted.")
        sys.exit(1)


def _choose(table: Labelled, parameters: dict[str, Any]) -> Choice:
    cv = TopKTreeClassifierCV(**parameters, verbose=int(sys.stderr.isatty()))
    start = time.perf_counter()
    try:
        with _warnings_as_lines():
            cv.fit(table.X, table.y, table.weights)
    except (TypeError, ValueError) as error:
        raise Mistake(str(error)) from error
    return Choice(cv, table, time.perf_counter() - start)


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Say the estimator's warnings in the end, when no line of progress is in the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            texts = [str(w.message) for w in caught if issubclass(w.category, (UserWarning, FitFailedWarning))]
            for text in dict.fromkeys(texts):
                _say(f"Warning: {' '.join(text.split())}")


def _draw(cv: TopKTreeClassifierCV, path: Path) -> None:
    from matplotlib.figure import Figure  # without pyplot: no window, no display

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    cv.plot(figure.add_subplot())
    figure.savefig(path, dpi=150)


def _write(option: str, path: Path, write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as error:
        raise Mistake(f"{option} {path}: {error.strerror or error}") from None


def _say(text: str) -> None:
    click.echo(text, err=True)
