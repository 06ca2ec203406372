"""The pictures of ensembles.md: gains over k = 1, accuracy against CPU time, accuracy against leaves.

In: the summaries of `ensembles` and `ensembles-tuned`. Out: matplotlib Figures.
The one idea: a line or a panel is over datasets that have all of its points, and says how many these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import pandas as pd

from ...paired import LEVEL
from ...pictures import COLOURS, MARKERS, label_datasets, label_leaves, name_of, new_figure, style
from ...text import geometric_mean, mean, where
from .equal import ALL_SIZES, DEPTHS, KS
from .models import ADABOOST, BOOSTING, EXTRA_TREES, FOREST, HIST, OURS, PEERS, RANDOM_FOREST, SKLEARN_TREE, SQRT, TREE
from .tuned import GREEDY, READABLE

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
SHORTEST = 1e-4  # seconds: below this the clock is not exact


def draw(table: pd.DataFrame) -> dict[str, Any]:
    """Draw the pictures of `ensembles`."""
    return _draw_gains(table) | _draw_datasets(table) | _draw_times(table)


def draw_tuned(table: pd.DataFrame) -> dict[str, Any]:
    """Draw the picture of `ensembles-tuned`."""
    readable = where(table, league=READABLE)
    names = complete(readable, list(readable["method"].unique()), "method")
    return {LEAVES: _draw_leaves(where(readable, dataset=names), len(names))} if names else {}


def complete(table: pd.DataFrame, wanted: Sequence[Any], *columns: str) -> list[str]:
    """Return the datasets that have a result for all wanted values of the columns."""
    by = columns[0] if len(columns) == 1 else list(columns)
    done = table.dropna(subset="test_mean").groupby("dataset", sort=False)
    return [name for name, own in done if set(own.set_index(by).index).issuperset(wanted)]


def line_cells(table: pd.DataFrame, method: str, depth: int) -> tuple[list[str], list[int]]:
    """Return sizes that half of the datasets have for every k, and the datasets that have all of these."""
    mine = where(table, method=method, depth=depth)
    half = mine["dataset"].nunique() / 2
    sizes = [size for size in ALL_SIZES if len(complete(mine, [(k, size) for k in KS], "k", "trees")) >= max(half, 1)]
    return complete(mine, [(k, size) for k in KS for size in sizes], "k", "trees") if sizes else [], sizes


def _draw_gains(table: pd.DataFrame) -> dict[str, Any]:
    """Draw gains against the number of trees: a row of panels per method, a column per depth."""
    cells = {(method, depth): line_cells(table, method, depth) for method in OURS for depth in DEPTHS}
    depths = [depth for depth in DEPTHS if any(cells[method, depth][0] for method in OURS)]
    if not depths:
        return {}
    figure, axes = new_figure(2.4 * len(depths) + 1.2, 6.6, len(OURS), len(depths), sharey=True)
    for places, method in zip(axes, OURS, strict=True):
        places[0].set_ylabel(NAMES[method], fontsize=9)
        for place, depth in zip(places, depths, strict=True):
            names, sizes = cells[method, depth]
            _draw_lines(place, where(table, method=method, depth=depth, dataset=names), sizes)
            place.set_title(f"depth {depth}, {len(names)} datasets", fontsize=9)
    for place in axes[-1]:
        place.set_xlabel("trees", fontsize=9)
    figure.supylabel("points of test accuracy over k = 1", fontsize=10)
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=len(KS), fontsize=9)
    return {GAINS: figure}


def _draw_lines(place: Any, table: pd.DataFrame, sizes: Sequence[int]) -> None:
    for k in KS[1:]:
        gains = [100 * mean(where(table, k=k, trees=size)["gain"]) for size in sizes]
        place.plot(sizes, gains, label=name_of(k), **style(k, KS))
    place.axhline(0, color="black", linewidth=0.8)
    place.grid(alpha=0.3)
    place.set_xscale("log")
    place.set_xticks(sizes, [str(size) for size in sizes], fontsize=8)
    place.minorticks_off()


def _draw_datasets(table: pd.DataFrame) -> dict[str, Any]:
    """Draw the gains of the largest k on every dataset, small ensembles."""
    mine = where(table, k=max(KS), trees=SMALL[0], depth=SMALL[1]).dropna(subset="gain")
    if not len(mine):
        return {}
    names = list(mine.groupby("dataset", sort=False)["gain"].agg(mean).sort_values(kind="stable").index)
    figure, axes = new_figure(7.5, 0.28 * len(names) + 1.4)
    ax = axes[0, 0]
    for i, method in enumerate(OURS):
        look: dict[str, Any] = {"color": COLOURS[i], "markersize": 5}
        for row in where(mine, method=method).itertuples():
            fill = {} if row.gain_p < LEVEL else {"markerfacecolor": "white"}
            ax.plot(100 * row.gain, names.index(row.dataset) + 0.2 * (1 - i), MARKERS[i], **look, **fill)
        ax.plot([], [], MARKERS[i], label=NAMES[method], **look)
    size = f"{SMALL[0]} trees of depth {SMALL[1]}; filled: p < {LEVEL}"
    label_datasets(ax, names, f"points of test accuracy of k = {max(KS)} over k = 1, {size}", fontsize=9)
    ax.legend(loc="lower right", fontsize=9)
    return {DATASETS: figure}


def _draw_times(table: pd.DataFrame) -> dict[str, Any]:
    """Draw accuracy against CPU seconds, a panel per depth."""
    wanted = [(method, k) for method in OURS for k in KS] + [(method, 0) for method in PEERS]
    cells = {}
    for depth in DEPTHS:
        small = where(table, trees=SMALL[0], depth=depth)
        if names := complete(small, wanted, "method", "k"):
            cells[f"{SMALL[0]} trees of depth {depth} ({len(names)} datasets)"] = where(small, dataset=names)
    if not cells:
        return {}
    figure, axes = new_figure(10.5, 3.1 * ceil(len(cells) / 3) + 1.0, ceil(len(cells) / 3), 3)
    for place, (title, mine) in zip(axes.ravel(), cells.items(), strict=False):
        place.set_title(title, fontsize=10)
        _draw_methods(place, mine)
    for place in axes.ravel()[len(cells) :]:
        place.set_axis_off()
    figure.supxlabel("CPU seconds of a fit, geometric mean over the datasets", fontsize=10)
    figure.supylabel("test accuracy in percent, mean over the datasets", fontsize=10)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=9)
    return {TIMES: figure}


def _draw_methods(place: Any, table: pd.DataFrame) -> None:
    """Draw a line along k for each of ours, a point for each of scikit-learn's."""
    from matplotlib.ticker import LogLocator, NullFormatter

    for i, method in enumerate(ORDER):
        groups = [where(table, method=method, k=k) for k in (KS if method in OURS else (0,))]
        look: dict[str, Any] = {"color": COLOURS[i], "marker": MARKERS[i], "markersize": 5, "linewidth": 1.2}
        label = f"{NAMES[method]}, k = {', '.join(map(str, KS))}" if method in OURS else NAMES[method]
        seconds = [geometric_mean(group["cpu"], SHORTEST) for group in groups]
        place.plot(seconds, [100 * mean(group["test_mean"]) for group in groups], label=label, **look)
    place.set_xscale("log")
    place.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    place.xaxis.set_major_formatter("{x:g}")
    place.xaxis.set_minor_formatter(NullFormatter())
    place.tick_params(labelsize=8)
    place.grid(alpha=0.3)


def _draw_leaves(table: pd.DataFrame, n_datasets: int) -> Any:
    """Draw accuracy against leaves of what was chosen."""
    figure, axes = new_figure(7.5, 4.6)
    ax = axes[0, 0]
    for i, method in enumerate((TREE, SKLEARN_TREE, *ORDER)):
        colour = COLOURS[i % len(COLOURS)]
        for name, fill in ((method, colour), (f"{method}{GREEDY}", "white")):
            mine = where(table, method=name)
            if len(mine):
                look: dict[str, Any] = {"color": colour, "markerfacecolor": fill, "markersize": 8}
                label = NAMES[method] + (", k = 1" if name != method else "")
                point = [geometric_mean(mine["leaves"], SHORTEST)], [100 * mean(mine["test_mean"])]
                ax.plot(*point, MARKERS[i], label=label, **look)
    label = f"leaves of all trees, geometric mean over {n_datasets} datasets"
    label_leaves(ax, label, "test accuracy in percent, mean")
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
