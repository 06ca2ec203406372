"""Curves, drawn with matplotlib: what a search did, what a choice was made from, errors against leaves.

In: numbers from a fitted estimator. Out: the Axes that they are drawn on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._problem import FloatArray, IntArray
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


def _axes(ax: Axes | None) -> Axes:
    """Those given, or new ones on a figure of their own."""
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(6.4, 4.2), layout="constrained").add_subplot()
