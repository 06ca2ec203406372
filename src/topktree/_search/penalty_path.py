"""The leaf-penalty path: every tree that some `leaf_penalty` prefers, from one call.

In: training data that is ready to be searched. Out: a `LeafPenaltyPath`. Its one idea: the trees that Top-k chooses
from do not depend on the penalty, so those that some penalty prefers are the corners of the lower left hull of (leaves,
errors). A search at the penalty at which two of them cost the same finds a cheaper tree between them or proves that
there is none. Penalties are fractions of integers, and costs are integers: nothing is rounded.

The tree of a corner is not searched again for the penalty in the table: a search returns the same one whenever it
returns one with these leaves and errors. Suppose that it returns T at p, and no other leaves and errors are cheapest
at q. Trees with T's leaves and errors are cheapest at both. At q the search takes the first candidate of the root that
has such a tree; at p it takes the first that has any cheapest tree, and as that was T, it is the same candidate. The
same holds for the two parts of T, and so on down the tree.

What a lookahead chooses from does depend on the penalty. There, the path has the trees that searches at these penalties
find, as far as more leaves give fewer errors; it is never complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray
from .._data.training import TrainingData
from .._runtime.limits import Limits, OutOfTime
from . import engine
from .fitter import FoundTree, found_tree
from .objective import COST_BITS, Objective
from .penalised import PenalisedTree, at_penalty, recosted
from .spec import TreeSpec
from .text_table import text_table

if TYPE_CHECKING:
    from .._classifier import TopKTreeClassifier

# This many digits tell all float64 numbers apart.
MAX_DIGITS = 17


@dataclass(frozen=True, eq=False)
class LeafPenaltyPath:
    """The trees that some `leaf_penalty` prefers, in order of penalty: leaves fall strictly, errors rise strictly.

    All arrays have one entry per tree. `estimators[i]` is what `fit` with `leaf_penalty=leaf_penalties[i]` gives.

    Examples
    --------
    >>> from topktree import TopKTreeClassifier, datasets
    >>> X, y = datasets.load_monks(1, return_X_y=True)
    >>> path = TopKTreeClassifier(max_depth=3).leaf_penalty_path(X, y)
    >>> path.n_leaves.tolist(), path.errors.tolist()
    ([7, 4, 2, 1], [48, 72, 108, 216])
    """

    leaf_penalties: FloatArray  # a number of few digits from the range of penalties that prefer the tree
    n_leaves: IntArray
    depths: IntArray
    errors: NDArray[Any]  # misclassified training weight: int64 without weights, else float64
    train_accuracies: FloatArray  # share of the training weight that is not misclassified
    estimators: list[TopKTreeClassifier] = field(repr=False)
    complete: bool  # False: there may be more; time was up, or no penalty that `fit` can hold gives a tree

    def __len__(self) -> int:
        return len(self.estimators)

    def table(self) -> dict[str, NDArray[Any]]:
        """Return a dict of columns for `pandas.DataFrame`."""
        return {
            "leaf_penalty": self.leaf_penalties,
            "n_leaves": self.n_leaves,
            "depth": self.depths,
            "errors": self.errors,
            "train_accuracy": self.train_accuracies,
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw errors against leaves with matplotlib, on `ax` or a new figure, and return the Axes."""
        from .._tree.charts import plot_frontier

        return plot_frontier(self.n_leaves, self.errors, self.leaf_penalties, ax)

    def __str__(self) -> str:
        # Penalties have all their digits: a copy of what is printed gives the same tree.
        formats = {"leaf_penalty": "{!r}", "errors": "{:.6g}", "train_accuracy": "{:.4f}"}
        note = "" if self.complete else "not complete: there may be more trees between these"
        return text_table(self.table(), formats, note)


def find_path(
    data: TrainingData,
    spec: TreeSpec,
    options: engine.SearchOptions,
    limits: Limits,
    as_classifier: Callable[[FoundTree, float], TopKTreeClassifier],
) -> LeafPenaltyPath:
    """Return the path of a specification, whatever its penalty. `as_classifier` takes a tree and its penalty."""
    base = replace(spec, leaf_penalty=0.0).objective(data)
    search = _Search(data, base, replace(options, time_limit=None), limits)
    trees, complete = search.frontier()
    kept: list[PenalisedTree] = []
    estimators, penalties = [], []
    for tree in reversed(trees):
        penalty = _plain_penalty(data, spec, tree)
        penalised = replace(spec, leaf_penalty=penalty or 0.0)
        if base.lookahead and penalty is not None:  # it chooses from other trees at every penalty
            tree = search.again(tree, penalised.objective(data))
            complete = False
        if penalty is None or (kept and not (tree.leaves < kept[-1].leaves and tree.errors > kept[-1].errors)):
            complete = False
            continue
        objective = penalised.objective(data)
        found = found_tree(data, penalised, objective, recosted(tree, objective))
        estimators.append(as_classifier(found, penalty))
        kept.append(tree)
        penalties.append(penalty)
    total = int(kept[0].solution.class_weight[0].sum())
    return LeafPenaltyPath(
        leaf_penalties=np.array(penalties, dtype=np.float64),
        n_leaves=np.array([tree.leaves for tree in kept], dtype=np.int64),
        depths=np.array([estimator.get_depth() for estimator in estimators], dtype=np.int64),
        errors=np.array([base.user_cost(tree.errors) for tree in kept]),
        train_accuracies=np.array([(total - tree.errors) / total for tree in kept]),
        estimators=estimators,
        complete=complete,
    )


