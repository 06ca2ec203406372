"""The running time claim: the plain recursion makes at most (2k)**h calls at the bottom; how many the engine needs.

In: a task with `dataset`, `k` and `depth`. Out: the claim's number and the calls at the bottom; the bound on all calls
and all calls; the number of different subsets above the bottom; the number of subsets that the engine examined. The
one idea: what is below a call depends only on its rows and the levels left, so equal calls are counted together.

The proof's recurrence, T(h) = 2k T(h-1) with T(0) = 1, counts the calls at the bottom. All calls are at most the sum of
(2k)**l over the levels l, which is less than twice as much; there are fewer where the rows of a call are of one class.
The engine examines no subset at the bottom. One level above it, it examines a subset again whenever it recurs, which is
cheaper than remembering it, and up to 2**(h-1) of them once more, to write down the last splits of its tree.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from topktree._search.objective import Objective

from ...oracle import oracle
from ...pictures import by_dataset, panels
from ...study import Row, Settings, Task
from ...text import span, where
from . import lemma
from .lemma import Problem

KEYS = ("dataset", "k", "depth")
RESULTS = ("claim", "bottom_calls", "bound", "calls", "subsets", "nodes")

RANDOM = "random"  # 500 rows, 20 columns and a label, all of them coins
DATASETS = (*lemma.DATASETS, RANDOM)
KS = (1, 2, 3, 4, 8)
DEPTHS = (1, 2, 3, 4, 5)


def tasks(settings: Settings) -> list[Task]:
    """Plan every dataset, k and depth."""
    return [
        {"dataset": name, "k": k, "depth": depth} for name in DATASETS for k in KS for depth in settings.up_to(DEPTHS)
    ]


def load(name: str) -> Problem:
    """Return a dataset of the lemma, or the random one."""
    if name != RANDOM:
        return lemma.load(name)
    coins = np.random.default_rng(0).integers(0, 2, (500, 21))
    return Problem(coins[:, :-1].astype(bool), coins[:, -1].astype(np.int32), np.ones(500, dtype=np.int64))


def run(task: Task, settings: Settings) -> Row:
    """Count the calls of the plain recursion, and let the engine search."""
    problem, k, depth = load(str(task["dataset"])), int(task["k"]), int(task["depth"])
    objective = problem.objective(k, depth)
    bottom_calls, calls, subsets = count_calls(problem, objective)
    return {
        "claim": (2 * k) ** depth,
        "bottom_calls": bottom_calls,
        "bound": sum((2 * k) ** level for level in range(depth + 1)),
        "calls": calls,
        "subsets": subsets,
        "nodes": int(problem.solve(objective).statistics["nodes"]),
    }


def count_calls(problem: Problem, objective: Objective) -> tuple[int, int, int]:
    """Return calls with no level left, all calls, and different subsets (with their levels) above the bottom."""
    columns, class_weights = problem.columns, problem.class_weights()
    unit = oracle().fixed_point(int(problem.weight.sum()))

    @cache
    def count(subset: bytes, level: int) -> tuple[int, int]:
        rows = np.frombuffer(subset, dtype=np.int64)
        own, own_weights = columns[rows], class_weights[rows]
        if np.count_nonzero(own_weights.sum(axis=0)) < 2:
            return 0, 1
        if level + 1 == objective.depth:  # which columns the candidates are does not matter
            splits_rows = own.any(axis=0) & ~own.all(axis=0)
            bottom = 2 * min(objective.k[level], int(np.count_nonzero(splits_rows)))
            return bottom, 1 + bottom
        bottom, calls = 0, 1
        for column in oracle().candidates(own, own_weights, level, objective, unit):
            side = own[:, column]
            for part in (rows[~side], rows[side]):
                below = count(part.tobytes(), level + 1)
                bottom, calls = bottom + below[0], calls + below[1]
        return bottom, calls

    bottom, calls = count(np.arange(len(columns), dtype=np.int64).tobytes(), 0)
    return bottom, calls, count.cache_info().currsize


def lines(rows: pd.DataFrame) -> list[list[str]]:
    """Return a line per k and depth: the claim, and the range over the datasets of what was counted."""
    found = []
    for (k, depth), own in rows.groupby(["k", "depth"]):
        within = sum(is_within_bounds(row) for _, row in own.iterrows())
        cells = [str(k), str(depth), f"{own['claim'].iloc[0]:,}", span(own["bottom_calls"])]
        cells += [f"{own['bound'].iloc[0]:,}", span(own["calls"]), span(own["calls"] - own["bottom_calls"])]
        found.append([*cells, span(own["subsets"]), span(own["nodes"]), f"{within} of {len(own)}"])
    return found


def is_within_bounds(row: Any) -> bool:
    """Check the claim, the sum over the levels, and the engine against the plain recursion and the last splits."""
    bottom, calls, nodes = (int(row[name]) for name in ("bottom_calls", "calls", "nodes"))
    again = 2 ** (int(row["depth"]) - 1)
    return bool(bottom <= row["claim"] and calls <= row["bound"] and nodes <= calls - bottom + again)


LINES = {
    "bound": ("bound, the sum of (2k)^l", "#000000", ":", ""),
    "calls": ("calls of the plain recursion", "#d55e00", "-", "s"),
    "subsets": ("different subsets above the bottom", "#0072b2", "-", "o"),
    "nodes": ("examined by the engine", "#009e73", "-", "^"),
}


def draw(rows: pd.DataFrame) -> dict[str, Any]:
    """Draw counts against depth for the widest k, a panel per dataset."""
    k = rows["k"].max()

    def panel(place: Any, own: pd.DataFrame) -> None:
        own = own.sort_values("depth")
        for column, (label, colour, style, marker) in LINES.items():
            look: dict[str, Any] = {"color": colour, "linestyle": style, "marker": marker, "markersize": 4}
            place.plot(own["depth"], own[column], label=label, **look)
        place.set_yscale("log")

    cells = {f"{name}, k = {k}": own for name, own in by_dataset(where(rows, k=k)).items()}
    return panels("running-time", cells, panel, "depth", "")


STUDY = lemma.generated_study("running-time", KEYS, RESULTS, tasks, run, pictures=draw, drawn=("running-time",))
