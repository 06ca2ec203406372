"""A fit on a cluster, from the parts to the tree: labels and weights, features and columns, bits, the search.

In: parts, a cluster, and a local classifier with the parameters. Out: a `FoundTree`. Two ways lead from the bits to the
tree: few distinct rows are brought to the client and searched there; otherwise the rows stay where they are, and the
search asks for counts.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import dask
import numpy as np
from distributed import Future
from numpy.typing import NDArray

from .._classifier import TopKTreeClassifier
from .._data.arrays import IntArray
from .._data.columns import Columns, redundant_hashes
from .._data.features import Feature, warn_about_identifiers
from .._data.table import default_names
from .._runtime.limits import Limits, OutOfTime
from .._runtime.parallel import count_threads
from .._runtime.progress import ProgressLine
from .._search import engine
from .._search.column_tree import column_tree
from .._search.fitter import FoundTree, describe_solution, search_options
from .._search.objective import Objective, objective_of_totals
from .._search.spec import TreeSpec
from .cluster import Cluster
from .counted_nodes import Path
from .counted_search import CountedSearch
from .features import FeatureRules, columns_of, features_of, merge_features, summarize_features, threshold_error
from .partitions import Parts
from .shards import (
    DistinctRows,
    LeftOut,
    Packing,
    ShardFacts,
    add_counts,
    add_wrong,
    count_shards,
    make_question,
    merge_facts,
    pack_part,
)
from .target import RowTarget, Weighing, merge_divisors, merge_targets, start_weighing, summarize_target

# The rows of part i are numbered from i times this on.
ROWS_PER_PART = 2**40

# A solution, and what is recorded of the search beside the usual.
Searched = tuple[engine.Solution, dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Packed:
    """The rows as bits, on the workers, and what the client knows of them."""

    weighing: Weighing
    features: tuple[Feature, ...]
    columns: Columns
    kept: IntArray  # the columns that are searched
    facts: ShardFacts
    shards: list[Future]
    left_out: list[Future]
    threshold_error: float


@dataclass(frozen=True, eq=False)
class DaskFit:
    """One fit; the local classifier has the parameters."""

    local: TopKTreeClassifier
    spec: TreeSpec
    parts: Parts
    cluster: Cluster
    batch_bytes: int
    gather_bytes: int
    limits: Limits
    stages: dict[str, float] = field(default_factory=dict)  # seconds of each

    def run(self) -> FoundTree:
        """Search for the tree of the parts."""
        with self._timed("labels"):
            weighing = self._weigh()
        packed = self._pack(weighing)
        objective = objective_of_totals(
            packed.facts.weight,
            weighing.n_rows,
            class_weight=weighing.class_weight,
            row_weight=None,
            rows_weigh=weighing.rows_weigh,
            unit=weighing.weight_unit,
            **self.spec.objective_options(weighing.n_rows, len(packed.kept)),
        )
        with self._timed("search"):
            solution, extra = self._search(packed, objective)
        searched = packed.columns.take(np.isin(np.arange(len(packed.columns)), packed.kept))
        found = describe_solution(solution, self.spec, objective, searched, packed.features, weighing.classes)
        record = {
            "n_partitions": len(self.parts.X),
            "threshold_error": packed.threshold_error,
            "stages": self.stages,
        }
        errors = solution.n_wrong + self._errors_left_out(solution, packed)
        return replace(found, record=found.record | extra | record, train_errors=errors)

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.stages[stage] = time.perf_counter() - start

    def _merged(self, tasks: Sequence[Any], merge: Callable[..., Any], *arguments: Any) -> Any:
        """Compute the tasks and merge their results."""
        return self.cluster.result(self.cluster.reduce(self.cluster.compute(tasks), merge, *arguments))

    def _part_tasks(self, function: Callable[..., Any], shared: Any, nout: int | None = None) -> list[Any]:
        """Return a task for every part; it gets what all share, the part's X, y and sample_weight, and its number."""
        first = dask.delayed(shared, traverse=False)
        task = dask.delayed(function, pure=False, nout=nout)
        # Dask starts with the names that come first: neighbours are done at about the same time, and merged then.
        name = f"{function.__name__}-{uuid.uuid4().hex}"
        triples = enumerate(self.parts.triples)
        return [task(first, *triple, i, dask_key_name=f"{name}-{i:09}") for i, triple in triples]

    # Labels, features, bits.

    def _weigh(self) -> Weighing:
        labels = [(y, weight) for _, y, weight in self.parts.triples]
        task = dask.delayed(summarize_target, pure=False)
        summary = self._merged([task(*pair) for pair in labels], merge_targets)
        weighing, ranges = start_weighing(summary, self.local.class_weight)
        if ranges is None:
            return weighing
        task, shared = dask.delayed(ranges.divisors, pure=False), dask.delayed(weighing, traverse=False)
        return ranges.finish(weighing, self._merged([task(shared, *pair) for pair in labels], merge_divisors))

    def _pack(self, weighing: Weighing) -> Packed:
        local, names, n_features = self.local, self.parts.names, self.parts.n_features
        rules = FeatureRules(names, n_features, local.categorical_features, local.max_thresholds)
        rules.wanted()  # raises now if that is wrong, rather than on the workers
        with self._timed("columns"):
            tasks = self._part_tasks(_summarize_part, (weighing, rules))
            summaries = self._merged(tasks, merge_features, rules.max_values)
        features = features_of(summaries, names or default_names(n_features))
        warn_about_identifiers(features, weighing.n_rows)
        columns, is_binary = columns_of(summaries, features, local.max_thresholds)
        packing = Packing(rules, weighing, features, columns, not is_binary, self.gather_bytes)
        with self._timed("packing"):
            tasks = self._part_tasks(_pack_part, packing, nout=3)
            futures = self.cluster.compute([one for three in tasks for one in three])
            shards, facts, left_out = futures[::3], futures[1::3], futures[2::3]
            merged = self.cluster.result(self.cluster.reduce(facts, merge_facts, self.gather_bytes))
        kept = np.arange(len(columns)) if is_binary else np.flatnonzero(~redundant_hashes(merged.hashes))
        return Packed(weighing, features, columns, kept, merged, shards, left_out, threshold_error(summaries))

    # The search.

    def _search(self, packed: Packed, objective: Objective) -> Searched:
        line = ProgressLine(objective.user_cost) if self.local.verbose else None
        distinct = packed.facts.distinct
        # Merged rows give the same tree unless the number of rows counts as well as their weight.
        can_be_merged = objective.min_samples_leaf == 1 or not objective.weighted
        try:
            if distinct is not None and can_be_merged:
                self.cluster.release(packed.shards)
                return self._search_here(packed, distinct, objective, line)
            return self._search_there(packed, objective, line)
        finally:
            if line:
                line.close()

    def _search_here(
        self, packed: Packed, distinct: DistinctRows, objective: Objective, line: ProgressLine | None
    ) -> Searched:
        """Search the distinct rows on the client."""
        min_weight = objective.min_weight_leaf
        if not objective.weighted:
            min_weight = max(min_weight, objective.min_samples_leaf)
        merged = replace(objective, row_weight=distinct.weight, min_samples_leaf=1, min_weight_leaf=min_weight)
        threads = count_threads(self.local.n_jobs)
        options = search_options(self.local.memory_limit, threads, self.limits.seconds_left(), progress=line)
        kept = packed.kept.astype(np.int32)
        solution = engine.solve(distinct.rows, len(packed.columns), distinct.classes, merged, options, kept)
        solution = distinct.count_rows(solution, column_tree(solution, kept))
        return solution, {"where": "client", "distinct_rows": len(distinct.rows)}

    def _search_there(self, packed: Packed, objective: Objective, line: ProgressLine | None) -> Searched:
        """Search by counts from the workers."""
        cluster, facts, rows_weigh = self.cluster, packed.facts, packed.weighing.rows_weigh
        deadline = None if self.local.time_limit is None else self.limits.deadline
        start = time.monotonic()
        columns = None if len(packed.kept) == len(packed.columns) else packed.kept
        n_bytes = len(packed.columns) * packed.weighing.n_rows // 8

        def ask(paths: Sequence[Path], may_stop: bool) -> NDArray[Any]:
            question = make_question(paths, columns, rows_weigh)
            total = cluster.reduce(cluster.count(packed.shards, n_bytes, count_shards, question), add_counts)
            if line is not None:
                line(time.monotonic() - start, search.k, search.n_asked, search.best_cost)
            try:
                answer: NDArray[Any] = cluster.result(total, deadline if may_stop else None)
            except OutOfTime:
                cluster.release([total])
                raise
            return answer

        search = CountedSearch(
            np.concatenate([facts.weight, facts.rows]) if rows_weigh else facts.weight,
            len(packed.kept),
            objective,
            ask,
            batch_bytes=self.batch_bytes,
            held_bytes=search_options(self.local.memory_limit, 1).cache_bytes,
        )
        solution = search.run(greedy_first=deadline is not None)
        return solution, {"where": "workers", "rounds": search.rounds}

    def _errors_left_out(self, solution: engine.Solution, packed: Packed) -> int:
        """Return how many rows without weight the tree gets wrong."""
        if packed.weighing.n_left_out == 0:  # a search out of time need not wait for what workers still count
            return 0
        tree = column_tree(solution, packed.kept)
        wrong = [self.cluster.submit(LeftOut.count_wrong, rows, tree) for rows in packed.left_out]
        return self.cluster.result(self.cluster.reduce(wrong, add_wrong)) or 0


# Tasks.


def _summarize_part(shared: tuple[Weighing, FeatureRules], X: Any, y: Any, sample_weight: Any, part: int) -> Any:
    weighing, rules = shared
    target = _read_target(X, y, sample_weight, weighing, part)
    return None if target is None else summarize_features(X, target, len(weighing.classes), rules)


def _pack_part(packing: Packing, X: Any, y: Any, sample_weight: Any, part: int) -> Any:
    target = _read_target(X, y, sample_weight, packing.weighing, part)
    return pack_part(X, target, packing, part * ROWS_PER_PART)


def _read_target(X: Any, y: Any, sample_weight: Any, weighing: Weighing, part: int) -> RowTarget | None:
    """Return the target of a part; None if it has no rows."""
    for name, column in (("y", y), ("sample_weight", sample_weight)):
        if column is not None and len(column) != len(X):
            raise ValueError(
                f"{name} must have the rows of X in every partition, got {len(column)} for {len(X)} in partition {part}"
            )
    return weighing.read(y, sample_weight) if len(X) > 0 else None
