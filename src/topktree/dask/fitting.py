"""A fit on a cluster, from the parts to the tree: labels and weights, features and columns, bits, the search.

In: parts, a cluster, and a local classifier with the parameters. Out: a `FoundTree`. Two ways lead from the bits to the
tree: if there are few distinct rows, these are brought to the client and searched there; otherwise the rows stay where
they are, and the search asks for counts.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import dask
import numpy as np
from distributed import Future

from .._classifier import TopKTreeClassifier
from .._data.arrays import IntArray
from .._data.columns import Columns, redundant_hashes
from .._data.features import Feature, warn_about_identifiers
from .._data.table import default_names
from .._runtime.limits import Limits, OutOfTime
from .._runtime.parallel import count_threads
from .._runtime.progress import ProgressLine
from .._search import engine
from .._search.column_tree import ColumnTree, column_tree
from .._search.fitter import FoundTree, describe_solution, search_options
from .._search.objective import Objective, objective_of_totals
from .._search.spec import TreeSpec
from .cluster import Cluster
from .counted_nodes import Answer, Path
from .counted_search import ByteLimits, CountedSearch, Totals
from .features import (
    FeatureRules,
    FeatureSummary,
    columns_of,
    features_of,
    merge_features,
    summarize_features,
    threshold_error,
)
from .partitions import Parts
from .rows_in_tree import add_wrong, count_wrong, with_row_numbers
from .shards import DistinctRows, Packing, add_counts, count_shards, make_question, merge_facts, pack_part
from .target import (
    Ranges,
    RowTarget,
    Weighing,
    finish_weighing,
    merge_divisors,
    merge_targets,
    start_weighing,
    summarize_target,
)

# Rows of one part are numbered from so many times its own number on.
ROWS_PER_PART = 2**40


@dataclass(frozen=True)
class FitSizes:
    """Bytes of counts that are asked for at once, and of distinct rows that are brought to the client."""

    batch_bytes: int
    gather_bytes: int


@dataclass(frozen=True, eq=False)
class Packed:
    """The rows as bits, on the workers, and what the client knows of them."""

    weighing: Weighing
    features: tuple[Feature, ...]
    columns: Columns
    kept: IntArray  # which of the columns are searched
    totals: Totals
    distinct: DistinctRows | None
    shards: list[Future]
    left_out: list[Future]
    threshold_error: float

    @property
    def searched(self) -> Columns:
        """The columns that are searched."""
        return self.columns.take(np.isin(np.arange(len(self.columns)), self.kept))


def search_parts(
    local: TopKTreeClassifier, spec: TreeSpec, parts: Parts, cluster: Cluster, sizes: FitSizes, limits: Limits
) -> FoundTree:
    """Search for the tree of the parts; the local classifier has the parameters."""
    stages = _Stages()
    with stages.time("labels"):
        weighing = _weigh(local, parts, cluster)
    packed = _pack(local, parts, weighing, cluster, sizes, stages)
    objective = objective_of_totals(
        packed.totals.weight,
        weighing.n_rows,
        class_weight=weighing.class_weight,
        row_weight=None,
        rows_weigh=weighing.rows_weigh,
        unit=weighing.weight_unit,
        **spec.objective_options(weighing.n_rows, len(packed.kept)),
    )
    line = ProgressLine(objective.user_cost) if local.verbose else None
    try:
        with stages.time("search"):
            if packed.distinct is not None and _can_be_merged(objective):
                cluster.release(packed.shards)
                solution, extra = _search_here(local, packed, packed.distinct, objective, limits, line)
            else:
                solution, extra = _search_there(local, packed, objective, cluster, sizes, limits, line)
    finally:
        if line:
            line.close()
    found = describe_solution(solution, spec, objective, packed.searched, packed.features, weighing.classes)
    record = {"n_partitions": len(parts.X), "threshold_error": packed.threshold_error, "stages": stages.seconds}
    errors = solution.n_wrong + _errors_left_out(column_tree(solution, packed.kept), packed, cluster)
    return replace(found, record=found.record | extra | record, train_errors=errors)


class _Stages:
    """How long the stages of a fit take."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def time(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start


