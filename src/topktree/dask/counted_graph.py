"""The state of a search by counts: nodes with their candidates and bounds, which get tighter with every answer.

In: the counts of some nodes. Out: the same nodes with candidates, new nodes below them, and tighter bounds on the cost
of the nodes above. The one idea: nodes are identified by their set of splits, so that each is counted once, and of two
children only one is counted: the other has what remains of the parent's counts.

Sums are what is counted: the weight of each class, without class weights, and, where rows differ in weight and their
number is needed, the number of rows of each class. So the first n_classes sums are always weights, and the last
n_classes are numbers of rows wherever these are needed. Costs are integers, as in the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import BoolArray, IntArray
from .._search.objective import Objective
from .counted_ranking import NO_LIMIT, NodeCounts, rank_columns, tests_of_columns

# Counts that are ranked at once, so that temporary arrays stay small.
PART = 2**19

# The sums that can be asked for: the weight of each class, and the number of rows of each class.
WEIGHT = "weight"
ROWS = "rows"

# The splits from the root down; each is twice its column, plus one for the true side.
Path = tuple[int, ...]


@dataclass(eq=False, slots=True, repr=False)  # nodes lead to each other, so a text of one would never end
class Node:
    """The rows at the end of a path, or of several, and what is known about the cheapest tree on them."""

    path: Path
    totals: IntArray  # (n_sums,)
    weight: int  # without class weights
    leaf: int  # cost as a leaf
    lower: int
    upper: int
    counts: IntArray | None = None  # (n_sums, n_columns), as long as they may be needed
    splits: list[Split] | None = None  # by rank; None: not counted yet
    ranking: Ranking | None = None  # None: all candidates are among the splits
    above: list[tuple[Node, Node]] = field(default_factory=list)  # parents, each with the sibling there

    @property
    def is_solved(self) -> bool:
        """Tell whether the cost is known."""
        return self.lower == self.upper

    @property
    def is_new(self) -> bool:
        """Tell whether counts are missing that may change the tree."""
        return self.splits is None and self.lower < self.upper

    @property
    def held(self) -> IntArray:
        """The counts of a node that has them."""
        assert self.counts is not None
        return self.counts

    @property
    def best_split(self) -> Split | None:
        """The first split of the cheapest tree known; None if that is a leaf."""
        splits = () if self.upper == self.leaf else self.splits or ()
        return next((split for split in splits if split.upper == self.upper), None)


@dataclass(eq=False, slots=True)
class Split:
    """A candidate of a node."""

    column: int
    false_child: Node
    true_child: Node

    @property
    def lower(self) -> int:
        """The lower bound of its cost."""
        return self.false_child.lower + self.true_child.lower

    @property
    def upper(self) -> int:
        """Its cost with the best trees known so far."""
        return self.false_child.upper + self.true_child.upper


@dataclass(eq=False, slots=True)
class Ranking:
    """The columns of a node by descending score, if those that split its rows alike count as one candidate."""

    columns: list[int]
    costs: list[int]  # with leaves below
    position: int = 0  # of the first column that may or may not be a candidate
    twins: dict[int, BoolArray] = field(default_factory=dict)  # by candidate: which columns split the rows alike
    asked: Split | None = None  # the candidate whose twins must be known next


class NodeGraph:
    """The nodes of one search."""

    def __init__(self, totals: IntArray, n_columns: int, objective: Objective) -> None:
        self.objective = objective
        self.nodes: dict[frozenset[int], Node] = {}
        self.node_bytes = max(1, 8 * len(totals) * n_columns)
        self.held_bytes = self.most_held_bytes = 0
        self.n_counted = self.n_shared = 0
        # A tree of one side is a tree of another side only if no leaf of it can become too small there.
        self.sides_bound_each_other = objective.min_weight_leaf == 1 and objective.min_samples_leaf == 1
        self._n_columns = n_columns
        self._tests = tests_of_columns(objective.second_reading, n_columns).tolist()
        self._n_classes = objective.n_classes
        self._total_weight = int(totals[: self._n_classes] @ objective.class_weight)
        self._counted: list[Node] = []  # nodes that have counts but no candidates yet
        self._changed: list[Node] = []  # nodes with more candidates, or with tighter bounds below them
        leaf, is_mixed = self._leaf_costs(totals)
        self.root = self._make_node((), totals, leaf, is_mixed)

    def add_counts(self, node: Node, counts: IntArray) -> None:
        """Take the counts of a node, from which those of its siblings follow."""
        for parent, sibling in list(node.above):
            if parent.counts is None:  # the parent is solved
                continue
            if sibling.is_new:
                self._set_counts(sibling, parent.counts - counts)
            ranking = parent.ranking
            if ranking is not None and ranking.asked is not None and ranking.asked.true_child is node:
                self._find_twins(parent, ranking, ranking.asked, counts)
        if node.is_new:
            self._set_counts(node, counts)

    def update(self) -> None:
        """Find candidates and bounds, given all that was added since the last update."""
        size = max(1, PART // (self._n_columns * self._n_classes))
        for start in range(0, len(self._counted), size):
            self._find_candidates(self._counted[start : start + size])
        changed = self._counted + self._changed
        self._counted, self._changed = [], []
        self._tighten(changed)

    def is_last(self, node: Node) -> bool:
        """Tell whether only leaves are allowed below a split of the node."""
        return len(node.path) + 1 == self.objective.depth

    def lowest_unknown(self, node: Node) -> int:
        """Return a lower bound for candidates that are not among the node's splits yet."""
        if node.ranking is None or not self.is_last(node):
            return 2 * self.objective.leaf_penalty
        return min(node.ranking.costs[node.ranking.position :])

    # Nodes.

    def _make_node(self, path: Path, totals: IntArray, leaf: int, is_mixed: bool) -> Node:
        """Return the node at the end of a path, which other paths may have led to before."""
        weight = int(totals[: self._n_classes].sum())
        if len(path) == self.objective.depth:  # a leaf, about which nothing is ever asked
            return Node(path, totals, weight, leaf, leaf, leaf)
        key = frozenset(path)
        known = self.nodes.get(key)
        if known is not None:
            self.n_shared += 1
            return known
        lower = min(leaf, 2 * self.objective.leaf_penalty) if is_mixed and self._n_columns > 0 else leaf
        node = self.nodes[key] = Node(path, totals, weight, leaf, lower, leaf)
        return node

    def _leaf_costs(self, totals: IntArray) -> tuple[Any, Any]:
        """Return the cost of leaves with these (..., n_sums) totals, and whether they have more than one class."""
        weights = totals[..., : self._n_classes] * self.objective.class_weight
        errors = weights.sum(axis=-1) - weights.max(axis=-1)
        costs = errors * self.objective.cost_scale + self.objective.leaf_penalty
        return costs.tolist(), (errors > 0).tolist()

    def _set_counts(self, node: Node, counts: IntArray) -> None:
        node.counts = counts
        node.splits = []
        self.n_counted += 1
        self.held_bytes += self.node_bytes
        self.most_held_bytes = max(self.most_held_bytes, self.held_bytes)
        self._counted.append(node)

    # Candidates.

    def _find_candidates(self, nodes: Sequence[Node]) -> None:
        """Find the candidates of nodes that have been counted."""
        objective, n_classes = self.objective, self._n_classes
        counts = NodeCounts(
            np.stack([node.held[:n_classes] for node in nodes]) * objective.class_weight[:, None],
            np.stack([node.totals[:n_classes] for node in nodes]) * objective.class_weight,
            self._have_enough_rows(nodes),
            np.array([self._error_limit(node) for node in nodes]),
            np.array([objective.k[len(node.path)] for node in nodes], dtype=np.int64),
        )
        fewest, columns, errors = rank_columns(counts, objective, self._total_weight)
        costs = errors * objective.cost_scale + 2 * objective.leaf_penalty
        if self.sides_bound_each_other:
            self._bound_siblings(nodes, counts, fewest)
        for i, node in enumerate(nodes):
            n_found = np.count_nonzero(columns[i] >= 0)
            if n_found > 0:
                self._add_candidates(node, columns[i, :n_found], costs[i, :n_found].tolist())

    def _error_limit(self, node: Node) -> int:
        """Return the number of errors that a last split must stay below to cost less than a leaf."""
        if not self.is_last(node):
            return NO_LIMIT
        return -((2 * self.objective.leaf_penalty - node.leaf) // self.objective.cost_scale)

    def _have_enough_rows(self, nodes: Sequence[Node]) -> BoolArray | None:
        """Return where both sides have `min_samples_leaf` rows, (n_nodes, n_columns); None: everywhere."""
        if self.objective.min_samples_leaf == 1:
            return None
        n_true = np.stack([node.held[-self._n_classes :].sum(axis=0) for node in nodes])
        n_rows = np.array([node.totals[-self._n_classes :].sum() for node in nodes])[:, None]
        return np.asarray(np.minimum(n_true, n_rows - n_true) >= self.objective.min_samples_leaf)

    def _bound_siblings(self, nodes: Sequence[Node], counts: NodeCounts, fewest: IntArray) -> None:
        """Bound the other sides of the parents' splits by nodes below which only leaves are allowed.

        For a node A and another side S: the best tree of S, applied to A, gets at most the rows of A that are not in S
        wrong in addition; hence cost(S) >= cost(A) - weight(A without S). This needs the minimum over all columns, not
        over the first k.
        """
        scale, penalty = self.objective.cost_scale, self.objective.leaf_penalty
        for i, node in enumerate(nodes):
            if not self.is_last(node):
                continue
            least = min(node.leaf, int(fewest[i]) * scale + 2 * penalty if fewest[i] < NO_LIMIT else node.leaf)
            true_weight = counts.true_weight[i].sum(axis=0)
            weight = int(counts.totals[i].sum())
            for parent, _ in node.above:
                for split in parent.splits or ():
                    n_true = int(true_weight[split.column])
                    self._raise(split.false_child, least - scale * n_true)
                    self._raise(split.true_child, least - scale * (weight - n_true))

    def _add_candidates(self, node: Node, columns: NDArray[np.int32], costs: list[int]) -> None:
        if self.objective.distinct_splits:
            node.ranking = Ranking(columns.tolist(), costs)
            self._take_distinct(node)
            return
        if self.is_last(node):  # only the first of the cheapest can be the split
            columns = columns[[np.argmin(costs)]]
        node.splits = self._make_splits(node, columns)

    def _make_splits(self, node: Node, columns: NDArray[np.int32]) -> list[Split]:
        sides = np.empty((2, len(columns), len(node.totals)), dtype=np.int64)
        sides[1] = node.held[:, columns].T
        sides[0] = node.totals - sides[1]
        leaves, are_mixed = self._leaf_costs(sides)
        splits = []
        for i, column in enumerate(columns.tolist()):
            false_path, true_path = (*node.path, 2 * column), (*node.path, 2 * column + 1)
            false_child = self._make_node(false_path, sides[0, i], leaves[0][i], are_mixed[0][i])
            true_child = self._make_node(true_path, sides[1, i], leaves[1][i], are_mixed[1][i])
            false_child.above.append((node, true_child))
            true_child.above.append((node, false_child))
            splits.append(Split(column, false_child, true_child))
        return splits

    def _find_twins(self, node: Node, ranking: Ranking, split: Split, counts: IntArray) -> None:
        """Find the columns that split a node's rows as a candidate does, given the counts of its true side."""
        everywhere = node.held[: self._n_classes].sum(axis=0)
        inside = counts[: self._n_classes].sum(axis=0)
        outside = everywhere - inside
        same = (inside == split.true_child.weight) & (outside == 0)
        opposite = (inside == 0) & (outside == split.false_child.weight)
        ranking.twins[split.column] = same | opposite
        self._take_distinct(node)
        self._changed.append(node)

    def _take_distinct(self, node: Node) -> None:
        """Continue with the ranking until there are k candidates, or until twins must be known."""
        ranking, splits = node.ranking, node.splits
        assert ranking is not None
        assert splits is not None
        k = self.objective.k[len(node.path)]
        while len({self._tests[split.column] for split in splits}) < k and ranking.position < len(ranking.columns):
            column = ranking.columns[ranking.position]
            # Columns that split the rows alike have the same counts, or one has what the other lacks.
            counts = node.held[:, column], node.totals - node.held[:, column]
            alike = [s for s in splits if any(np.array_equal(s.true_child.totals, side) for side in counts)]
            ranking.asked = next((split for split in alike if split.column not in ranking.twins), None)
            if ranking.asked is not None:
                return
            if not any(ranking.twins[split.column][column] for split in alike):
                splits += self._make_splits(node, np.array([column], dtype=np.int32))
            ranking.position += 1
        node.ranking = None

    # Bounds.

    def _raise(self, node: Node, lower: int) -> None:
        """Raise the lower bound of a node that is not counted."""
        lower = min(lower, node.upper)
        if node.splits is None and node.lower < lower:
            node.lower = lower
            self._changed += [parent for parent, _ in node.above]

    def _tighten(self, changed: list[Node]) -> None:
        """Tighten the bounds of nodes that have changed, and of the nodes above them."""
        while changed:
            node = changed.pop()
            splits = node.splits or ()
            lower = min([node.leaf, *(split.lower for split in splits)])
            upper = min([node.leaf, *(split.upper for split in splits)])
            if node.ranking is not None:
                lower = min(lower, self.lowest_unknown(node))
            if (lower, upper) != (node.lower, node.upper):
                node.lower, node.upper = lower, upper
                changed += [parent for parent, _ in node.above if not parent.is_solved]
            if node.is_solved and node.counts is not None:
                node.counts = None
                self.held_bytes -= self.node_bytes
