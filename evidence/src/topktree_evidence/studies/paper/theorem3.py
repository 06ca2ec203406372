"""Theorem 3 at sizes that can be searched: accuracy of Top-k at depth h on the exact Tribes and Majority distribution.

In: a task with `h`, `K`, `eps`, `criterion` and `k`. Out: the tree's accuracy, that of a single leaf and of the best
classifier there is, whether Top-k succeeds (at least 1 - eps) and fails (at most 1/2 + eps; both is possible if eps is
1/4 or more), and the covariances of both groups of features with the label. The one idea: all of it is exact, and what
the theorem says about small k is only observed, since it is about far greater h: see `frontier.py`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pandas as pd

from topktree import TopKTreeClassifier
from topktree.hard import tribes_majority

from ...pictures import new_figure
from ...study import Row, Settings, Study, Task
from ...text import where
from .frontier import majority_covariance, tribes_covariance
from .theorem2 import CRITERIA, exact_accuracy

KEYS = ("h", "K", "eps", "criterion", "k")
RESULTS = (
    *("accuracy", "leaf_accuracy", "bayes_accuracy", "succeeds", "fails", "leaves"),
    *("tribes_covariance", "majority_covariance"),
)

# Tribes are single features for h up to 4, pairs from 5 to 15. The first four have K > h, as the theorem needs.
# In the last four Majority's features rank first at the root, because Tribes has many more features than Majority.
CASES = (
    *((4, 8, 0.3), (5, 6, 0.1), (5, 10, 0.2), (6, 8, 0.1), (5, 3, 0.1)),
    *((8, 4, 0.3), (8, 6, 0.4), (10, 5, 0.3), (12, 3, 0.2)),
)


def tasks(settings: Settings) -> list[Task]:
    """Plan every k up to K, at depth h."""
    return [
        dict(zip(KEYS, (h, K, eps, criterion, k), strict=True))
        for h, K, eps in CASES
        if h in settings.up_to([h])
        for criterion in CRITERIA
        for k in range(1, K + 1)
    ]


def run(task: Task, settings: Settings) -> Row:
    """Fit one tree of depth h to the exact distribution."""
    h, K, k, eps = int(task["h"]), int(task["K"]), int(task["k"]), float(task["eps"])
    distribution = tribes_majority(h, K, eps)
    X, y, weight = distribution.exact()
    tree = TopKTreeClassifier(k=k, max_depth=h, criterion=str(task["criterion"]))
    tree.fit(X, y, sample_weight=weight * distribution.denominator)
    accuracy = exact_accuracy(tree, distribution)
    return {
        "accuracy": float(accuracy),
        "leaf_accuracy": float(max(weight[y == label].sum() for label in (0, 1))),
        "bayes_accuracy": distribution.bayes_accuracy,
        "succeeds": int(accuracy >= 1 - distribution.fraction),
        "fails": int(accuracy <= Fraction(1, 2) + distribution.fraction),
        "leaves": int(tree.get_n_leaves()),
        "tribes_covariance": tribes_covariance(h, eps),
        "majority_covariance": majority_covariance(K, eps),
    }


def lines(rows: pd.DataFrame) -> list[list[str]]:
    """Return a line per size: what Top-1 and Top-K reach, the smallest k as good as Top-K, and for which criteria."""
    found: dict[tuple[str, ...], list[str]] = {}  # the criteria that give a line
    for (*_, criterion), own in rows.groupby(["h", "K", "eps", "criterion"], sort=False):
        found.setdefault(_cells(own.sort_values("k")), []).append(criterion)
    return [[*line, ", ".join(criteria)] for line, criteria in found.items()]


def _cells(rows: pd.DataFrame) -> tuple[str, ...]:
    """Return the line of one size and criterion, of rows by growing k."""
    first, last = rows.iloc[0], rows.iloc[-1]
    good = rows["k"][rows["succeeds"] == 1]
    return (
        *(str(first[name]) for name in ("h", "K", "eps")),
        *(f"{first[name]:.4f}" for name in ("tribes_covariance", "majority_covariance", "leaf_accuracy", "accuracy")),
        *(f"{last[name]:.4f}" for name in ("accuracy", "bayes_accuracy")),
        "yes" if last["succeeds"] else "no",
        str(good.iloc[0]) if len(good) else "none",
        str(rows["k"][rows["accuracy"] >= last["accuracy"]].iloc[0]),
        ", ".join(map(str, rows["k"][rows["fails"] == 1])) or "none",
    )


def draw(rows: pd.DataFrame) -> dict[str, Any]:
    """Draw accuracy against k, a line per size; the first criterion only."""
    figure, axes = new_figure(7.5, 4.2)
    place = axes[0, 0]
    colours = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999", "#882255")
    sizes = where(rows, criterion=CRITERIA[0]).sort_values("k", kind="stable").groupby(["h", "K", "eps"], sort=False)
    for i, ((h, K, eps), own) in enumerate(sizes):
        look: dict[str, Any] = {"color": colours[i % 9], "marker": "osD^vPX*p"[i % 9], "markersize": 5}
        place.plot(own["k"], own["accuracy"], label=f"h = {h}, K = {K}, eps = {eps}", **look)
    place.set_xlabel("k")
    place.set_ylabel("accuracy at depth h")
    place.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=9)
    return {"theorem3": figure}


STUDY = Study("theorem3", KEYS, RESULTS, tasks, run, finished_only=True, pictures=draw, drawn=("theorem3",))
