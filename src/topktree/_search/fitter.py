"""Data + specification -> found tree: the one way from rows to a tree, for all callers.

In: `TrainingData`, a `TreeSpec` (what the parameters say about the tree) and `SearchOptions` (how to search). Out:
a `FoundTree`, from which an estimator becomes fitted (`_base.set_fitted`). Classifier, cross-validation, penalty path,
near-optimal trees, ensembles and Dask all use it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.columns import IS_MISSING, SET_IF_FALSE, Columns
from .._data.features import Feature
from .._data.table import CATEGORY
from .._data.training import EncodedRows, TrainingData
from .._runtime.limits import COMPLETE, OPTIMAL, PARTIAL, REFINED, TIME_LIMIT
from .._runtime.parallel import count_threads
from .._runtime.progress import ProgressLine
from .._tree.tree import NodeTest, Tree, code_tests, node_impurity
from . import engine
from .leaf_budget import solve_within
from .objective import Objective
from .root_choices import column_test, list_choices
from .spec import TreeSpec


@dataclass(frozen=True, eq=False)
class FoundTree:
    """A tree and what is known about it: everything that a fitted estimator has, except its parameters."""

    tree: Tree
    features: tuple[Feature, ...]
    classes: NDArray[Any]
    cost: int | float  # in the user's weights
    train_errors: int | None  # misclassified training rows; None: not known, after pruning
    status: str
    record: dict[str, Any]  # `search_`
    integer_cost: int = 0  # the cost in the units of the objective; 0 for a tree that no search has just found
    pruned_alpha: float | None = None  # None: not pruned

    def for_file(self) -> dict[str, Any]:
        """Return what a model file says about the tree besides its nodes."""
        known = {"cost": self.cost, "train_errors": self.train_errors, "status": self.status, "search": self.record}
        return known if self.pruned_alpha is None else known | {"pruned_alpha": self.pruned_alpha}


def search_options(estimator: Any, time_limit: float | None = None, **others: Any) -> engine.SearchOptions:
    """Return how to search: by the estimator's `memory_limit` and `n_jobs`, unless `others` says otherwise."""
    limit = estimator.memory_limit
    cache_bytes = engine.DEFAULT_CACHE_BYTES if limit is None else min(int(limit), 2**62)
    own = {"threads": count_threads(estimator.n_jobs), "cache_bytes": cache_bytes, "time_limit": time_limit}
    return engine.SearchOptions(**own | others)


def search_tree(
    data: TrainingData,
    spec: TreeSpec,
    options: engine.SearchOptions,
    *,
    verbose: bool = False,
    on_tree: Callable[[FoundTree], Any] | None = None,
) -> FoundTree:
    """Search for the tree. `on_tree` gets every tree that is better than those before it."""
    objective = spec.objective(data)
    line = ProgressLine(objective.user_cost, _most_nodes(spec, objective)) if verbose else None

    describe = partial(found_tree, data, spec, objective)
    show = None if on_tree is None else lambda solution: on_tree(replace(describe(solution), status=PARTIAL))
    columns = data.columns

    def solve(own: Objective, **changes: Any) -> engine.Solution:
        return engine.solve(data.rows, columns.n_bits, data.y, own, replace(options, **changes), ranked=columns.ranked)

    with line or nullcontext():
        progress = line or options.progress
        if spec.max_leaf_nodes is None or not spec.has_budget(objective.depth):
            return describe(solve(objective, progress=progress, on_tree=show or options.on_tree))
        within = solve_within(
            partial(solve, progress=progress, exact_root=False),
            objective,
            spec.max_leaf_nodes,
            options.time_limit,
            show,
        )
        return describe(within.solution, within.lower_bound)


def _most_nodes(spec: TreeSpec, objective: Objective) -> float | None:
    """Return the most nodes there may be; None: not known, since there are several searches."""
    return None if objective.refine or spec.has_budget(objective.depth) else objective.most_nodes


