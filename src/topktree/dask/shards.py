"""The rows of a part as bits, which a worker holds and counts on request.

In: the table of one part and the columns. Out: a `Shard`, which stays where it is; `ShardFacts`, which merge: class
totals, hashes that reveal redundant columns, and the distinct rows if these are few; and the rows without weight.
`count_shards` answers a `Question` for some shards, `add_counts` adds up such answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._data.arrays import BoolArray, FloatArray, IntArray, PackedRows
from .._data.columns import Columns, by_feature, hash_columns, hash_rows, merge_hashes, pack
from .._data.features import Feature, encode
from .._search.engine import Solution
from .cluster import sized
from .counted_graph import ROWS, Path
from .features import PartRules
from .target import RowTarget

# Bits that stay in the second-level cache while many subsets are counted on them.
BLOCK_BYTES = 2**20


@sized
@dataclass(frozen=True, eq=False)
class Shard:
    """The rows of one part as bits."""

    bits: NDArray[np.uint64]  # see shard.hpp
    n_columns: int
    n_classes: int


@sized
@dataclass(frozen=True, eq=False)
class LeftOut:
    """Rows without weight, which only count among the errors."""

    rows: PackedRows | None  # None: they hold what a tree cannot read
    classes: NDArray[np.int32]

    def count_wrong(self, solution: Solution, columns: NDArray[np.int32]) -> int | None:
        """Return how many of the rows a solution for these columns gets wrong; None if it cannot read them."""
        if self.rows is None:
            return None
        leaf = solution.apply(self.rows, columns)
        return int(np.count_nonzero(solution.predicted()[leaf] != self.classes))


@sized
@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Different rows, with the weight and the number of the rows that each stands for."""

    rows: PackedRows
    classes: NDArray[np.int32]
    weight: IntArray
    n_rows: IntArray

    @property
    def row_bytes(self) -> int:
        """The bytes that a row takes."""
        return 8 * int(self.rows.shape[1]) + 20

    def repeat(self, n: int, max_bytes: int) -> DistinctRows | None:
        """Return `n` rows, or as many as there are, for each distinct row; None if they take more than `max_bytes`.

        A subset has at least `n` rows if and only if it has at least `n` of these, and it has the same weight.
        """
        copies = np.minimum(self.n_rows, n)
        if copies.sum() * self.row_bytes > max_bytes:
            return None
        first = np.cumsum(copies) - copies
        weight, n_rows = np.ones((2, copies.sum()), dtype=np.int64)
        weight[first] = self.weight - copies + 1
        n_rows[first] = self.n_rows - copies + 1
        return DistinctRows(np.repeat(self.rows, copies, axis=0), np.repeat(self.classes, copies), weight, n_rows)

    def count_rows(self, solution: Solution, columns: NDArray[np.int32]) -> Solution:
        """Return a solution for these rows and columns with the numbers of the rows that they stand for."""
        leaf = solution.apply(self.rows, columns)
        n_rows = np.bincount(leaf, self.n_rows, len(solution.column)).astype(np.int64)
        is_wrong = solution.predicted()[leaf] != self.classes
        for i in np.flatnonzero(solution.column >= 0)[::-1]:
            n_rows[i] = n_rows[solution.false_child[i]] + n_rows[solution.true_child[i]]
        return replace(solution, n_rows=n_rows, n_wrong=int(self.n_rows[is_wrong].sum()))


@sized
@dataclass(frozen=True, eq=False)
class ShardFacts:
    """The facts that the client needs about some shards."""

    weight: IntArray  # (n_classes,), integer row weights
    rows: IntArray  # (n_classes,)
    hashes: PackedRows | None  # see `columns.hash_columns`; None: no column is redundant
    distinct: DistinctRows | None  # None: too many


# Packing.


@dataclass(frozen=True, eq=False)
class Packing:
    """The rules by which parts become shards."""

    rules: PartRules
    features: tuple[Feature, ...]
    columns: Columns
    find_redundant: bool
    gather_bytes: int  # distinct rows of more bytes are too many

    def encode(self, X: Any, kept: BoolArray | None) -> FloatArray:
        """Return the rows of a part where `kept` is true as numbers, (n_features, n_rows)."""
        return by_feature(encode(self.rules.read_table(X, kept), self.features), self.features)


def pack_part(packing: Packing, X: Any, y: Any, sample_weight: Any, part: int) -> tuple[Shard, ShardFacts, LeftOut]:
    """Return the shard of the part with this number."""
    target = packing.rules.read_target(X, y, sample_weight, part)
    n_columns, n_classes = len(packing.columns), len(packing.rules.weighing.classes)
    encoded = np.empty((len(packing.features), 0))
    if len(target.classes):
        encoded = packing.encode(X, target.kept)
    rows = pack(encoded, packing.columns)
    bits = np.empty(0, dtype=np.uint64)
    if len(rows):
        bits = _core.make_shard(
            rows=rows,
            n_columns=n_columns,
            classes=target.classes,
            n_classes=n_classes,
            row_weight=target.row_weight,
            block_bytes=BLOCK_BYTES,
        )
    ones = np.ones(len(rows), dtype=np.int64)
    weight = ones if target.row_weight is None else target.row_weight
    facts = ShardFacts(
        np.bincount(target.classes, weight, n_classes).astype(np.int64),
        np.bincount(target.classes, minlength=n_classes),
        hash_columns(encoded, packing.columns) if packing.find_redundant else None,
        merge_rows(DistinctRows(rows, target.classes, weight, ones), packing.gather_bytes),
    )
    return Shard(bits, n_columns, n_classes), facts, _pack_left_out(X, target, packing)


