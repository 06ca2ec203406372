"""Minimal cost-complexity pruning: the nested subtrees of a tree, and the one that predicts other rows best.

In: a `Tree`; validation rows as the leaves that they reach. Out: the sequence of subtrees, a step of it, a smaller
`Tree`. The one idea is CART's: the subtrees that minimise R + alpha * leaves for some alpha are nested, so one number
per node, the step at which it becomes a leaf, holds them all (Breiman, Friedman, Olshen and Stone 1984, chapter 3). R
is the misclassified training weight. An alpha outside of this file is a fraction of the training weight, as
`leaf_penalty` is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray
from .tree import TREE_LEAF, Tree, code_tests

RULES = ("best", "1se")

# Sums of real weights that differ by less than this share of the total count as equal. Rounding stays far below it: it
# is about 2**-53 per level of the tree.
SLACK = 2.0**-40


@dataclass(frozen=True, eq=False)
class PruningSequence:
    """The nested subtrees of one tree, from the largest to the root alone; `alphas` rise strictly from 0.

    The subtree of a step is the smallest one that minimises R + alpha * leaves, for every alpha from its own up to that
    of the next step. The first may be smaller than the tree: it lacks the splits that do not lower R.
    """

    alphas: FloatArray  # (n_steps,)
    leaf_from: IntArray  # (node_count,): the first step without a split at the node; 0 at the tree's own leaves
    gone_from: IntArray  # (node_count,): the first step without the node, its parent's `leaf_from`; n_steps at the root

    def splits(self, step: int) -> NDArray[np.bool_]:
        """Return which nodes are split in the subtree of a step, (node_count,)."""
        return self.leaf_from > step

    def leaves(self, step: int) -> NDArray[np.bool_]:
        """Return which nodes are leaves of the subtree of a step, (node_count,)."""
        return (self.leaf_from <= step) & (step < self.gone_from)

    def leaf_sums(self, per_node: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of `per_node` (node_count,) over the leaves of each subtree, (n_steps,)."""
        return np.array([per_node[self.leaves(step)].sum() for step in range(len(self.alphas))])


class _Branches:
    """The branch below every node while pruning goes on: its R, its leaves, and how much R one of its leaves saves.

    Entries are read and written one at a time, for which lists are several times faster than arrays.
    """

    def __init__(self, tree: Tree) -> None:
        self.left, self.right = tree.children_left.tolist(), tree.children_right.tolist()
        self.node_risk = node_errors(tree).tolist()  # R of the node as a leaf
        self.risk = self.node_risk.copy()
        self.n_leaves = [1] * tree.node_count
        self.parent = [-1] * tree.node_count
        self.end = list(range(1, tree.node_count + 1))  # preorder: the branch of a node is node:end[node]
        self.strength = np.full(tree.node_count, math.inf)  # the alpha from which a split no longer pays
        for node in reversed(tree.inner_nodes()):
            self.parent[self.left[node]] = self.parent[self.right[node]] = node
            self.end[node] = self.end[self.right[node]]
            self._update(node)

    def collapse(self, node: int) -> None:
        """Make the node a leaf. Nodes above are summed again, so that rounding errors do not add up."""
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
    """Return the sequence of CART's weakest-link pruning: every step removes the splits that save the least per leaf.

    Whole weights, such as counts of rows, are compared exactly: equal quotients of them are rounded alike. One pass per
    step is enough: the strength of a branch is a mean of the strengths of its removed and its remaining parts, so no
    branch above alpha drops to it.
    """
    branches = _Branches(tree)
    slack = _slack(tree.value, _total(tree))
    leaf_from = np.where(tree.children_left == TREE_LEAF, 0, -1)  # -1: still a split
    alphas: list[float] = []
    alpha = 0.0
    while not alphas or leaf_from[0] < 0:
        for node in np.flatnonzero(branches.strength <= alpha + slack).tolist():
            if branches.strength[node] < math.inf:  # else it was removed with a node above
                branch = leaf_from[node : branches.end[node]]
                branch[branch < 0] = len(alphas)
                branches.collapse(node)
        alphas.append(alpha)
        alpha = float(branches.strength.min())
    parent = np.array(branches.parent)
    gone_from = np.where(parent < 0, len(alphas), leaf_from[parent])
    return PruningSequence(np.array(alphas) / _total(tree), leaf_from, gone_from)


def describe_sequence(tree: Tree) -> dict[str, NDArray[Any]]:
    """Return alpha, share of misclassified training weight and number of leaves of every subtree."""
    sequence = pruning_sequence(tree)
    return {
        "ccp_alphas": sequence.alphas,
        "errors": sequence.leaf_sums(node_errors(tree)) / _total(tree),
        "n_leaves": sequence.leaf_sums(np.ones(tree.node_count, dtype=np.int64)),
    }


