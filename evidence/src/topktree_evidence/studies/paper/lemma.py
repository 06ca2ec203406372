"""The lemma 'Top-k chooses the most accurate tree in its search space', seen by listing the space.

In: a task with `dataset`, `k` and `depth`. Out: how many trees the space has, the errors of the best, the median and
the worst of them, and those of the engine's tree. The one idea: every tree is written out, column by column, and
predicts every row, so that nothing is shared with the search except the ranking of candidates, which defines the space.

Leaves predict their heaviest class. The paper's space has the trees with other leaves too, which are no better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from topktree import Binarizer, datasets
from topktree._search import engine
from topktree._search.objective import Objective, make_objective
from topktree.hard import parity

from ...oracle import oracle
from ...study import Row, Settings, Study, Task

IntArray = NDArray[np.int64]

KEYS = ("dataset", "k", "depth")
RESULTS = ("weight", "trees", "best", "median", "worst", "engine", "equal")

DATASETS = ("tic-tac-toe", "monks-1", "monks-2", "monks-3", "balance-scale", "parity")
SIZES = ((8, 2), (2, 3), (3, 3), (4, 3), (2, 4))
PART = 512  # trees that predict at once


@dataclass(frozen=True, eq=False)
class Problem:
    """Boolean columns (n, d), a class per row and what the row weighs."""

    columns: NDArray[np.bool_]
    classes: NDArray[np.int32]
    weight: IntArray

    def objective(self, k: int, depth: int) -> Objective:
        """Return the objective: fewest errors with k candidates at each of `depth` levels, by information gain."""
        return make_objective(
            self.classes,
            self.n_classes,
            k=(k,) * depth,
            criterion="entropy",
            min_samples_leaf=1,
            min_weight_fraction_leaf=0.0,
            leaf_penalty=0.0,
            class_weight=None,
            sample_weight=self.weight.astype(np.float64),
        )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.classes.max()) + 1

    def solve(self, objective: Objective) -> engine.Solution:
        """Let the engine search for the best tree."""
        rows = np.ascontiguousarray(self.columns).view(np.uint8)
        return engine.solve(rows, self.columns.shape[1], self.classes, objective)

    def class_weights(self) -> IntArray:
        """Return (n, n_classes): the row's weight in the column of its class."""
        return np.asarray((self.classes[:, None] == np.arange(self.n_classes)) * self.weight[:, None])


@cache
def load(name: str) -> Problem:
    """Return a generated dataset with the paper's columns, one-hot except balance-scale; or exact parity(3, 3, 0.1)."""
    if name == "parity":
        distribution = parity(3, 3, 0.1)
        X, y, weight = distribution.exact()
        return Problem(X, y.astype(np.int32), np.rint(weight * distribution.denominator).astype(np.int64))
    if name == "tic-tac-toe":
        X, y = datasets.load_tic_tac_toe(return_X_y=True)
    elif name == "balance-scale":
        X, y = datasets.load_balance_scale(return_X_y=True)
    else:
        X, y = datasets.load_monks(int(name.removeprefix("monks-")), return_X_y=True)
    categories = None if name == "balance-scale" else list(range(X.shape[1]))
    columns = Binarizer(strategy="paper", categorical_features=categories).fit_transform(X, y)
    return Problem(columns, np.unique(y, return_inverse=True)[1].astype(np.int32), np.ones(len(y), dtype=np.int64))


def tasks(settings: Settings) -> list[Task]:
    """Plan every dataset with each k and depth whose space can be listed."""
    return [
        {"dataset": name, "k": k, "depth": depth}
        for name in DATASETS
        for k, depth in SIZES
        if depth in settings.up_to([depth])
    ]


def run(task: Task, settings: Settings) -> Row:
    """List the trees, count the errors of each, and compare with the search."""
    problem = load(str(task["dataset"]))
    objective = problem.objective(int(task["k"]), int(task["depth"]))
    found = errors(problem, *search_space(problem, objective))
    searched = round(objective.user_cost(problem.solve(objective).cost))
    return {
        "weight": int(problem.weight.sum()),
        "trees": len(found),
        "best": int(found.min()),
        "median": float(np.median(found)),
        "worst": int(found.max()),
        "engine": searched,
        "equal": int(searched == found.min()),
    }


