"""The work of `topktree fit`: a tree for a table, tested on rows that it has not seen.

In: the arguments of the command. Out: on stdout a summary and the tree, or JSON; on stderr progress and warnings; a
model file and a report, where they are asked for. The one idea: the accuracy that a user reads first is measured on
held-out rows, so some are held out unless the user says otherwise.
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
from .columns import (
    Labelled,
    check_column,
    known_as_text,
    known_features,
    known_labels,
    read_labelled,
    read_target,
    read_weights,
)
from .files import STDIN, check_apart, file_title, write_file
from .fit_summary import print_fit, summarise
from .messages import Mistake, warnings_as_lines
from .options import ColumnOptions
from .table_files import TableFile


def fit_and_show(
    data: str,
    columns: ColumnOptions,
    test_file: str | None,
    test_size: float,
    random_state: int,
    save: Path | None,
    report: Path | None,
    report_rows: int,
    to_json: bool,
    k: tuple[int | str, ...],
    **parameters: Any,  # of TopKTreeClassifier, by its names
) -> None:
    """Fit the tree, print the summary and write the files."""
    if data == test_file == STDIN:
        raise Mistake("FILE and --test cannot both be standard input")
    check_apart({"--save": save, "--report": report}, {"FILE": data, "--test": test_file})
    parameters["k"] = _k_per_level(k, parameters["max_depth"])
    title = file_title(data)
    table = read_labelled(data, columns)
    if test_file is None:
        train, test = hold_out(table, test_size, random_state, title)
        origin = f"held out (--test-size {test_size:g})"
    else:
        train, test = table, _read_test(test_file, table, columns)  # before the search, which may take long
        origin = f"of {file_title(test_file)}"
    if test is not None and test.weights is not None and not test.weights.any():
        raise Mistake(f"--weight {columns.weight}: all rows to test the tree have weight 0")
    start = time.perf_counter()
    classifier = _fit(train, parameters, exact_root=report is not None)
    summary = summarise(classifier, columns.target, train, test, time.perf_counter() - start)
    try:
        if to_json:
            click.echo(json.dumps(summary, indent=1, allow_nan=False))
        else:
            print_fit(classifier, summary, train, title, origin, columns.weight)
    finally:  # also when the output's reader has gone, as in `| head -5`
        if save is not None:
            write_file("--save", save, lambda: classifier.save(save))
        if report is not None:
            rows = (None, None, None) if test is None else (test.X, test.y, test.weights)
            heading = f"{columns.target} of {Path(title).name}"
            write_file(
                "--report", report, lambda: classifier.report(report, *rows, title=heading, max_rows=report_rows)
            )


def hold_out(table: Labelled, share: float, seed: int, title: str) -> tuple[Labelled, Labelled | None]:
    """Return training rows and test rows, both in the order of the table; every class keeps a training row.

    The rows of each class get positions at even distances from 0 to 1, in random order, and the rows with the lowest
    positions are the test rows: so each class has its share, however many classes there are.
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


def _k_per_level(k: tuple[int | str, ...], depth: int) -> Any:
    if len(k) == 1:
        return k[0]
    if len(k) < depth:
        text = ",".join(map(str, k))
        raise Mistake(f"-k {text}: must be one value, or one for each of the {depth} levels of --depth, got {len(k)}")
    return k


def _fit(train: Labelled, parameters: dict[str, Any], exact_root: bool) -> TopKTreeClassifier:
    """Fit the tree; `exact_root` is for a report, and only where it takes little time and no time limit is set."""
    exact_root = exact_root and checks.is_narrow(parameters["k"]) and parameters["time_limit"] is None
    classifier = TopKTreeClassifier(**parameters, verbose=int(sys.stderr.isatty()))
    try:
        with warnings_as_lines():
            return classifier.fit(train.X, train.y, train.weights, exact_root=exact_root)
    except (TypeError, ValueError) as error:
        raise Mistake(str(error)) from error


def _read_test(path: str, train: Labelled, columns: ColumnOptions) -> Labelled:
    """Read the rows of another file, its columns as the tree will know them."""
    features = learn_features(read_table(TopKTreeClassifier(), train.X, reset=True), "from_dtype", None)
    file = TableFile(path)
    kind = (columns.types or {}).get(columns.target)
    frame = file.read(as_text=[*known_as_text(features), *([columns.target] if kind not in (None, NUMBER) else [])])
    check_column(frame, file.title, "--target", columns.target)
    target = read_target(frame[columns.target], file.title, kind)
    y = known_labels(target, file.title, np.unique(train.y.to_numpy()))
    weights = read_weights(frame, file.title, columns.weight)
    return Labelled(known_features(frame, file.title, features, has_names=True), y, weights)
