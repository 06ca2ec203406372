"""The pictures of choosing-k.md: gains per dataset, accuracy against size.

In: the summary of `choosing`. Out: matplotlib Figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from topktree._tree.charts import LINE_COLOURS, MARKERS
from topktree_evidence.studies.choosing.runs import DEPTHS, KS, SKLEARN, TOPK
from topktree_evidence.studies.choosing.summary import FIXED, comparable
from topktree_evidence.study import Row
from topktree_evidence.text import half_interval, mean, numbers, where

GAINS, SIZES = "gains", "sizes"


def draw(rows: Sequence[Row]) -> dict[str, Any]:
    """Gains per dataset; accuracy against size."""
    return {GAINS: _draw_gains(rows), SIZES: _draw_sizes(rows)} if where(rows, method=SKLEARN) else {}


def _draw_gains(rows: Sequence[Row]) -> Any:
    from matplotlib.figure import Figure

    mine = sorted(where(rows, method=TOPK, rule="1se"), key=lambda row: row["gain_mean"] or 0.0)
    names = [row["dataset"] for row in mine]
    figure = Figure(figsize=(7.5, 0.28 * len(names) + 1.2), layout="constrained")
    ax = figure.add_subplot()
    for i, (rule, shift) in enumerate((("1se", 0.13), ("best", -0.13))):
        found = {row["dataset"]: row for row in where(rows, method=TOPK, rule=rule) if row["gain_mean"] is not None}
        heights = [names.index(name) + shift for name in found]
        gains = [100 * row["gain_mean"] for row in found.values()]
        bars = [100 * (half_interval(row) or 0.0) for row in found.values()]
        style: dict[str, Any] = {"color": LINE_COLOURS[i], "marker": MARKERS[i], "markersize": 4, "linestyle": "none"}
        ax.errorbar(gains, heights, xerr=bars, elinewidth=1, capsize=2, label=f'rule="{rule}"', **style)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.set_xlabel("points of test accuracy over scikit-learn's tuned tree (95 % interval)")
    ax.grid(axis="x", alpha=0.3)
    ax.legend(loc="lower right")
    return figure


def _draw_sizes(rows: Sequence[Row]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.6), layout="constrained")
    ax = figure.add_subplot()
    names, done = comparable(rows)
    rows = where(rows, dataset=tuple(names))
    for i, k in enumerate(KS):
        cells = [where(rows, method=TOPK, rule=FIXED, k=k, depth=depth) for depth in DEPTHS if (k, depth) in done]
        style: dict[str, Any] = {"color": LINE_COLOURS[i], "marker": MARKERS[i], "markersize": 4, "linewidth": 1.2}
        ax.plot(*_means_of(cells), label=f"k = {k}, depth 2 to {1 + len(cells)}", **style)
    for method, rule, name, marker in (
        (TOPK, "1se", 'chosen, "1se"', "*"),
        (TOPK, "best", 'chosen, "best"', "P"),
        (SKLEARN, "best", "scikit-learn, tuned", "X"),
    ):
        if found := where(rows, method=method, rule=rule):
            ax.plot(*_means_of([found]), marker, color="black", markersize=11, markerfacecolor="none", label=name)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter("{x:g}")
    ax.tick_params(axis="x", which="both", labelsize=8)  # powers of ten are numbers among others here
    ax.set_xlabel("leaves, mean over the datasets")
    ax.set_ylabel("test accuracy in percent, mean over the datasets")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)
    return figure


def _means_of(groups: Sequence[Sequence[Row]]) -> tuple[list[float], list[float]]:
    """Leaves and accuracy of each group of rows."""
    leaves = [mean(numbers(group, "leaves")) for group in groups]
    return leaves, [100 * mean(numbers(group, "test_mean")) for group in groups]
