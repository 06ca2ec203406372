"""The running time claim: the plain recursion makes at most (2k)**h calls at the bottom; how many the engine needs.

In: a task with `dataset`, `k` and `depth`. Out: the claim's number and the calls at the bottom; the bound on all calls
and all calls; how many different subsets those above the bottom have, and how many subsets the engine examined. The
one idea: what is below a call depends on its rows and levels left only, so that equal calls are counted together.

The proof's recurrence, T(h) = 2k T(h-1) with T(0) = 1, counts the calls at the bottom. All calls are at most the sum of
(2k)**l over the levels l, which is less than twice as much. They are fewer where rows of one class come early. The
engine examines no subset at the bottom. Those one level above it it examines again when they come again, which is
cheaper than remembering them, and up to 2**(h-1) of them once more, to write down the last splits of its tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import IntArray
from .._search import engine, reference
from .._search.objective import Objective
from . import lemma
from .experiment import Row
from .lemma import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


KEYS = ("dataset", "k", "depth")
RESULTS = ("claim", "bottom_calls", "bound", "calls", "subsets", "nodes")

RANDOM = "random"  # 500 rows, 20 columns and a label, all of them coins
DATASETS = (*lemma.DATASETS, RANDOM)
KS = (1, 2, 3, 4, 8)
DEPTHS = (1, 2, 3, 4, 5)


def tasks(max_depth: int | None = None) -> list[Row]:
    """Every dataset, k and depth."""
    return [
        {"dataset": name, "k": k, "depth": depth}
        for name in DATASETS
        for k in KS
        for depth in DEPTHS
        if max_depth is None or depth <= max_depth
    ]


def load(name: str) -> Problem:
    """A dataset of the lemma, or the random one."""
    if name != RANDOM:
        return lemma.load(name)
    coins = np.random.default_rng(0).integers(0, 2, (500, 21))
    return Problem(coins[:, :-1].astype(bool), coins[:, -1].astype(np.int32), np.ones(500, dtype=np.int64))


def run(task: Row) -> Row:
    """Count the calls of the plain recursion, and let the engine search."""
    problem, k, depth = load(str(task["dataset"])), int(task["k"]), int(task["depth"])
    objective = problem.objective(k, depth)
    bottom_calls, calls, subsets = count_calls(problem, objective)
    rows = np.ascontiguousarray(problem.columns).view(np.uint8)
    statistics = engine.solve(rows, problem.columns.shape[1], problem.classes, objective).statistics
    return {
        "claim": (2 * k) ** depth,
        "bottom_calls": bottom_calls,
        "bound": sum((2 * k) ** level for level in range(depth + 1)),
        "calls": calls,
        "subsets": subsets,
        "nodes": int(statistics["nodes"]),
    }


def count_calls(problem: Problem, objective: Objective) -> tuple[int, int, int]:
    """Calls with no level left, all calls, and different subsets (with their levels left) above the bottom."""
    columns, class_weights = problem.columns, problem.class_weights()
    unit = reference.fixed_point(int(problem.weight.sum()))
    known: dict[tuple[int, bytes], tuple[int, int]] = {}

    def count(subset: IntArray, level: int) -> tuple[int, int]:
        key = level, subset.tobytes()
        if key not in known:
            known[key] = expand(subset, level)
        return known[key]

    def expand(subset: IntArray, level: int) -> tuple[int, int]:
        own, own_weights = columns[subset], class_weights[subset]
        if np.count_nonzero(own_weights.sum(axis=0)) < 2:
            return 0, 1
        if level + 1 == objective.depth:  # which columns the candidates are does not matter
            splits_rows = own.any(axis=0) & ~own.all(axis=0)
            bottom = 2 * min(objective.k[level], int(np.count_nonzero(splits_rows)))
            return bottom, 1 + bottom
        bottom, calls = 0, 1
        for column in reference.candidates(own, own_weights, level, objective, unit):
            side = own[:, column]
            for part in (subset[~side], subset[side]):
                below = count(part, level + 1)
                bottom, calls = bottom + below[0], calls + below[1]
        return bottom, calls

    bottom, calls = count(np.arange(len(columns), dtype=np.int64), 0)
    return bottom, calls, len(known)


def table(rows: Sequence[Row]) -> str:
    """A line per k and depth: the claim, and the range over the datasets of what was counted."""
    lines = [
        "| k | depth | claim (2k)^h | calls at the bottom | bound on all calls | all calls | above the bottom | "
        "different subsets of these | examined by the engine | within the bounds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for k, depth in sorted({(int(row["k"]), int(row["depth"])) for row in rows}):
        own = [row for row in rows if (row["k"], row["depth"]) == (k, depth)]
        within = sum(is_within_bounds(row) for row in own)
        cells = (
            k,
            depth,
            f"{int(own[0]['claim']):,}",
            _range([int(row["bottom_calls"]) for row in own]),
            f"{int(own[0]['bound']):,}",
            _range([int(row["calls"]) for row in own]),
            _range([int(row["calls"]) - int(row["bottom_calls"]) for row in own]),
            _range([int(row["subsets"]) for row in own]),
            _range([int(row["nodes"]) for row in own]),
            f"{within} of {len(own)}",
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def is_within_bounds(row: Row) -> bool:
    """The claim, the sum over the levels, and the engine below the plain recursion but for the tree's last splits."""
    bottom, calls, nodes = (int(row[name]) for name in ("bottom_calls", "calls", "nodes"))
    again = 2 ** (int(row["depth"]) - 1)
    return bottom <= int(row["claim"]) and calls <= int(row["bound"]) and nodes <= calls - bottom + again


def _range(values: Sequence[int]) -> str:
    return " to ".join(dict.fromkeys(f"{value:,}" for value in (min(values), max(values))))


def draw(rows: Sequence[Row]) -> Figure:
    """Counts against depth for the widest k, a panel per dataset."""
    from matplotlib.figure import Figure

    k = max((int(row["k"]) for row in rows), default=1)
    names = list(dict.fromkeys(str(row["dataset"]) for row in rows))
    n_columns = max(1, min(len(names), 4))
    n_rows = max(1, -(-len(names) // n_columns))
    figure = Figure(figsize=(max(6.5, 3 * n_columns), 2.6 * n_rows + 0.8), layout="constrained")
    places: NDArray[np.object_] = figure.subplots(n_rows, n_columns, squeeze=False, sharey=True).ravel()
    for place in places[len(names) :]:
        place.set_axis_off()
    lines = {
        "bound": ("bound, the sum of (2k)^l", "#000000", ":", ""),
        "calls": ("calls of the plain recursion", "#d55e00", "-", "s"),
        "subsets": ("different subsets above the bottom", "#0072b2", "-", "o"),
        "nodes": ("examined by the engine", "#009e73", "-", "^"),
    }
    for place, name in zip(places, names, strict=False):
        own = [row for row in rows if (row["dataset"], row["k"]) == (name, k)]
        own.sort(key=lambda row: int(row["depth"]))
        depths = [int(row["depth"]) for row in own]
        for column, (label, colour, style, marker) in lines.items():
            values = [int(row[column]) for row in own]
            place.plot(depths, values, color=colour, linestyle=style, marker=marker, markersize=4, label=label)
        place.set_yscale("log")
        place.set_title(f"{name}, k = {k}", fontsize=10)
        place.grid(alpha=0.3)
    if names:
        handles, labels = places[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=9)
    figure.supxlabel("depth", fontsize=10)
    return figure
