"""The pictures of ensembles.md: gains over k = 1, accuracy against CPU time, accuracy against leaves.

In: the summaries of `ensembles` and `ensembles-tuned`. Out: matplotlib Figures.
The one idea: a line or a panel is over datasets that have all of its points, and says how many these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, log
from typing import Any

from topktree._tree.charts import LINE_COLOURS, MARKERS
from topktree_evidence.paired import LEVEL
from topktree_evidence.pictures import name_of, style
from topktree_evidence.studies.ensembles.equal import ALL_SIZES, DEPTHS, KS
from topktree_evidence.studies.ensembles.models import (
    ADABOOST,
    BOOSTING,
    EXTRA_TREES,
    FOREST,
    HIST,
    OURS,
    PEERS,
    RANDOM_FOREST,
    SKLEARN_TREE,
    SQRT,
    TREE,
)
from topktree_evidence.studies.ensembles.tuned import GREEDY, READABLE
from topktree_evidence.study import Row
from topktree_evidence.text import mean, numbers, only, values, where

GAINS, DATASETS, TIMES, LEAVES = "gains", "datasets", "times", "leaves"
SMALL = (5, 4)  # trees and depth that a person can still read

NAMES = {
    FOREST: "forest",
    SQRT: "forest, drawing features",
    BOOSTING: "boosting",
    RANDOM_FOREST: "RandomForest",
    EXTRA_TREES: "ExtraTrees",
    ADABOOST: "AdaBoost",
    HIST: "HistGradientBoosting",
    TREE: "one tree",
    SKLEARN_TREE: "one tree of scikit-learn's",
}
ORDER = (*OURS, *PEERS)


def draw(rows: Sequence[Row]) -> dict[str, Any]:
    """Of `ensembles`."""
    found = {GAINS: _draw_gains(rows), DATASETS: _draw_datasets(rows), TIMES: _draw_times(rows)}
    return {name: figure for name, figure in found.items() if figure is not None}


def draw_tuned(rows: Sequence[Row]) -> dict[str, Any]:
    """Of `ensembles-tuned`."""
    readable = where(rows, league=READABLE)
    names = complete(readable, values(readable, "method"), "method")
    return {LEAVES: _draw_leaves(where(readable, dataset=tuple(names)), len(names))} if names else {}


def complete(rows: Sequence[Row], wanted: Sequence[Any], *columns: str) -> list[str]:
    """Datasets that have a result for all wanted values of the columns."""
    found: dict[str, set[Any]] = {}
    for row in rows:
        if row["test_mean"] is not None:
            cell = tuple(row[name] for name in columns)
            found.setdefault(row["dataset"], set()).add(cell[0] if len(cell) == 1 else cell)
    return [name for name, cells in found.items() if cells.issuperset(wanted)]


def line_cells(rows: Sequence[Row], method: str, depth: int) -> tuple[list[str], list[int]]:
    """Sizes that half of the datasets have for every k, and the datasets that have all of these."""
    mine = where(rows, method=method, depth=depth)
    half = len(values(mine, "dataset")) / 2
    sizes = [size for size in ALL_SIZES if len(complete(mine, [(k, size) for k in KS], "k", "trees")) >= max(half, 1)]
    return complete(mine, [(k, size) for k in KS for size in sizes], "k", "trees") if sizes else [], sizes


def _draw_gains(rows: Sequence[Row]) -> Any:
    """Against the number of trees: a row of panels per method, a column per depth."""
    from matplotlib.figure import Figure

    cells = {(method, depth): line_cells(rows, method, depth) for method in OURS for depth in DEPTHS}
    depths = [depth for depth in DEPTHS if any(cells[method, depth][0] for method in OURS)]
    if not depths:
        return None
    figure = Figure(figsize=(2.4 * len(depths) + 1.2, 6.6), layout="constrained")
    axes = figure.subplots(len(OURS), len(depths), sharey=True, squeeze=False)
    for places, method in zip(axes, OURS, strict=True):
        places[0].set_ylabel(NAMES[method], fontsize=9)
        for place, depth in zip(places, depths, strict=True):
            names, sizes = cells[method, depth]
            _draw_lines(place, where(rows, method=method, depth=depth, dataset=tuple(names)), sizes)
            place.set_title(f"depth {depth}, {len(names)} datasets", fontsize=9)
    for place in axes[-1]:
        place.set_xlabel("trees", fontsize=9)
    figure.supylabel("points of test accuracy over k = 1", fontsize=10)
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=len(KS), fontsize=9)
    return figure


def _draw_lines(place: Any, rows: Sequence[Row], sizes: Sequence[int]) -> None:
    for k in KS[1:]:
        gains = [100 * mean(numbers(where(rows, k=k, trees=size), "gain")) for size in sizes]
        place.plot(sizes, gains, label=name_of(k), **style(k, KS))
    place.axhline(0, color="black", linewidth=0.8)
    place.grid(alpha=0.3)
    place.set_xscale("log")
    place.set_xticks(sizes, [str(size) for size in sizes], fontsize=8)
    place.minorticks_off()


def _draw_datasets(rows: Sequence[Row]) -> Any:
    """Of the largest k, small ensembles."""
    from matplotlib.figure import Figure

    mine = [row for row in where(rows, k=max(KS), trees=SMALL[0], depth=SMALL[1]) if row["gain"] is not None]
    if not mine:
        return None
    by_name = {name: mean(numbers(where(mine, dataset=name), "gain")) for name in values(mine, "dataset")}
    names = sorted(by_name, key=lambda name: by_name[name])
    figure = Figure(figsize=(7.5, 0.28 * len(names) + 1.4), layout="constrained")
    ax = figure.add_subplot()
    for i, method in enumerate(OURS):
        for row in where(mine, method=method):
            is_clear = row["gain_p"] is not None and row["gain_p"] < LEVEL
            fill: dict[str, Any] = {} if is_clear else {"markerfacecolor": "white"}
            height = names.index(row["dataset"]) + 0.2 * (1 - i)
            ax.plot(100 * row["gain"], height, MARKERS[i], color=LINE_COLOURS[i], markersize=5, **fill)
        ax.plot([], [], MARKERS[i], color=LINE_COLOURS[i], markersize=5, label=NAMES[method])
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.set_xlabel(
        f"points of test accuracy of k = {max(KS)} over k = 1, {SMALL[0]} trees of depth {SMALL[1]}; "
        f"filled: p < {LEVEL}",
        fontsize=9,
    )
    ax.grid(axis="x", alpha=0.3)
    ax.legend(loc="lower right", fontsize=9)
    return figure


def _draw_times(rows: Sequence[Row]) -> Any:
    """Accuracy against CPU seconds, a panel per depth."""
    from matplotlib.figure import Figure

    wanted = [(method, k) for method in OURS for k in KS] + [(method, 0) for method in PEERS]
    small = where(rows, trees=SMALL[0])
    cells = {}
    for depth in DEPTHS:
        if names := complete(where(small, depth=depth), wanted, "method", "k"):
            title = f"{SMALL[0]} trees of depth {depth} ({len(names)} datasets)"
            cells[title] = where(small, depth=depth, dataset=tuple(names))
    if not cells:
        return None

    figure = Figure(figsize=(10.5, 3.1 * ceil(len(cells) / 3) + 1.0), layout="constrained")
    axes = figure.subplots(ceil(len(cells) / 3), 3, squeeze=False).ravel()
    for place, (title, mine) in zip(axes, cells.items(), strict=False):
        place.set_title(title, fontsize=10)
        _draw_methods(place, mine)
    for place in axes[len(cells) :]:
        place.set_axis_off()
    figure.supxlabel("CPU seconds of a fit, geometric mean over the datasets", fontsize=10)
    figure.supylabel("test accuracy in percent, mean over the datasets", fontsize=10)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=9)
    return figure


def _draw_methods(place: Any, rows: Sequence[Row]) -> None:
    """A line along k for each of ours, a point for each of scikit-learn's."""
    from matplotlib.ticker import LogLocator, NullFormatter

    for i, method in enumerate(ORDER):
        groups = [where(rows, method=method, k=k) for k in (KS if method in OURS else (0,))]
        look: dict[str, Any] = {"color": LINE_COLOURS[i], "marker": MARKERS[i], "markersize": 5, "linewidth": 1.2}
        label = f"{NAMES[method]}, k = {', '.join(map(str, KS))}" if method in OURS else NAMES[method]
        place.plot([geometric_mean(group, "cpu") for group in groups], _accuracies(groups), label=label, **look)
    place.set_xscale("log")
    place.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    place.xaxis.set_major_formatter("{x:g}")
    place.xaxis.set_minor_formatter(NullFormatter())
    place.tick_params(labelsize=8)
    place.grid(alpha=0.3)


