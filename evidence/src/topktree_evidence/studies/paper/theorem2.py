"""Theorem 2, the greediness hierarchy: accuracy of Top-k on the parity distribution for every k and depth.

In: a task with `source`, `h`, `K`, `eps`, `criterion`, `k` and `depth`. Out: the tree's accuracy on the distribution,
and whether the bound holds: at most 1/2 + eps at depths below h + K - k, at least 1 - eps from there on. The one idea:
on the exact distribution everything is a fraction, so a bound holds or fails, without tolerance.

Two cases are there because the first bound fails on them. For h = 1 the parity of one feature is that feature, which
Top-1 sees at once: the theorem needs h >= 2. For eps = 0.00001 the gain of an x2 feature, ~3 (eps / (2 (K - 1)))**2,
is below the 2**-32 of the whole to which scores are rounded: all features tie, and the first ones, x1, win.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from topktree import TopKTreeClassifier
from topktree.hard import HardDistribution, parity

from ...pictures import integers_only, panels
from ...study import Row, Settings, Study, Task
from ...text import span, where

KEYS = ("source", "h", "K", "eps", "criterion", "k", "depth")
RESULTS = ("accuracy", "leaves", "nodes", "bound", "holds")

EXACT, SAMPLED = "exact", "sampled"
CRITERIA = ("entropy", "gini", "sqrt")
CASES = ((1, 3, 0.1), (2, 3, 0.1), (3, 4, 0.05), (4, 5, 0.1), (5, 3, 0.2), (3, 6, 0.1), (6, 2, 0.01), (3, 4, 0.00001))
SAMPLED_CASE = (4, 5, 0.1)
SAMPLES = 200_000


def tasks(settings: Settings) -> list[Task]:
    """Plan every k up to K and every depth, on the exact distributions and on a sample of one of them."""
    cases = [(EXACT, *case, criterion) for case in CASES for criterion in CRITERIA]
    return [
        dict(zip(KEYS, (source, h, K, eps, criterion, k, depth), strict=True))
        for source, h, K, eps, criterion in [*cases, (SAMPLED, *SAMPLED_CASE, CRITERIA[0])]
        for k in range(1, K + 1)
        for depth in settings.up_to(range(1, h + K))
    ]


def run(task: Task, settings: Settings) -> Row:
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
    eps = distribution.fraction
    is_shallow = depth < h + K - k
    limit = Fraction(1, 2) + eps if is_shallow else 1 - eps
    return {
        "accuracy": float(accuracy),
        "leaves": int(tree.get_n_leaves()),
        "nodes": tree.search_["nodes"],
        "bound": f"{'at most' if is_shallow else 'at least'} {float(limit):g}",
        "holds": int(accuracy <= limit if is_shallow else accuracy >= limit),
    }


def exact_accuracy(tree: TopKTreeClassifier, distribution: HardDistribution) -> Fraction:
    """Return the probability that the tree is right, summed over all points."""
    X, y, weight = distribution.exact()
    right = np.rint(weight * distribution.denominator).astype(np.int64)[tree.predict(X) == y].sum()
    return Fraction(int(right), distribution.denominator)


def lines(rows: pd.DataFrame) -> list[list[str]]:
    """Return a line per distribution and k: the accuracies on both sides of depth h + K - k, over all criteria."""
    found = []
    for (source, h, K, eps, k), own in rows.groupby(["source", "h", "K", "eps", "k"]):
        enough = h + K - k
        below, above = own["accuracy"][own["depth"] < enough], own["accuracy"][own["depth"] >= enough]
        holds = f"{own['holds'].sum()} of {len(own)}"
        found.append([*map(str, (source, h, K, eps, k, enough)), span(below, ".4f"), span(above, ".4f"), holds])
    return found


def draw(rows: pd.DataFrame) -> dict[str, Any]:
    """Draw accuracy against depth, a line per k, a panel per exact distribution; the first criterion only."""
    from matplotlib import colormaps

    rows = where(rows, source=EXACT, criterion=CRITERIA[0])
    cases = {f"h = {h}, K = {K}, eps = {eps:g}": own for (h, K, eps), own in rows.groupby(["h", "K", "eps"])}
    widest = max(rows["K"], default=1)

    def panel(place: Any, own: pd.DataFrame) -> None:
        eps = own["eps"].iloc[0]
        for limit in (0.5 + eps, 1 - eps):
            place.axhline(limit, color="0.55", linestyle=":", linewidth=1)
        for k, line in own.sort_values("depth").groupby("k"):
            colour = colormaps["viridis"](0.92 * (k - 1) / max(widest - 1, 1))
            look: dict[str, Any] = {"color": colour, "marker": "osD^vP"[k % 6], "markersize": 4}
            place.plot(line["depth"], line["accuracy"], label=f"Top-{k}", **look)
        place.set_ylim(0.48, 1.02)
        integers_only(place)

    return panels("theorem2", cases, panel, "depth", "accuracy (dotted: 1/2 + eps, 1 - eps)")


STUDY = Study("theorem2", KEYS, RESULTS, tasks, run, finished_only=True, pictures=draw, drawn=("theorem2",))