def choose_subtree(tree: Tree, at_leaf: FloatArray, weights: FloatArray, rule: str) -> tuple[Tree, float]:
    """Return the subtree that a rule of RULES chooses for validation rows with these weights, and its alpha.

    `at_leaf` is their `count_rows`.
    """
    sequence = pruning_sequence(tree)
    step = choose_step(sequence.leaf_sums(validation_errors(tree, at_leaf)), weights, rule)
    return subtree(tree, sequence.splits(step)), float(sequence.alphas[step])


def subtree(tree: Tree, splits: NDArray[np.bool_]) -> Tree:
    """Return the tree in which only nodes where `splits` (node_count,) is true are split; they stay in preorder."""
    splits = splits & ~tree.is_leaf
    reached = np.zeros(tree.node_count, dtype=bool)
    reached[0] = True
    for node in np.flatnonzero(splits):  # parents come first
        reached[[tree.children_left[node], tree.children_right[node]]] = reached[node]
    number = np.cumsum(reached) - 1
    arrays = {field.name: getattr(tree, field.name)[reached] for field in fields(Tree)}
    for name in ("children_left", "children_right"):
        arrays[name] = np.where(splits[reached], number[arrays[name]], TREE_LEAF)
    tests = [tree.test(node) if splits[node] else None for node in np.flatnonzero(reached).tolist()]
    return Tree(**arrays | code_tests(tests))


def node_errors(tree: Tree) -> FloatArray:
    """Return the training weight that each node misclassifies as a leaf, (node_count,)."""
    return _weight_of_others(tree.value, np.argmax(tree.value, axis=1))


def training_errors(tree: Tree) -> float:
    """Return the training weight that the tree misclassifies."""
    return float(node_errors(tree)[tree.is_leaf].sum())


def count_rows(tree: Tree, leaves: IntArray, classes: IntArray, weights: FloatArray | None) -> FloatArray:
    """Return the weight of some rows of each class at the leaves that they reach, (node_count, n_classes + 1).

    The last column is for rows of a class that the training data did not have; `classes` is n_classes there.
    """
    counts = np.zeros((tree.node_count, tree.value.shape[1] + 1))
    np.add.at(counts, (leaves, classes), 1.0 if weights is None else weights)
    return counts


def validation_errors(tree: Tree, at_leaf: FloatArray) -> FloatArray:
    """Return the weight of the counted rows at each node that it would misclassify as a leaf, (node_count,)."""
    return _weight_of_others(tree.sums_below(at_leaf), np.argmax(tree.value, axis=1))


def choose_step(errors: FloatArray, weights: FloatArray, rule: str) -> int:
    """Return the step of the smallest tree with the fewest `errors` (n_steps,) or, for "1se", with almost as few.

    Almost means within one standard error of the lowest error rate p of n rows, sqrt(p (1 - p) / n). Rows of different
    weights count as (sum w)^2 / sum w^2 rows of equal weight (Kish).
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
    """Return the cost of the pruned tree given that of the tree, an int if that is one.

    The penalty per leaf follows from the tree's own cost: parameters may have changed since the fit.
    """
    if isinstance(cost, int):  # neither weights nor penalties
        return round(training_errors(pruned))
    penalties = cost - training_errors(tree)
    return training_errors(pruned) + penalties * pruned.n_leaves / tree.n_leaves


def pruned_train_errors(tree: Tree, pruned: Tree, train_errors: int | None) -> int | None:
    """Return how many training rows the pruned tree misclassifies; None unless every row weighs 1.

    That is assumed if weights and numbers of rows agree at all nodes, and so do the errors of the tree.
    """
    rows_weigh_one = _slack(tree.value, _total(tree)) == 0 and np.array_equal(
        tree.weighted_n_node_samples, tree.n_node_samples
    )
    if not rows_weigh_one or train_errors != training_errors(tree):
        return None
    return round(training_errors(pruned))


def _weight_of_others(class_weights: FloatArray, predicted: IntArray) -> FloatArray:
    """Return the sum of the class weights (n, n_classes) not predicted, (n,); a difference would be off by rounding."""
    others = class_weights.copy()
    others[np.arange(len(others)), predicted] = 0
    return np.asarray(others.sum(axis=1))


def _total(tree: Tree) -> float:
    """Return the training weight."""
    return float(tree.value[0].sum())


def _slack(weights: FloatArray, total: float) -> float:
    """Return the difference up to which sums of weights count as equal: 0 if a double holds every sum."""
    whole = total < 2**53 and np.array_equal(weights, np.rint(weights))
    return 0.0 if whole else SLACK * total
