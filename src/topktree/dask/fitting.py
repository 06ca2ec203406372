"""A fit on a cluster, from the parts to the tree: labels and weights, features and columns, bits, the search.

In: parts, a cluster, and a local classifier with the parameters. Out: a `FoundTree`. Two ways lead from the bits to the
tree: few distinct rows are brought to the client and searched there; otherwise the rows stay where they are, and the
search asks for counts.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import dask
import numpy as np
from distributed import Future
from numpy.typing import NDArray

from .._data.arrays import IntArray
from .._data.columns import redundant_hashes
from .._data.features import check_categorical_features, warn_about_categories
from .._data.table import default_names
from .._runtime.limits import Limits, OutOfTime
from .._runtime.progress import ProgressLine
from .._search import engine
from .._search.fitter import FoundTree, describe_solution, search_options
from .._search.objective import Objective, objective_of_totals
from .._search.spec import TreeSpec
from . import shards, target
from .cluster import Cluster
from .counted_graph import Path
from .counted_search import CountedSearch
from .features import PartRules, columns_of, feature_of, merge_features, summarize_features, threshold_error
from .partitions import Parts
from .value_summary import summary_size

# The share of a worker's memory for the counts of one node: eight answers are added at a time.
MOST_OF_MEMORY = 1 / 16

# A solution, and what is recorded about the search in addition to the usual.
Searched = tuple[engine.Solution, dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Packed:
    """The rows as bits, on the workers, and what the client knows about them."""

    packing: shards.Packing
    kept: IntArray  # the columns that are searched
    facts: shards.ShardFacts
    shards: list[Future]
    left_out: list[Future]
    threshold_error: float


@dataclass(frozen=True, eq=False)
class DaskFit:
    """One fit, with the parameters of the estimator."""

    estimator: Any
    spec: TreeSpec
    parts: Parts
    cluster: Cluster
    limits: Limits
    stages: dict[str, float] = field(default_factory=dict)  # seconds of each

    def run(self) -> FoundTree:
        """Search for the tree of the parts."""
        with self._timed("labels"):
            weighing = self._weigh()
        packed = self._pack(weighing)
        features = packed.packing.features
        searched = packed.packing.columns.take(packed.kept)
        objective = objective_of_totals(
            packed.facts.weight,
            weighing.n_rows,
            class_weight=weighing.class_weight,
            row_weight=None,
            rows_weigh=weighing.rows_weigh,
            unit=weighing.weight_unit,
            **self.spec.objective_options(weighing.n_rows, searched),
        )
        with self._timed("search"):
            solution, extra = self._search(packed, objective)
        found = describe_solution(solution, self.spec, objective, searched, features, weighing.classes)
        record = {
            "n_partitions": len(self.parts.triples),
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

    def _weigh(self) -> target.Weighing:
        labels = [(y, weight) for _, y, weight in self.parts.triples]
        task = dask.delayed(target.summarize_target, pure=False)
        summary = self._merged([task(*pair) for pair in labels], target.merge_targets)
        weighing, divisors = target.start_weighing(summary, self.estimator.class_weight)
        if divisors is None:
            task = dask.delayed(target.Weighing.part_divisors, pure=False)
            shared = dask.delayed(weighing, traverse=False)
            divisors = self._merged([task(shared, *pair) for pair in labels], target.merge_divisors)
        return weighing.finish(divisors)

    def _pack(self, weighing: target.Weighing) -> Packed:
        names, n_features = self.parts.names, self.parts.n_features
        max_thresholds, gather_bytes = self.estimator.max_thresholds, int(self.estimator.gather_bytes)
        is_category = check_categorical_features(self.estimator.categorical_features, n_features, names)
        max_values = summary_size(max_thresholds, n_features, len(weighing.classes))
        rules = PartRules(weighing, names, is_category, max_values)
        with self._timed("columns"):
            tasks = self._part_tasks(summarize_features, rules)
            summaries = self._merged(tasks, merge_features, max_values)
        features = tuple(map(feature_of, summaries, names or default_names(n_features)))
        warn_about_categories(features, weighing.n_rows)
        columns, is_binary = columns_of(summaries, features, max_thresholds)
        packing = shards.Packing(rules, features, columns, not is_binary, gather_bytes)
        with self._timed("packing"):
            tasks = self._part_tasks(shards.pack_part, packing, nout=3)
            futures = self.cluster.compute([one for three in tasks for one in three])
            facts = self.cluster.result(self.cluster.reduce(futures[1::3], shards.merge_facts, gather_bytes))
        kept = np.arange(len(columns)) if is_binary else np.flatnonzero(~redundant_hashes(facts.hashes))
        return Packed(packing, kept, facts, futures[::3], futures[2::3], threshold_error(summaries))

    # The search.

    def _search(self, packed: Packed, objective: Objective) -> Searched:
        distinct = packed.facts.distinct
        if distinct is not None and objective.weighted:  # the number of rows counts as well as their weight
            distinct = distinct.repeat(objective.min_samples_leaf, int(self.estimator.gather_bytes))
        line = ProgressLine(objective.user_cost, objective.most_nodes) if self.estimator.verbose else None
        with line or nullcontext():
            if distinct is not None:
                self.cluster.release(packed.shards)
                return self._search_here(packed, distinct, objective, line)
            return self._search_there(packed, objective, line)

    def _search_here(
        self, packed: Packed, distinct: shards.DistinctRows, objective: Objective, line: ProgressLine | None
    ) -> Searched:
        """Search the distinct rows on the client."""
        merged = replace(objective, row_weight=distinct.weight)
        if not objective.weighted:
            min_weight = max(objective.min_weight_leaf, objective.min_samples_leaf)
            merged = replace(merged, min_samples_leaf=1, min_weight_leaf=min_weight)
        options = search_options(self.estimator, self.limits.seconds_left(), progress=line)
        kept, n_columns = packed.kept.astype(np.int32), len(packed.packing.columns)
        solution = engine.solve(distinct.rows, n_columns, distinct.classes, merged, options, kept)
        solution = distinct.count_rows(solution, kept)
        assert packed.facts.distinct is not None
        return solution, {"where": "client", "distinct_rows": len(packed.facts.distinct.rows)}

    def _search_there(self, packed: Packed, objective: Objective, line: ProgressLine | None) -> Searched:
        """Search by counts from the workers."""
        cluster, weighing, n_columns = self.cluster, packed.packing.rules.weighing, len(packed.packing.columns)
        deadline = None if self.estimator.time_limit is None else self.limits.deadline
        start = time.monotonic()
        columns = None if len(packed.kept) == n_columns else packed.kept
        n_bytes = n_columns * weighing.n_rows // 8

        def ask(paths: Sequence[Path], sums: Sequence[str], may_stop: bool) -> NDArray[Any]:
            question = shards.make_question(paths, columns, sums)
            counts = cluster.count(packed.shards, n_bytes, shards.count_shards, question)
            total = cluster.reduce(counts, shards.add_counts)
            if line is not None:
                line(time.monotonic() - start, search.k, search.n_asked, search.best_cost)
            try:
                answer: NDArray[Any] = cluster.result(total, deadline if may_stop else None)
            except OutOfTime:
                cluster.release([total])
                raise
            return answer

        search = CountedSearch(
            packed.facts.weight,
            packed.facts.rows if weighing.rows_weigh else None,
            len(packed.kept),
            objective,
            ask,
            greedy_first=deadline is not None,
            batch_bytes=int(self.estimator.batch_bytes),
            held_bytes=search_options(self.estimator).cache_bytes,
        )
        self._check_counts(search.graph.node_bytes, len(weighing.classes), len(packed.kept))
        return search.run(), {"where": "workers", "rounds": search.rounds}

    def _check_counts(self, n_bytes: int, n_classes: int, n_columns: int) -> None:
        """Refuse a search whose counts of one node would make workers run out of memory."""
        memory = self.cluster.worker_memory()
        if n_bytes > MOST_OF_MEMORY * memory:
            raise ValueError(
                f"workers must have at least {n_bytes / MOST_OF_MEMORY / 1e9:.2g} GB of memory for {n_classes} classes "
                f"and {n_columns} columns, got {memory / 1e9:.2g} GB: a node has a count for every class and column"
            )

    def _errors_left_out(self, solution: engine.Solution, packed: Packed) -> int:
        """Return how many rows without weight the tree gets wrong."""
        if packed.packing.rules.weighing.n_left_out == 0:  # do not wait for what workers still count after a time limit
            return 0
        kept = packed.kept.astype(np.int32)
        wrong = [self.cluster.submit(shards.LeftOut.count_wrong, rows, solution, kept) for rows in packed.left_out]
        return self.cluster.result(self.cluster.reduce(wrong, shards.add_wrong)) or 0
