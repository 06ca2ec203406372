"""`topktree fit`: a tree for a table, and how good it is on rows that it has not seen.

In: a file, the parameters of the tree and the rows to test it, as arguments. Out: on stdout a summary and the tree, or
JSON; on stderr progress and warnings; a model file and a report, where they are asked for. The one idea: the accuracy
that a user reads first is one of held-out rows, so some are held out unless the user says otherwise.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._classifier import TopKTreeClassifier
from .._data.features import learn_features
from .._data.table import NUMBER, read_table
from .._runtime import checks
from .._search.objective import CRITERIA
from .columns import (
    ColumnOptions,
    Labelled,
    check_column,
    known_as_text,
    known_features,
    known_labels,
    read_labelled,
    read_target,
    read_weights,
)
from .common import (
    FiniteRange,
    Mistake,
    check_apart,
    jobs_option,
    json_option,
    limit_option,
    list_of_ks,
    output_option,
    report_title,
    seed_option,
    warnings_as_lines,
    write_file,
)
from .fit_text import FitResult, as_json, print_fit
from .options import columns_options
from .tables import STDIN, TableFile, file_title

TEST_SIZE = 0.2
UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


def _leaf_penalty(context: click.Context, parameter: click.Parameter, text: str) -> float | str:
    try:
        penalty = text if text == "tie" else float(text)
        checks.check_leaf_penalty(penalty)
    except ValueError:
        raise Mistake(f'--leaf-penalty {text}: must be a number from 0 to 1, or "tie"') from None
    return penalty


def _max_thresholds(context: click.Context, parameter: click.Parameter, text: str) -> int | None:
    if text.lower() == "none":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise Mistake(f'--max-thresholds {text}: must be a whole number from 1 on, or "none" for every midpoint')
    return int(text)


def _memory(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    """Bytes: `500000000`, `500M`, `2GB`."""
    if text is None:
        return None
    number = text.lower().removesuffix("b").strip()
    unit = number[-1:] if number[-1:] in UNITS else ""
    digits = number.removesuffix(unit).strip()
    if not digits.isdecimal():
        raise Mistake(f"--memory-limit {text}: must be a number of bytes, also with K, M or G, such as 500M")
    return int(digits) * UNITS[unit]


@click.command("fit", short_help="A tree for a table, and its accuracy on held-out rows.")
@columns_options
@click.option(
    "-k",
    metavar="N",
    default="8",
    show_default=True,
    callback=list_of_ks,
    help='Splits tried per node: a number, "all", or one of these per level, with commas.',
)
@click.option(
    "--depth",
    "max_depth",
    metavar="N",
    type=click.IntRange(0, checks.MAX_DEPTH),
    default=5,
    show_default=True,
    help="Levels of splits.",
)
@click.option(
    "--leaf-penalty",
    metavar="X",
    default="0",
    show_default=True,
    callback=_leaf_penalty,
    help='What a leaf costs, a share of the rows; "tie": fewest errors, then fewest leaves.',
)
@click.option(
    "--criterion", type=click.Choice(CRITERIA), default=CRITERIA[0], show_default=True, help="What ranks the splits."
)
@click.option(
    "--min-samples-leaf", metavar="N", type=click.IntRange(min=1), default=1, show_default=True, help="Rows per leaf."
)
@click.option("--distinct-splits", is_flag=True, help="Splits that divide the rows alike count as one.")
@click.option("--class-weight", type=click.Choice(["balanced"]), help="All classes weigh the same.")
@click.option(
    "--max-thresholds",
    metavar="N",
    default="32",
    show_default=True,
    callback=_max_thresholds,
    help='Per numeric feature; "none": every midpoint.',
)
@click.option("--test", "test_file", metavar="FILE", type=click.Path(), help="Another table to test the tree on.")
@click.option(
    "--test-size",
    metavar="SHARE",
    type=FiniteRange(0, 1, max_open=True),
    help=f"Rows held out to test the tree; 0: none.  [default: {TEST_SIZE}, without --test]",
)
@seed_option("Which rows are held out.")
@limit_option("The best tree by then.")
@click.option(
    "--memory-limit", metavar="BYTES", callback=_memory, help="For solved subproblems, such as 500M.  [default: 1G]"
)
@jobs_option("Threads, -1: one per core.")
@output_option("--save", help="Write the tree to a model file (JSON).")
@output_option("--report", help="Write a report (HTML), which has some of the test rows in it: --report-rows.")
@click.option(
    "--report-rows",
    metavar="N",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    help="Test rows in the report, to be followed through the tree; 0: none.",
)
@json_option()
def fit_command(
    data: str,
    columns: ColumnOptions,
    test_file: str | None,
    test_size: float | None,
    random_state: int,
    save: Path | None,
    report: Path | None,
    report_rows: int,
    to_json: bool,
    k: tuple[int | str, ...],
    **parameters: Any,  # of TopKTreeClassifier, by its names
) -> None:
    """Fit a tree to a table, say how good it is, and show it.

    FILE is a table: CSV, also compressed by gzip, Parquet or Feather; - is standard input. The first line of CSV names
    the columns. Numbers are numbers, texts are categories, and missing values may be where they are, but in the target.

    A fifth of the rows, drawn by chance with the classes in proportion, is held out: the tree is not fitted to them,
    and its accuracy on them is what to expect of new rows. --test-size 0 fits the tree to all rows.
    """
    _check_test(data, test_file, test_size)
    check_apart({"--save": save, "--report": report}, {"FILE": data, "--test": test_file})
    parameters["k"] = _levels(k, parameters["max_depth"])
    test_size = TEST_SIZE if test_size is None else test_size
    table = read_labelled(data, columns)
    if test_file is None:
        train, test = hold_out(table, test_size, random_state, file_title(data))
        origin = f"held out (--test-size {test_size:g})"
    else:
        train, test = table, _read_test(test_file, table, columns)  # before the search, which may be long
        origin = f"of {file_title(test_file)}"
    if test is not None and test.weights is not None and not test.weights.any():
        raise Mistake(f"--weight {columns.weight}: all rows to test the tree have weight 0")
    start = time.perf_counter()
    classifier = _fit(train, parameters, exact_root=report is not None)
    seconds = time.perf_counter() - start
    result = FitResult(classifier, train, test, origin, columns, file_title(data), seconds)
    try:
        if to_json:
            click.echo(json.dumps(as_json(result), indent=1, allow_nan=False))
        else:
            print_fit(result)
    finally:  # also if nobody reads on, as in `| head -5`
        _write_files(result, save, report, report_rows)


def _check_test(data: str, test_file: str | None, test_size: float | None) -> None:
    if test_file is not None and test_size is not None:
        raise Mistake("--test and --test-size: only one of them can be given")
    if data == test_file == STDIN:
        raise Mistake("FILE and --test cannot both be standard input")


def hold_out(table: Labelled, share: float, seed: int, title: str) -> tuple[Labelled, Labelled | None]:
    """Training rows and test rows, in the order of the table; every class keeps a training row.

    The rows of each class are in random order at even distances from 0 to 1, and the first of all are the test rows:
    so each class has its share, however many classes there are.
    """
    if share == 0:
        return table, None
    n_rows = len(table.y)
    order = np.random.default_rng(seed).permutation(n_rows)
    position = np.empty(n_rows)
    labels = table.y.to_numpy()[order]
    _, indices = np.unique(labels.astype(str) if labels.dtype == object else labels, return_inverse=True)
    for c in range(indices.max() + 1):
        rows = np.flatnonzero(indices == c)
        position[order[rows]] = [*((np.arange(1, len(rows)) - 0.5) / len(rows)), np.inf]
    ranked = order[np.argsort(position[order], kind="stable")]
    n_test = min(max(round(share * n_rows), 1), int(np.isfinite(position).sum()))
    if n_test == 0:
        raise Mistake(f"{title} has too few rows to hold some out: --test-size 0 fits the tree to all")
    return table.take(np.sort(ranked[n_test:])), table.take(np.sort(ranked[:n_test]))


def _levels(k: tuple[int | str, ...], depth: int) -> Any:
    if len(k) == 1:
        return k[0]
    if len(k) < depth:
        text = ",".join(map(str, k))
        raise Mistake(f"-k {text}: must be one value, or one for each of the {depth} levels of --depth, got {len(k)}")
    return k


def _fit(train: Labelled, parameters: dict[str, Any], exact_root: bool) -> TopKTreeClassifier:
    """The fitted tree; `exact_root` for a report, where that is no great effort and time is not short."""
    exact_root = exact_root and checks.is_narrow(parameters["k"]) and parameters["time_limit"] is None
    classifier = TopKTreeClassifier(**parameters, verbose=int(sys.stderr.isatty()))
    try:
        with warnings_as_lines():
            return classifier.fit(train.X, train.y, train.weights, exact_root=exact_root)
    except (TypeError, ValueError) as error:
        raise Mistake(str(error)) from error


def _read_test(path: str, train: Labelled, columns: ColumnOptions) -> Labelled:
    """The rows of another file, its columns read as the tree will know them."""
    features = learn_features(read_table(TopKTreeClassifier(), train.X, reset=True), "from_dtype", None)
    file = TableFile(path)
    kind = (columns.types or {}).get(columns.target)
    frame = file.read(as_text=[*known_as_text(features), *([columns.target] if kind not in (None, NUMBER) else [])])
    check_column(frame, file.title, "--target", columns.target)
    target = read_target(frame[columns.target], file.title, kind)
    y = known_labels(target, file.title, np.unique(train.y.to_numpy()))
    weights = read_weights(frame, file.title, columns.weight)
    return Labelled(known_features(frame, file.title, features, has_names=True), y, weights, [])


def _write_files(result: FitResult, save: Path | None, report: Path | None, report_rows: int) -> None:
    classifier, test = result.classifier, result.test
    if save is not None:
        write_file("--save", save, lambda: classifier.save(save))
    if report is not None:
        X, y, weights = (None, None, None) if test is None else (test.X, test.y, test.weights)
        title = report_title(result.columns.target, result.title)
        write_file(
            "--report", report, lambda: classifier.report(report, X, y, weights, title=title, max_rows=report_rows)
        )
