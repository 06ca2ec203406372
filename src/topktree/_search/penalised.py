"""Trees of searches with a leaf penalty: what each of them costs at other penalties.

In: an `Objective`, solutions. Out: the objective at a penalty, a `PenalisedTree`, a solution at another cost. Penalties
are fractions of integers, and costs are integers: nothing is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from . import engine
from .objective import Objective
from .root_choices import without_choices


@dataclass(eq=False)
class PenalisedTree:
    """A tree, and the penalties from `low` to `high`, in integer weight, at which it is known to be a cheapest one."""

    solution: engine.Solution
    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        weights = self.solution.class_weight[self.solution.column == -1]
        self.leaves = len(weights)
        self.errors = int(weights.sum() - weights.max(axis=1).sum())

    def cost(self, objective: Objective) -> int:
        """Return what the tree costs under an objective."""
        return objective.cost_scale * self.errors + objective.leaf_penalty * self.leaves


def at_penalty(base: Objective, penalty: Fraction) -> Objective:
    """Return the objective with a penalty in integer weight."""
    return replace(base, cost_scale=penalty.denominator, leaf_penalty=penalty.numerator)


def recosted(tree: PenalisedTree, objective: Objective) -> engine.Solution:
    """Return the solution as if it had been found under another objective."""
    cost, solution = tree.cost(objective), without_choices(tree.solution)  # their costs are for another penalty
    trace = [(seconds, k, cost) for seconds, k, _ in solution.statistics["trace"]]
    return replace(solution, cost=cost, statistics={**solution.statistics, "trace": trace})
