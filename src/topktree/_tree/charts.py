"""Curves and dots, drawn with matplotlib: of a search, a choice, errors against leaves, importances across trees.

In: numbers from a fitted estimator. Out: the Axes that they are drawn on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray
from .plot import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which most people can tell apart, without the yellow that is too pale for a line.
LINE_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#999999", "#000000")
MARKERS = "osD^vP*X"
TITLES = {"optimal": "proved optimal", "time_limit": "stopped by the time limit", "partial": "so far"}  # of a search
# Of small print, in points, with some space around it.
LETTER_WIDTH = 5.5
LINE_HEIGHT = 12.0
# Of features whose importances are drawn; those of the rest are small.
MOST_FEATURES = 20
ROW_HEIGHT = 0.32  # inches, of a feature


def plot_trace(trace: Sequence[Mapping[str, Any]], status: str, ax: Axes | None = None) -> Axes:
    """The cost of the best tree over the seconds of the search; every k that was finished is a point."""
    if not trace:
        raise ValueError("search_ has no trace: the model was saved by a version that did not keep one")
    ax = _axes(ax)
    seconds = [max(step["seconds"], 1e-6) for step in trace]
    costs = [step["cost"] for step in trace]
    ax.step(seconds, costs, where="post", color=LINE_COLOURS[0], marker="o", markersize=5)
    if len(trace) > 1 and seconds[-1] > 20 * seconds[0]:
        ax.set_xscale("log")
    last = None
    for second, cost, step in zip(seconds, costs, trace, strict=True):
        if cost != last or step is trace[-1]:  # in between there is nothing to see but points
            _label(ax, f"k = {step['k']}", second, cost)
        last = cost
    ax.margins(x=0.12, y=0.15)
    ax.set_xlabel("seconds")
    ax.set_ylabel("training cost")
    ax.set_title(TITLES.get(status, status))
    return ax


def plot_choice(
    depths: Sequence[int],
    lines: Mapping[str, tuple[FloatArray, FloatArray]],
    chosen: tuple[str, int],
    threshold: float | None,
    ylabel: str,
    ax: Axes | None = None,
) -> Axes:
    """A line per k over the depths, (scores, standard errors); NaN where there is none. `chosen`: line and depth."""
    ax = _axes(ax)
    shift = np.linspace(-0.12, 0.12, len(lines)) if len(lines) > 1 else np.zeros(1)
    for i, (name, (scores, errors)) in enumerate(lines.items()):
        style: dict[str, Any] = {"color": LINE_COLOURS[i % len(LINE_COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
        x = np.arange(len(depths)) + shift[i]
        ax.errorbar(x, scores, yerr=errors, label=name, capsize=2, linewidth=1.3, markersize=5, **style)
        if name == chosen[0]:
            at = depths.index(chosen[1])
            ring: dict[str, Any] = {
                "s": 190,
                "facecolors": "none",
                "edgecolors": "black",
                "linewidths": 1.6,
                "zorder": 5,
            }
            ax.scatter([x[at]], [scores[at]], label="chosen", **ring)
    if threshold is not None:
        ax.axhline(threshold, color="black", linewidth=0.8, linestyle=":", label="best less one standard error")
    ax.set_xticks(range(len(depths)), [str(depth) for depth in depths])
    ax.set_xlabel("max_depth")
    ax.set_ylabel(ylabel)
    handles, labels = ax.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: labels[i] not in lines)  # the lines first
    ax.legend([handles[i] for i in order], [labels[i] for i in order], fontsize="small", loc="best")
    return ax


def plot_frontier(n_leaves: IntArray, errors: NDArray[Any], penalties: FloatArray, ax: Axes | None = None) -> Axes:
    """The errors against the number of leaves, trees with the penalty that gives them where there is room for it."""
    ax = _axes(ax)
    from matplotlib.ticker import MaxNLocator

    ax.plot(n_leaves, errors, color=LINE_COLOURS[0], marker="o", markersize=5, linewidth=1.3, clip_on=False)
    ax.margins(x=0.12, y=0.1)
    ax.set_ylim(bottom=0)
    texts = [str(penalty) for penalty in penalties.tolist()]  # all digits: a rounded one may give another tree
    for i in _with_room(ax, n_leaves, errors, texts):
        _label(ax, texts[i], n_leaves[i], errors[i])
    ax.set_xlabel("leaves")
    ax.set_ylabel("training errors" if errors.dtype.kind == "i" else "weight of the training errors")
    ax.set_title("labels: leaf_penalty", fontsize="medium")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    return ax


def plot_importances(names: Sequence[str], importances: FloatArray, ax: Axes | None = None) -> Axes:
    """A row per feature: a dot for every tree, their range and mean. `importances`: (n_trees, n_features), best first.

    Features that no tree uses are left out, and the rest if there are too many.
    """
    order = [f for f in np.argsort(-importances.sum(axis=0), kind="stable") if importances[:, f].any()]
    shown = order[:MOST_FEATURES]
    ax = _axes(ax, height=max(2.0, 1.2 + ROW_HEIGHT * len(shown)))
    spread = np.linspace(-0.24, 0.24, len(importances)) if len(importances) > 1 else np.zeros(1)
    for row, f in enumerate(shown):
        values = importances[:, f]
        ax.plot(
            [values.min(), values.max()], [row, row], color="#d4d4d4", linewidth=5, solid_capstyle="round", zorder=1
        )
        dots: dict[str, Any] = {"s": 14, "linewidths": 0, "zorder": 2, "clip_on": False}
        ax.scatter(values[1:], row + spread[1:], color=LINE_COLOURS[0], alpha=0.6, **dots)
        ax.scatter(values[:1], row + spread[:1], color=LINE_COLOURS[4], **dots | {"s": 30, "marker": "D", "zorder": 4})
        ax.vlines(values.mean(), row - 0.36, row + 0.36, color="black", linewidth=1.6, zorder=3)
    largest = importances.max(initial=0.0) or 1.0
    ax.set_xlim(-0.04 * largest, 1.04 * largest)
    _label_importances(ax, [names[f] for f in shown], len(order) - len(shown), len(importances))
    return ax


def _label_importances(ax: Axes, names: Sequence[str], n_hidden: int, n_trees: int) -> None:
    from matplotlib.lines import Line2D

    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)  # the most important one on top
    ax.set_xlabel("feature importance" + (f" ({n_hidden} less important features are not shown)" if n_hidden else ""))
    ax.set_title(f"{n_trees} tree{'' if n_trees == 1 else 's'}", fontsize="medium")
    marks = [
        Line2D([], [], color=LINE_COLOURS[4], marker="D", markersize=5, linestyle="", label="best tree"),
        Line2D([], [], color=LINE_COLOURS[0], marker="o", markersize=4, linestyle="", alpha=0.6, label="another tree"),
        Line2D([], [], color="black", marker="|", markersize=11, markeredgewidth=1.6, linestyle="", label="mean"),
        Line2D([], [], color="#d4d4d4", linewidth=5, label="range"),
    ]
    ax.legend(handles=marks, fontsize="small", loc="best")


def _with_room(ax: Axes, x: NDArray[Any], y: NDArray[Any], texts: Sequence[str]) -> list[int]:
    """Points that can be labelled with no label on another: the ends, then the others in order."""
    points = ax.transData.transform(np.column_stack([x, y])) * 72 / ax.figure.dpi
    chosen: list[int] = []
    for i in (0, len(texts) - 1, *range(1, len(texts) - 1)):
        across, up = np.abs(points[chosen] - points[i]).T
        widths = np.array([LETTER_WIDTH * max(len(texts[i]), len(texts[j])) for j in chosen])
        if np.all((across > widths) | (up > LINE_HEIGHT)):
            chosen.append(i)
    return chosen


def _label(ax: Axes, text: str, x: float, y: float) -> None:
    ax.annotate(text, (x, y), xytext=(5, 5), textcoords="offset points", fontsize="small")


def _axes(ax: Axes | None, height: float = 4.2) -> Axes:
    """Those given, or new ones on a figure of their own."""
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(6.4, height), layout="constrained").add_subplot()
