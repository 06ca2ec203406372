"""The summary of the runs on ensembles: means over the splits, and differences on the same splits.

In: the runs of equal.py and of tuned.py. Out: a row per dataset and cell of either.
The one idea: a difference is taken split by split, and comes with its p-value (paired.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

import pandas as pd

from ...paired import compared
from ...study import FAILED, FINISHED, Row
from .equal import KS, LISTS, SIZES
from .models import OURS, PEERS, TREE
from .tuned import GREEDY

ENDS = (min(KS), max(KS))  # the k that are compared with scikit-learn's models
CELL = ("dataset", "method", "k", "depth", "trees")
TUNED_CELL = ("dataset", "league", "method")
MEANS = ("test_mean", "train_mean", "leaves", "cpu")
TUNED_MEANS = ("test_mean", "leaves", "trees", "k", "depth", "cpu", "fit_cpu", "tried", "planned", "limit")

Key = tuple[Any, ...]


def with_p(names: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of differences to each of these, with their p-values."""
    return tuple(column for name in names for column in (name, f"{name}_p"))


# "gain" is over k = 1, everything else being equal; of tuned models, over the same method that may choose k = 1 only.
OPPONENTS = ("gain", *PEERS)
TUNED_OPPONENTS = ("gain", TREE, *PEERS)
SUMMARY = (*CELL, "splits", "stopped", "limit", *MEANS, *with_p(OPPONENTS))
TUNED_SUMMARY = (*TUNED_CELL, "splits", *TUNED_MEANS, *with_p(TUNED_OPPONENTS))


def summarise(runs: pd.DataFrame) -> pd.DataFrame:
    """Summarise `ensembles`: every cell that was tried, also if the limit stopped all of its runs."""
    runs = _by_size(runs[runs["status"] != FAILED])
    done = _by_cell(runs[runs["status"] == FINISHED], CELL)
    rows = []
    for cell, own in runs.groupby(list(CELL)):
        stopped = own[own["status"] != FINISHED]
        found: Row = {"splits": len(own) - len(stopped), "stopped": len(stopped), "limit": stopped["limit"].max()}
        mine = done.get(cell)
        if mine is not None:
            found |= _means(mine, MEANS) | _against(mine, _opponents(cell, done), OPPONENTS)
        rows.append(dict(zip(CELL, cell, strict=True)) | found)
    return pd.DataFrame(rows, columns=SUMMARY)


def _by_size(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each of the sizes of a run; their numbers are lists in the run."""
    is_done = runs["status"] == FINISHED
    runs = runs.assign(size=[SIZES[trees] for trees in runs["trees"]])
    for name in LISTS:
        lists = [
            json.loads(text) if done else [None] * len(sizes)
            for text, done, sizes in zip(runs[name], is_done, runs["size"], strict=True)
        ]
        runs = runs.assign(**{name: lists})
    runs = runs.explode(["size", *LISTS], ignore_index=True)
    train = 1 - runs["train_errors"].astype(float) / runs["train_rows"].astype(float)
    return _with_accuracy(runs.assign(trees=runs["size"].astype(int), train_mean=train))


def _with_accuracy(runs: pd.DataFrame) -> pd.DataFrame:
    test_rows, train_rows = (runs[name].astype(float) for name in ("test_rows", "train_rows"))
    return runs.assign(test_mean=1 - runs["test_errors"].astype(float) / test_rows, test_share=test_rows / train_rows)


def _by_cell(runs: pd.DataFrame, cell: tuple[str, ...]) -> dict[Key, pd.DataFrame]:
    return {key: own.set_index("seed") for key, own in runs.groupby(list(cell))}


def _opponents(cell: Key, done: Mapping[Key, pd.DataFrame]) -> dict[str, pd.DataFrame | None]:
    dataset, method, k, depth, trees = cell
    found: dict[str, pd.DataFrame | None] = {}
    if method in OURS and k != min(KS):
        found["gain"] = done.get((dataset, method, min(KS), depth, trees))
    if method in OURS and k in ENDS:
        found |= {peer: done.get((dataset, peer, 0, depth, trees)) for peer in PEERS}
    return found


def _against(mine: pd.DataFrame, opponents: Mapping[str, pd.DataFrame | None], names: Iterable[str]) -> Row:
    """Return the columns of differences; empty where there is nothing to compare."""
    found: Row = {}
    for name in names:
        other = opponents.get(name)
        theirs = {} if other is None else other["test_mean"].to_dict()
        pair = compared(mine["test_mean"].to_dict(), theirs, mine["test_share"].iloc[0])
        found |= dict(zip((name, f"{name}_p"), pair, strict=True))
    return found


def _means(mine: pd.DataFrame, names: Iterable[str]) -> Row:
    """Return means with five digits, whatever the size."""
    return {name: float(f"{fmean(mine[name]):.5g}") for name in names}


def summarise_tuned(runs: pd.DataFrame) -> pd.DataFrame:
    """Summarise `ensembles-tuned`: methods with a result in at least one split."""
    done = _by_cell(_with_accuracy(runs[runs["status"] == FINISHED]), TUNED_CELL)
    rows = []
    for cell, own in sorted(done.items()):
        dataset, league, method = cell
        others = {"gain": f"{method}{GREEDY}", **{name: name for name in (TREE, *PEERS)}}
        opponents = {name: done.get((dataset, league, other)) for name, other in others.items() if other != method}
        row = dict(zip(TUNED_CELL, cell, strict=True)) | {"splits": len(own)}
        rows.append(row | _means(own, TUNED_MEANS) | _against(own, opponents, TUNED_OPPONENTS))
    return pd.DataFrame(rows, columns=TUNED_SUMMARY)
