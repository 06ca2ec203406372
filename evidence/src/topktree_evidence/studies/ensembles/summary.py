"""What the runs on ensembles come to: means over the splits, and differences on the same splits.

In: the rows of ensembles.py and of ensembles_tuned.py. Out: a row per dataset and cell of either.
The one idea: a difference is taken split by split, and comes with its p-value (paired.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from topktree_evidence.paired import compared
from topktree_evidence.studies.ensembles.equal import KS, LISTS, SIZES
from topktree_evidence.studies.ensembles.models import OURS, PEERS, TREE
from topktree_evidence.studies.ensembles.tuned import GREEDY
from topktree_evidence.study import FAILED, FINISHED, Row

ENDS = (min(KS), max(KS))  # the k that are compared to scikit-learn's
CELL = ("dataset", "method", "k", "depth", "trees")
WAY = ("dataset", "league", "method")


def differences(names: Iterable[str]) -> tuple[str, ...]:
    """Columns of differences to each of these."""
    return tuple(column for name in names for column in (name, f"{name}_p"))


# "gain" is over k = 1, everything else being equal; then against each of scikit-learn's.
SUMMARY = (
    *CELL,
    "splits",
    "stopped",
    "limit",
    "test_mean",
    "train_mean",
    "leaves",
    "cpu",
    *differences(("gain", *PEERS)),
)
# "gain" is over the same method that may choose k = 1 only.
TUNED_SUMMARY = (
    *(*WAY, "splits", "test_mean", "leaves", "trees", "k", "depth", "cpu", "fit_cpu", "tried", "planned", "limit"),
    *differences(("gain", TREE, *PEERS)),
)

Entry = dict[str, float]  # of one split
Entries = dict[tuple[Any, ...], dict[int, Entry]]  # by cell, then by seed


def summary(rows: Sequence[Row]) -> list[Row]:
    """Of `ensembles`: every cell that was tried, also if the limit stopped all of its runs."""
    entries: Entries = {}
    limits: dict[tuple[Any, ...], list[float]] = {}  # of the runs that were stopped
    for row in rows:
        for cell, entry in _cells(row) if row["status"] != FAILED else ():
            of_seeds = entries.setdefault(cell, {})
            if entry is None:
                limits.setdefault(cell, []).append(row["limit"])
            else:
                of_seeds[row["seed"]] = entry
    return [
        dict(zip(CELL, cell, strict=True))
        | {
            "splits": len(entries[cell]),
            "stopped": len(limits.get(cell, [])),
            "limit": max(limits.get(cell, []), default=None),
        }
        | _means(entries[cell], ("test_mean", "train_mean", "leaves", "cpu"))
        | _against(entries[cell], dict(_opponents(cell, entries)), ("gain", *PEERS))
        for cell in sorted(entries)
    ]


def _cells(row: Row) -> Iterator[tuple[tuple[Any, ...], Entry | None]]:
    """The sizes of a run; None for each if it was not finished."""
    sizes = SIZES[row["trees"]]
    lists = [json.loads(row[name]) if row["status"] == FINISHED else [None] * len(sizes) for name in LISTS]
    for size, test, train, leaves, cpu in zip(sizes, *lists, strict=True):
        cell = (row["dataset"], row["method"], row["k"], row["depth"], size)
        yield (
            cell,
            None
            if test is None
            else {
                **_accuracy(row, test),
                "train_mean": 1 - train / row["train_rows"],
                "leaves": leaves,
                "cpu": cpu,
            },
        )


def _accuracy(row: Row, n_wrong: int) -> Entry:
    return {"test_mean": 1 - n_wrong / row["test_rows"], "test_share": row["test_rows"] / row["train_rows"]}


def _opponents(cell: tuple[Any, ...], entries: Entries) -> Iterator[tuple[str, dict[int, Entry]]]:
    dataset, method, k, depth, trees = cell
    if method not in OURS:
        return
    if k != min(KS):
        yield "gain", entries.get((dataset, method, min(KS), depth, trees), {})
    if k in ENDS:
        for peer in PEERS:
            yield peer, entries.get((dataset, peer, 0, depth, trees), {})


def _against(mine: dict[int, Entry], opponents: Mapping[str, dict[int, Entry]], names: Iterable[str]) -> Row:
    """Columns of differences; empty where there is nothing to compare."""
    share = next((entry["test_share"] for entry in mine.values()), 0.0)
    found: Row = {}
    for name in names:
        pair = compared(_accuracies(mine), _accuracies(opponents.get(name, {})), share)
        found |= dict(zip((name, f"{name}_p"), pair, strict=True))
    return found


def _accuracies(of_splits: dict[int, Entry]) -> dict[int, float]:
    return {seed: entry["test_mean"] for seed, entry in of_splits.items()}


def _means(of_splits: dict[int, Entry], names: Iterable[str]) -> Row:
    return {name: _mean([entry[name] for entry in of_splits.values()]) for name in names}


def _mean(values: Sequence[float]) -> float | None:
    """With five digits, whatever the size."""
    return float(f"{fmean(values):.5g}") if values else None


def tuned_summary(rows: Sequence[Row]) -> list[Row]:
    """Of `ensembles-tuned`: ways with a result in at least one split."""
    entries: Entries = {}
    columns = ("leaves", "trees", "k", "depth", "cpu", "fit_cpu", "tried", "planned", "limit")
    for row in rows:
        if row["status"] == FINISHED:
            entry = _accuracy(row, row["test_errors"]) | {name: row[name] for name in columns}
            entries.setdefault(tuple(row[name] for name in WAY), {})[row["seed"]] = entry
    return [
        dict(zip(WAY, way, strict=True))
        | {"splits": len(entries[way])}
        | _means(entries[way], ("test_mean", *columns))
        | _against(entries[way], dict(_tuned_opponents(way, entries)), ("gain", TREE, *PEERS))
        for way in sorted(entries)
    ]


def _tuned_opponents(way: tuple[Any, ...], entries: Entries) -> Iterator[tuple[str, dict[int, Entry]]]:
    dataset, league, method = way
    for name, other in (("gain", f"{method}{GREEDY}"), *((name, name) for name in (TREE, *PEERS))):
        if other != method:
            yield name, entries.get((dataset, league, other), {})
