"""The summary of `choosing`: means over the splits, and differences on the same splits.

In: the runs of runs.py. Out: a row per dataset and way to get a tree: chosen by a rule, fixed, another program's.
The one idea: a choice is made again here, by the package's own rule, from the scores that the run wrote down; the tree
of every candidate was evaluated on the test rows already.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from statistics import fmean, median
from typing import Any

import numpy as np
import pandas as pd

from topktree._selection.rule import BEST, RULES, Candidate, choose
from topktree._selection.rule import summarise as summarise_scores

from ...study import FINISHED, Row
from ...text import where
from ..paper.fits import spread
from .runs import DEPTHS, DISTINCT, KS, PENALTY, SKLEARN, STREED, TOPK

FIXED = "fixed"
CELL = ("dataset", "method", "rule", "k", "depth")
METHODS, FROM = (SKLEARN, STREED, TOPK, DISTINCT, PENALTY), (BEST, "1se", FIXED)  # the order of the table
# Gains are over scikit-learn's tuned tree, "plain" over the same way without distinct splits or penalties.
MEASURES = ("test_mean", "test_sd", "gain_mean", "gain_sd", "plain_mean", "plain_sd")
SUMMARY = (*CELL, "splits", *MEASURES, "leaves", "peer_leaves", "plain_leaves", "seconds", "cells", "limit")

Tree = dict[str, Any]  # a candidate of a grid, or a run
Key = tuple[Any, ...]


def summarise(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the ways with a result in at least one split."""
    done = runs[runs["status"] == FINISHED]
    plain = {(row["dataset"], row["seed"]): row for row in where(done, method=TOPK).to_dict("records")}
    entries = pd.DataFrame([entry for row in done.to_dict("records") for entry in _ways(row, plain)])
    if not len(entries):
        return pd.DataFrame(columns=SUMMARY)
    cells = {key: own.set_index("seed") for key, own in entries.groupby(list(CELL), sort=False)}
    order = sorted(cells, key=lambda key: (key[0], METHODS.index(key[1]), FROM.index(key[2]), *key[3:]))
    rows = [dict(zip(CELL, key, strict=True)) | _means(key, cells) for key in order]
    return pd.DataFrame(rows, columns=SUMMARY).replace({"k": {0: None}, "depth": {0: None}})


def _ways(row: Row, plain: dict[Key, Row]) -> Iterator[Row]:
    """Yield the trees that a run gives: those chosen by each rule, and fixed ones (k and depth are 0 where chosen)."""
    method = row["method"]
    if method in (SKLEARN, STREED):
        yield _entry(row, row, BEST)
        return
    grid: list[Tree] = json.loads(row["grid"])
    if method == PENALTY:  # the other candidates of the same choice are in another run
        other = plain.get((row["dataset"], row["seed"]))
        if other is None:
            return
        grid = json.loads(other["grid"]) + grid
        row = row | {"seconds": row["seconds"] + other["seconds"]}
    for rule in RULES:
        yield _entry(chosen(grid, rule), row, rule) | {"cells": len(grid)}
    if method != PENALTY:
        for cell in grid:
            fixed = {"k": cell["k"], "depth": cell["max_depth"], "seconds": cell["seconds"]}
            yield _entry(cell, row, FIXED) | fixed


def _entry(tree: Tree, row: Row, rule: str) -> Row:
    return {
        **{name: row[name] for name in ("dataset", "seed", "method", "seconds", "limit")},
        **{"rule": rule, "k": 0, "depth": 0, "cells": float("nan")},
        "accuracy": 1 - tree["test_errors"] / row["test_rows"],
        "leaves": tree["leaves"],
    }


def chosen(grid: Sequence[Tree], rule: str) -> Tree:
    """Choose as `TopKTreeClassifierCV` does: "1se" never gives more leaves than "best"."""
    candidates = [Candidate(cell["k"], cell["max_depth"], cell["leaf_penalty"]) for cell in grid]
    scores = np.array([cell["scores"] for cell in grid])
    leaves = np.array([cell["fold_leaves"] for cell in grid])[:, None] + 0 * scores
    summarised = summarise_scores(scores, leaves)
    best, choice = (grid[choose(candidates, summarised, name)] for name in (BEST, rule))
    return best if best["leaves"] < choice["leaves"] else choice


def _means(key: Key, cells: dict[Key, pd.DataFrame]) -> Row:
    dataset, method, rule, k, depth = key
    own = cells[key]
    nothing = own.iloc[:0]
    peer = cells.get((dataset, SKLEARN, BEST, 0, 0), nothing)
    plain = cells.get((dataset, TOPK, rule, k, depth), nothing) if method in (DISTINCT, PENALTY) else nothing
    gains = [(own["accuracy"] - other["accuracy"].reindex(own.index)).dropna() for other in (peer, plain)]
    n_cells = own["cells"].dropna()
    return {
        "splits": len(own),
        **dict(zip(MEASURES, (*spread(own["accuracy"]), *spread(gains[0]), *spread(gains[1])), strict=True)),
        "leaves": _leaves(own),
        "peer_leaves": _leaves(peer[peer.index.isin(own.index)]),
        "plain_leaves": _leaves(plain[plain.index.isin(own.index)]),
        "seconds": round(median(own["seconds"]), 4),
        "cells": round(fmean(n_cells), 1) if len(n_cells) else None,
        "limit": own["limit"].max(),
    }


def _leaves(found: pd.DataFrame) -> float | None:
    return round(fmean(found["leaves"]), 2) if len(found) else None


def comparable(table: pd.DataFrame) -> tuple[list[str], list[tuple[int, int]]]:
    """Return datasets with every k at all but the largest depth, on all their splits; (k, depth) that all have."""
    n_splits = where(table, method=TOPK, rule=BEST).set_index("dataset")["splits"]
    fixed = where(table, method=TOPK, rule=FIXED)
    fixed = fixed[fixed["splits"].to_numpy() == n_splits.reindex(fixed["dataset"]).to_numpy()]
    cells = set(zip(fixed["dataset"], fixed["k"], fixed["depth"], strict=True))
    grid = [(k, depth) for k in KS for depth in DEPTHS]
    names = [name for name in n_splits.index if all((name, *cell) in cells for cell in grid if cell[1] < DEPTHS[-1])]
    return names, [cell for cell in grid if all((name, *cell) in cells for name in names)]
