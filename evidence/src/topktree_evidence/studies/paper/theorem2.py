"""Theorem 2, the greediness hierarchy: accuracy of Top-k on the parity distribution for every k and depth.

In: a task with `source`, `h`, `K`, `eps`, `criterion`, `k` and `depth`. Out: the tree's accuracy on the distribution,
and whether the bound holds: at most 1/2 + eps at depths below h + K - k, at least 1 - eps from there on. The one idea:
on the exact distribution everything is a fraction, so a bound holds or fails, without tolerance.

Two cases are there because the first bound fails on them. For h = 1 the parity of one feature is that feature, which
Top-1 sees at once: the theorem needs h >= 2. For eps = 0.00001 the gain of an x2 feature, 3 (eps / (2 (K - 1)))**2 or
so, is below the 2**-32 of the whole to which scores are rounded: all features tie, and the first ones, x1, win.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from topktree._classifier import TopKTreeClassifier
from topktree.hard import HardDistribution, parity
from topktree_evidence.study import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure


KEYS = ("source", "h", "K", "eps", "criterion", "k", "depth")
RESULTS = ("accuracy", "leaves", "nodes", "bound", "holds")

EXACT, SAMPLED = "exact", "sampled"
CRITERIA = ("entropy", "gini", "sqrt")
CASES = ((1, 3, 0.1), (2, 3, 0.1), (3, 4, 0.05), (4, 5, 0.1), (5, 3, 0.2), (3, 6, 0.1), (6, 2, 0.01), (3, 4, 0.00001))
SAMPLED_CASE = (4, 5, 0.1)
SAMPLES = 200_000


def tasks(max_depth: int | None = None) -> list[Row]:
    """Every k up to K and every depth, on the exact distributions and on a sample of one of them."""
    found: list[Row] = []
    for h, K, eps in CASES:
        found += _tasks(EXACT, h, K, eps, CRITERIA, max_depth)
    return found + _tasks(SAMPLED, *SAMPLED_CASE, CRITERIA[:1], max_depth)


def _tasks(source: str, h: int, K: int, eps: float, criteria: Iterable[str], max_depth: int | None) -> list[Row]:
    deepest = min(h + K - 1, max_depth or h + K - 1)
    return [
        dict(zip(KEYS, (source, h, K, eps, criterion, k, depth), strict=True))
        for criterion in criteria
        for k in range(1, K + 1)
        for depth in range(1, deepest + 1)
    ]


def run(task: Row) -> Row:
    """Fit one tree; its accuracy is that on the distribution, also if it was fitted to a sample."""
    h, K, k, depth = (int(task[name]) for name in ("h", "K", "k", "depth"))
    distribution = parity(h, K, float(task["eps"]))
    tree = TopKTreeClassifier(k=k, max_depth=depth, criterion=str(task["criterion"]))
    if task["source"] == EXACT:
        X, y, weight = distribution.exact()
        tree.fit(X, y, sample_weight=weight * distribution.denominator)
    else:
        tree.fit(*distribution.sample(SAMPLES, random_state=0))
    accuracy = exact_accuracy(tree, distribution)
    eps, nodes = distribution.fraction, tree.search_["nodes"]
    assert isinstance(nodes, int)
    is_shallow = depth < h + K - k
    limit = Fraction(1, 2) + eps if is_shallow else 1 - eps
    return {
        "accuracy": float(accuracy),
        "leaves": int(tree.get_n_leaves()),
        "nodes": nodes,
        "bound": f"{'at most' if is_shallow else 'at least'} {float(limit):g}",
        "holds": int(accuracy <= limit if is_shallow else accuracy >= limit),
    }


def exact_accuracy(tree: TopKTreeClassifier, distribution: HardDistribution) -> Fraction:
    """Probability that the tree is right, summed over all points."""
    X, y, weight = distribution.exact()
    right = np.rint(weight * distribution.denominator).astype(np.int64)[tree.predict(X) == y].sum()
    return Fraction(int(right), distribution.denominator)


def table(rows: Sequence[Row]) -> str:
    """A line per distribution and k: the range of accuracies on both sides of depth h + K - k, over all criteria."""
    lines = [
        "| source | h | K | eps | k | depth h+K-k | accuracy at lower depths | accuracy from there on | bounds hold |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for case in sorted({(row["source"], row["h"], row["K"], row["eps"], row["k"]) for row in rows}, key=_order):
        source, h, K, eps, k = case
        own = [row for row in rows if (row["source"], row["h"], row["K"], row["eps"], row["k"]) == case]
        enough = int(h) + int(K) - int(k)
        below = [float(row["accuracy"]) for row in own if int(row["depth"]) < enough]
        above = [float(row["accuracy"]) for row in own if int(row["depth"]) >= enough]
        holds = f"{sum(int(row['holds']) for row in own)} of {len(own)}"
        cells = (source, h, K, eps, k, enough, _range(below), _range(above), holds)
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def _order(case: tuple[int | float | str, ...]) -> tuple[str, list[float]]:
    return str(case[0]), [float(value) for value in case[1:]]


def _range(values: Sequence[float]) -> str:
    """The lowest and highest of some accuracies, as one number if they are the same."""
    return " to ".join(dict.fromkeys(f"{value:.4f}" for value in (min(values), max(values)))) if values else "-"


def draw(rows: Sequence[Row]) -> Figure:
    """Accuracy against depth, a line per k, a panel per exact distribution; the first criterion only."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    rows = [row for row in rows if row["source"] == EXACT and row["criterion"] == CRITERIA[0]]
    cases = sorted({(int(row["h"]), int(row["K"]), float(row["eps"])) for row in rows})
    n_columns = max(1, min(len(cases), 4))
    n_rows = max(1, -(-len(cases) // n_columns))
    figure = Figure(figsize=(max(6.5, 3.2 * n_columns), 2.6 * n_rows + 0.8), layout="constrained")
    places = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for place in places[len(cases) :]:
        place.set_axis_off()
    widest = max((K for _, K, _ in cases), default=1)
    for place, (h, K, eps) in zip(places, cases, strict=False):
        for limit in (0.5 + eps, 1 - eps):
            place.axhline(limit, color="0.55", linestyle=":", linewidth=1)
        for k in range(1, K + 1):
            own = [row for row in rows if (row["h"], row["K"], row["eps"], row["k"]) == (h, K, eps, k)]
            points = sorted((int(row["depth"]), float(row["accuracy"])) for row in own)
            colour = colormaps["viridis"](0.92 * (k - 1) / max(widest - 1, 1))
            place.plot(*zip(*points, strict=True), color=colour, marker="osD^vP"[k % 6], markersize=4, label=f"Top-{k}")
        place.set_title(f"h = {h}, K = {K}, eps = {eps:g}", fontsize=10)
        place.set_ylim(0.48, 1.02)
        place.xaxis.get_major_locator().set_params(integer=True)
        place.grid(alpha=0.3)
    shown = {label: line for place in places for line, label in zip(*place.get_legend_handles_labels(), strict=True)}
    figure.legend(list(shown.values()), list(shown), loc="outside upper center", ncols=max(len(shown), 1), fontsize=9)
    figure.supxlabel("depth", fontsize=10)
    figure.supylabel("accuracy (dotted: 1/2 + eps, 1 - eps)", fontsize=10)
    return figure
