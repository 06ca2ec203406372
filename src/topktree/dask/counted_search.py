"""Top-k search by counts alone, for rows that are somewhere else.

In: an `Objective`, the totals of all rows, and a function that answers questions: the sums of every column on the rows
at the end of a path of splits. Out: the tree that the engine finds, whatever the order of the questions.

The one idea: every node has a lower and an upper bound of its cost, and a node whose answer cannot change the tree is
not asked for. Questions go out in batches, the best candidates first, and a batch has no more of them than were asked
before, so that an early answer can make later questions unnecessary.

Rows that differ in weight are counted by weight alone, which takes half the time, and by number once the tree is known.
Both are counted throughout if `min_samples_leaf` needs the numbers, or if there may be no time for a last count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import IntArray
from .._runtime.limits import OutOfTime
from .._search import engine
from .._search.objective import Objective
from .counted_graph import ROWS, WEIGHT, Node, NodeGraph, Path, Split

if TYPE_CHECKING:
    from .._core import Statistics

# A batch may always have this many questions: fewer are not worth a round trip.
MIN_BATCH = 32
# The class weights of this many candidates of the root are recorded, as in the engine.
N_WEIGHED = 20

# Answers paths with the sums asked for, int32 or int64 (n_paths, n_sums, n_columns). If the last argument is true, it
# may raise `OutOfTime` instead.
Ask = Callable[[Sequence[Path], Sequence[str], bool], NDArray[Any]]


class CountedSearch:
    """One search."""

    def __init__(
        self,
        class_weight: IntArray,
        class_rows: IntArray | None,
        n_columns: int,
        objective: Objective,
        ask: Ask,
        *,
        greedy_first: bool = False,
        batch_bytes: int = 2**24,
        held_bytes: int = 2**30,
    ) -> None:
        """Prepare a search of rows with these totals per class; `class_rows` is given if rows differ in weight.

        With `greedy_first`, the tree of k = 1 is complete before the search may run out of time.
        """
        totals, self._sums = class_weight, [WEIGHT]
        self._last_rows = class_rows  # None: rows are not counted last
        if class_rows is not None and (greedy_first or objective.min_samples_leaf > 1):
            totals, self._sums = np.concatenate([class_weight, class_rows]), [WEIGHT, ROWS]
            self._last_rows = None
        self._greedy_first = greedy_first
        self.graph = NodeGraph(totals, n_columns, objective)
        self.k = max(objective.k, default=1)  # places for candidates, at the level with the most
        self._most_candidates = self.k * (1 if objective.second_reading is None else 2)
        self.n_asked = 0  # paths
        self.rounds: list[dict[str, Any]] = []  # questions, bytes of the answer and seconds until it came
        self._objective = objective
        self._root = self.graph.root
        self._ask = ask
        self._batch_bytes, self._held_bytes = batch_bytes, held_bytes
        self._batch: dict[Path, Node] = {}
        self._room = 0  # paths that the batch may have
        self._start = time.perf_counter()
        self._trace: list[tuple[float, int, int]] = []

    @property
    def best_cost(self) -> int:
        """The cost of the best tree known."""
        return self._root.upper

    def run(self) -> engine.Solution:
        """Return the tree."""
        while self._greedy_first and self._round(self._want_greedy, may_stop=False):
            pass
        try:
            while not self._root.is_solved:
                self._widening_round(lambda k: self._visit(self._root, self._root.upper, k))
            while undecided := list(self._undecided(self._root)):
                self._widening_round(lambda k: self._visit_splits(undecided, k))
        except OutOfTime:
            return self._solution(False)
        return self._solution(True)

    # Rounds of questions.

    def _widening_round(self, visit: Callable[[int], None]) -> None:
        """Visit with one candidate per node, then with two, four and so on until the batch is full; then ask."""

        def widen() -> None:
            k = 1
            visit(k)
            while k < self._most_candidates and len(self._batch) < self._room:
                k *= 2
                visit(k)

        if not self._round(widen):
            raise RuntimeError("the search has nothing left to ask and no tree: this is a bug in topktree")

    def _round(self, want: Callable[[], None], *, may_stop: bool = True) -> bool:
        """Ask for what `want` adds to the batch. Return False if it adds nothing."""
        self._batch = {}
        room = min(self._batch_bytes, self._held_bytes - self.graph.held_bytes) // self.graph.node_bytes
        self._room = max(1, min(max(MIN_BATCH, self.n_asked), room))
        want()
        if not self._batch:
            return False
        answer = self._put(list(self._batch), self._sums, may_stop=may_stop)
        for node, sums in zip(self._batch.values(), answer, strict=True):
            self.graph.add_counts(node, sums.astype(np.int64))
        self.graph.update()
        if not self._trace or self.best_cost < self._trace[-1][2]:
            self._trace.append((time.perf_counter() - self._start, self.k, self.best_cost))
        return True

    def _put(self, paths: Sequence[Path], sums: Sequence[str], *, may_stop: bool) -> NDArray[Any]:
        """Ask a question and record the round."""
        start = time.perf_counter()
        answer = self._ask(paths, sums, may_stop)
        seconds = time.perf_counter() - start
        self.n_asked += len(paths)
        self.rounds.append({"questions": len(paths), "bytes": answer.nbytes, "seconds": seconds})
        return answer

    # What to ask for.

    def _want(self, node: Node) -> None:
        """Ask for the node's counts, or for those of a lighter sibling that has not been asked for."""
        lightest = node
        for parent, sibling in node.above:
            if parent.counts is not None and sibling.is_new and sibling.weight < lightest.weight:
                lightest = sibling
        self._batch[lightest.path] = lightest

    def _want_greedy(self) -> None:
        """Ask for what is not known yet about the tree of k = 1."""
        stack = [self._root]
        while stack and len(self._batch) < self._room:
            node = stack.pop()
            if node.is_new:
                self._want(node)
            elif node.splits and not node.is_solved:
                stack += node.splits[0].false_child, node.splits[0].true_child

    def _visit(self, node: Node, budget: int, k: int) -> None:
        """Ask for what decides whether one of the node's first k candidates costs less than `budget`."""
        budget = min(budget, node.upper)
        if node.lower >= budget or len(self._batch) >= self._room:
            return
        if node.splits is None:
            self._want(node)
            return
        self._visit_splits([(split, budget) for split in self._next_splits(node, node.splits, budget, k)], k)
        is_wanted = len(node.splits) < k and self.graph.lowest_unknown(node) < budget
        asked = None if node.ranking is None else node.ranking.asked
        if asked is not None and is_wanted and len(self._batch) < self._room:
            self._batch[asked.true_child.path] = asked.true_child

    def _next_splits(self, node: Node, splits: Sequence[Split], budget: int, k: int) -> Sequence[Split]:
        """Return the first k candidates; where sides bound each other, no more of them than were tried before."""
        if len(node.path) + 2 < self._objective.depth or not self.graph.sides_bound_each_other:
            return splits[:k]
        untried = [split for split in splits if split.lower < split.upper]
        promising = [split for split in untried if split.lower < budget]
        return promising[: min(k, max(1, len(splits) - len(untried)))]

    def _visit_splits(self, splits: Sequence[tuple[Split, int]], k: int) -> None:
        """Visit the children of splits, each with its budget."""
        for split, budget in splits:
            if split.lower < budget:
                self._visit(split.false_child, budget - split.true_child.lower, k)
                self._visit(split.true_child, budget - split.false_child.lower, k)

    def _undecided(self, node: Node) -> Iterator[tuple[Split, int]]:
        """Yield splits, each with a budget, that may cost as little as a split of the tree and come before it."""
        if node.upper == node.leaf:
            return
        for split in node.splits or ():
            if split.lower <= node.upper < split.upper:
                yield split, node.upper + 1
                return
            if split.upper == node.upper:
                yield from self._undecided(split.false_child)
                yield from self._undecided(split.true_child)
                return

    # The result.

    def _solution(self, complete: bool) -> engine.Solution:
        """Return the cheapest tree known, in preorder."""
        nodes: list[Node] = []
        column: list[int] = []
        children: list[tuple[int, int]] = []

        def append(node: Node) -> int:
            """Append the tree of a node; return the index of its root."""
            i, split = len(nodes), node.best_split
            nodes.append(node)
            column.append(split.column if split else -1)
            children.append((-1, -1))
            if split:
                children[i] = append(split.false_child), append(split.true_child)
            return i

        append(self._root)
        n_classes, totals = self._objective.n_classes, np.stack([node.totals for node in nodes])
        class_weight, class_rows = totals[:, :n_classes] * self._objective.class_weight, totals[:, -n_classes:]
        if self._last_rows is not None:
            class_rows = self._count_rows(self._last_rows, [node.path for node in nodes], column, children)
        leaves = np.flatnonzero(np.array(column) < 0)
        predicted = np.argmax(class_weight[leaves], axis=1)
        return engine.Solution(
            column=np.array(column, dtype=np.int32),
            false_child=np.array(children, dtype=np.int32)[:, 0],
            true_child=np.array(children, dtype=np.int32)[:, 1],
            n_rows=class_rows.sum(axis=1),
            class_weight=class_weight,
            cost=self.best_cost,
            n_wrong=int(class_rows[leaves].sum() - class_rows[leaves, predicted].sum()),
            complete=complete,
            statistics=self._statistics(complete),
        )

    def _count_rows(
        self, of_root: IntArray, paths: list[Path], column: list[int], children: list[tuple[int, int]]
    ) -> IntArray:
        """Ask for the number of rows per class in every node of the tree, (n_nodes, n_classes)."""
        class_rows = np.empty((len(paths), len(of_root)), dtype=np.int64)
        class_rows[0] = of_root
        inner = [i for i in range(len(paths)) if column[i] >= 0]  # parents come first
        size = max(1, self._batch_bytes // self.graph.node_bytes)
        for start in range(0, len(inner), size):
            some = inner[start : start + size]
            answer = self._put([paths[i] for i in some], [ROWS], may_stop=False)
            for i, counts in zip(some, answer, strict=True):
                false_child, true_child = children[i]
                class_rows[true_child] = counts[:, column[i]]
                class_rows[false_child] = class_rows[i] - class_rows[true_child]
        return class_rows

    def _statistics(self, complete: bool) -> Statistics:
        graph, splits, n_classes = self.graph, self._root.splits or [], self._objective.n_classes
        true_sides = [s.true_child.totals[:n_classes] * self._objective.class_weight for s in splits[:N_WEIGHED]]
        return {
            "seconds": time.perf_counter() - self._start,
            "nodes": graph.n_counted,
            "pruned": sum(node.splits is None and not node.is_solved for node in graph.nodes.values()),
            "cache_hits": graph.n_shared,
            "cache_bytes": graph.most_held_bytes,
            "k_reached": self.k if complete else 1,
            "n_threads": 1,
            "kernel": "",
            "trace": self._trace,
            "root": {
                "column": np.array([split.column for split in splits], dtype=np.int32),
                "cost": np.array([split.lower for split in splits], dtype=np.int64),
                "exact": np.array([split.lower == split.upper for split in splits], dtype=np.uint8),
                "n_candidates": len(splits),
                "greedy_cost": np.empty(0, dtype=np.int64),
                "true_weight": np.array(true_sides, dtype=np.int64).reshape(-1, n_classes),
            },
        }
