"""Minimal cost-complexity pruning: the trees that are left as leaves become dearer, and which of them errs least.

In: a finished `Tree`; validation rows as the leaves they end up in. Out: the nested sequence of subtrees, a step of it,
a smaller `Tree`. Its one idea is CART's: of all ways to prune a tree, those that minimise R + alpha * leaves for some
alpha are nested, so one number per node, the step at which it becomes a leaf, holds them all (Breiman, Friedman, Olshen
and Stone 1984, chapter 3). R is the misclassified training weight. An alpha that leaves this file is a fraction of the
training weight per leaf, as `leaf_penalty` is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray
from .tree import TREE_LEAF, TREE_UNDEFINED, Tree

RULES = ("best", "1se")

# Sums of real weights that are closer than this share of the total count as equal. Their rounding stays far below it:
# about 2**-53 per level of the tree.
SLACK = 2.0**-40


@dataclass(frozen=True, eq=False)
class PruningSequence:
    """Nested subtrees of one tree, from the largest to the root alone; `alphas` rise strictly from 0.

    The subtree of a step is the smallest one that minimises R + alpha * leaves, for every alpha from its own up to that
    of the next step. The first may be smaller than the tree: splits that do not lower R are gone from it.
    """

    alphas: FloatArray  # (n_steps,)
    leaf_from: IntArray  # (node_count,): the first step without a split at the node; 0 at the tree's own leaves
    gone_from: IntArray  # (node_count,): the first step without the node, its parent's `leaf_from`; n_steps at the root

    def splits(self, step: int) -> NDArray[np.bool_]:
        """(node_count,): which nodes are split in the subtree of a step."""
        return self.leaf_from > step

    def leaves(self, step: int) -> NDArray[np.bool_]:
        """(node_count,): which nodes are leaves of the subtree of a step."""
        return (self.leaf_from <= step) & (step < self.gone_from)

    def leaf_sums(self, per_node: NDArray[Any]) -> NDArray[Any]:
        """(n_steps,): the sum over the leaves of each subtree of what every node has (node_count,)."""
        return np.array([per_node[self.leaves(step)].sum() for step in range(len(self.alphas))])


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """Rows that a choice is made by. All arrays have an entry per row; one row at least has weight."""

    leaves: IntArray  # in the whole tree
    classes: IntArray  # n_classes: one that training had not
    weights: FloatArray


class _Branches:
    """The branch below every node as pruning goes on: its R, its leaves, and what a leaf of it is worth.

    What is read and written a node at a time is in lists, which are several times faster at that than arrays.
    """

    def __init__(self, tree: Tree) -> None:
        self.left, self.right = tree.children_left.tolist(), tree.children_right.tolist()
        self.node_risk = node_errors(tree).tolist()  # R of the node as a leaf
        self.risk = self.node_risk.copy()
        self.n_leaves = [1] * tree.node_count
        self.parent = [-1] * tree.node_count
        self.end = list(range(1, tree.node_count + 1))  # preorder: the branch of a node is node:end[node]
        self.strength = np.full(tree.node_count, math.inf)  # the alpha from which on a split does not pay
        for node in np.flatnonzero(tree.children_left != TREE_LEAF)[::-1].tolist():  # children come last
            self.parent[self.left[node]] = self.parent[self.right[node]] = node
            self.end[node] = self.end[self.right[node]]
            self._update(node)

    def collapse(self, node: int) -> None:
        """Make a leaf of the node. Those above are summed anew, so that errors of rounding do not add up."""
        self.risk[node], self.n_leaves[node] = self.node_risk[node], 1
        self.strength[node : self.end[node]] = math.inf
        while (node := self.parent[node]) >= 0:
            self._update(node)

    def _update(self, node: int) -> None:
        left, right = self.left[node], self.right[node]
        self.risk[node] = self.risk[left] + self.risk[right]
        self.n_leaves[node] = self.n_leaves[left] + self.n_leaves[right]
        self.strength[node] = (self.node_risk[node] - self.risk[node]) / (self.n_leaves[node] - 1)


def pruning_sequence(tree: Tree) -> PruningSequence:
    """CART's weakest-link pruning: at every step all splits go whose leaves are worth the least, ties together.

    Counts of rows, and all weights that are whole numbers, are compared exactly: a quotient of two such numbers is
    rounded alike wherever it comes from. A pass per step is enough: the strength of a branch is a mean of those of what
    goes from it and of what stays, so that none which was above alpha comes down to it.
    """
    branches = _Branches(tree)
    slack = _slack(tree.value, _total(tree))
    leaf_from = np.where(tree.children_left == TREE_LEAF, 0, -1)  # -1: still a split
    alphas: list[float] = []
    alpha = 0.0
    while not alphas or leaf_from[0] < 0:
        for node in np.flatnonzero(branches.strength <= alpha + slack).tolist():
            if branches.strength[node] < math.inf:  # or it went with a node above, which came first
                branch = leaf_from[node : branches.end[node]]
                branch[branch < 0] = len(alphas)
                branches.collapse(node)
        alphas.append(alpha)
        alpha = float(branches.strength.min())
    parent = np.array(branches.parent)
    gone_from = np.where(parent < 0, len(alphas), leaf_from[parent])
    return PruningSequence(np.array(alphas) / _total(tree), leaf_from, gone_from)


def describe_sequence(tree: Tree) -> dict[str, NDArray[Any]]:
    """Of every subtree of the sequence its alpha, the share of the training weight that it gets wrong, its leaves."""
    sequence = pruning_sequence(tree)
    return {
        "ccp_alphas": sequence.alphas,
        "errors": sequence.leaf_sums(node_errors(tree)) / _total(tree),
        "n_leaves": sequence.leaf_sums(np.ones(tree.node_count, dtype=np.int64)),
    }


def choose_subtree(tree: Tree, rows: ValidationRows, rule: str) -> tuple[Tree, float]:
    """The subtree of the sequence that a rule of RULES takes for these rows, and its alpha."""
    sequence = pruning_sequence(tree)
    step = choose_step(sequence.leaf_sums(validation_errors(tree, rows)), rows.weights, rule)
    return subtree(tree, sequence.splits(step)), float(sequence.alphas[step])


def subtree(tree: Tree, splits: NDArray[np.bool_]) -> Tree:
    """The tree in which only the nodes where `splits` (node_count,) is true are split, and the others are leaves.

    What is below a leaf is left out, whatever `splits` says of it; the rest keeps its order, which is preorder.
    """
    splits = splits & (tree.children_left != TREE_LEAF)
    reached = np.zeros(tree.node_count, dtype=bool)
    reached[0] = True
    for node in np.flatnonzero(splits):  # preorder: parents come first
        reached[[tree.children_left[node], tree.children_right[node]]] = reached[node]
    number = np.cumsum(reached) - 1
    arrays = {field.name: getattr(tree, field.name)[reached] for field in fields(Tree)}
    for name in ("children_left", "children_right"):
        arrays[name] = np.where(splits[reached], number[arrays[name]], TREE_LEAF)
    for name in ("feature", "threshold", "category"):
        arrays[name][~splits[reached]] = TREE_UNDEFINED
    arrays["missing_go_to_left"] &= splits[reached]
    return Tree(**arrays)


def node_errors(tree: Tree) -> FloatArray:
    """(node_count,): the training weight that each node gets wrong as a leaf."""
    return _weight_of_others(tree.value, np.argmax(tree.value, axis=1))


def training_errors(tree: Tree) -> float:
    """The training weight that the tree gets wrong."""
    return float(node_errors(tree)[tree.children_left == TREE_LEAF].sum())


def validation_errors(tree: Tree, rows: ValidationRows) -> FloatArray:
    """(node_count,): the weight of the rows at each node that it would get wrong as a leaf."""
    n_columns = tree.value.shape[1] + 1
    cells = np.bincount(rows.leaves * n_columns + rows.classes, rows.weights, minlength=tree.node_count * n_columns)
    counts = cells.astype(np.float64).reshape(tree.node_count, n_columns)
    for node in np.flatnonzero(tree.children_left != TREE_LEAF)[::-1]:  # children come last
        counts[node] = counts[tree.children_left[node]] + counts[tree.children_right[node]]
    return _weight_of_others(counts, np.argmax(tree.value, axis=1))


def choose_step(errors: FloatArray, weights: FloatArray, rule: str) -> int:
    """The last step, so the smallest tree, of those with the fewest errors (n_steps,), or close to it with "1se".

    Close is one standard error of the lowest error rate: that of a share p of n rows, sqrt(p (1 - p) / n). Rows of
    different weights say as much as (sum w)^2 / sum w^2 rows of one weight (Kish).
    """
    total = float(weights.sum())
    limit = float(errors.min()) + _slack(weights, total)
    if rule == "1se":
        scaled = weights / weights.max()  # squares neither overflow nor vanish
        n_effective = scaled.sum() ** 2 / (scaled**2).sum()
        share = min(float(errors.min()) / total, 1.0)
        limit += total * math.sqrt(share * (1 - share) / n_effective)
    return int(np.flatnonzero(errors <= limit)[-1])


def pruned_cost(tree: Tree, pruned: Tree, cost: int | float) -> int | float:
    """The cost of the pruned tree, if that of the tree is `cost`: an int if that is one.

    What a leaf costs is what the tree's own cost says, whatever has become of the parameters since the fit.
    """
    if isinstance(cost, int):  # neither weights nor penalties
        return round(training_errors(pruned))
    penalties = cost - training_errors(tree)
    return training_errors(pruned) + penalties * pruned.n_leaves / tree.n_leaves


def pruned_train_errors(tree: Tree, pruned: Tree, train_errors: int | None) -> int | None:
    """The training rows that the pruned tree gets wrong; None where the weights of its nodes do not tell.

    They do if every row weighs 1, which is taken to be so if the rows and the errors of the tree are those of weight.
    """
    rows_weigh_one = _slack(tree.value, _total(tree)) == 0 and np.array_equal(
        tree.weighted_n_node_samples, tree.n_node_samples
    )
    if not rows_weigh_one or train_errors != training_errors(tree):
        return None
    return round(training_errors(pruned))


def _weight_of_others(class_weights: FloatArray, predicted: IntArray) -> FloatArray:
    """(n,): of class weights (n, n_classes), the sum of those not predicted; a difference would be off by rounding."""
    others = class_weights.copy()
    others[np.arange(len(others)), predicted] = 0
    return np.asarray(others.sum(axis=1))


def _total(tree: Tree) -> float:
    """The training weight."""
    return float(tree.value[0].sum())


def _slack(weights: FloatArray, total: float) -> float:
    """Up to which difference sums of these weights count as equal: 0 if a double holds every sum, up to the total."""
    whole = total < 2**53 and np.array_equal(weights, np.rint(weights))
    return 0.0 if whole else SLACK * total
