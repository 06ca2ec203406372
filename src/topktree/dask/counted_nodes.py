"""The records of a search by counts: nodes with bounds of their cost, candidates, and the cheapest tree among them.

A node is the rows at the end of a path of splits; several paths may lead to it. Costs are integers, as in the engine.

Sums are what is counted of rows: the weight of each class without class weights, then, if rows differ in weight, the
number of rows of each class. So the first n_classes sums are always weights, and the last n_classes numbers of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .._data.arrays import BoolArray, IntArray

# The splits from the root on; each is twice its column, plus one for the true side.
Path = tuple[int, ...]


@dataclass(eq=False, slots=True)
class Node:
    """Rows, and what is known of the cheapest tree on them."""

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


@dataclass(eq=False, slots=True)
class Split:
    """A candidate of a node."""

    column: int
    cost: int  # with leaves below
    true_side: IntArray  # (n_sums,)
    children: tuple[Node, Node] | None  # false, true; None: only leaves are allowed below

    @property
    def lower(self) -> int:
        """The lower bound of its cost."""
        return self.cost if self.children is None else self.children[0].lower + self.children[1].lower

    @property
    def upper(self) -> int:
        """Its cost with the best trees known so far."""
        return self.cost if self.children is None else self.children[0].upper + self.children[1].upper


@dataclass(eq=False, slots=True)
class Ranking:
    """The columns of a node from the best score on, if those that split its rows alike count as one candidate."""

    columns: list[int]
    costs: list[int]  # with leaves below
    position: int = 0  # of the first column that may or may not be a candidate
    twins: dict[int, BoolArray] = field(default_factory=dict)  # by candidate: which columns split the rows alike
    asked: int = -1  # the candidate whose twins must be known next


class PreorderTree:
    """The cheapest tree known, as lists in preorder."""

    def __init__(self, root: Node) -> None:
        self.column: list[int] = []
        self.children: list[tuple[int, int]] = []
        self.totals: list[IntArray] = []
        self._add(root)

    def _add(self, node: Node) -> int:
        """Append the best tree of a node; return the index of its root."""
        split = next((s for s in node.splits or () if s.upper == node.upper), None)
        if split is None or node.upper == node.leaf:
            return self._append(-1, node.totals)
        i = self._append(split.column, node.totals)
        if split.children is not None:
            self.children[i] = self._add(split.children[0]), self._add(split.children[1])
        else:
            self.children[i] = self._append(-1, node.totals - split.true_side), self._append(-1, split.true_side)
        return i

    def _append(self, column: int, totals: IntArray) -> int:
        self.column.append(column)
        self.children.append((-1, -1))
        self.totals.append(totals)
        return len(self.column) - 1
