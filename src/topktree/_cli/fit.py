"""The work of `topktree fit`: a tree for a table, tested on rows that it has not seen.

In: the arguments of the command. Out: on stdout a summary and the tree, or JSON; on stderr progress and warnings; a
model file and a report, if requested. The one idea: the accuracy that a user reads first is measured on
held-out rows, so some are held out unless the user says otherwise.
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._classifier import TopKTreeClassifier
from .._data.features import one_line
from .._runtime import checks
from .._runtime.limits import TIME_LIMIT
from .columns import Labelled, read_labelled, read_test
from .files import STDIN, check_apart, file_title, write_file
from .messages import Mistake, counted, echo, estimator_messages, listed
from .table_files import TableFile

MOST_CLASSES = 5  # in a line
MOST_LEAVES = 100  # of a tree on the screen
MOST_LETTERS = 40  # of a label
PARAMETERS = (
    "k",
    "max_depth",
    "max_leaf_nodes",
    "leaf_penalty",
    "criterion",
    "refine",
    "min_samples_leaf",
    "class_weight",
    "max_thresholds",
)
STATUS = {
    "complete": "the search ran to completion",
    "refined": "the search and the local search after it ran to completion",
    "optimal": "no tree of this depth over these columns is better",
    "time_limit": "stopped at the time limit, after the search with k = {k_reached}",
    "greedy": "stopped at the time limit, with the greedy tree",
}


def fit_and_show(
    data: str,
    target: str,
    weight: str | None,
    types: dict[str, str],
    drop: tuple[str, ...],
    sep: str | None,
    decimal: str | None,
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
    parameters["k"] = k[0] if len(k) == 1 else k
    title = file_title(data)
    table = read_labelled(TableFile(data, sep, decimal), target, weight, types, drop)
    if test_file is None:
        train, test = hold_out(table, test_size, random_state, title)
        origin = f"held out (--test-size {test_size:g})"
    else:
        file = TableFile(test_file, sep, decimal)
        train, test = table, read_test(file, table, target, weight, types.get(target))
        origin = f"of {file_title(test_file)}"
    if test is not None and test.weights is not None and not test.weights.any():
        raise Mistake(f"--weight {weight}: all rows to test the tree have weight 0")
    # The report compares all splits of the root, if finding their costs takes little time.
    exact_root = report is not None and checks.is_narrow(parameters["k"]) and parameters["time_limit"] is None
    classifier = TopKTreeClassifier(**parameters, verbose=int(sys.stderr.isatty()))
    start = time.perf_counter()
    with estimator_messages():
        classifier.fit(train.X, train.y, train.weights, exact_root=exact_root)
    seconds = time.perf_counter() - start
    with estimator_messages(f"test rows {origin}: "):
        summary = summarise(classifier, target, train, test, seconds)
    try:
        if to_json:
            echo(json.dumps(summary, indent=1, allow_nan=False))
        else:
            print_fit(classifier, summary, train, title, origin, weight)
    finally:  # even if the reader of the output is gone, as in `| head -5`
        write_file("--save", save, classifier.save)
        rows = (None, None, None) if test is None else (test.X, test.y, test.weights)
        heading = f"{target} of {Path(title).name}"
        write_file("--report", report, lambda p: classifier.report(p, *rows, title=heading, max_rows=report_rows))


def hold_out(table: Labelled, share: float, seed: int, title: str) -> tuple[Labelled, Labelled | None]:
    """Return training rows and test rows, both in the order of the table; every class keeps a training row.

    The rows of each class get positions at even distances from 0 to 1, in random order, and the rows with the lowest
    positions are the test rows. So each class has its share, however many classes there are.
    """
    if share == 0:
        return table, None
    n_rows = len(table.y)
    order = np.random.default_rng(seed).permutation(n_rows)
    of_class = table.y.iloc[order].groupby(table.y.to_numpy()[order], sort=False)
    rank, size = of_class.cumcount().to_numpy(), of_class.transform("size").to_numpy()
    position = np.where(rank + 1 < size, (rank + 0.5) / size, np.inf)  # the last row of a class is not for testing
    ranked = order[np.argsort(position, kind="stable")]
    n_test = min(max(round(share * n_rows), 1), int(np.isfinite(position).sum()))
    if n_test == 0:
        raise Mistake(f"{title} has too few rows to hold some out: --test-size 0 fits the tree to all")
    return table.take(np.sort(ranked[n_test:])), table.take(np.sort(ranked[:n_test]))


def summarise(
    classifier: TopKTreeClassifier, target: str, train: Labelled, test: Labelled | None, seconds: float
) -> dict[str, Any]:
    """Return the summary, which is also the JSON; its shares are of the rows' weight."""
    parameters = checks.to_json(classifier.get_params())
    most_frequent, _ = _class_shares(classifier, train)[0]
    return {
        "params": {name: parameters[name] for name in PARAMETERS},
        "target": target,
        "classes": classifier.classes_.tolist(),
        "features": classifier.n_features_in_,
        "train": _score(classifier, train),
        "test": None if test is None else _score(classifier, test),
        "baseline": dict(_class_shares(classifier, test or train))[most_frequent],
        "leaves": classifier.get_n_leaves(),
        "depth": classifier.get_depth(),
        "status": classifier.status_,
        "k_reached": classifier.search_["k_reached"],
        "cost": classifier.cost_,
        "nodes": classifier.search_["nodes"],
        "seconds": round(seconds, 3),
    }


