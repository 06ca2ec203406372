"""The search's interface to the compiled core: pack the arguments, call, unpack the result.

In: rows, classes and an `Objective`. Out: the tree over columns and what the search did. Rows are packed 64 columns to
a word, so that column j is bit j % 64 of word j // 64 of a row; or they are bytes, 0 or 1, one for every column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._core import near_optimal as core_near_optimal
from .._core import solve as core_solve
from .._core import walk
from .._data.arrays import FloatArray, IntArray, Rows
from .._data.ranks import RankedFeature
from .._runtime.checks import short
from .._runtime.limits import Progress
from .objective import Objective, ScoreFunction

if TYPE_CHECKING:
    from .._core import Statistics

DEFAULT_CACHE_BYTES = 2**30


@dataclass(frozen=True, eq=False)
class Solution:
    """A tree over columns in preorder, false side first. Leaves have column -1 and children -1."""

    column: NDArray[np.int32]
    false_child: NDArray[np.int32]
    true_child: NDArray[np.int32]
    n_rows: IntArray  # (n_nodes,)
    class_weight: IntArray  # (n_nodes, n_classes), integer weights
    cost: int
    n_wrong: int  # misclassified rows, whatever they weigh
    complete: bool  # False: the time limit was reached
    statistics: Statistics
    node_wrong: IntArray | None = None  # (n_nodes,): rows that a node as a leaf misclassifies; None: not known

    def apply(self, rows: Rows, columns: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """Return the leaf of each row; `columns` as in `solve`."""
        return walk(
            rows=rows,
            n_columns=rows.shape[1] * (64 if rows.dtype == np.uint64 else 1),
            column=self.column if columns is None else np.append(columns, np.int32(-1))[self.column],
            false_child=self.false_child,
            true_child=self.true_child,
        )

    def predicted(self) -> IntArray:
        """Return the class that each node predicts as a leaf: the heaviest; ties go to the first."""
        return np.asarray(np.argmax(self.class_weight, axis=1))


@dataclass(frozen=True)
class SearchOptions:
    """How to search. Nothing here changes the tree, except a time limit that is reached.

    Every field is an argument of the compiled core by the same name.
    """

    threads: int = 1
    use_cache: bool = True
    use_bounds: bool = True
    cache_bytes: int = DEFAULT_CACHE_BYTES
    arrange: str = "if_it_pays"  # merge equal rows and put similar ones together: "never", "if_it_pays" or "always"
    max_fingerprinted_rows: int = 2**16  # with more rows, subsets are identified by the splits that lead to them
    large_node_bytes: int = 2**20  # larger nodes have their children counted over blocks of rows
    draw_first_columns: int = 300  # with this many columns or more, features are drawn before columns are counted
    shallow_first_columns: int = 50  # with this many or more, k="all" first solves every node with one level less
    few_thresholds: int = 127  # of a ranked feature in a small node: with this many or fewer, all are bits
    threads_after: float = 0.002  # seconds: starting threads takes as long as a short search
    task_cycles: float = 100_000  # parts of a search that take fewer cycles of the processor are no tasks for threads
    kernel: str = ""  # "": the best one for this machine
    time_limit: float | None = None
    known_cost: int | None = None  # the cost of a tree that is in the search space: more expensive ones are skipped
    exact_root: bool = False  # find the cost of the best tree below every candidate of the root
    progress: Progress | None = None  # called every 20 ms
    on_tree: Callable[[Solution], None] | None = None  # gets every tree that is better than those before it


@dataclass(frozen=True)
class NearOptimalOptions:
    """The near-optimal trees that are asked for."""

    n: int = 10  # at most this many
    epsilon: float = 0.05  # they cost at most 1 + epsilon times as much as the best one
    different: str = "predictions"  # or "splits": what tells two trees apart


def solve(
    rows: Rows,
    n_columns: int,
    classes: NDArray[np.int32],
    objective: Objective,
    options: SearchOptions | None = None,
    columns: NDArray[np.int32] | None = None,
    ranked: Sequence[RankedFeature] = (),
) -> Solution:
    """Return the Top-k tree of the rows: packed (n, ceil(n_columns / 64)) or bytes (n, n_columns).

    `columns` lists the columns that take part, ascending, if not all do; the solution numbers them from 0. The columns
    of `ranked` features come in addition, each at its own place among all columns.
    """
    arguments = _arguments(rows, n_columns, classes, objective, options or SearchOptions(), ranked)
    return Solution(**core_solve(columns=columns, **arguments))


def near_optimal(
    rows: Rows,
    n_columns: int,
    classes: NDArray[np.int32],
    objective: Objective,
    asked: NearOptimalOptions,
    options: SearchOptions | None = None,
    ranked: Sequence[RankedFeature] = (),
) -> list[Solution]:
    """Return the best trees of the rows that differ, in order of cost; each says whether the list is complete."""
    results = core_near_optimal(
        columns=None,
        n=asked.n,
        epsilon=asked.epsilon,
        errors_only=objective.leaves_break_ties,
        distinct_predictions=asked.different == "predictions",
        **_arguments(rows, n_columns, classes, objective, options or SearchOptions(), ranked),
    )
    return [Solution(**result) for result in results]


def _arguments(
    rows: Rows,
    n_columns: int,
    classes: NDArray[np.int32],
    objective: Objective,
    options: SearchOptions,
    ranked: Sequence[RankedFeature],
) -> dict[str, Any]:
    """Return what every search of the core takes: `SearchArguments`, without `columns`."""
    criterion, draw, on_tree = objective.criterion, objective.draw, options.on_tree
    return {
        **vars(options),
        "time_limit": options.time_limit or 0.0,
        "known_cost": -1 if options.known_cost is None else options.known_cost,
        "on_tree": (lambda result: on_tree(Solution(**result))) if on_tree else None,
        "rows": rows,
        "n_columns": n_columns,
        "groups": [(own.ranks, own.first, own.n_ranks, own.has_missing, own.feature) for own in ranked],
        "classes": np.ascontiguousarray(classes, dtype=np.int32),
        "row_weight": objective.row_weight,
        "class_weight": objective.class_weight,
        "k": objective.k,
        "criterion": "user" if callable(criterion) else criterion,
        "user_score": checked_criterion(criterion) if callable(criterion) else None,
        "weight_unit": objective.weight_unit,
        "feature_of_column": draw.of_column if draw else None,
        "n_features": 1 + max([-1, *draw.of_column.tolist(), *(own.feature for own in ranked)]) if draw else 0,
        "features_per_node": draw.n_features if draw else 0,
        "draw_seed": draw.seed if draw else 0,
        "min_rows": objective.min_samples_leaf,
        "min_weight": objective.min_weight_leaf,
        "distinct_splits": objective.distinct_splits,
        "lookahead": objective.lookahead,
        "refine": objective.refine,
        "second_reading": objective.second_reading,
        "cost_scale": objective.cost_scale,
        "leaf_penalty": objective.leaf_penalty,
    }


def checked_criterion(criterion: ScoreFunction) -> Callable[[FloatArray, FloatArray, NDArray[np.uint8]], FloatArray]:
    """Wrap the user's criterion: its result is validated, except for columns that cannot be candidates."""

    def score(left: FloatArray, right: FloatArray, admissible: NDArray[np.uint8]) -> FloatArray:
        with np.errstate(all="ignore"):
            answer = criterion(left, right)
        try:
            if np.iscomplexobj(answer):
                raise TypeError("complex numbers have no order")
            scores = np.ascontiguousarray(answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"criterion must return an array of numbers, got {type(answer).__name__}") from error
        if scores.shape != (len(left),):
            raise ValueError(f"criterion must return one score per column, shape ({len(left)},), got {scores.shape}")
        missing = np.isnan(scores) & (admissible > 0)
        if missing.any():
            column = int(np.argmax(missing))
            raise ValueError(
                "criterion must return numbers, got NaN for the class counts "
                f"{short(left[column].tolist())} and {short(right[column].tolist())}"
            )
        return scores

    return score