def found_tree(
    data: TrainingData,
    spec: TreeSpec,
    objective: Objective,
    solution: engine.Solution,
    lower_bound: int | None = None,
) -> FoundTree:
    """Return a solution in the user's terms. `lower_bound` of its cost: of trees within a budget of leaves."""
    described = describe_solution(solution, spec, objective, data.columns, data.features, data.classes)
    if spec.max_leaf_nodes is not None:
        if spec.has_budget(objective.depth):
            if described.status == OPTIMAL:  # of all trees, not only of those that are small enough
                described = replace(described, status=REFINED if objective.refine else COMPLETE)
        elif solution.complete and not objective.refine and not objective.lookahead:
            lower_bound = solution.cost
        bound = None if lower_bound is None else objective.user_cost(lower_bound)
        described = replace(described, record={**described.record, "lower_bound": bound})
    if data.left_out is None:
        return described
    errors = solution.n_wrong + data.work.call(count_errors, described.tree, data.left_out)
    return replace(described, train_errors=errors)


def describe_solution(
    solution: engine.Solution,
    spec: TreeSpec,
    objective: Objective,
    columns: Columns,
    features: tuple[Feature, ...],
    classes: NDArray[Any],
) -> FoundTree:
    """Return a solution in the user's terms, wherever its rows are; rows without weight are not in `train_errors`."""
    trace = [
        {"seconds": seconds, "k": k, "cost": objective.user_cost(cost)}
        for seconds, k, cost in solution.statistics["trace"]
    ]
    record = {
        **solution.statistics,
        "trace": trace,
        "root": list_choices(solution, columns, features, objective),
        "n_root": solution.statistics["root"]["n_candidates"],
    }
    tries_all = all(k >= len(columns) for k in objective.k)  # then no tree over the columns is cheaper
    status = TIME_LIMIT
    if solution.complete:
        status = OPTIMAL if tries_all else REFINED if objective.refine else COMPLETE
    tree = make_tree(yes_first(solution, columns), columns, features, objective.weight_unit, spec.impurity)
    cost = objective.user_cost(solution.cost)
    return FoundTree(tree, features, classes, cost, solution.n_wrong, status, record, solution.cost)


def count_errors(tree: Tree, rows: EncodedRows | None) -> int:
    """Return how many of the rows, if there are any, the tree gets wrong."""
    if rows is None:
        return 0
    encoded, classes = rows
    return int(np.count_nonzero(tree.predict(encoded) != classes))


def yes_first(solution: engine.Solution, columns: Columns) -> engine.Solution:
    """Return the solution with its nodes in the order of a `Tree`: the rows for which a test holds come first."""
    is_swapped = solution.column >= 0
    is_swapped[is_swapped] = [columns.literal(j).test not in SET_IF_FALSE for j in solution.column[is_swapped].tolist()]
    if not is_swapped.any():
        return solution
    order, todo = [], [0]
    while todo:
        node = todo.pop()
        order.append(node)
        if solution.column[node] >= 0:
            children = [solution.true_child[node], solution.false_child[node]]  # in the reverse order of the visit
            todo += reversed(children) if is_swapped[node] else children
    place = np.empty(len(order) + 1, dtype=np.int32)
    place[order], place[-1] = np.arange(len(order)), -1  # a leaf's children are -1
    return replace(
        solution,
        column=solution.column[order],
        false_child=place[solution.false_child[order]],
        true_child=place[solution.true_child[order]],
        n_rows=solution.n_rows[order],
        class_weight=solution.class_weight[order],
    )


def make_tree(
    solution: engine.Solution, columns: Columns, features: Sequence[Feature], weight_unit: float, criterion: str
) -> Tree:
    """Turn a tree over columns into a tree over features; its nodes are in the order of `yes_first`."""
    weight = solution.class_weight.sum(axis=1).tolist()
    tests: list[NodeTest | None] = [None] * len(weight)
    left, right = solution.true_child.tolist(), solution.false_child.tolist()
    for node, column in enumerate(solution.column.tolist()):
        if column < 0:
            continue
        test = column_test(columns, column)
        if test.kind in SET_IF_FALSE:  # its bit is set where it is false
            left[node], right[node] = right[node], left[node]
        feature, is_heavier = features[test.feature], weight[left[node]] >= weight[right[node]]
        missing = test.missing if feature.has_missing else is_heavier
        unseen = is_heavier and feature.kind == CATEGORY and test.kind != IS_MISSING
        tests[node] = test._replace(missing=missing, unseen=unseen)
    value = np.asarray(solution.class_weight * weight_unit, dtype=np.float64)
    return Tree(
        children_left=np.array(left, dtype=np.int64),
        children_right=np.array(right, dtype=np.int64),
        value=value,
        impurity=node_impurity(value, criterion),
        n_node_samples=solution.n_rows,
        weighted_n_node_samples=value.sum(axis=1),
        **code_tests(tests),
    )
