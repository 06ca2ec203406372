"""Top-k search by counts alone, for rows that are somewhere else.

In: an `Objective`, the totals of all rows, and a function that answers questions: the sums of every column on the rows
at the end of a path of splits. Out: the tree that the engine finds, whatever the order of the questions.

The one idea: every node has a lower and an upper bound of its cost, and a node whose answer cannot change the tree is
not asked for. Questions go out in batches, the best candidates first, and a batch has no more of them than were asked
before, so that an early answer can make later questions unnecessary.
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
from .counted_graph import NodeGraph
from .counted_nodes import Node, Path, PreorderTree, Ranking, Split

if TYPE_CHECKING:
    from .._core import Statistics

# A batch may always have this many questions: fewer are not worth a round trip.
MIN_BATCH = 32
# The class weights of this many candidates of the root are recorded, as in the engine.
N_WEIGHED = 20

# Answers paths with their counts, int32 or int64 (n_paths, n_sums, n_columns); see `counted_nodes` for the sums. If the
# second argument is true it may raise `OutOfTime` instead.
Ask = Callable[[Sequence[Path], bool], NDArray[Any]]


class CountedSearch:
    """One search."""

    def __init__(
        self,
        totals: IntArray,
        n_columns: int,
        objective: Objective,
        ask: Ask,
        *,
        batch_bytes: int = 2**24,
        held_bytes: int = 2**30,
    ) -> None:
        """Prepare a search of rows with these (n_sums,) totals."""
        self.graph = NodeGraph(totals, n_columns, objective)
        self.k = max(objective.k, default=1)  # candidates per node, where they are most
        self.n_asked = 0  # paths
        self.rounds: list[dict[str, Any]] = []  # questions, bytes of the answer and seconds until it came
        self._objective = objective
        self._root = self.graph.root
        self._ask = ask
        self._batch_bytes, self._held_bytes = batch_bytes, held_bytes
        self._batch: dict[Path, Node | None] = {}  # None: only twins are asked for
        self._probes: dict[Path, tuple[Node, int]] = {}  # the node, and the candidate of it whose twins are asked for
        self._room = 0  # paths that the batch may have
        self._start = time.perf_counter()
        self._trace: list[tuple[float, int, int]] = []

    @property
    def best_cost(self) -> int:
        """The cost of the best tree known."""
        return self._root.upper

    def run(self, *, greedy_first: bool = False) -> engine.Solution:
        """Return the tree. With `greedy_first`, the tree of k = 1 is complete before the search may run out of time."""
        while greedy_first and self._round(self._want_greedy, may_stop=False):
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
            while k < self.k and len(self._batch) < self._room:
                k *= 2
                visit(k)

        if not self._round(widen):
            raise RuntimeError("the search has nothing left to ask and no tree: this is a bug in topktree")

    def _round(self, want: Callable[[], None], *, may_stop: bool = True) -> bool:
        """Ask for what `want` adds to the batch. Return False if it adds nothing."""
        self._batch, self._probes = {}, {}
        room = min(self._batch_bytes, self._held_bytes - self.graph.held_bytes) // self.graph.node_bytes
        self._room = max(1, min(max(MIN_BATCH, self.n_asked), room))
        want()
        if not self._batch:
            return False
        start = time.perf_counter()
        paths = list(self._batch)
        answer = self._ask(paths, may_stop)
        seconds = time.perf_counter() - start
        self.n_asked += len(paths)
        self.rounds.append({"questions": len(paths), "bytes": answer.nbytes, "seconds": seconds})
        self._learn(paths, answer)
        if not self._trace or self.best_cost < self._trace[-1][2]:
            self._trace.append((time.perf_counter() - self._start, self.k, self.best_cost))
        return True

    def _learn(self, paths: Sequence[Path], answer: NDArray[Any]) -> None:
        for path, sums in zip(paths, answer, strict=True):
            counts = sums.astype(np.int64)
            if path in self._probes:
                self.graph.add_twins(*self._probes[path], counts)
            node = self._batch[path]
            if node is not None:
                self.graph.add_counts(node, counts)
        self.graph.update()

    # What to ask for.

    def _want(self, node: Node) -> None:
        """Ask for the node's counts, or for those of a lighter sibling that has not been asked for."""
        lightest = node
        for parent, sibling in node.above:
            if parent.counts is not None and sibling.is_new and sibling.weight < lightest.weight:
                lightest = sibling
        self._batch[lightest.path] = lightest

    def _want_greedy(self) -> None:
        """Ask for what is not known yet of the tree of k = 1."""
        stack = [self._root]
        while stack and len(self._batch) < self._room:
            node = stack.pop()
            if node.is_new:
                self._want(node)
            elif node.splits and not node.is_solved:
                stack += node.splits[0].children or ()

    def _want_twins(self, node: Node, ranking: Ranking) -> None:
        """Ask for the true side of the candidate whose twins must be known."""
        path = (*node.path, 2 * ranking.asked + 1)
        self._batch.setdefault(path, self.graph.nodes.get(frozenset(path)))
        self._probes[path] = node, ranking.asked

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
        if node.ranking is not None and is_wanted and len(self._batch) < self._room:
            self._want_twins(node, node.ranking)

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
            if split.children is not None and split.lower < budget:
                false_child, true_child = split.children
                self._visit(false_child, budget - true_child.lower, k)
                self._visit(true_child, budget - false_child.lower, k)

    def _undecided(self, node: Node) -> Iterator[tuple[Split, int]]:
        """Yield splits, each with a budget, that may cost as little as a split of the tree and come before it."""
        if node.upper == node.leaf:
            return
        for split in node.splits or ():
            if split.lower <= node.upper < split.upper:
                yield split, node.upper + 1
                return
            if split.upper == node.upper:
                for child in split.children or ():
                    yield from self._undecided(child)
                return

    # The result.

    def _solution(self, complete: bool) -> engine.Solution:
        tree = PreorderTree(self._root)
        n_classes = self._objective.n_classes
        totals = np.stack(tree.totals)
        class_rows = totals[:, -n_classes:]
        class_weight = totals[:, :n_classes] * self._objective.class_weight
        column = np.array(tree.column, dtype=np.int32)
        children = np.array(tree.children, dtype=np.int32)
        leaves = np.flatnonzero(column < 0)
        predicted = np.argmax(class_weight[leaves], axis=1)
        return engine.Solution(
            column=column,
            false_child=children[:, 0],
            true_child=children[:, 1],
            n_rows=class_rows.sum(axis=1),
            class_weight=class_weight,
            cost=self.best_cost,
            n_wrong=int(class_rows[leaves].sum() - class_rows[leaves, predicted].sum()),
            complete=complete,
            statistics=self._statistics(complete),
        )

    def _statistics(self, complete: bool) -> Statistics:
        graph, splits, n_classes = self.graph, self._root.splits or [], self._objective.n_classes
        true_sides = [split.true_side[:n_classes] * self._objective.class_weight for split in splits[:N_WEIGHED]]
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
                "true_weight": np.array(true_sides, dtype=np.int64).reshape(-1, n_classes),
            },
        }
