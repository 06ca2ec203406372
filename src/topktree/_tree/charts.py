"""Charts drawn with matplotlib: the progress of a search, a choice, errors against leaves, importances.

In: numbers from a fitted estimator. Out: the Axes that they are drawn on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray
from .plot import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which most people can tell apart, without the yellow that is too pale for a line.
LINE_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#999999", "#000000")
MARKERS = "osD^vP*X"
TITLES = {"optimal": "proved optimal", "time_limit": "stopped by the time limit", "partial": "so far"}  # by status
LABEL_SIZE = 5.5, 12.0  # points: width of a letter and height of a line, with some space around them
MOST_FEATURES = 20
NOT_MATH: dict[str, Any] = {"parse_math": False, "usetex": False}  # names are shown as they are


def plot_trace(trace: Sequence[Mapping[str, Any]], status: str, ax: Axes | None = None) -> Axes:
    """Draw the cost of the best tree over the seconds of the search, with a point for every k that was finished."""
    if not trace:
        raise ValueError("search_ has no trace: the model was saved by a version that did not keep one")
    ax = _axes(ax)
    seconds = [max(step["seconds"], 1e-6) for step in trace]
    costs = [step["cost"] for step in trace]
    ax.step(seconds, costs, where="post", color=LINE_COLOURS[0], marker="o", markersize=5)
    if len(trace) > 1 and seconds[-1] > 20 * seconds[0]:
        ax.set_xscale("log")
    for i, step in enumerate(trace):
        if i in (0, len(trace) - 1) or costs[i] != costs[i - 1]:  # the other points say nothing new
            _label(ax, f"k = {step['k']}", seconds[i], costs[i])
    ax.margins(x=0.12, y=0.15)
    ax.set(xlabel="seconds", ylabel="training cost", title=TITLES.get(status, status))
    return ax


def plot_choice(
    depths: Sequence[int],
    lines: Mapping[str, tuple[FloatArray, FloatArray]],
    chosen: tuple[str, int],
    threshold: float | None,
    ylabel: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw a line of (scores, standard errors) per k over the depths; NaN is left out. `chosen`: line and depth."""
    ax = _axes(ax)
    shift = np.linspace(-0.12, 0.12, len(lines)) if len(lines) > 1 else np.zeros(1)
    for i, (name, (scores, errors)) in enumerate(lines.items()):
        style: dict[str, Any] = {"color": LINE_COLOURS[i % len(LINE_COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
        x = np.arange(len(depths)) + shift[i]
        ax.errorbar(x, scores, yerr=errors, label=name, capsize=2, linewidth=1.3, markersize=5, **style)
        if name == chosen[0]:
            at = depths.index(chosen[1])
            ring: dict[str, Any] = {"facecolors": "none", "edgecolors": "black", "linewidths": 1.6, "zorder": 5}
            ax.scatter([x[at]], [scores[at]], s=190, label="chosen", **ring)
    if threshold is not None:
        ax.axhline(threshold, color="black", linewidth=0.8, linestyle=":", label="best less one standard error")
    ax.set_xticks(range(len(depths)), [str(depth) for depth in depths])
    ax.set_xlabel("max_depth")
    ax.set_ylabel(ylabel, **NOT_MATH)
    handles, labels = ax.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: labels[i] not in lines)  # the lines first
    ax.legend([handles[i] for i in order], [labels[i] for i in order], fontsize="small", loc="best")
    return ax


def plot_frontier(n_leaves: IntArray, errors: NDArray[Any], penalties: FloatArray, ax: Axes | None = None) -> Axes:
    """Draw the errors against the number of leaves; points are labelled with their penalty where there is room."""
    ax = _axes(ax)
    ax.plot(n_leaves, errors, color=LINE_COLOURS[0], marker="o", markersize=5, linewidth=1.3, clip_on=False)
    ax.margins(x=0.12, y=0.1)
    ax.set_ylim(bottom=0)
    texts = [str(penalty) for penalty in penalties.tolist()]  # all digits: a rounded one may give another tree
    for i in _with_room(ax, n_leaves, errors, texts):
        _label(ax, texts[i], n_leaves[i], errors[i])
    ax.set(xlabel="leaves", ylabel="training errors" if errors.dtype.kind == "i" else "weight of the training errors")
    ax.set_title("labels: leaf_penalty", fontsize="medium")
    ax.locator_params(axis="x", integer=True, min_n_ticks=1)
    return ax


def plot_importances(names: Sequence[str], importances: FloatArray, ax: Axes | None = None) -> Axes:
    """Draw a row per feature: a dot for every tree, their range and mean. `importances`: (n_trees, n_features).

    The first tree is the best one. Features that no tree uses are left out; so are the least important of many.
    """
    order = [f for f in np.argsort(-importances.sum(axis=0), kind="stable") if importances[:, f].any()]
    shown = order[:MOST_FEATURES]
    ax = _axes(ax, height=max(2.0, 1.2 + 0.32 * len(shown)))
    spread = np.linspace(-0.24, 0.24, len(importances)) if len(importances) > 1 else np.zeros(1)
    dots: dict[str, Any] = {"linewidths": 0, "clip_on": False}
    for row, values in enumerate(importances[:, shown].T):
        ends = [values.min(), values.max()]
        ax.plot(ends, [row, row], color="#d4d4d4", linewidth=5, solid_capstyle="round", zorder=1, label="range")
        blue, red = LINE_COLOURS[0], LINE_COLOURS[4]
        ax.scatter(values[1:], row + spread[1:], 14, blue, alpha=0.6, zorder=2, label="another tree", **dots)
        ax.scatter(values[:1], row + spread[:1], 30, red, marker="D", zorder=4, label="best tree", **dots)
        ax.vlines(values.mean(), row - 0.36, row + 0.36, color="black", linewidth=1.6, zorder=3, label="mean")
        if row == 0:
            ax.legend(fontsize="small", loc="best")
    largest = importances.max(initial=0.0) or 1.0
    ax.set_xlim(-0.04 * largest, 1.04 * largest)
    ax.set_yticks(range(len(shown)), [names[f] for f in shown], **NOT_MATH)
    ax.set_ylim(max(len(shown), 1) - 0.5, -0.5)  # the most important one on top
    n_hidden, n_trees = len(order) - len(shown), len(importances)
    ax.set_xlabel("feature importance" + (f" ({n_hidden:,} less important features are not shown)" if n_hidden else ""))
    ax.set_title(f"{n_trees:,} tree{'' if n_trees == 1 else 's'}", fontsize="medium")
    return ax


def _with_room(ax: Axes, x: NDArray[Any], y: NDArray[Any], texts: Sequence[str]) -> list[int]:
    """Return points whose labels do not overlap: the ends, then the others in order."""
    points = ax.transData.transform(np.column_stack([x, y])) * 72 / ax.figure.dpi
    width, height = LABEL_SIZE
    chosen: list[int] = []
    for i in (0, len(texts) - 1, *range(1, len(texts) - 1)):
        across, up = np.abs(points[chosen] - points[i]).T
        widths = np.array([width * max(len(texts[i]), len(texts[j])) for j in chosen])
        if np.all((across > widths) | (up > height)):
            chosen.append(i)
    return chosen


def _label(ax: Axes, text: str, x: float, y: float) -> None:
    ax.annotate(text, (x, y), xytext=(5, 5), textcoords="offset points", fontsize="small")


def _axes(ax: Axes | None, height: float = 4.2) -> Axes:
    """Return the given Axes, or new ones in a figure of their own."""
    return new_axes(6.4, height, "constrained") if ax is None else ax
