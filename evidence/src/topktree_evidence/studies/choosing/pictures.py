"""The pictures of choosing-k.md: gains per dataset, accuracy against size.

In: the summary of `choosing`. Out: matplotlib Figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ...pictures import COLOURS, MARKERS, label_datasets, label_leaves, new_figure
from ...text import half_interval, mean, where
from .runs import DEPTHS, KS, SKLEARN, TOPK
from .summary import FIXED, comparable

GAINS, SIZES = "gains", "sizes"


def draw(table: pd.DataFrame) -> dict[str, Any]:
    """Draw gains per dataset, and accuracy against size."""
    return {GAINS: _draw_gains(table), SIZES: _draw_sizes(table)} if len(where(table, method=SKLEARN)) else {}


def _draw_gains(table: pd.DataFrame) -> Any:
    mine = where(table, method=TOPK, rule="1se").fillna({"gain_mean": 0.0}).sort_values("gain_mean", kind="stable")
    names = list(mine["dataset"])
    figure, axes = new_figure(7.5, 0.28 * len(names) + 1.2)
    ax = axes[0, 0]
    for i, (rule, shift) in enumerate((("1se", 0.13), ("best", -0.13))):
        found = where(table, method=TOPK, rule=rule).dropna(subset="gain_mean")
        heights = [names.index(name) + shift for name in found["dataset"]]
        bars = [100 * (half_interval(row) or 0.0) for _, row in found.iterrows()]
        style: dict[str, Any] = {"color": COLOURS[i], "marker": MARKERS[i], "markersize": 4, "linestyle": "none"}
        ax.errorbar(
            100 * found["gain_mean"], heights, xerr=bars, elinewidth=1, capsize=2, label=f'rule="{rule}"', **style
        )
    label_datasets(ax, names, "points of test accuracy over scikit-learn's tuned tree (95 % interval)")
    ax.legend(loc="lower right")
    return figure


def _draw_sizes(table: pd.DataFrame) -> Any:
    figure, axes = new_figure(7.0, 4.6)
    ax = axes[0, 0]
    names, done = comparable(table)
    table = where(table, dataset=names)
    for i, k in enumerate(KS):
        cells = [where(table, method=TOPK, rule=FIXED, k=k, depth=depth) for depth in DEPTHS if (k, depth) in done]
        style: dict[str, Any] = {"color": COLOURS[i], "marker": MARKERS[i], "markersize": 4, "linewidth": 1.2}
        ax.plot(*_means_of(cells), label=f"k = {k}, depth 2 to {1 + len(cells)}", **style)
    for method, rule, name, marker in (
        (TOPK, "1se", 'chosen, "1se"', "*"),
        (TOPK, "best", 'chosen, "best"', "P"),
        (SKLEARN, "best", "scikit-learn, tuned", "X"),
    ):
        found = where(table, method=method, rule=rule)
        if len(found):
            ax.plot(*_means_of([found]), marker, color="black", markersize=11, markerfacecolor="none", label=name)
    label_leaves(ax, "leaves, mean over the datasets", "test accuracy in percent, mean over the datasets")
    ax.legend(fontsize=8)
    return figure


def _means_of(groups: Sequence[pd.DataFrame]) -> tuple[list[float], list[float]]:
    """Return leaves and accuracy of each group of rows."""
    return [mean(group["leaves"]) for group in groups], [100 * mean(group["test_mean"]) for group in groups]
