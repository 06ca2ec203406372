"""The integer problem that the engine solves.

In: the user's parameters and real-valued weights. Out: an `Objective` of integers only. Its one idea: weights, class
weights and the leaf penalty become integers once, here, so that costs add up and tie exactly everywhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import PART, FloatArray, IntArray
from .._data.weights import TOTAL_BITS, WEIGHT_BITS, balanced_class_weight, exact_weight_bits, integer_weights

ScoreFunction = Callable[[FloatArray, FloatArray], Any]

CRITERIA = ("entropy", "gini", "sqrt", "gain_ratio")
LOOKAHEAD = "lookahead"  # columns by entropy, then by the cost of the greedy trees below them

# A fractional leaf penalty is accurate to 2**-20 of one row's weight where the total leaves room for it.
PENALTY_BITS = 20
# Errors and penalties each stay below 2**59 units of cost, their sums far from the limits of 64 bits.
COST_BITS = 59


@dataclass(frozen=True, eq=False)
class FeatureDraw:
    """A draw of features at every node, out of those that can split it: only their columns are candidates."""

    n_features: int  # drawn at a node, at least 1
    of_column: NDArray[np.int32]  # the feature of each column of bits; ranked features know theirs
    seed: int  # below 2**64


@dataclass(frozen=True, eq=False)
class Objective:
    """The cost that is minimised, and the candidates that it is minimised over.

    The cost of a leaf is `cost_scale` x (weight of the classes it does not predict) + `leaf_penalty`; a row of class c
    weighs `row_weight[row] * class_weight[c]`.
    """

    k: tuple[int, ...]  # candidates per level, root first; one entry per level of depth
    criterion: str | ScoreFunction
    min_samples_leaf: int
    min_weight_leaf: int  # integer weight, >= 1
    class_weight: IntArray  # (n_classes,), all >= 1
    row_weight: IntArray | None  # (n,), rows that weigh 0 take no part; None: every row weighs 1
    weight_unit: float  # what an integer weight of 1 is in the user's weights
    cost_scale: int
    leaf_penalty: int
    distinct_splits: bool = False  # columns that split a node's rows in the same way count as one candidate
    lookahead: int = 0  # columns with the best scores whose greedy trees are compared; 0: none
    refine: bool = False  # improve the tree by a local search
    leaves_break_ties: bool = False  # the penalty only decides between trees of equal errors
    weighted: bool = False  # costs are sums of weights rather than numbers of rows
    draw: FeatureDraw | None = None
    second_reading: NDArray[np.int32] | None = None  # as of `Columns.second_readings`; only one of two is a candidate

    def user_cost(self, cost: int) -> int | float:
        """Return an integer cost in the user's weights: an int if there are neither weights nor penalties."""
        if self.leaves_break_ties:
            errors = cost // self.cost_scale
            return errors * self.weight_unit if self.weighted else errors
        return cost * self.weight_unit / self.cost_scale if self.weighted or self.leaf_penalty > 0 else cost

    @property
    def depth(self) -> int:
        """The number of levels of splits."""
        return len(self.k)

    @property
    def most_nodes(self) -> float:
        """The number of nodes that a search without bounds and cache would examine."""
        return most_nodes(self.k, self.lookahead)

    @property
    def n_classes(self) -> int:
        """The number of classes, present in the rows or not."""
        return len(self.class_weight)


def most_nodes(k: Sequence[int], lookahead: int) -> float:
    """Return the number of nodes that a search without bounds and cache would examine."""
    below = 1.0  # of a node with one level left
    for height, k_here in enumerate(reversed(k[-60:-1]), start=2):  # deeper, it makes no difference to anybody
        below = 1 + 2 * (max(k_here, lookahead) if height == 2 else k_here) * below
        if height > 2 and k_here < lookahead:
            below += lookahead * (2.0**height - 2)
    return below