def _can_be_merged(objective: Objective) -> bool:
    """Whether rows that are merged into one of their weight leave the same tree: not if their number counts as well."""
    return objective.min_samples_leaf == 1 or not objective.weighted


# Labels and weights.


def _weigh(local: TopKTreeClassifier, parts: Parts, cluster: Cluster) -> Weighing:
    task = dask.delayed(summarize_target, pure=False)
    summaries = cluster.compute([task(y, weight) for _, y, weight in _triples(parts)])
    summary = cluster.result(cluster.reduce(summaries, merge_targets))
    weighing, ranges = start_weighing(summary, local.class_weight, parts.sample_weight is not None)
    if ranges is None:
        return weighing
    shared = dask.delayed((ranges, weighing), traverse=False)
    task = dask.delayed(_divisors, pure=False)
    divisors = cluster.compute([task(shared, y, weight) for _, y, weight in _triples(parts)])
    merged = cluster.result(cluster.reduce(divisors, merge_divisors))
    return finish_weighing(weighing, ranges, merged)


def _divisors(shared: tuple[Ranges, Weighing], y: Any, sample_weight: Any) -> IntArray:
    ranges, weighing = shared
    return ranges.divisors(weighing, y, sample_weight)


def _triples(parts: Parts) -> list[tuple[Any, Any, Any]]:
    weights = [None] * len(parts.X) if parts.sample_weight is None else parts.sample_weight
    return list(zip(parts.X, parts.y, weights, strict=True))


# Features, columns, bits.


def _pack(
    local: TopKTreeClassifier,
    parts: Parts,
    weighing: Weighing,
    cluster: Cluster,
    sizes: FitSizes,
    stages: _Stages,
) -> Packed:
    rules = FeatureRules(parts.names, parts.n_features, local.categorical_features, local.max_thresholds)
    rules.wanted()  # a mistake there need not wait for the workers
    with stages.time("columns"):
        summaries = _summarize(parts, weighing, rules, cluster)
    features = features_of(summaries, parts.names or default_names(parts.n_features))
    warn_about_identifiers(features, weighing.n_rows)
    columns, is_binary = columns_of(summaries, features, local.max_thresholds)
    packing = Packing(rules, weighing, features, columns, not is_binary, sizes.gather_bytes)
    with stages.time("packing"):
        shards, facts, left_out = _start_packing(parts, packing, cluster)
        merged = cluster.result(cluster.reduce(facts, merge_facts, sizes.gather_bytes))
    kept = np.arange(len(columns)) if is_binary else np.flatnonzero(~redundant_hashes(merged.hashes))
    totals = Totals(merged.weight, merged.rows)
    error = threshold_error(summaries)
    return Packed(weighing, features, columns, kept, totals, merged.distinct, shards, left_out, error)


def _summarize(parts: Parts, weighing: Weighing, rules: FeatureRules, cluster: Cluster) -> list[FeatureSummary]:
    found = cluster.compute(_part_tasks(_summarize_part, (weighing, rules), parts))
    summaries: list[FeatureSummary] = cluster.result(cluster.reduce(found, merge_features, rules.max_values))
    return summaries


def _part_tasks(function: Callable[..., Any], shared: Any, parts: Parts, nout: int | None = None) -> list[Any]:
    """A task for every part, with what they share and its number."""
    first = dask.delayed(shared, traverse=False)
    task = dask.delayed(function, pure=False, nout=nout)
    # Dask begins with the names that come first: neighbours are done at about the same time, and merged then.
    name = f"{function.__name__}-{uuid.uuid4().hex}"
    return [task(first, *triple, i, dask_key_name=f"{name}-{i:09}") for i, triple in enumerate(_triples(parts))]


def _summarize_part(shared: Any, X: Any, y: Any, sample_weight: Any, part: int) -> Any:
    weighing, rules = shared
    target = _read_target(X, y, sample_weight, weighing, part)
    return None if target is None else summarize_features(X, target, weighing, rules)


