"""A tree with at most so many leaves, by searches with rising leaf penalties.

In: a function that searches, an `Objective`, the number of leaves. Out: a `Solution` and a lower bound of its cost. The
one idea: a tree that is cheapest at some penalty per leaf is also the cheapest of all trees with as few leaves. So the
penalty at which the largest known tree within the budget and the smallest one beyond it cost the same either leads to a
cheaper tree between them, or there is none that a penalty prefers. Larger trees are cut back to the budget: their best
part with so few leaves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np

from .._data.arrays import IntArray
from .._runtime.limits import NO_TIME
from . import engine
from .objective import COST_BITS, Objective
from .penalised import PenalisedTree, at_penalty
from .root_choices import without_choices

# Each search brings the two ends closer together; with this many, the difference to the last corner is small.
MOST_SEARCHES = 12


@dataclass(frozen=True, eq=False)
class WithinBudget:
    """The best tree found, and what no tree that the search chooses from goes below within the budget."""

    solution: engine.Solution
    lower_bound: int | None  # None: not known, since a lookahead or a time limit leaves trees out


def solve_within(
    solve: Callable[..., engine.Solution],
    objective: Objective,
    max_leaves: int,
    time_limit: float | None = None,
    on_better: Callable[[engine.Solution], None] | None = None,
) -> WithinBudget:
    """Return a tree with at most `max_leaves` leaves. `solve(objective, time_limit=...)` is a search."""
    search = _Search(solve, objective, max_leaves, time_limit, on_better)
    penalty = search.own_penalty
    known = search.run(penalty)
    if known.leaves > max_leaves:
        penalty = search.close_in(known)
        search.try_narrow(penalty)
    if objective.refine:
        search.run(penalty, refine=True)
    return search.result()


class _Search:
    """The searches so far: the best tree within the budget, and the lower bound."""

    def __init__(
        self,
        solve: Callable[..., engine.Solution],
        objective: Objective,
        max_leaves: int,
        time_limit: float | None,
        on_better: Callable[[engine.Solution], None] | None,
    ) -> None:
        self.solve, self.objective, self.max_leaves, self.on_better = solve, objective, max_leaves, on_better
        self.own_penalty = Fraction(objective.leaf_penalty, objective.cost_scale)
        self.start, self.time_limit = time.monotonic(), time_limit
        self.best: engine.Solution | None = None
        self.lower_bound = 0
        self.is_complete = True
        self.counts = dict.fromkeys(("nodes", "pruned", "cache_hits"), 0)

    def run(self, penalty: Fraction, refine: bool = False, k: tuple[int, ...] | None = None) -> PenalisedTree:
        """Search at a penalty, with other candidates if `k` says so, and keep what is best of the tree."""
        objective = self.objective if penalty == self.own_penalty else at_penalty(self.objective, penalty)
        objective = replace(objective, refine=refine, k=k or objective.k)
        left = None
        if self.time_limit is not None:  # without time left, a search still finds the greedy tree
            left = max(self.start + self.time_limit - time.monotonic(), NO_TIME)
        solution = self.solve(objective, time_limit=left)
        for name in self.counts:
            self.counts[name] += cast(Any, solution.statistics)[name]
        self.is_complete = self.is_complete and solution.complete
        if solution.complete and not refine and k is None:
            lowest = Fraction(solution.cost, objective.cost_scale) - (penalty - self.own_penalty) * self.max_leaves
            self.lower_bound = max(self.lower_bound, -int(-lowest * self.objective.cost_scale // 1))
        self._keep(solution, penalty)
        return PenalisedTree(solution, penalty, penalty)

    def close_in(self, many: PenalisedTree) -> Fraction:
        """Search between the single leaf and a tree that is too large; return the last penalty."""
        leaves, errors, penalty = 1, _node_errors(many.solution)[0], self.own_penalty
        # Costs must stay within 64 bits: the penalty may be rounded.
        most = max(2 ** (COST_BITS - 1) // int(many.solution.class_weight[0].sum()), 1)
        for _ in range(MOST_SEARCHES):
            if not self.is_complete:  # the time is up
                break
            edge = Fraction(int(errors) - many.errors, many.leaves - leaves).limit_denominator(most)
            if edge <= self.own_penalty:  # only with a lookahead, which chooses from other trees at every penalty
                break
            found = self.run(edge)
            if found.errors + edge * found.leaves >= errors + edge * leaves:
                break
            penalty = edge
            if found.leaves > self.max_leaves:
                many = found
            else:
                leaves, errors = found.leaves, found.errors
            if leaves == self.max_leaves:
                break
        return penalty

    def try_narrow(self, penalty: Fraction) -> None:
        """Search for greedy trees too, which take little time: a part of one may happen to be better."""
        for narrow in dict.fromkeys((self.own_penalty, penalty)):
            self.run(narrow, k=(1,) * self.objective.depth)

    def _keep(self, solution: engine.Solution, penalty: Fraction) -> None:
        part = best_part(solution, self.objective, self.max_leaves)
        if self.best is not None and part.cost >= self.best.cost:
            return
        if len(part.column) < len(solution.column) or penalty != self.own_penalty:
            part = without_choices(part)  # their costs are for other trees or another penalty
        self.best = part
        if self.on_better is not None:
            self.on_better(part)

    def result(self) -> WithinBudget:
        """Return the best tree, with the record of all searches together."""
        assert self.best is not None
        seconds = time.monotonic() - self.start
        trace = [(seconds, k, self.best.cost) for _, k, _ in self.best.statistics["trace"][-1:]]
        statistics: Any = {**self.best.statistics, **self.counts, "seconds": seconds, "trace": trace}
        is_known = self.is_complete and self.objective.lookahead == 0
        solution = replace(self.best, complete=self.is_complete, statistics=statistics)
        return WithinBudget(solution, self.lower_bound if is_known else None)


def _node_errors(solution: engine.Solution) -> IntArray:
    """Return the weight that every node misclassifies as a leaf."""
    weights = solution.class_weight
    return np.asarray(weights.sum(axis=1) - weights.max(axis=1))


def best_part(solution: engine.Solution, objective: Objective, max_leaves: int) -> engine.Solution:
    """Return the cheapest pruned tree with at most `max_leaves` leaves; of several, the one with the fewest."""
    leaf_costs = (_node_errors(solution) * objective.cost_scale + objective.leaf_penalty).tolist()
    n = len(leaf_costs)
    costs: list[IntArray] = [np.empty(0, dtype=np.int64)] * n  # [i]: the lowest with i + 1 leaves
    left_leaves: list[IntArray] = [np.empty(0, dtype=np.int64)] * n  # those of the false side, then; 0: a leaf
    for node in range(n - 1, -1, -1):  # children come after their parents
        costs[node], left_leaves[node] = np.array([leaf_costs[node]]), np.zeros(1, dtype=np.int64)
        if solution.column[node] >= 0:
            sides = costs[solution.false_child[node]], costs[solution.true_child[node]]
            costs[node], left_leaves[node] = _of_split(costs[node], *sides, max_leaves)
    is_split = np.zeros(n, dtype=bool)
    todo = [(0, int(np.argmin(costs[0])))]
    while todo:
        node, i = todo.pop()
        if n_left := int(left_leaves[node][i]):
            is_split[node] = True
            todo += [(int(solution.false_child[node]), n_left - 1), (int(solution.true_child[node]), i - n_left)]
    return _cut_back(solution, is_split, int(costs[0].min()))


def _of_split(leaf: IntArray, of_false: IntArray, of_true: IntArray, max_leaves: int) -> tuple[IntArray, IntArray]:
    """Return the costs of a split node by its number of leaves, and how many of these are on the false side."""
    size = min(len(of_false) + len(of_true), max_leaves)
    costs = np.full(size, np.iinfo(np.int64).max)
    n_left = np.zeros(size, dtype=np.int64)
    costs[0] = leaf[0]
    for i, cost in enumerate(of_false[: size - 1].tolist()):
        sums = cost + of_true[: size - 1 - i]
        places = slice(i + 1, i + 1 + len(sums))
        better = sums < costs[places]
        costs[places][better] = sums[better]
        n_left[places][better] = i + 1
    return costs, n_left


def _cut_back(solution: engine.Solution, is_split: np.ndarray, cost: int) -> engine.Solution:
    """Return the solution with only these nodes split."""
    stays = np.zeros(len(is_split), dtype=bool)
    stays[0] = True
    for child in (solution.false_child, solution.true_child):
        stays[child[is_split]] = True
    place = np.append(np.cumsum(stays) - 1, -1).astype(np.int32)
    assert solution.node_wrong is not None
    cut = is_split[stays]
    return replace(
        solution,
        column=np.where(cut, solution.column[stays], np.int32(-1)),
        false_child=np.where(cut, place[solution.false_child[stays]], np.int32(-1)),
        true_child=np.where(cut, place[solution.true_child[stays]], np.int32(-1)),
        n_rows=solution.n_rows[stays],
        class_weight=solution.class_weight[stays],
        node_wrong=solution.node_wrong[stays],
        n_wrong=int(solution.node_wrong[stays][~cut].sum()),
        cost=cost,
    )
