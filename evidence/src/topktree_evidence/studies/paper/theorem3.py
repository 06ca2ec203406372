"""Theorem 3 at sizes that can be searched: accuracy of Top-k at depth h on the exact Tribes and Majority distribution.

In: a task with `h`, `K`, `eps`, `criterion` and `k`. Out: the tree's accuracy, that of a single leaf and of the best
classifier there is, whether Top-k succeeds (at least 1 - eps) and fails (at most 1/2 + eps; both is possible if eps is
1/4 or more), and the covariances of both groups of features with the label. The one idea: all of it is exact, and what
the theorem says of small k is only looked at, since it is about far greater h: see `theorem3_frontier`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from topktree._classifier import TopKTreeClassifier
from topktree.hard import tribes_majority
from topktree_evidence.studies.paper.frontier import majority_covariance, tribes_covariance
from topktree_evidence.studies.paper.theorem2 import CRITERIA, exact_accuracy
from topktree_evidence.study import Row
from topktree_evidence.text import markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure


KEYS = ("h", "K", "eps", "criterion", "k")
RESULTS = (
    "accuracy",
    "leaf_accuracy",
    "bayes_accuracy",
    "succeeds",
    "fails",
    "leaves",
    "tribes_covariance",
    "majority_covariance",
)

# Tribes are single features for h up to 4, pairs from 5 to 15. The first four have K > h, as the theorem needs.
# In the last four Majority's features rank first at the root, because Tribes has many more features than Majority.
CASES = (
    (4, 8, 0.3),
    (5, 6, 0.1),
    (5, 10, 0.2),
    (6, 8, 0.1),
    (5, 3, 0.1),
    (8, 4, 0.3),
    (8, 6, 0.4),
    (10, 5, 0.3),
    (12, 3, 0.2),
)


def tasks(max_depth: int | None = None) -> list[Row]:
    """Every k up to K, at depth h; the sizes with h up to `max_depth`."""
    return [
        dict(zip(KEYS, (h, K, eps, criterion, k), strict=True))
        for h, K, eps in CASES
        if max_depth is None or h <= max_depth
        for criterion in CRITERIA
        for k in range(1, K + 1)
    ]


def run(task: Row) -> Row:
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


def table(rows: Sequence[Row]) -> str:
    """A line per size: what Top-1 and Top-K reach, and the smallest k that does as well as Top-K."""
    header = (
        *(
            "h",
            "K",
            "eps",
            "covariance Tribes",
            "covariance Majority",
            "single leaf",
            "Top-1",
            "Top-K",
            "best possible",
        ),
        *("Top-K >= 1 - eps", "smallest k >= 1 - eps", "smallest k as good as Top-K", "k <= 1/2 + eps", "criteria"),
    )
    lines: dict[tuple[str, ...], list[str]] = {}  # the criteria that give a line
    for h, K, eps, criterion in dict.fromkeys((row["h"], row["K"], row["eps"], row["criterion"]) for row in rows):
        own = [row for row in rows if (row["h"], row["K"], row["eps"], row["criterion"]) == (h, K, eps, criterion)]
        lines.setdefault(_cells(sorted(own, key=lambda row: row["k"])), []).append(criterion)
    return markdown(header, [(*line, ", ".join(criteria)) for line, criteria in lines.items()])


def _cells(rows: Sequence[Row]) -> tuple[str, ...]:
    """The line of one size and criterion, of rows by growing k."""
    first, last = rows[0], rows[-1]
    cells = (
        *(first[name] for name in ("h", "K", "eps")),
        *(f"{first[name]:.4f}" for name in ("tribes_covariance", "majority_covariance", "leaf_accuracy", "accuracy")),
        *(f"{last[name]:.4f}" for name in ("accuracy", "bayes_accuracy")),
        "yes" if last["succeeds"] else "no",
        next((row["k"] for row in rows if row["succeeds"]), "none"),
        next(row["k"] for row in rows if row["accuracy"] >= last["accuracy"]),
        ", ".join(str(row["k"]) for row in rows if row["fails"]) or "none",
    )
    return tuple(map(str, cells))


def draw(rows: Sequence[Row]) -> Figure:
    """Accuracy against k, a line per size; the first criterion only."""
    from matplotlib.figure import Figure

    rows = [row for row in rows if row["criterion"] == CRITERIA[0]]
    cases = list(dict.fromkeys((row["h"], row["K"], row["eps"]) for row in rows))
    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    place = figure.subplots()
    colours = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999", "#882255")
    for i, (h, K, eps) in enumerate(cases):
        own = [row for row in rows if (row["h"], row["K"], row["eps"]) == (h, K, eps)]
        k, accuracy = np.array(sorted((int(row["k"]), float(row["accuracy"])) for row in own)).T
        label = f"h = {h}, K = {K}, eps = {eps}"
        place.plot(k, accuracy, color=colours[i % len(colours)], marker="osD^vPX*p"[i % 9], markersize=5, label=label)
    place.set_xlabel("k")
    place.set_ylabel("accuracy at depth h")
    place.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=9)
    return figure