def make_objective(
    classes: NDArray[np.int32], n_classes: int, *, sample_weight: FloatArray | None, **options: Any
) -> Objective:
    """Return the `Objective` of rows with positive weights. The options are those of `objective_of_totals`."""
    row_weight, unit = None, 1.0
    if sample_weight is not None:
        row_weight, unit = integer_weights(sample_weight, exact_bits=exact_weight_bits(len(sample_weight)))
        if np.all(row_weight == 1):
            row_weight = None
    totals = np.zeros(n_classes, dtype=np.int64)
    size = max(PART, n_classes)
    for start in range(0, len(classes), size):
        part = slice(start, start + size)
        weights = None if row_weight is None else row_weight[part]
        totals += np.bincount(classes[part], weights=weights, minlength=n_classes).astype(np.int64)
    rows_weigh = row_weight is not None
    return objective_of_totals(totals, len(classes), row_weight=row_weight, rows_weigh=rows_weigh, unit=unit, **options)


def objective_of_totals(
    class_totals: IntArray,
    n_rows: int,
    *,
    k: Sequence[int],
    criterion: str | ScoreFunction,
    min_samples_leaf: int,
    min_weight_fraction_leaf: float,
    leaf_penalty: float | str,
    class_weight: FloatArray | str | None,
    row_weight: IntArray | None,
    rows_weigh: bool,
    unit: float,
    distinct_splits: bool = False,
    lookahead: int = 0,
    refine: bool = False,
    second_reading: NDArray[np.int32] | None = None,
) -> Objective:
    """Return the `Objective` of rows with these integer weights per class, of `unit` each, wherever the rows are.

    The caller has validated the arguments. `row_weight` is given if the rows are here and differ in weight.
    """
    n_classes = len(class_totals)
    max_leaves = min(2 ** min(len(k), 60), n_rows)
    leaf_bits = max_leaves.bit_length() if leaf_penalty == "tie" else 0
    spare = max(1, TOTAL_BITS - int(class_totals.sum()).bit_length() - leaf_bits)
    class_weight_, class_unit = np.ones(n_classes, dtype=np.int64), 1.0
    if isinstance(class_weight, str):
        class_weight_, class_unit = balanced_class_weight(class_totals, min(spare, WEIGHT_BITS))
    elif class_weight is not None:
        class_weight_, class_unit = integer_weights(class_weight, min(spare, WEIGHT_BITS), exact_bits=spare)
    total = int(class_totals @ class_weight_)
    cost_scale, penalty = _penalty(leaf_penalty, total, max_leaves)
    weight_unit = unit * class_unit
    if not 0 < weight_unit < math.inf:
        raise ValueError(f"sample_weight times class_weight must be finite and > 0, got {weight_unit} as its unit")
    return Objective(
        k=tuple(k),
        criterion=criterion,
        min_samples_leaf=min_samples_leaf,
        min_weight_leaf=max(1, math.ceil(min_weight_fraction_leaf * total)),
        class_weight=class_weight_,
        row_weight=row_weight,
        weight_unit=weight_unit,
        cost_scale=cost_scale,
        leaf_penalty=penalty,
        distinct_splits=distinct_splits,
        lookahead=lookahead,
        refine=refine,
        second_reading=second_reading,
        leaves_break_ties=leaf_penalty == "tie",
        weighted=rows_weigh or weight_unit != 1 or (class_weight is not None and bool(np.any(class_weight_ != 1))),
    )


def _penalty(leaf_penalty: float | str, total: int, max_leaves: int) -> tuple[int, int]:
    """Return cost_scale and leaf_penalty in integers. With "tie" all leaves together cost less than one error."""
    if isinstance(leaf_penalty, str):
        if (max_leaves + 1) * total >= 2**COST_BITS:
            raise ValueError(f'leaf_penalty="tie" needs smaller weights or max_depth, got a total of {total}')
        return max_leaves + 1, 1
    penalty = leaf_penalty * total
    if penalty == int(penalty):
        return 1, int(penalty)
    bits = min(PENALTY_BITS, COST_BITS - total.bit_length())
    return 2**bits, max(1, round(penalty * 2**bits))