def _read_target(X: Any, y: Any, sample_weight: Any, weighing: Weighing, part: int) -> RowTarget | None:
    """None if the part has no rows."""
    for name, column in (("y", y), ("sample_weight", sample_weight)):
        if column is not None and len(column) != len(X):
            raise ValueError(
                f"{name} must have the rows of X in every partition, got {len(column)} for {len(X)} in partition {part}"
            )
    return weighing.read(y, sample_weight) if len(X) > 0 else None


def _start_packing(parts: Parts, packing: Packing, cluster: Cluster) -> tuple[list[Future], list[Future], list[Future]]:
    """Futures of shards, of facts and of rows that were left out."""
    tasks = _part_tasks(_pack_part, packing, parts, nout=3)
    futures = cluster.compute([one for three in tasks for one in three])
    return futures[::3], futures[1::3], futures[2::3]


def _pack_part(packing: Packing, X: Any, y: Any, sample_weight: Any, part: int) -> Any:
    target = _read_target(X, y, sample_weight, packing.weighing, part)
    return pack_part(X, target, packing, part * ROWS_PER_PART)


def _errors_left_out(tree: ColumnTree, packed: Packed, cluster: Cluster) -> int:
    """Rows of weight zero that the tree gets wrong."""
    if packed.weighing.n_left_out == 0:  # so that a search out of time need not wait for what workers still count
        return 0
    wrong = [cluster.submit(count_wrong, rows, tree) for rows in packed.left_out]
    return cluster.result(cluster.reduce(wrong, add_wrong)) or 0


# The search.


def _search_here(
    local: TopKTreeClassifier,
    packed: Packed,
    distinct: DistinctRows,
    objective: Objective,
    limits: Limits,
    line: ProgressLine | None,
) -> tuple[engine.Solution, dict[str, Any]]:
    """On the client, of the distinct rows."""
    min_weight = objective.min_weight_leaf
    if not objective.weighted:
        min_weight = max(min_weight, objective.min_samples_leaf)
    merged = replace(objective, row_weight=distinct.weight, min_samples_leaf=1, min_weight_leaf=min_weight)
    threads = count_threads(local.n_jobs)
    options = search_options(local.memory_limit, threads, limits.seconds_left(), progress=line)
    kept = packed.kept.astype(np.int32)
    solution = engine.solve(distinct.rows, len(packed.columns), distinct.classes, merged, options, kept)
    solution = with_row_numbers(solution, column_tree(solution, kept), distinct)
    return solution, {"where": "client", "distinct_rows": len(distinct.rows)}


def _search_there(
    local: TopKTreeClassifier,
    packed: Packed,
    objective: Objective,
    cluster: Cluster,
    sizes: FitSizes,
    limits: Limits,
    line: ProgressLine | None,
) -> tuple[engine.Solution, dict[str, Any]]:
    """By counts from the workers."""
    deadline = None if local.time_limit is None else limits.deadline
    start = time.monotonic()
    columns = None if len(packed.kept) == len(packed.columns) else packed.kept
    n_bytes = len(packed.columns) * packed.weighing.n_rows // 8

    def ask(paths: Sequence[Path], with_rows: bool, may_stop: bool) -> Answer | None:
        question = make_question(paths, columns, with_rows)
        counts = cluster.count(packed.shards, n_bytes, count_shards, question)
        total = cluster.reduce(counts, add_counts)
        if line is not None:
            line(time.monotonic() - start, search.k, search.n_asked, search.best_cost)
        try:
            answer: Answer = cluster.result(total, deadline if may_stop else None)
            return answer
        except OutOfTime:
            cluster.release([total])
            return None

    held_bytes = engine.DEFAULT_CACHE_BYTES if local.memory_limit is None else int(local.memory_limit)
    search = CountedSearch(
        packed.totals,
        len(packed.kept),
        objective,
        ask,
        rows_weigh=packed.weighing.rows_weigh,
        limits=ByteLimits(sizes.batch_bytes, held_bytes),
    )
    solution = search.run(greedy_first=deadline is not None)
    return solution, {
        "where": "workers",
        "rounds": search.rounds,
    }
