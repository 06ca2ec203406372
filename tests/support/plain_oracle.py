"""The Top-k tree by its definition alone: plain Python with exact integers and 50 digits, and nothing of the package.

`best` is the definition line by line. Scores are sums of terms with an error far below 10**-40; scores that differ by
less than 10**-30 are equal, since scores of so few rows that are not equal differ by much more. `oracle.py` is the
definition with the engine's rounding; here there is none, so a rounding that changes a tree shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

EQUAL = Decimal(10) ** -30


@dataclass(frozen=True)
class Rules:
    """What defines the tree of some rows, besides the rows."""

    k: Sequence[int]  # per level, root first
    criterion: str
    n_classes: int
    min_samples_leaf: int = 1
    cost_per_error: int = 1  # per unit of weight
    penalty: int = 0  # per leaf


Row = tuple[tuple[bool, ...], int, int]  # columns, class, weight
Tree = tuple[Any, ...]  # (cost,) for a leaf, (cost, column, false side, true side) for a split


def best(rows: list[Row], rules: Rules, level: int = 0) -> Tree:
    """Return the cheapest tree of the rows; of equally cheap ones the leaf, then that of the earliest candidate."""
    weights = class_weights(rows, rules)
    tree: Tree = ((sum(weights) - max(weights)) * rules.cost_per_error + rules.penalty,)
    if level == len(rules.k) or sum(weight > 0 for weight in weights) == 1:
        return tree
    for column in candidates(rows, rules)[: rules.k[level]]:
        false_side, true_side = (best(part, rules, level + 1) for part in split(rows, column))
        if false_side[0] + true_side[0] < tree[0]:
            tree = (false_side[0] + true_side[0], column, false_side, true_side)
    return tree


def candidates(rows: list[Row], rules: Rules) -> list[int]:
    """Return the columns with enough rows on both sides, highest score first, equal scores by lower column."""
    scores: dict[int, Decimal] = {}
    for column in range(len(rows[0][0])):
        left, right = split(rows, column)
        if min(len(left), len(right)) >= rules.min_samples_leaf:
            scores[column] = score(class_weights(left, rules), class_weights(right, rules), rules.criterion)
    order: list[int] = []
    while len(order) < len(scores):
        left_over = [column for column in scores if column not in order]
        highest = max(scores[column] for column in left_over)
        order.append(next(column for column in left_over if highest - scores[column] < EQUAL))
    return order


def split(rows: list[Row], column: int) -> tuple[list[Row], list[Row]]:
    """Return the rows where the column is false, and those where it is true."""
    return [row for row in rows if not row[0][column]], [row for row in rows if row[0][column]]


def class_weights(rows: list[Row], rules: Rules) -> list[int]:
    """Return the weight of each class."""
    return [sum(weight for _, of_row, weight in rows if of_row == c) for c in range(rules.n_classes)]


def score(left: list[int], right: list[int], criterion: str) -> Decimal:
    """Return the decrease of weighted impurity; for the gain ratio, divided by that of the split itself."""
    whole = [a + b for a, b in zip(left, right, strict=True)]
    with localcontext() as context:
        context.prec = 50
        if criterion == "gain_ratio":
            sides = [sum(left), sum(right)]
            return score(left, right, "entropy") / impurity(sides, "entropy")
        return impurity(whole, criterion) - impurity(left, criterion) - impurity(right, criterion)


def impurity(weights: list[int], criterion: str) -> Decimal:
    """Return the weight times the impurity of rows with these class weights."""
    total = sum(weights)
    if criterion == "gini":
        return total - Decimal(sum(weight * weight for weight in weights)) / total
    if criterion == "sqrt":
        return sum((Decimal(weight * (total - weight)).sqrt() for weight in weights), Decimal(0))
    return sum((weight * (log2(total) - log2(weight)) for weight in weights if weight), Decimal(0))


@cache
def log2(n: int) -> Decimal:
    """Return the logarithm to 50 digits."""
    with localcontext() as context:
        context.prec = 50
        return Decimal(n).ln() / Decimal(2).ln()
