"""Top-k search by counts alone, for rows that are somewhere else.

In: an `Objective`, the class totals of all rows, and someone who answers questions: the class counts of every column on
the rows at the end of a path of splits. Out: the tree of `_reference`, whatever the order of the questions.

The one idea: every node has a lower and an upper bound of its cost, and a node whose answer cannot change the tree is
not asked for. Questions come in batches, narrow candidates first, and a batch has no more of them than were asked
before, so that what one tells can spare the next. Of two children the lighter one is asked for, the other is what
remains; nodes are known by their set of splits, so that each is asked for once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import IntArray
from .._search import engine
from .._search.objective import Objective
from .counted_nodes import Answer, Counts, Node, Path, Ranking, Split, Tree, held
from .counted_ranking import NO_LIMIT, NodeCounts, rank_columns

if TYPE_CHECKING:
    from .._core import Statistics


# So many nodes may be asked for in any case: fewer are not worth a round trip.
MIN_BATCH = 32
# Counts that are looked at at once.
_PART = 2**19
# Candidates of the root of which the class weights are told, as many as the engine tells.
_N_WEIGHED = 20


# Answers some paths; with numbers of rows if the second argument says so. If the third does, it may return None: there
# is no time left.
Ask = Callable[[Sequence[Path], bool, bool], Answer | None]


@dataclass(frozen=True, eq=False)
class Totals:
    """Of all rows, (n_classes,)."""

    weight: IntArray  # without class weights
    rows: IntArray


@dataclass(frozen=True)
class ByteLimits:
    """How many bytes of counts are asked for at once, and held."""

    batch_bytes: int = 2**24
    held_bytes: int = 2**30


class _NoTime(Exception):
    """The answer would come too late."""


class CountedSearch:
    """One search."""

    def __init__(
        self,
        totals: Totals,
        n_columns: int,
        objective: Objective,
        ask: Ask,
        *,
        rows_weigh: bool = False,
        limits: ByteLimits | None = None,
    ) -> None:
        """`rows_weigh`: rows have weights of their own, beside those of their classes."""
        self._objective = objective
        self._totals = totals
        self._n_columns = n_columns
        self._ask = ask
        self._rows_weigh = rows_weigh
        self._track_rows = rows_weigh and objective.min_samples_leaf > 1
        self._limits = limits or ByteLimits()
        self._node_bytes = max(1, 8 * objective.n_classes * n_columns * (2 if self._track_rows else 1))
        self._total_weight = int(totals.weight @ objective.class_weight)
        self.k = max(objective.k, default=1)  # candidates per node, where they are most
        self._bounds_sides = objective.min_weight_leaf == 1 and objective.min_samples_leaf == 1
        self._nodes: dict[frozenset[int], Node] = {}
        self._batch: dict[Path, Node | None] = {}  # None: only twins are sought there
        self._probes: dict[Path, tuple[Node, int]] = {}  # the node and the column whose twins a path tells
        self._room = 0  # paths that the batch may have
        self._stale: list[Node] = []  # above nodes whose bounds were raised
        self._start = time.perf_counter()
        self._trace: list[tuple[float, int, int]] = []
        self._held_bytes = self._most_held = 0
        self._n_counted = self._n_shared = 0
        self.n_asked = 0  # paths
        self.rounds: list[dict[str, Any]] = []  # questions, bytes of the answer and seconds until it came
        leaf, is_open = self._leaf_costs(totals.weight)
        self._root = self._make_node((), totals.weight, int(totals.rows.sum()), leaf, is_open)

    @property
    def best_cost(self) -> int:
        """Of the best tree known."""
        return self._root.upper

    # Rounds of questions.

    def run(self, *, greedy_first: bool = False) -> engine.Solution:
        """The tree. `greedy_first`: that of k = 1 is made sure of before there may be no time left."""
        while greedy_first and self._round(self._want_greedy, may_stop=False):
            pass
        try:
            while not self._root.is_solved:
                self._ask_round(lambda k: self._visit(self._root, self._root.upper, k))
            while undecided := list(self._undecided(self._root)):
                self._ask_round(lambda k: self._visit_splits(undecided, k))
        except _NoTime:
            return self._solution(False)
        return self._solution(True)

    def _ask_round(self, visit: Callable[[int], None]) -> None:
        """Visit with one candidate per node, then with two, four and so on until the batch is full; and ask."""

        def widen() -> None:
            k = 1
            visit(k)
            while k < self.k and len(self._batch) < self._room:
                k *= 2
                visit(k)

        if not self._round(widen):
            raise RuntimeError("the search has nothing left to ask, and no tree: this is a fault of topktree")

    def _round(self, want: Callable[[], None], *, may_stop: bool = True) -> bool:
        """Ask for what `want` wants. False: that is nothing."""
        self._batch, self._probes = {}, {}
        room = min(self._limits.batch_bytes, self._limits.held_bytes - self._held_bytes) // self._node_bytes
        self._room = max(1, min(max(MIN_BATCH, self.n_asked), room))
        want()
        paths = list(self._batch)
        if not paths:
            return False
        self._learn(paths, self._put(paths, self._track_rows, may_stop))
        if not self._trace or self._root.upper < self._trace[-1][2]:
            self._trace.append((time.perf_counter() - self._start, self.k, self._root.upper))
        return True

    def _put(self, paths: Sequence[Path], with_rows: bool, may_stop: bool) -> Answer:
        start = time.perf_counter()
        answer = self._ask(paths, with_rows, may_stop)
        if answer is None:
            raise _NoTime
        n_bytes = answer.weight.nbytes + (0 if answer.rows is None else answer.rows.nbytes)
        self.n_asked += len(paths)
        self.rounds.append({"questions": len(paths), "bytes": n_bytes, "seconds": time.perf_counter() - start})
        return answer

    def _want(self, node: Node) -> None:
        """Ask for the node's counts, or for those of a lighter sibling that has not been asked for."""
        lightest = node
        for parent, sibling in node.above:
            if parent.counts is not None and sibling.is_new and sibling.weight < lightest.weight:
                lightest = sibling
        self._batch[lightest.path] = lightest

    def _want_greedy(self) -> None:
        """What is not known yet of the tree of k = 1."""
        stack = [self._root]
        while stack and len(self._batch) < self._room:
            node = stack.pop()
            if node.is_new:
                self._want(node)
            elif node.splits and not node.is_solved:
                stack += node.splits[0].children or ()

    def _visit(self, node: Node, budget: int, k: int) -> None:
        """Want what decides whether the node costs less than `budget`, as far as its first k candidates go."""
        if node.lower >= min(budget, node.upper) or len(self._batch) >= self._room:
            return
        if node.splits is None:
            self._want(node)
            return
        for split in self._next_splits(node, min(budget, node.upper), k):
            self._visit_split(split, min(budget, node.upper), k)
        is_wanted = len(node.splits) < k and self._lowest_unknown(node) < min(budget, node.upper)
        if node.ranking is not None and is_wanted and len(self._batch) < self._room:
            self._want_twins(node, node.ranking)

    def _next_splits(self, node: Node, budget: int, k: int) -> Sequence[Split]:
        """The first k candidates; where their children are the last to be split, no more of them than were tried.

        What is tried there bounds the others.
        """
        splits = node.splits or []
        if len(node.path) + 2 < self._objective.depth or not self._bounds_sides:
            return splits[:k]
        untried = [split for split in splits if split.lower < split.upper]
        promising = [split for split in untried if split.lower < budget]
        return promising[: min(k, max(1, len(splits) - len(untried)))]

    def _visit_split(self, split: Split, budget: int, k: int) -> None:
        if split.children is not None and split.lower < budget:
            false_child, true_child = split.children
            self._visit(false_child, budget - true_child.lower, k)
            self._visit(true_child, budget - false_child.lower, k)

    def _visit_splits(self, splits: Iterable[tuple[Split, int]], k: int) -> None:
        for split, budget in splits:
            self._visit_split(split, budget, k)

    def _undecided(self, node: Node) -> Iterator[tuple[Split, int]]:
        """Splits that may cost as little as the best of their node and come before it, with a budget; in the tree."""
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

    # What the answers tell.

    def _learn(self, paths: Sequence[Path], answer: Answer) -> None:
        counted: list[Node] = []
        for i, path in enumerate(paths):
            counts = answer.of(i)
            if path in self._probes:
                self._tell_twins(*self._probes[path], counts)
            node = self._batch[path]
            if node is None:
                continue
            for parent, sibling in node.above:
                if parent.counts is not None and sibling.is_new:
                    self._set_counts(sibling, parent.counts.less(counts), counted)
            if node.is_new:
                self._set_counts(node, counts, counted)
        size = max(1, _PART // (self._n_columns * self._objective.n_classes))
        for start in range(0, len(counted), size):
            self._evaluate(counted[start : start + size])
        for node, _ in self._probes.values():
            self._take_distinct(node)
            counted.append(node)
        self._update(counted)

    def _set_counts(self, node: Node, counts: Counts, counted: list[Node]) -> None:
        node.counts = counts
        node.splits = []
        self._n_counted += 1
        self._held_bytes += self._node_bytes
        self._most_held = max(self._most_held, self._held_bytes)
        counted.append(node)

    def _evaluate(self, nodes: Sequence[Node]) -> None:
        """Find the candidates of nodes that have been counted."""
        objective = self._objective
        totals = np.stack([node.totals for node in nodes])
        k = self._n_columns if objective.distinct_splits else max(objective.k[len(node.path)] for node in nodes)
        counts = NodeCounts(
            np.stack([held(node).weight for node in nodes]) * objective.class_weight[:, None],
            totals * objective.class_weight,
            self._have_rows(nodes),
            np.array([self._most_errors(node) for node in nodes]),
        )
        ranked = rank_columns(counts, k, objective, self._total_weight)
        costs = ranked.errors * objective.cost_scale + 2 * objective.leaf_penalty
        n_found = np.count_nonzero(ranked.columns >= 0, axis=1).tolist()
        if self._bounds_sides:
            self._bound_siblings(nodes, counts, ranked.fewest)
        for i, node in enumerate(nodes):
            if n_found[i] > 0:
                self._add_candidates(node, ranked.columns[i, : n_found[i]], costs[i, : n_found[i]].tolist())

    def _bound_siblings(self, nodes: Sequence[Node], counts: NodeCounts, fewest: IntArray) -> None:
        """What nodes with nothing but leaves below say of the other sides of splits of their parents.

        Any tree of another side would be one of this node as well, with no more errors than the weight of the rows that
        the other side lacks. This holds for the best of all columns, not for that of the first k.
        """
        scale, penalty = self._objective.cost_scale, self._objective.leaf_penalty
        for i, node in enumerate(nodes):
            if not self._is_last(node):
                continue
            least = min(node.leaf, int(fewest[i]) * scale + 2 * penalty if fewest[i] < NO_LIMIT else node.leaf)
            true_weight = counts.true_weight[i].sum(axis=0)
            weight = int(counts.totals[i].sum())
            for parent, _ in node.above:
                splits = [split for split in parent.splits or () if split.children is not None]
                shared = true_weight[[split.column for split in splits]].tolist()
                for split, both in zip(splits, shared, strict=True):
                    for child, lacks in zip(split.children or (), (both, weight - both), strict=False):
                        self._raise(child, least - scale * lacks)

    def _most_errors(self, node: Node) -> int:
        """A node with nothing but leaves below has a candidate only if that has fewer errors than this."""
        if not self._is_last(node):
            return NO_LIMIT
        return -((2 * self._objective.leaf_penalty - node.leaf) // self._objective.cost_scale)

    def _is_last(self, node: Node) -> bool:
        """Whether nothing but leaves may be below a split of it."""
        return len(node.path) + 1 == self._objective.depth

    def _have_rows(self, nodes: Sequence[Node]) -> NDArray[np.bool_] | None:
        """Where both sides have enough rows; None: everywhere."""
        if self._objective.min_samples_leaf == 1:
            return None
        counts = [held(node) for node in nodes]
        n_true = np.stack([(c.weight if c.rows is None else c.rows).sum(axis=0) for c in counts])
        n_rows = np.array([node.n_rows if self._track_rows else node.weight for node in nodes])[:, None]
        return np.asarray(np.minimum(n_true, n_rows - n_true) >= self._objective.min_samples_leaf)

    def _add_candidates(self, node: Node, columns: NDArray[np.int32], costs: list[int]) -> None:
        if self._objective.distinct_splits:
            node.ranking = Ranking(columns.tolist(), costs)
            self._take_distinct(node)
            return
        k = self._objective.k[len(node.path)]
        costs = costs[:k]
        if self._is_last(node):  # only the first of the cheapest can be the split
            best = costs.index(min(costs))
            node.splits = self._make_splits(node, columns[best : best + 1], costs[best : best + 1])
        else:
            node.splits = self._make_splits(node, columns[:k], costs)

    def _make_splits(self, node: Node, columns: NDArray[np.int32], costs: list[int]) -> list[Split]:
        counts = held(node)
        sides = np.empty((2, len(columns), len(node.totals)), dtype=np.int64)
        sides[1] = counts.weight[:, columns].T
        sides[0] = node.totals - sides[1]
        if self._is_last(node):
            return [Split(*split, None) for split in zip(columns.tolist(), costs, sides[1], strict=True)]
        leaves, are_open = self._leaf_costs(sides)
        n_true = [0] * len(columns) if counts.rows is None else counts.rows[:, columns].sum(axis=0).tolist()
        splits = []
        for i, column in enumerate(columns.tolist()):
            n_rows = node.n_rows - n_true[i], n_true[i]
            false_child, true_child = children = (
                self._make_node((*node.path, 2 * column), sides[0, i], n_rows[0], leaves[0][i], are_open[0][i]),
                self._make_node((*node.path, 2 * column + 1), sides[1, i], n_rows[1], leaves[1][i], are_open[1][i]),
            )
            false_child.above.append((node, true_child))
            true_child.above.append((node, false_child))
            splits.append(Split(column, costs[i], sides[1, i], children))
        return splits

    def _leaf_costs(self, totals: IntArray) -> tuple[Any, Any]:
        """Of nodes with these (..., n_classes) totals: what they cost as leaves, and whether they have two classes."""
        weights = totals * self._objective.class_weight
        errors = weights.sum(axis=-1) - weights.max(axis=-1)
        costs = errors * self._objective.cost_scale + self._objective.leaf_penalty
        return costs.tolist(), (errors > 0).tolist()

    def _make_node(self, path: Path, totals: IntArray, n_rows: int, leaf: int, is_open: bool) -> Node:
        key = frozenset(path)
        known = self._nodes.get(key)
        if known is not None:
            self._n_shared += 1
            return known
        may_split = is_open and len(path) < self._objective.depth and self._n_columns > 0
        lower = min(leaf, 2 * self._objective.leaf_penalty) if may_split else leaf
        node = self._nodes[key] = Node(path, totals, int(totals.sum()), n_rows, leaf, lower, leaf)
        return node

    def _raise(self, node: Node, lower: int) -> None:
        """A bound from elsewhere, of a node that is not counted."""
        lower = min(lower, node.upper)
        if node.splits is None and node.lower < lower:
            node.lower = lower
            self._stale += [parent for parent, _ in node.above]

    def _update(self, counted: Sequence[Node]) -> None:
        """Bounds from the candidates of nodes, and what follows for the nodes above."""
        stale = [*counted, *self._stale]
        self._stale = []
        while stale:
            node = stale.pop()
            lows, highs = [node.leaf], [node.leaf]
            for split in node.splits or ():
                lows.append(split.lower)
                highs.append(split.upper)
            if node.ranking is not None:
                lows.append(self._lowest_unknown(node))
            bounds = min(lows), min(highs)
            if bounds != (node.lower, node.upper):
                node.lower, node.upper = bounds
                stale += [parent for parent, _ in node.above if not parent.is_solved]
            if node.is_solved and node.counts is not None:
                node.counts = None
                self._held_bytes -= self._node_bytes

    # Columns that split the rows alike.

    def _take_distinct(self, node: Node) -> None:
        """Go on with the ranking until it is done, or until twins must be known."""
        ranking, splits = node.ranking, node.splits
        if ranking is None or splits is None or node.counts is None:
            return
        k = self._objective.k[len(node.path)]
        while len(splits) < k and ranking.position < len(ranking.columns):
            column = ranking.columns[ranking.position]
            alike = [split.column for split in splits if self._may_be_alike(node, split, column)]
            ranking.asked = next((taken for taken in alike if taken not in ranking.twins), -1)
            if ranking.asked >= 0:
                return
            if not any(ranking.twins[taken][column] for taken in alike):
                splits += self._make_splits(node, np.array([column], dtype=np.int32), [ranking.costs[ranking.position]])
            ranking.position += 1
        node.ranking = None

    def _may_be_alike(self, node: Node, split: Split, column: int) -> bool:
        """Whether the counts are those of a column that splits the rows alike."""
        true_side = held(node).weight[:, column]
        return np.array_equal(true_side, split.true_side) or np.array_equal(true_side, node.totals - split.true_side)

    def _lowest_unknown(self, node: Node) -> int:
        """What a split costs at least that is not among the candidates yet."""
        if node.ranking is None or not self._is_last(node):
            return 2 * self._objective.leaf_penalty
        return min(node.ranking.costs[node.ranking.position :])

    def _want_twins(self, node: Node, ranking: Ranking) -> None:
        """Ask for the true side of the column whose twins must be known."""
        path = (*node.path, 2 * ranking.asked + 1)
        self._batch.setdefault(path, self._nodes.get(frozenset(path)))
        self._probes[path] = node, ranking.asked

    def _tell_twins(self, node: Node, column: int, counts: Counts) -> None:
        """Which columns are true on all rows that have `column` and on no others, or the other way round."""
        if node.ranking is None or node.counts is None:
            return
        everywhere = node.counts.weight.sum(axis=0)
        inside = counts.weight.sum(axis=0)
        outside = everywhere - inside
        n_inside, n_outside = everywhere[column], node.weight - everywhere[column]
        same = (inside == n_inside) & (outside == 0)
        opposite = (inside == 0) & (outside == n_outside)
        node.ranking.twins[column] = same | opposite

    # The result.

    def _solution(self, complete: bool) -> engine.Solution:
        tree = Tree()
        tree.add(self._root)
        totals = np.stack(tree.totals)
        class_rows = self._count_rows(tree) if self._rows_weigh else totals
        class_weight = totals * self._objective.class_weight
        column = np.array(tree.column, dtype=np.int32)
        leaves = np.flatnonzero(column < 0)
        predicted = np.argmax(class_weight[leaves], axis=1)
        return engine.Solution(
            column=column,
            false_child=np.array(tree.children, dtype=np.int32)[:, 0],
            true_child=np.array(tree.children, dtype=np.int32)[:, 1],
            n_rows=class_rows.sum(axis=1),
            class_weight=class_weight,
            cost=self._root.upper,
            n_wrong=int(class_rows[leaves].sum() - class_rows[leaves, predicted].sum()),
            complete=complete,
            statistics=self._statistics(complete),
        )

    def _count_rows(self, tree: Tree) -> IntArray:
        """Number of rows per node of the tree and class."""
        inner = [i for i, column in enumerate(tree.column) if column >= 0]
        rows = np.zeros((len(tree.column), self._objective.n_classes), dtype=np.int64)
        rows[0] = self._totals.rows
        size = max(1, self._limits.batch_bytes // (2 * self._node_bytes))
        for start in range(0, len(inner), size):
            some = inner[start : start + size]
            answer = self._put([tree.path[i] for i in some], True, False)
            assert answer.rows is not None
            for i, counts in zip(some, answer.rows, strict=True):  # parents come first
                false_child, true_child = tree.children[i]
                rows[true_child] = counts[:, tree.column[i]]
                rows[false_child] = rows[i] - rows[true_child]
        return rows

    def _statistics(self, complete: bool) -> Statistics:
        splits = self._root.splits or []
        true_sides = [split.true_side * self._objective.class_weight for split in splits[:_N_WEIGHED]]
        return {
            "seconds": time.perf_counter() - self._start,
            "nodes": self._n_counted,
            "pruned": sum(node.splits is None and not node.is_solved for node in self._nodes.values()),
            "cache_hits": self._n_shared,
            "cache_bytes": self._most_held,
            "k_reached": self.k if complete else 1,
            "n_threads": 1,
            "kernel": "",
            "trace": self._trace,
            "root": {
                "column": np.array([split.column for split in splits], dtype=np.int32),
                "cost": np.array([split.lower for split in splits], dtype=np.int64),
                "exact": np.array([split.lower == split.upper for split in splits], dtype=np.uint8),
                "true_weight": np.array(true_sides, dtype=np.int64).reshape(-1, self._objective.n_classes),
            },
        }
