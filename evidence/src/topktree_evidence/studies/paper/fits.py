"""One run of an accuracy figure: a tree fitted to the training part of a split, judged on both parts.

In: a Task with the key columns below. Out: errors, leaves and seconds of the fit.
The one idea: all accuracy figures differ only in which of these runs they have.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from statistics import fmean, median, stdev
from typing import Any

import numpy as np

from topktree._classifier import TopKTreeClassifier
from topktree_evidence.splits import FIRST_SEED, PAPER_COLUMNS, Array, seeds, split
from topktree_evidence.study import FINISHED, TIMEOUT, Experiment, Row, Settings, Task, Value, its_dataset

KEYS = ("dataset", "columns", "seed", "k", "depth", "criterion", "noise", "candidates")
RESULTS = ("train_rows", "train_errors", "test_rows", "test_errors", "leaves", "nodes", "seconds")
ALL = "all"
TOP, RANDOM = "top", "random"
CELL = tuple(name for name in KEYS if name != "seed")  # what a mean over the splits is known by
GREEDY = {"k": 1, "candidates": TOP}
MEANS = ("train_mean", "train_sd", "test_mean", "test_sd", "gain_mean", "gain_sd", "leaves", "seconds")
SUMMARY = (*CELL, "splits", "finished", "stopped", "limit", *MEANS)

Cell = tuple[Value, ...]


def tasks(
    dataset_names: Iterable[str],
    settings: Settings,
    *,
    ks: Sequence[Value],
    depths: Sequence[int],
    columns: Sequence[str] = (PAPER_COLUMNS,),
    criteria: Sequence[str] = ("entropy",),
    noises: Sequence[float] = (0.0,),
    candidates: Sequence[str] = (TOP,),
) -> list[Task]:
    """Every combination, for each split of each dataset."""
    found: list[Task] = []
    for dataset in dataset_names:
        found += [
            dict(zip(KEYS, (dataset, column, seed, k, depth, criterion, noise, candidate), strict=True))
            for column, seed, k, depth, criterion, noise, candidate in product(
                columns, seeds(dataset, settings), ks, up_to(depths, settings), criteria, noises, candidates
            )
        ]
    return found


def up_to(depths: Sequence[int], settings: Settings) -> list[int]:
    """The depths that the user allows."""
    return [depth for depth in depths if settings.max_depth is None or depth <= settings.max_depth]


def run(task: Task, settings: Settings) -> Row:
    """Fit, count errors."""
    seed = task["seed"]
    X_train, X_test, y_train, y_test = split(task["dataset"], task["columns"], seed, settings.data_home)
    tree = TopKTreeClassifier(
        k=task["k"],
        max_depth=task["depth"],
        criterion=RandomScores(seed) if task["candidates"] == RANDOM else task["criterion"],
        time_limit=settings.time_limit,
    )
    labels = with_noise(y_train, task["noise"], seed)
    tree.fit(X_train, labels)
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
    """Labels of which a share, the same rows for all greater shares, is replaced by another class."""
    rng = np.random.default_rng(seed)
    classes = np.unique(y)
    flipped = rng.random(len(y)) < share
    step = rng.integers(1, len(classes), len(y))
    return np.where(flipped, classes[(np.searchsorted(classes, y) + step) % len(classes)], y)


class RandomScores:
    """A criterion without sense: k random columns of every node instead of its k best, the same for the same node."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, left: Array, right: Array) -> Array:
        """A score for every column."""
        node = zlib.crc32(right.tobytes(), zlib.crc32(left.tobytes()))
        return np.random.default_rng((self.seed, node)).random(len(left))


def effort(task: Task) -> tuple[int, ...]:
    """The first split goes first, k by k: where it is stopped, the others are not tried."""
    depth, k = size(task)
    return (depth, 0, k) if task["seed"] == FIRST_SEED else (depth, 1, 0)


def size(task: Task) -> tuple[int, int]:
    """Depth and k of a search."""
    depth, k = task["depth"], task["k"]
    return depth, k if isinstance(k, int) else 2**31


def is_wider(task: Task, stopped: Task) -> bool:
    """Whether a search is at least as deep and as wide as another; all columns are a search of their own kind."""
    if (task["k"] == ALL) != (stopped["k"] == ALL):
        return False
    return all(ours >= theirs for ours, theirs in zip(size(task), size(stopped), strict=True))


def is_hopeless(task: Task, stopped: Task) -> bool:
    """The same search, deeper or wider, than one that was stopped on some split of the dataset."""
    return is_wider(task, stopped) and all(task[name] == stopped[name] for name in CELL if name not in ("k", "depth"))


def summarise(rows: Sequence[Row]) -> list[Row]:
    """Means over the splits, and the gain over the greedy tree of the same split.

    A cell with a split that did not finish has none.
    """
    cells: dict[Cell, list[Row]] = {}
    for row in rows:
        cells.setdefault(tuple(row[name] for name in CELL), []).append(row)
    return [dict(zip(CELL, cell, strict=True)) | _means(cells[cell], cells.get(_greedy(cell), [])) for cell in cells]


def _greedy(cell: Cell) -> Cell:
    """The cell of the greedy tree, all else being equal."""
    return tuple(GREEDY.get(name, value) for name, value in zip(CELL, cell, strict=True))


def _means(rows: Sequence[Row], greedy: Sequence[Row]) -> Row:
    finished = sum(row["status"] == FINISHED for row in rows)
    found: Row = {
        "splits": len(rows),
        "finished": finished,
        "stopped": sum(row["status"] == TIMEOUT for row in rows),  # the rest was not tried
        "limit": max(row["limit"] or 0.0 for row in rows),
    }
    if finished < len(rows):
        return found | dict.fromkeys(MEANS)
    test = _accuracy(rows, "test")
    values = (*spread(_accuracy(rows, "train")), *spread(test), *spread(differences(rows, greedy)))
    leaves, seconds = ([row[name] for row in rows] for name in ("leaves", "seconds"))
    return found | dict(zip(MEANS, (*values, round(fmean(leaves), 2), round(median(seconds), 6)), strict=True))


def differences(rows: Sequence[Row], others: Sequence[Row]) -> list[float]:
    """Test accuracy less that of another run of the same split, where both finished."""
    done = [row for row in others if row["status"] == FINISHED]
    base = dict(zip([row["seed"] for row in done], _accuracy(done, "test"), strict=True))
    mine = zip(rows, _accuracy(rows, "test"), strict=True)
    return [accuracy - base[row["seed"]] for row, accuracy in mine if row["seed"] in base]


def _accuracy(rows: Sequence[Row], part: str) -> list[float]:
    """Of finished runs."""
    return [1 - row[f"{part}_errors"] / row[f"{part}_rows"] for row in rows]


def spread(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean and standard deviation."""
    if not values:
        return None, None
    return round(fmean(values), 6), round(stdev(values), 6) if len(values) > 1 else 0.0


def experiment(
    name: str,
    plan: Callable[[Settings], list[Task]],
    pictures: Callable[[Sequence[Row]], dict[str, Any]] | None = None,
    drawn: tuple[str, ...] = (),
    summarise: Callable[[Sequence[Row]], list[Row]] = summarise,
    summary: tuple[str, ...] = SUMMARY,
) -> Experiment:
    """An accuracy figure."""
    return Experiment(
        name,
        KEYS,
        RESULTS,
        plan,
        run=run,
        effort=effort,
        is_hopeless=is_hopeless,
        needs=its_dataset,
        summarise=summarise,
        summary=summary,
        pictures=pictures,
        drawn=drawn,
    )