@dataclass(frozen=True)
class _Search:
    """The search for the frontier, starting from the objective without a penalty."""

    data: TrainingData
    base: Objective
    options: engine.SearchOptions
    limits: Limits

    def frontier(self) -> tuple[list[PenalisedTree], bool]:
        """Return the corners in order of leaves, and whether these are all. The two ends are always found."""
        few, many = self._ends()
        if many.leaves == 1:
            return [few], True
        trees, todo, complete = [few, many], [(few, many)], True
        try:
            while todo:
                left, right = todo.pop()
                between = self._between(left, right)
                if between is not None:
                    trees.append(between)
                    # The left pair is next: its penalty is higher, which makes the search shorter and the trees small.
                    todo += [(between, right), (left, between)]
        except OutOfTime:
            complete = False
        # One that is cheapest at a single penalty is on an edge, or time was up before more was known about it.
        corners = [tree for tree in trees if tree.low < tree.high]
        return sorted(corners, key=lambda tree: tree.leaves), complete

    def _ends(self) -> tuple[PenalisedTree, PenalisedTree]:
        """Return the single leaf, and the tree with the fewest errors and among those the fewest leaves."""
        leaf = PenalisedTree(self._solve(replace(self.base, k=())), Fraction(0), Fraction(0))
        leaf.high = Fraction(int(leaf.solution.class_weight[0].sum()))
        scale = self._tie_scale(int(leaf.high))
        best = PenalisedTree(self._solve(at_penalty(self.base, Fraction(1, scale))), Fraction(0), Fraction(0))
        best.high = Fraction(1, best.leaves)  # fewer leaves cannot make up for an error
        leaf.low = Fraction(leaf.errors - best.errors)  # no second leaf can be worth more
        return leaf, best

    def _tie_scale(self, total: int) -> int:
        """Return what an error must cost, where a leaf costs 1, for errors to come first: the leaves of one best tree.

        All other searches of the path have smaller scales. The largest number of leaves is known without a search.
        """
        scale = min(1 << min(self.base.depth, 60), len(self.data.y)) + 1
        if scale * total >= 2**COST_BITS:
            scale = PenalisedTree(self._solve(self.base), Fraction(0), Fraction(0)).leaves
        if scale * total >= 2**COST_BITS:
            raise ValueError(f"leaf_penalty_path needs smaller weights or max_depth, got a total of {total}")
        return scale

    def again(self, tree: PenalisedTree, objective: Objective) -> PenalisedTree:
        """Return what a search with this objective finds; when time is up, the tree that is known."""
        try:
            return PenalisedTree(self._solve_in_time(objective), Fraction(0), Fraction(0))
        except OutOfTime:
            return tree

    def _between(self, left: PenalisedTree, right: PenalisedTree) -> PenalisedTree | None:
        """Return a tree that is cheaper than both where they cost the same, or None: then they are neighbours."""
        penalty = Fraction(left.errors - right.errors, right.leaves - left.leaves)
        objective = at_penalty(self.base, penalty)
        known_cost = left.cost(objective)
        solution = self._solve_in_time(objective, None if self.base.lookahead else known_cost)
        if solution.cost < known_cost:
            found = PenalisedTree(solution, penalty, penalty)
            if left.leaves < found.leaves < right.leaves and left.errors > found.errors > right.errors:
                return found  # always, unless a lookahead chooses from other trees at this penalty
        left.low = right.high = penalty
        return None

    def _solve_in_time(self, objective: Objective, known_cost: int | None = None) -> engine.Solution:
        def check_time(*_: Any) -> None:
            if self.limits.is_past:
                raise OutOfTime

        check_time()  # the engine asks only every 20 ms
        # Not the engine's own limit, under which it would begin with narrower searches.
        return self._solve(objective, known_cost=known_cost, progress=check_time)

    def _solve(self, objective: Objective, **options: Any) -> engine.Solution:
        data, columns = self.data, self.data.columns
        own = replace(self.options, **options)
        return engine.solve(data.rows, columns.n_bits, data.y, objective, own, ranked=columns.ranked)


def _plain_penalty(data: TrainingData, spec: TreeSpec, tree: PenalisedTree) -> float | None:
    """Return a penalty of few digits with which `fit` finds the tree.

    None if there is no such penalty: `fit` rounds it, and the range may be narrower than that.
    """
    high = tree.high
    if tree.leaves == 1 and tree.low > 0:  # not far above what gives two leaves, with room for a rounded number
        high = min(high, 2 * tree.low + 1)
    total = int(tree.solution.class_weight[0].sum())
    for penalty in _plain_numbers(tree.low / total, high / total):
        objective = replace(spec, leaf_penalty=penalty).objective(data)
        if tree.low < Fraction(objective.leaf_penalty, objective.cost_scale) < high:
            return penalty
    return None


def _plain_numbers(low: Fraction, high: Fraction) -> Iterator[float]:
    """Yield numbers strictly between the two, those with fewer digits first; the last one is in the middle.

    If any number between survives being rounded to some unit, so does the middle: it is the nearest to all of them.
    """
    middle = float((low + high) / 2)
    for digits in range(1, MAX_DIGITS + 1):
        number = float(f"{middle:.{digits}g}")
        if low < Fraction(number) < high:
            yield number
