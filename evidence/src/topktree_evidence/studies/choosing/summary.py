"""What the runs of `choosing` come to: means over the splits, and differences on the same splits.

In: the rows of choosing.py. Out: a row per dataset and way to get a tree: chosen by a rule, fixed, another program's.
The one idea: a choice is made again here, by the package's own rule, from the scores that the run wrote down; the tree
of every candidate was judged on the test rows already.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import Any

import numpy as np

from topktree._selection.rule import BEST, RULES, Candidate, choose, summarise
from topktree_evidence.studies.choosing.runs import DEPTHS, DISTINCT, KS, PENALTY, SKLEARN, STREED, TOPK
from topktree_evidence.studies.paper.fits import spread
from topktree_evidence.study import FINISHED, Row

FIXED = "fixed"
CELL = ("dataset", "method", "rule", "k", "depth")
# Gains are over scikit-learn's tuned tree, "plain" over the same way without distinct splits or penalties.
MEASURES = ("test_mean", "test_sd", "gain_mean", "gain_sd", "plain_mean", "plain_sd")
SUMMARY = (*CELL, "splits", *MEASURES, "leaves", "peer_leaves", "plain_leaves", "seconds", "cells", "limit")

Entry = dict[str, Any]  # accuracy, leaves, seconds, cells of one split
Entries = dict[tuple[Any, ...], dict[int, Entry]]  # by CELL, then by seed


def summary(rows: Sequence[Row]) -> list[Row]:
    """Ways with a result in at least one split."""
    entries: Entries = {}
    for row in rows:
        if row["status"] == FINISHED:
            for cell, entry in _ways(row, rows):
                entries.setdefault(cell, {})[row["seed"]] = entry
    return [dict(zip(CELL, cell, strict=True)) | _means(cell, entries) for cell in sorted(entries, key=_order)]


def _ways(row: Row, rows: Sequence[Row]) -> Iterable[tuple[tuple[Any, ...], Entry]]:
    dataset, method = row["dataset"], row["method"]
    if method in (SKLEARN, STREED):
        yield (dataset, method, BEST, None, None), _entry(row, row)
        return
    grid = read_grid(row)
    if method == PENALTY:  # the other candidates of the same choice are in another run
        plain = _same_split(row, rows, TOPK)
        if plain is None:
            return
        grid = read_grid(plain) + grid
        row = row | {"seconds": row["seconds"] + plain["seconds"]}
    for rule in RULES:
        yield (dataset, method, rule, None, None), _entry(chosen(grid, rule), row) | {"cells": len(grid)}
    if method != PENALTY:
        for cell in grid:
            yield (
                (dataset, method, FIXED, cell["k"], cell["max_depth"]),
                _entry(cell, row) | {"seconds": cell["seconds"]},
            )


def read_grid(row: Row) -> list[Entry]:
    """The candidates of a run that were finished."""
    grid: list[Entry] = json.loads(str(row["grid"]))
    return grid


def chosen(grid: Sequence[Entry], rule: str) -> Entry:
    """As `TopKTreeClassifierCV` chooses: "1se" never gives more leaves than "best"."""
    candidates = [Candidate(cell["k"], cell["max_depth"], cell["leaf_penalty"]) for cell in grid]
    scores = np.array([cell["scores"] for cell in grid])
    leaves = np.array([cell["fold_leaves"] for cell in grid])[:, None] + 0 * scores
    summarised = summarise(scores, leaves)
    best, choice = (grid[choose(candidates, summarised, name)] for name in (BEST, rule))
    return best if best["leaves"] < choice["leaves"] else choice


def _same_split(row: Row, rows: Sequence[Row], method: str) -> Row | None:
    wanted = {"dataset": row["dataset"], "seed": row["seed"], "method": method, "status": FINISHED}
    return next((other for other in rows if all(other[name] == value for name, value in wanted.items())), None)


def _entry(tree: Entry | Row, row: Row) -> Entry:
    return {
        "accuracy": 1 - tree["test_errors"] / row["test_rows"],
        "leaves": tree["leaves"],
        "seconds": row["seconds"],
        "cells": None,
        "limit": row["limit"],
    }


def _means(cell: tuple[Any, ...], entries: Entries) -> Row:
    dataset, method, rule, k, depth = cell
    of_splits = entries[cell]
    peer = entries.get((dataset, SKLEARN, BEST, None, None), {})
    plain = entries.get((dataset, TOPK, rule, k, depth), {}) if method in (DISTINCT, PENALTY) else {}
    values = (
        *spread([entry["accuracy"] for entry in of_splits.values()]),
        *spread(_differences(of_splits, peer)),
        *spread(_differences(of_splits, plain)),
    )
    n_cells = [entry["cells"] for entry in of_splits.values() if entry["cells"] is not None]
    return {
        "splits": len(of_splits),
        **dict(zip(MEASURES, values, strict=True)),
        "leaves": _leaves(of_splits.values()),
        "peer_leaves": _leaves(peer[seed] for seed in of_splits if seed in peer),
        "plain_leaves": _leaves(plain[seed] for seed in of_splits if seed in plain),
        "seconds": round(median(entry["seconds"] for entry in of_splits.values()), 4),
        "cells": round(fmean(n_cells), 1) if n_cells else None,
        "limit": max((entry["limit"] for entry in of_splits.values() if entry["limit"] is not None), default=None),
    }


def _leaves(found: Iterable[Entry]) -> float | None:
    leaves = [entry["leaves"] for entry in found]
    return round(fmean(leaves), 2) if leaves else None


def _differences(mine: dict[int, Entry], others: dict[int, Entry]) -> list[float]:
    return [entry["accuracy"] - others[seed]["accuracy"] for seed, entry in mine.items() if seed in others]


def _order(cell: tuple[Any, ...]) -> tuple[Any, ...]:
    dataset, method, rule, k, depth = cell
    methods = (SKLEARN, STREED, TOPK, DISTINCT, PENALTY)
    return dataset, methods.index(method), (BEST, "1se", FIXED).index(rule), k or 0, depth or 0


def comparable(rows: Sequence[Row]) -> tuple[list[str], list[tuple[int, int]]]:
    """Datasets with every k at all but the largest depth, on all their splits; (k, depth) that all of these have."""
    n_splits = {row["dataset"]: row["splits"] for row in rows if (row["method"], row["rule"]) == (TOPK, BEST)}
    cells = {
        (row["dataset"], row["k"], row["depth"])
        for row in rows
        if (row["method"], row["rule"]) == (TOPK, FIXED) and row["splits"] == n_splits.get(row["dataset"])
    }
    grid = [(k, depth) for k in KS for depth in DEPTHS]
    datasets = [name for name in n_splits if all((name, *cell) in cells for cell in grid if cell[1] < DEPTHS[-1])]
    return datasets, [cell for cell in grid if all((name, *cell) in cells for name in datasets)]