def print_fit(
    classifier: TopKTreeClassifier,
    summary: dict[str, Any],
    train: Labelled,
    title: str,
    origin: str,
    weight: str | None,
) -> None:
    """Print the summary, with the test accuracy in bold on a terminal, and the tree."""
    shares = [(_name(label), share) for label, share in _class_shares(classifier, train)]
    weights = f", weighted by {weight}" if weight else ""
    n_test = "none" if summary["test"] is None else f"{summary['test']['rows']:,} {origin}"
    classes = listed([f"{label} {share:.1%}" for label, share in shares], MOST_CLASSES)
    baseline = f"; always {shares[0][0]}: {summary['baseline']:.1%}"
    lines = {
        "Data": f"{title}: {counted(summary['features'], 'feature')}{weights}; "
        f"{counted(summary['train']['rows'], 'row')} to fit the tree, {n_test} to test it",
        "Target": f"{summary['target']}: {counted(len(shares), 'class', 'classes')}, {classes}",
        "Tree": _tree(summary),
        "Test": "" if summary["test"] is None else _accuracy(summary, "test") + baseline,
        "Training": _accuracy(summary, "train") + (baseline if summary["test"] is None else ""),
    }
    for name, text in lines.items():
        if text:
            line = f"{name:<8}  {one_line(text)}"
            echo(click.style(line, bold=True) if name == "Test" else line)
    echo("")
    if summary["leaves"] > MOST_LEAVES:
        leaves = f"A tree of {summary['leaves']:,} leaves"
        echo(f"{leaves} is too large to be read here: --save it, and topktree show prints it.")
    else:
        echo(classifier.export_text().rstrip())


def _tree(summary: dict[str, Any]) -> str:
    is_greedy = summary["status"] == TIME_LIMIT and summary["k_reached"] == 0  # it comes before a lookahead
    status = STATUS["greedy" if is_greedy else summary["status"]].format(**summary)
    leaves = counted(summary["leaves"], "leaf", "leaves")
    k = checks.k_text(summary["params"]["k"])
    return f"{leaves}, depth {summary['depth']}; k = {k}, {summary['seconds']:,.2f} seconds: {status}"


def _accuracy(summary: dict[str, Any], part: str) -> str:
    score = summary[part]
    error = f" ± {100 * score['se']:.1f}" if part == "test" else ""
    balanced = f", {score['balanced_accuracy']:.1%} balanced" if summary["params"]["class_weight"] else ""
    wrong = f"{score['errors']:,} of {counted(score['rows'], 'row')} wrong"
    return f"accuracy {score['accuracy']:.1%}{error}{balanced}; {wrong}"


def _name(label: Any) -> str:
    """Return a label, cut where it would fill the line."""
    text = str(label)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 3]}..."


def _score(classifier: TopKTreeClassifier, table: Labelled) -> dict[str, Any]:
    true, weights = table.y.to_numpy(), _weights(table)
    right = classifier.predict(table.X) == true
    _, classes = np.unique(true, return_inverse=True)
    of_class, right_of_class = np.bincount(classes, weights), np.bincount(classes, weights * right)
    present = of_class > 0
    accuracy = float(right_of_class.sum() / of_class.sum())
    effective = weights.sum() ** 2 / (weights**2).sum()  # the equivalent number of equally weighted rows
    return {
        "rows": len(true),
        "errors": int(np.count_nonzero(~right)),
        "accuracy": accuracy,
        "se": math.sqrt(max(accuracy * (1 - accuracy), 0.0) / effective),
        "balanced_accuracy": float(np.mean(right_of_class[present] / of_class[present])),
    }


def _class_shares(classifier: TopKTreeClassifier, table: Labelled) -> list[tuple[Any, float]]:
    """Return the tree's classes and their shares of the rows' weight, the largest share first."""
    labels, indices = np.unique(table.y.to_numpy(), return_inverse=True)
    weight = dict(zip(labels.tolist(), np.bincount(indices, _weights(table)).tolist(), strict=True))
    total = sum(weight.get(label, 0.0) for label in classifier.classes_.tolist())
    shares = [(label, weight.get(label, 0.0) / total) for label in classifier.classes_.tolist()]
    return sorted(shares, key=lambda pair: -pair[1])


def _weights(table: Labelled) -> Any:
    """Return the rows' weights, scaled to at most 1 so that their squares neither overflow nor all underflow."""
    return np.ones(len(table.y)) if table.weights is None else table.weights / table.weights.max()