def _accuracies(groups: Sequence[Sequence[Row]]) -> list[float]:
    return [100 * mean(numbers(group, "test_mean")) for group in groups]


def geometric_mean(rows: Sequence[Row], name: str) -> float:
    """Of a column; nothing is faster than a tenth of a millisecond."""
    return exp(mean([log(max(value, 1e-4)) for value in numbers(rows, name)]))


def _draw_leaves(rows: Sequence[Row], n_datasets: int) -> Any:
    """Accuracy against leaves of what was chosen."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    ax = figure.add_subplot()
    for i, method in enumerate((TREE, SKLEARN_TREE, *ORDER)):
        colour, marker = LINE_COLOURS[i % len(LINE_COLOURS)], (MARKERS + "ph")[i]
        for name, fill in ((method, colour), (f"{method}{GREEDY}", "white")):
            if only(rows, method=name):
                mine = where(rows, method=name)
                look: dict[str, Any] = {"color": colour, "markerfacecolor": fill, "markersize": 8}
                label = NAMES[method] + (", k = 1" if name != method else "")
                ax.plot([geometric_mean(mine, "leaves")], _accuracies([mine]), marker, label=label, **look)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter("{x:g}")
    ax.tick_params(axis="x", which="both", labelsize=8)
    ax.set_xlabel(f"leaves of all trees, geometric mean over {n_datasets} datasets")
    ax.set_ylabel("test accuracy in percent, mean")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