def search_space(problem: Problem, objective: Objective) -> tuple[IntArray, IntArray]:
    """Return all trees: the columns of their nodes in preorder, false side first, and the classes of their leaves.

    Trees are complete, (n_trees, 2**depth - 1) and (n_trees, 2**depth): below an early leaf, every leaf has its class.
    """
    unit = oracle().fixed_point(int(problem.weight.sum()))

    def trees(columns: NDArray[np.bool_], class_weights: IntArray, level: int) -> tuple[IntArray, IntArray]:
        totals = class_weights.sum(axis=0)
        height = objective.depth - level
        chosen: Sequence[int] = []
        if height and np.count_nonzero(totals) > 1:
            chosen = oracle().candidates(columns, class_weights, level, objective, unit).tolist()
        if not chosen:
            return np.zeros((1, 2**height - 1), dtype=np.int64), np.full((1, 2**height), np.argmax(totals))
        parts = []
        for column in chosen:
            side = columns[:, column]
            parts.append(_join(column, *(trees(columns[s], class_weights[s], level + 1) for s in (~side, side))))
        return np.concatenate([nodes for nodes, _ in parts]), np.concatenate([leaves for _, leaves in parts])

    return trees(problem.columns, problem.class_weights(), 0)


def _join(
    column: int, false_trees: tuple[IntArray, IntArray], true_trees: tuple[IntArray, IntArray]
) -> tuple[IntArray, IntArray]:
    """Return every tree of the one side with every tree of the other, below a split on the column."""
    n_false, n_true = len(false_trees[0]), len(true_trees[0])
    pairs = [
        (np.repeat(below_false, n_true, axis=0), np.tile(below_true, (n_false, 1)))
        for below_false, below_true in zip(false_trees, true_trees, strict=True)
    ]
    root = np.full((n_false * n_true, 1), column)
    return np.hstack([root, *pairs[0]]), np.hstack(pairs[1])


def errors(problem: Problem, nodes: IntArray, leaves: IntArray) -> IntArray:
    """Return the weight of the rows that each tree gets wrong, all rows walked down every tree."""
    found = []
    for i in range(0, len(nodes), PART):
        wrong = predict(problem.columns, nodes[i : i + PART], leaves[i : i + PART]) != problem.classes
        found.append(wrong @ problem.weight)
    return np.concatenate(found)


def predict(columns: NDArray[np.bool_], nodes: IntArray, leaves: IntArray) -> IntArray:
    """Return the class that each of the complete trees gives to each row: (n_trees, n)."""
    trees, rows = np.arange(len(nodes))[:, None], np.arange(len(columns))[None, :]
    at = np.zeros((len(nodes), len(columns)), dtype=np.int64)
    leaf = np.zeros_like(at)
    below = leaves.shape[1] // 2
    while below:  # leaves on either side of the split
        side = columns[rows, nodes[trees, at]]
        at += np.where(side, below, 1)  # the false side has below - 1 nodes
        leaf += np.where(side, below, 0)
        below //= 2
    return np.asarray(leaves[trees, leaf])


def lines(rows: pd.DataFrame) -> list[list[str]]:
    """Return a line of the table per run."""
    return [
        [
            *(*map(str, row[:4]), f"{row.trees:,}", str(row.best), f"{row.median:g}", str(row.worst)),
            *(str(row.engine), "yes" if row.equal else "NO"),
        ]
        for row in rows[[*KEYS, *RESULTS]].itertuples(index=False)
    ]


# A study whose datasets are generated, so that it needs no files.
generated_study = partial(Study, needs=lambda task: None, finished_only=True)
STUDY = generated_study("lemma", KEYS, RESULTS, tasks, run)
