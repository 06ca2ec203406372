"""What a search by counts knows: its nodes with their bounds, and the cheapest tree among them.

A node is the rows at the end of a path of splits; several paths may lead to it. Costs are integers, as in the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import IntArray

# Splits from the root on, each twice its column, plus one for the true side.
Path = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Answer:
    """Of some paths, (n_paths, n_classes, n_columns): weight and number of the rows that have each column."""

    weight: NDArray[Any]  # of int32 or int64; without class weights
    rows: NDArray[Any] | None  # None: not asked for

    def of(self, i: int) -> Counts:
        """Of path number i."""
        return Counts(self.weight[i].astype(np.int64), None if self.rows is None else self.rows[i].astype(np.int64))


@dataclass(frozen=True, eq=False)
class Counts:
    """Of one node, (n_classes, n_columns)."""

    weight: IntArray
    rows: IntArray | None

    def less(self, other: Counts) -> Counts:
        """Of the rows that the other does not have."""
        rows = None if self.rows is None or other.rows is None else self.rows - other.rows
        return Counts(self.weight - other.weight, rows)


@dataclass(eq=False, slots=True)
class Node:
    """Rows, and what is known of the cheapest tree on them."""

    path: Path
    totals: IntArray  # (n_classes,), without class weights
    weight: int
    n_rows: int  # if numbers of rows are asked for
    leaf: int  # cost as a leaf
    lower: int
    upper: int
    counts: Counts | None = None  # as long as they may be needed
    splits: list[Split] | None = None  # by rank; None: not counted yet
    ranking: Ranking | None = None  # if there may be candidates that are not known yet
    above: list[tuple[Node, Node]] = field(default_factory=list)  # parents, and the siblings there

    @property
    def is_solved(self) -> bool:
        """Whether its cost is known."""
        return self.lower == self.upper

    @property
    def is_new(self) -> bool:
        """Whether its counts would tell something."""
        return self.splits is None and self.lower < self.upper


@dataclass(eq=False, slots=True)
class Split:
    """A candidate of a node."""

    column: int
    cost: int  # with leaves below
    true_side: IntArray  # (n_classes,), as the totals of a node
    children: tuple[Node, Node] | None  # false, true; None: nothing may be below but leaves

    @property
    def lower(self) -> int:
        """What it costs at least."""
        return self.cost if self.children is None else self.children[0].lower + self.children[1].lower

    @property
    def upper(self) -> int:
        """What it costs with the best trees known."""
        return self.cost if self.children is None else self.children[0].upper + self.children[1].upper


@dataclass(eq=False, slots=True)
class Ranking:
    """All columns of a node by rank, where those do not count that split its rows as an earlier one does."""

    columns: list[int]
    costs: list[int]  # with leaves below
    position: int = 0  # of the first that is not known to count
    twins: dict[int, NDArray[np.bool_]] = field(default_factory=dict)  # of columns that count: which split alike
    asked: int = -1  # the column whose twins must be known next


class Tree:
    """The cheapest tree known, as lists in preorder."""

    def __init__(self) -> None:
        self.path: list[Path] = []
        self.column: list[int] = []
        self.children: list[tuple[int, int]] = []
        self.totals: list[IntArray] = []

    def add(self, node: Node) -> int:
        """Append the best tree of a node; returns the index of its root."""
        split = next((s for s in node.splits or () if s.upper == node.upper), None)
        if split is None or node.upper == node.leaf:
            return self._append(node.path, -1, node.totals)
        i = self._append(node.path, split.column, node.totals)
        if split.children is not None:
            self.children[i] = self.add(split.children[0]), self.add(split.children[1])
        else:
            false_path, true_path = (*node.path, 2 * split.column), (*node.path, 2 * split.column + 1)
            false_child = self._append(false_path, -1, node.totals - split.true_side)
            self.children[i] = false_child, self._append(true_path, -1, split.true_side)
        return i

    def _append(self, path: Path, column: int, totals: IntArray) -> int:
        self.path.append(path)
        self.column.append(column)
        self.children.append((-1, -1))
        self.totals.append(totals)
        return len(self.column) - 1


def held(node: Node) -> Counts:
    """The counts of a node that has them."""
    assert node.counts is not None
    return node.counts
