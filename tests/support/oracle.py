"""Top-k in plain NumPy: the specification, and the oracle of the tests.

In: a Boolean matrix, a class per row and an `Objective`. Out: the one tree that the definition allows, or the best
trees that differ. No cache, no bounds, no threads: `_best` and `_all_trees` are the definitions, line for line. The
first takes (2k)**depth steps and the second as many as there are trees, so keep problems small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from topktree._data.arrays import FloatArray, IntArray
from topktree._search.objective import FeatureDraw, Objective

# Gains are rounded to 2**ROUND_BITS units of fixed point before they are compared, so that scores that are equal in
# mathematics but not in their last bits tie, and the lower column index decides.
FIXED_POINT_BITS = 44
ROUND_BITS = 12
RATIO_BITS = 32


@dataclass(frozen=True, eq=False)
class Solution:
    """A tree in preorder, false side first. Leaves have column -1 and children -1."""

    column: IntArray
    false_child: IntArray
    true_child: IntArray
    cost: int


@dataclass(frozen=True)
class _Node:
    cost: int
    column: int = -1
    children: tuple[_Node, _Node] | None = None


def solve(columns: NDArray[np.bool_], classes: NDArray[np.int32], objective: Objective) -> Solution:
    """The Top-k tree of `columns` (n, d) and `classes` (n,)."""
    columns, class_weights = _with_weight(columns, classes, objective)
    return _flatten(_best(columns, class_weights, 0, objective, fixed_point(int(class_weights.sum()))))


def near_optimal(
    columns: NDArray[np.bool_],
    classes: NDArray[np.int32],
    objective: Objective,
    n: int,
    epsilon: float,
    different: str,
) -> list[Solution]:
    """The first n trees that cost at most 1 + epsilon times what the best one does.

    `different`: "splits" takes every tree; "predictions" leaves out those that predict the same class as an earlier one
    for every row.
    """
    columns, class_weights = _with_weight(columns, classes, objective)
    trees = _all_trees(columns, class_weights, 0, objective, fixed_point(int(class_weights.sum())))
    limit = cost_limit(objective, trees[0][0].cost, epsilon)
    seen: set[bytes] = set()
    solutions = []
    for tree, predicted in trees:
        is_new = different == "splits" or predicted.tobytes() not in seen
        if is_new and tree.cost <= limit:
            solutions.append(_flatten(tree))
        seen.add(predicted.tobytes())
    return solutions[:n]


def cost_limit(objective: Objective, best: int, epsilon: float) -> int:
    """The highest cost within 1 + epsilon of the best; where leaves only break ties, the errors are what counts."""
    unit = objective.cost_scale if objective.leaves_break_ties else 1
    return int((1 + Fraction(epsilon)) * (best // unit)) * unit + unit - 1


def _with_weight(
    columns: NDArray[np.bool_], classes: NDArray[np.int32], objective: Objective
) -> tuple[NDArray[np.bool_], IntArray]:
    """The rows that have weight: their columns, and their weight in the column of their class, (n, n_classes)."""
    weights = objective.class_weight[classes]
    if objective.row_weight is not None:
        weights = weights * objective.row_weight
    class_weights = np.zeros((len(classes), objective.n_classes), dtype=np.int64)
    class_weights[np.arange(len(classes)), classes] = weights
    return columns[weights > 0], class_weights[weights > 0]


def _best(columns: NDArray[np.bool_], class_weights: IntArray, level: int, objective: Objective, unit: float) -> _Node:
    """The cheapest tree on these rows. Ties: the leaf first, then the earlier candidate."""
    totals = class_weights.sum(axis=0)
    errors = int(totals.sum() - totals.max())
    best = _Node(errors * objective.cost_scale + objective.leaf_penalty)
    if level == objective.depth or np.count_nonzero(totals) < 2:
        return best
    for column in candidates(columns, class_weights, level, objective, unit):
        side = columns[:, column]
        below = (
            _best(columns[~side], class_weights[~side], level + 1, objective, unit),
            _best(columns[side], class_weights[side], level + 1, objective, unit),
        )
        cost = below[0].cost + below[1].cost
        if cost < best.cost:
            best = _Node(cost, int(column), below)
    return best


def _all_trees(
    columns: NDArray[np.bool_], class_weights: IntArray, level: int, objective: Objective, unit: float
) -> list[tuple[_Node, IntArray]]:
    """Every tree on these rows, and the class that it predicts for each of them.

    By cost; then the leaf first, then by the candidate, the order of the false side's tree and that of the true side's.
    """
    totals = class_weights.sum(axis=0)
    errors = int(totals.sum() - totals.max())
    leaf = _Node(errors * objective.cost_scale + objective.leaf_penalty)
    trees = [(leaf, np.full(len(columns), totals.argmax()))]
    if level == objective.depth or np.count_nonzero(totals) < 2:
        return trees
    for column in candidates(columns, class_weights, level, objective, unit):
        side = columns[:, column]
        of_false = _all_trees(columns[~side], class_weights[~side], level + 1, objective, unit)
        of_true = _all_trees(columns[side], class_weights[side], level + 1, objective, unit)
        for (a, predicted_a), (b, predicted_b) in product(of_false, of_true):
            predicted = np.empty(len(columns), dtype=np.int64)
            predicted[~side], predicted[side] = predicted_a, predicted_b
            trees.append((_Node(a.cost + b.cost, int(column), (a, b)), predicted))
    return sorted(trees, key=lambda tree: tree[0].cost)


def candidates(
    columns: NDArray[np.bool_], class_weights: IntArray, level: int, objective: Objective, unit: float
) -> IntArray:
    """The first k admissible columns by score, equal scores by lower index; one of each kind if splits are distinct."""
    k, n_looked_at, height = objective.k[level], min(objective.lookahead, columns.shape[1]), objective.depth - level
    if n_looked_at > 0 and height <= 2:
        k = max(k, n_looked_at if height == 2 else columns.shape[1])
    n_true = np.count_nonzero(columns, axis=0)
    smaller_side = np.minimum(n_true, len(columns) - n_true)
    right = columns.astype(np.int64).T @ class_weights
    left = class_weights.sum(axis=0) - right
    smaller_weight = np.minimum(left.sum(axis=1), right.sum(axis=1))
    admissible = np.flatnonzero(
        (smaller_side >= objective.min_samples_leaf) & (smaller_weight >= objective.min_weight_leaf)
    )
    if objective.draw is not None:
        admissible = drawn_columns(objective.draw, admissible, class_weights.sum(axis=0))
    scores = np.asarray(column_scores(left, right, objective, unit))[admissible]
    ranked = admissible[np.lexsort((admissible, -scores))]
    tests = np.arange(columns.shape[1])
    if objective.second_reading is not None:
        first = np.flatnonzero(objective.second_reading)
        tests[first + objective.second_reading[first]] = first
        if max(k, n_looked_at) < columns.shape[1]:
            ranked = without_equal_readings(ranked, tests, dict(zip(admissible.tolist(), scores.tolist(), strict=True)))
    if objective.distinct_splits:
        ranked = first_of_each_kind(columns, ranked)
    if k < n_looked_at:
        listed = up_to_the_kth_test(ranked, tests, n_looked_at)
        costs = [greedy_cost(columns, class_weights, level, objective, unit, column) for column in listed.tolist()]
        ranked = listed[np.argsort(costs, kind="stable")]
    return up_to_the_kth_test(ranked, tests, k)


def greedy_cost(
    columns: NDArray[np.bool_], class_weights: IntArray, level: int, objective: Objective, unit: float, column: int
) -> int:
    """The cost of the tree that splits these rows on the column, and is greedy below; its last splits are the best."""
    greedy = replace(objective, lookahead=0, k=(1,) * (objective.depth - 1) + (columns.shape[1],))
    side = columns[:, column]
    return sum(_best(columns[rows], class_weights[rows], level + 1, greedy, unit).cost for rows in (~side, side))


def drawn_columns(draw: FeatureDraw, admissible: IntArray, totals: IntArray) -> IntArray:
    """The admissible columns of the features that a node with these class weights draws.

    The features that have such columns come in the order of random numbers, which depend on the seed and the weights.
    """
    hash_ = splitmix64(draw.seed)
    for index in np.flatnonzero(totals).tolist():
        hash_ = splitmix64(splitmix64(hash_ ^ index) ^ int(totals[index]))
    features = np.unique(draw.of_column[admissible]).tolist()
    drawn = sorted(features, key=lambda feature: splitmix64(hash_ ^ feature) | 1)[: draw.n_features]
    return admissible[np.isin(draw.of_column[admissible], drawn)]


def splitmix64(x: int) -> int:
    """A pseudorandom number per 64-bit number."""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def without_equal_readings(ranked: IntArray, tests: IntArray, scores: dict[int, float]) -> IntArray:
    """The columns, without second readings that score as the first reading of the same test does.

    `tests` has a number per column, that of the first reading.
    """
    return np.array([j for j in ranked.tolist() if tests[j] == j or scores.get(int(tests[j])) != scores[j]], dtype=int)


def up_to_the_kth_test(ranked: IntArray, tests: IntArray, k: int) -> IntArray:
    """The first columns, until there are k different tests among them: two readings share a place."""
    places: set[int] = set()
    chosen = []
    for column in ranked.tolist():
        if len(places) == k:
            break
        places.add(int(tests[column]))
        chosen.append(column)
    return np.array(chosen, dtype=int)


def first_of_each_kind(columns: NDArray[np.bool_], ranked: IntArray) -> IntArray:
    """The columns, without those that divide the rows into the same two parts as an earlier one."""
    from_first_row = columns[:, ranked] ^ columns[0, ranked]  # the same for a column and its complement
    _, first = np.unique(from_first_row, axis=1, return_index=True)
    return ranked[np.sort(first)]


def column_scores(left: IntArray, right: IntArray, objective: Objective, unit: float) -> IntArray | FloatArray:
    """Scores of all columns from their (d, n_classes) weighted counts; higher is better."""
    if callable(objective.criterion):
        with np.errstate(all="ignore"):
            unit_of_weight = np.float64(objective.weight_unit)
            scores = objective.criterion(left * unit_of_weight, right * unit_of_weight)
        return np.asarray(scores, dtype=np.float64)
    whole = left + right
    if objective.criterion == "gini":
        gain = _gini(left, unit) + _gini(right, unit) - _gini(whole, unit)
    elif objective.criterion == "sqrt":
        gain = _sqrt(whole, unit) - _sqrt(left, unit) - _sqrt(right, unit)
    else:
        gain = _information(left, unit) + _information(right, unit) - _information(whole, unit)
    rounded = np.asarray(np.maximum((gain + 2 ** (ROUND_BITS - 1)) >> ROUND_BITS, 0), dtype=np.int64)
    if objective.criterion != "gain_ratio":
        return rounded
    sides = np.stack([left.sum(axis=1), right.sum(axis=1)])
    split = xlog2x(sides.sum(axis=0), unit) - xlog2x(sides, unit).sum(axis=0)
    return _to_int(np.where(rounded > 0, gain / np.maximum(split, 1), 0.0) * 2.0**RATIO_BITS)


def fixed_point(total: int) -> float:
    """Fixed-point units per unit of weight: the largest power of two that keeps sums of terms exact in a double."""
    return float(2.0 ** (FIXED_POINT_BITS - total.bit_length()))


def xlog2x(counts: IntArray, unit: float) -> IntArray:
    """Counts * log2(counts), in fixed point.

    The logarithm is built from IEEE additions, products and quotients only, all exactly rounded, so that NumPy and C++
    agree to the bit on every machine: log2(2^e * f) = e + 2/ln(2) * artanh(t), t = (f-1)/(f+1), by its power series.
    """
    fraction, exponent = np.frexp(counts.astype(np.float64))
    low = fraction < 0.7071067811865476
    fraction = np.where(low, fraction * 2.0, fraction)
    exponent = exponent - low
    t = (fraction - 1.0) / (fraction + 1.0)
    square = t * t
    series = np.full_like(t, 1.0 / 21.0)
    for odd in range(19, 0, -2):
        series = series * square + 1.0 / odd
    log2 = exponent + (t * series) * 2.885390081777927
    return _to_int(np.where(counts > 0, counts * log2 * unit, 0.0))


def _to_int(values: FloatArray) -> IntArray:
    """The nearest integers, halves to even."""
    return np.asarray(np.rint(values), dtype=np.int64)


def _information(counts: IntArray, unit: float) -> IntArray:
    """Minus n times the entropy of each row of (d, n_classes) counts, in fixed point."""
    return np.asarray(xlog2x(counts, unit).sum(axis=1) - xlog2x(counts.sum(axis=1), unit))


def _gini(counts: IntArray, unit: float) -> IntArray:
    """n - n times the Gini impurity, in fixed point. Squares are added in class order."""
    squares = np.zeros(len(counts))
    for column in counts.T.astype(np.float64):
        squares = squares + column * column
    return _to_int(squares / np.maximum(counts.sum(axis=1), 1).astype(np.float64) * unit)


def _sqrt(counts: IntArray, unit: float) -> IntArray:
    """N times the sum over classes of sqrt(p(1-p)), in fixed point: 2*sqrt(p(1-p)) for two classes."""
    present = counts.astype(np.float64)
    others = counts.sum(axis=1, keepdims=True).astype(np.float64) - present
    return np.asarray(_to_int(np.sqrt(present * others) * unit).sum(axis=1))


def _flatten(root: _Node) -> Solution:
    """Number the nodes in preorder."""
    column: list[int] = []
    children: list[list[int]] = []

    def visit(node: _Node) -> int:
        index = len(column)
        column.append(node.column)
        children.append([-1, -1])
        if node.children is not None:
            children[index] = [visit(child) for child in node.children]
        return index

    visit(root)
    false_child, true_child = np.array(children, dtype=np.int64).T
    return Solution(np.array(column, dtype=np.int64), false_child, true_child, root.cost)
