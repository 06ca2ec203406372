"""One run of an accuracy figure: a tree fitted to the training part of a split, evaluated on both parts.

In: a Task with the key columns below. Out: errors, leaves and seconds of the fit; their means over the splits.
The one idea: all accuracy figures differ only in which of these runs they have.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import product
from statistics import fmean, median, stdev

import numpy as np
import pandas as pd

from topktree import TopKTreeClassifier

from ...pictures import ALL
from ...splits import FIRST_SEED, PAPER_COLUMNS, Array, chosen, seeds, split
from ...study import FINISHED, TIMEOUT, Row, Settings, Study, Task, Value

KEYS = ("dataset", "columns", "seed", "k", "depth", "criterion", "noise", "candidates")
RESULTS = ("train_rows", "train_errors", "test_rows", "test_errors", "leaves", "nodes", "seconds")
TOP, RANDOM = "top", "random"
CELL = tuple(name for name in KEYS if name != "seed")  # what a mean over the splits is identified by
GREEDY = {"k": 1, "candidates": TOP}
MEANS = ("train_mean", "train_sd", "test_mean", "test_sd", "gain_mean", "gain_sd", "leaves", "seconds")
SUMMARY = (*CELL, "splits", "finished", "stopped", "limit", *MEANS)


def tasks(
    settings: Settings,
    names: list[str] | None = None,
    *,
    ks: Sequence[Value],
    depths: Sequence[int],
    columns: Sequence[str] = (PAPER_COLUMNS,),
    criteria: Sequence[str] = ("entropy",),
    noises: Sequence[float] = (0.0,),
    candidates: Sequence[str] = (TOP,),
) -> list[Task]:
    """Plan every combination, for each split of the datasets that the user asks for, out of all or of `names`."""
    return [
        dict(zip(KEYS, (dataset, *values), strict=True))
        for dataset in chosen(settings, names)
        for values in product(
            columns, seeds(dataset, settings), ks, settings.up_to(depths), criteria, noises, candidates
        )
    ]


def run(task: Task, settings: Settings) -> Row:
    """Fit, and count errors."""
    seed = task["seed"]
    X_train, X_test, y_train, y_test = split(task["dataset"], task["columns"], seed, settings.data_home)
    tree = TopKTreeClassifier(
        k=task["k"],
        max_depth=task["depth"],
        criterion=RandomScores(seed) if task["candidates"] == RANDOM else task["criterion"],
        time_limit=settings.time_limit,
    )
    tree.fit(X_train, with_noise(y_train, task["noise"], seed))
    return {
        "status": TIMEOUT if tree.status_ == "time_limit" else FINISHED,
        "train_rows": len(X_train),
        "train_errors": tree.train_errors_,
        "test_rows": len(X_test),
        "test_errors": int(np.count_nonzero(tree.predict(X_test) != y_test)),
        "leaves": int(tree.get_n_leaves()),
        "nodes": tree.search_["nodes"],
        "seconds": tree.search_["seconds"],
    }


def with_noise(y: Array, share: float, seed: int) -> Array:
    """Replace a share of the labels by another class; a greater share changes the same rows and more."""
    rng = np.random.default_rng(seed)
    classes = np.unique(y)
    flipped = rng.random(len(y)) < share
    step = rng.integers(1, len(classes), len(y))
    return np.where(flipped, classes[(np.searchsorted(classes, y) + step) % len(classes)], y)


class RandomScores:
    """A criterion that ranks columns at random, the same way at the same node, so that k random columns are tried."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, left: Array, right: Array) -> Array:
        """Return a score for every column."""
        node = zlib.crc32(right.tobytes(), zlib.crc32(left.tobytes()))
        return np.random.default_rng((self.seed, node)).random(len(left))


def effort(task: Task) -> tuple[int, ...]:
    """Order the runs: the first split goes first, k by k, since the others are not tried where it is stopped."""
    depth, k = size(task)
    return (depth, 0, k) if task["seed"] == FIRST_SEED else (depth, 1, 0)


def size(task: Task) -> tuple[int, int]:
    """Return depth and k of a search."""
    return task["depth"], 2**31 if task["k"] == ALL else task["k"]


def is_wider(task: Task, stopped: Task) -> bool:
    """Compare two searches: at least as deep and as wide? Searching all columns is a search of its own kind."""
    if (task["k"] == ALL) != (stopped["k"] == ALL):
        return False
    return all(ours >= theirs for ours, theirs in zip(size(task), size(stopped), strict=True))


def is_hopeless(task: Task, stopped: Task) -> bool:
    """Return True for a search that is deeper or wider than one that was stopped on some split of the dataset."""
    return is_wider(task, stopped) and all(task[name] == stopped[name] for name in CELL if name not in ("k", "depth"))


def summarise(runs: pd.DataFrame) -> pd.DataFrame:
    """Return means over the splits, and the gain over the greedy tree of the same split.

    A cell with a split that did not finish has no means.
    """
    cells = cells_of(runs)
    rows = []
    for cell, own in cells.items():
        greedy = tuple(GREEDY.get(name, value) for name, value in zip(CELL, cell, strict=True))
        rows.append(dict(zip(CELL, cell, strict=True)) | _means(own, cells.get(greedy)))
    return pd.DataFrame(rows, columns=SUMMARY)


def cells_of(runs: pd.DataFrame) -> dict[tuple[Value, ...], pd.DataFrame]:
    """Return the runs by cell, with their accuracies, by seed."""
    for part in ("train", "test"):
        errors, rows = (runs[f"{part}_{name}"].astype(float) for name in ("errors", "rows"))
        runs = runs.assign(**{f"{part}_accuracy": 1 - errors / rows})
    return {cell: own.set_index("seed") for cell, own in runs.groupby(list(CELL), sort=False)}


def _means(own: pd.DataFrame, greedy: pd.DataFrame | None) -> Row:
    finished = int((own["status"] == FINISHED).sum())
    found: Row = {
        "splits": len(own),
        "finished": finished,
        "stopped": int((own["status"] == TIMEOUT).sum()),  # the rest was not tried
        "limit": own["limit"].max(),
    }
    if finished < len(own):
        return found | dict.fromkeys(MEANS)
    gains = [] if greedy is None else differences(own, greedy)
    spreads = (*spread(own["train_accuracy"]), *spread(own["test_accuracy"]), *spread(gains))
    values = (*spreads, round(fmean(own["leaves"]), 2), round(median(own["seconds"]), 6))
    return found | dict(zip(MEANS, values, strict=True))


def differences(own: pd.DataFrame, others: pd.DataFrame) -> list[float]:
    """Return test accuracies less those of other runs of the same splits, where these finished."""
    base = others.loc[others["status"] == FINISHED, "test_accuracy"]
    return list((own["test_accuracy"] - base.reindex(own.index)).dropna())


def spread(values: Iterable[float]) -> tuple[float | None, float | None]:
    """Return mean and standard deviation."""
    found = list(values)
    if not found:
        return None, None
    return round(fmean(found), 6), round(stdev(found), 6) if len(found) > 1 else 0.0


# An accuracy figure: a study whose runs are these.
study = partial(
    Study,
    keys=KEYS,
    results=RESULTS,
    run=run,
    effort=effort,
    is_hopeless=is_hopeless,
    summarise=summarise,
    summary=SUMMARY,
)
