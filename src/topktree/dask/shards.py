"""What workers hold and do: rows of a part as bits, counted on request.

In: the table of one part and the columns. Out: a `Shard`, which stays where it is, and `ShardFacts`, which merge: class
totals, what tells redundant columns, and the distinct rows if these are few. `count_shards` answers paths of splits for
some shards, `add_counts` adds up such answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import IntArray, PackedRows
from .._data.columns import Columns, by_feature, hash_columns, pack
from .._data.features import Feature, encode
from .._data.packing import hash_rows
from .._search import engine
from .counted_nodes import Answer, Path
from .features import FeatureRules, read_part
from .target import RowTarget, Weighing

# Bits that stay in the second-level cache while many subsets are counted on them.
BLOCK_BYTES = 2**20


@dataclass(frozen=True, eq=False)
class Shard:
    """The rows of one part."""

    bits: NDArray[np.uint64]  # see shard.hpp
    n_columns: int
    n_classes: int


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Rows without weight, which only count among the errors; None: they could not be read."""

    rows: PackedRows | None
    classes: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Different rows with the weight and the number of rows that each stands for."""

    rows: PackedRows
    classes: NDArray[np.int32]
    weight: IntArray
    n_rows: IntArray

    @property
    def n_bytes(self) -> int:
        """In memory."""
        return self.rows.nbytes + self.classes.nbytes + self.weight.nbytes + self.n_rows.nbytes


@dataclass(frozen=True, eq=False)
class ShardFacts:
    """What the client needs to know of some shards."""

    weight: IntArray  # (n_classes,): integer row weights
    rows: IntArray  # (n_classes,)
    hashes: PackedRows | None  # see binarizer.hash_columns; None: no column is redundant
    distinct: DistinctRows | None  # None: too many


@dataclass(frozen=True, eq=False)
class Packing:
    """How parts become shards."""

    rules: FeatureRules
    weighing: Weighing
    features: tuple[Feature, ...]
    columns: Columns
    find_redundant: bool
    gather_bytes: int  # distinct rows of more bytes are too many


def pack_part(X: Any, target: RowTarget | None, packing: Packing, first_row: int) -> tuple[Shard, ShardFacts, LeftOut]:
    """The shard of a part, whose first row has this number among the rows with weight of all parts."""
    n_columns, n_classes = len(packing.columns), len(packing.weighing.classes)
    if target is None or len(target.classes) == 0:
        encoded = np.empty((len(packing.features), 0))
        target = target or RowTarget(np.empty(0, np.int32), None, None, None, np.empty(0, np.int32))
    else:
        encoded = _encode(X, packing, target.kept)
    rows = pack(encoded, packing.columns)
    bits = np.empty(0, dtype=np.uint64)
    if len(target.classes):
        bits = engine.make_shard(
            rows=rows,
            n_columns=n_columns,
            classes=target.classes,
            n_classes=n_classes,
            row_weight=target.row_weight,
            block_bytes=BLOCK_BYTES,
        )
    facts = ShardFacts(
        np.bincount(target.classes, target.row_weight, n_classes).astype(np.int64),
        np.bincount(target.classes, minlength=n_classes),
        hash_columns(encoded, packing.columns, first_row) if packing.find_redundant else None,
        _find_distinct(rows, target, packing.gather_bytes),
    )
    return Shard(bits, n_columns, n_classes), facts, _pack_left_out(X, target, packing)


def _encode(X: Any, packing: Packing, kept: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    return by_feature(encode(read_part(X, packing.rules, kept), packing.features), packing.features)


def _pack_left_out(X: Any, target: RowTarget, packing: Packing) -> LeftOut:
    if len(target.left_out) == 0 or target.kept is None:
        return LeftOut(np.empty((0, -(-len(packing.columns) // 64)), dtype=np.uint64), target.left_out)
    try:
        return LeftOut(pack(_encode(X, packing, ~target.kept), packing.columns), target.left_out)
    except (TypeError, ValueError):  # they may hold anything
        return LeftOut(None, target.left_out)


def _find_distinct(rows: PackedRows, target: RowTarget, max_bytes: int) -> DistinctRows | None:
    weight = target.row_weight
    ones = np.ones(len(rows), dtype=np.int64)
    return merge_rows(DistinctRows(rows, target.classes, ones if weight is None else weight, ones), max_bytes)


def merge_rows(rows: DistinctRows, max_bytes: int) -> DistinctRows | None:
    """Equal rows of one class become one; None: so many are left that they take more than `max_bytes`."""
    row_bytes = 8 * rows.rows.shape[1] + 20
    keys = hash_rows(rows.rows, rows.classes)
    n_different = np.count_nonzero(np.diff(np.sort(keys))) + min(len(keys), 1)
    if n_different * row_bytes > max_bytes:
        return None
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    same = np.array_equal(rows.rows[first][group], rows.rows) and np.array_equal(
        rows.classes[first][group], rows.classes
    )
    if not same:  # two different rows with one key
        whole = np.column_stack([rows.rows, rows.classes.astype(np.uint64)])
        _, first, group = np.unique(whole, axis=0, return_index=True, return_inverse=True)
        group = group.ravel()
    return DistinctRows(
        rows.rows[first],
        rows.classes[first],
        np.bincount(group, rows.weight, len(first)).astype(np.int64),
        np.bincount(group, rows.n_rows, len(first)).astype(np.int64),
    )


def merge_facts(parts: Sequence[ShardFacts], max_bytes: int) -> ShardFacts:
    """Of the rows of all parts."""
    hashes = [part.hashes for part in parts if part.hashes is not None]
    distinct = [part.distinct for part in parts if part.distinct is not None]
    together = None
    if len(distinct) == len(parts):
        arrays = (np.concatenate(fields) for fields in zip(*map(_fields, distinct), strict=True))
        together = merge_rows(DistinctRows(*arrays), max_bytes)
    return ShardFacts(
        np.sum([part.weight for part in parts], axis=0),
        np.sum([part.rows for part in parts], axis=0),
        np.bitwise_xor.reduce(hashes) if hashes else None,
        together,
    )


def _fields(rows: DistinctRows) -> tuple[NDArray[Any], ...]:
    return rows.rows, rows.classes, rows.weight, rows.n_rows


@dataclass(frozen=True, eq=False)
class Question:
    """Paths as one tree in preorder, see shard.hpp; and which columns are asked about."""

    depth: NDArray[np.int32]
    column: NDArray[np.int32]
    side: NDArray[np.uint8]
    answers: IntArray
    n_answers: int
    columns: IntArray | None  # None: all
    with_rows: bool


def make_question(paths: Sequence[Path], columns: IntArray | None, with_rows: bool) -> Question:
    """Ask for the paths, whose columns are numbered among `columns`."""
    entries = list(_preorder(paths))
    depth, split, answers = (np.array(field, dtype=np.int64) for field in zip(*entries, strict=True))
    column = split // 2 if columns is None else columns[split // 2]
    return Question(
        depth.astype(np.int32),
        column.astype(np.int32),
        (split % 2).astype(np.uint8),
        answers,
        len(paths),
        columns,
        with_rows,
    )


def _preorder(paths: Sequence[Path]) -> Iterator[tuple[int, int, int]]:
    """Depth, split and answer of every node on the way; the first one is that of all rows."""
    order = sorted(range(len(paths)), key=lambda i: paths[i])
    yield 0, 0, order[0] if not paths[order[0]] else -1
    before: Path = ()
    for i in order:
        path = paths[i]
        shared = next(
            (d for d, (a, b) in enumerate(zip(before, path, strict=False)) if a != b), min(len(before), len(path))
        )
        for depth in range(shared, len(path)):
            yield depth + 1, path[depth], i if depth + 1 == len(path) else -1
        before = path


def count_shards(shards: Sequence[Shard], question: Question) -> Answer:
    """The counts of all rows of the shards."""
    weight = _count(shards, question, False)
    return Answer(weight, _count(shards, question, True) if question.with_rows else None)


def _count(shards: Sequence[Shard], question: Question, count_rows: bool) -> IntArray:
    total: IntArray | None = None
    for shard in shards:
        counts = engine.count_shard(
            shard=shard.bits,
            n_columns=shard.n_columns,
            n_classes=shard.n_classes,
            depth=question.depth,
            column=question.column,
            side=question.side,
            answers=question.answers,
            n_answers=question.n_answers,
            count_rows=count_rows,
        )
        total = counts if total is None else np.add(total, counts, out=total)
    assert total is not None
    return _narrow(total if question.columns is None else total[:, :, question.columns])


def add_counts(answers: Sequence[Answer]) -> Answer:
    """The counts of the rows of all answers."""
    rows = [answer.rows for answer in answers if answer.rows is not None]
    weight = np.sum([answer.weight for answer in answers], axis=0, dtype=np.int64)
    return Answer(
        _narrow(np.asarray(weight)), _narrow(np.asarray(np.sum(rows, axis=0, dtype=np.int64))) if rows else None
    )


def _narrow(counts: IntArray) -> NDArray[Any]:
    """In half of the bytes, where they are small enough for that."""
    return np.ascontiguousarray(counts, dtype=np.int32 if counts.max(initial=0) <= _MAX_NARROW else np.int64)


_MAX_NARROW = np.iinfo(np.int32).max