def _pack_left_out(X: Any, target: RowTarget, packing: Packing) -> LeftOut:
    if target.kept is None:
        return LeftOut(np.empty((0, -(-len(packing.columns) // 64)), dtype=np.uint64), target.left_out)
    try:
        return LeftOut(pack(packing.encode(X, ~target.kept), packing.columns), target.left_out)
    except (TypeError, ValueError):  # rows without weight may hold anything
        return LeftOut(None, target.left_out)


def merge_rows(rows: DistinctRows, max_bytes: int) -> DistinctRows | None:
    """Merge equal rows of one class. Return None if the rows that are left take more than `max_bytes`."""
    keys = hash_rows(rows.rows, rows.classes)
    n_different = np.count_nonzero(np.diff(np.sort(keys))) + min(len(keys), 1)
    if n_different * rows.row_bytes > max_bytes:
        return None
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    whole = np.column_stack([rows.rows, rows.classes.astype(np.uint64)])
    if not np.array_equal(whole[first][group], whole):  # two different rows have the same hash
        _, first, group = np.unique(whole, axis=0, return_index=True, return_inverse=True)
        group = group.ravel()
    return DistinctRows(
        rows.rows[first],
        rows.classes[first],
        np.bincount(group, rows.weight, len(first)).astype(np.int64),
        np.bincount(group, rows.n_rows, len(first)).astype(np.int64),
    )


def merge_facts(parts: Sequence[ShardFacts], max_bytes: int) -> ShardFacts:
    """Return the facts of the rows of all parts."""
    hashes = [part.hashes for part in parts if part.hashes is not None]
    distinct = [part.distinct for part in parts if part.distinct is not None]
    together = None
    if len(distinct) == len(parts):
        arrays = (np.concatenate(fields) for fields in zip(*(vars(rows).values() for rows in distinct), strict=True))
        together = merge_rows(DistinctRows(*arrays), max_bytes)
    return ShardFacts(
        np.sum([part.weight for part in parts], axis=0),
        np.sum([part.rows for part in parts], axis=0),
        merge_hashes(hashes) if hashes else None,
        together,
    )


def add_wrong(parts: Sequence[int | None]) -> int | None:
    """Return the number of errors among the rows without weight; None if some part could not be read."""
    return None if None in parts else sum(part for part in parts if part is not None)


# Counting.


@sized
@dataclass(frozen=True, eq=False)
class Question:
    """Paths as one tree in preorder, see shard.hpp; and which columns and sums are asked about."""

    depth: NDArray[np.int32]
    column: NDArray[np.int32]
    side: NDArray[np.uint8]
    answers: IntArray  # index of the path that ends at a node; -1: none does
    n_answers: int
    columns: IntArray | None  # None: all
    sums: Sequence[str]  # WEIGHT, ROWS or both


def make_question(paths: Sequence[Path], columns: IntArray | None, sums: Sequence[str]) -> Question:
    """Return the question for the paths, whose columns are numbered among `columns`."""
    depth, split, answers = (np.array(field, dtype=np.int64) for field in zip(*_preorder(paths), strict=True))
    column = (split // 2 if columns is None else columns[split // 2]).astype(np.int32)
    side = (split % 2).astype(np.uint8)
    return Question(depth.astype(np.int32), column, side, answers, len(paths), columns, sums)


def _preorder(paths: Sequence[Path]) -> Iterator[tuple[int, int, int]]:
    """Yield depth, split and answer of every node on the paths; the first node is that of all rows."""
    order = sorted(range(len(paths)), key=lambda i: paths[i])
    yield 0, 0, order[0] if not paths[order[0]] else -1
    before: Path = ()
    for i in order:
        path = paths[i]
        shared = 0
        while shared < min(len(before), len(path)) and before[shared] == path[shared]:
            shared += 1
        for depth in range(shared, len(path)):
            yield depth + 1, path[depth], i if depth + 1 == len(path) else -1
        before = path


def count_shards(shards: Sequence[Shard], question: Question) -> NDArray[Any]:
    """Return the counts of the shards' rows, (n_answers, n_sums, n_columns)."""

    def count(shard: Shard, kind: str) -> IntArray:
        counts = _core.count_shard(
            shard=shard.bits,
            n_columns=shard.n_columns,
            n_classes=shard.n_classes,
            depth=question.depth,
            column=question.column,
            side=question.side,
            answers=question.answers,
            n_answers=question.n_answers,
            count_rows=kind == ROWS,
        )
        return counts if question.columns is None else counts[:, :, question.columns]

    return add_counts(np.concatenate([count(shard, kind) for kind in question.sums], axis=1) for shard in shards)


def add_counts(answers: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Add up the counts of several answers, in int32 if they are small enough: half the bytes to send."""
    total = reduce(np.add, (answer.astype(np.int64) for answer in answers))
    return total.astype(np.int32) if total.max(initial=0) <= np.iinfo(np.int32).max else total
