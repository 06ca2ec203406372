"""The compiled module's contract: arrays in, arrays out. Only `_data`, `_search/engine` and `dask` import it."""

from collections.abc import Callable, Sequence
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

class RootChoices(TypedDict):
    column: NDArray[np.int32]  # (n,), best score first
    cost: NDArray[np.int64]
    exact: NDArray[np.uint8]  # 0: the cost is a lower bound
    n_candidates: int
    greedy_cost: NDArray[np.int64]
    true_weight: NDArray[np.int64]  # (n, n_classes), of the first 20 at most

class Statistics(TypedDict):
    seconds: float
    nodes: int
    pruned: int
    cache_hits: int
    cache_bytes: int
    k_reached: int
    n_threads: int
    kernel: str
    trace: list[tuple[float, int, int]]  # seconds, k, cost
    root: RootChoices

class Solution(TypedDict):
    column: NDArray[np.int32]  # (n_nodes,), preorder, false side first; -1: leaf
    false_child: NDArray[np.int32]
    true_child: NDArray[np.int32]
    n_rows: NDArray[np.int64]
    class_weight: NDArray[np.int64]  # (n_nodes, n_classes)
    cost: int
    n_wrong: int
    node_wrong: NDArray[np.int64]
    complete: bool
    statistics: Statistics

class SearchArguments(TypedDict):
    rows: NDArray[np.uint64] | NDArray[np.uint8]
    n_columns: int
    classes: NDArray[np.int32]
    columns: NDArray[np.int32] | None
    groups: Sequence[tuple[NDArray[np.uint32], int, int, bool, int]]  # ranks, first column, n_ranks, missing, feature
    row_weight: NDArray[np.int64] | None
    class_weight: NDArray[np.int64]
    k: Sequence[int]
    criterion: str
    user_score: Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.uint8]], NDArray[np.float64]] | None
    weight_unit: float
    feature_of_column: NDArray[np.int32] | None
    n_features: int
    features_per_node: int
    draw_seed: int
    min_rows: int
    min_weight: int
    distinct_splits: bool
    lookahead: int
    refine: bool
    second_reading: NDArray[np.int32] | None
    cost_scale: int
    leaf_penalty: int
    threads: int
    use_cache: bool
    use_bounds: bool
    cache_bytes: int
    arrange: str
    max_fingerprinted_rows: int
    large_node_bytes: int
    draw_first_columns: int
    shallow_first_columns: int
    few_thresholds: int
    threads_after: float
    task_cycles: float
    kernel: str
    time_limit: float
    known_cost: int
    exact_root: bool
    progress: Callable[[float, int, int, int], None] | None
    on_tree: Callable[[Solution], None] | None

def solve(**arguments: Unpack[SearchArguments]) -> Solution: ...
def near_optimal(
    *,
    n: int,
    epsilon: float,
    errors_only: bool,
    distinct_predictions: bool,
    **arguments: Unpack[SearchArguments],
) -> list[Solution]: ...
def pack_flags(values: NDArray[np.uint8]) -> NDArray[np.uint64]: ...
def pack_features(
    *,
    features: NDArray[np.float64],
    entries: NDArray[np.float64],
    offsets: NDArray[np.int64],
    feature: NDArray[np.int64],
    test: NDArray[np.uint8],
    or_missing: NDArray[np.uint8],
) -> NDArray[np.uint64]: ...
def hash_columns(
    *,
    features: NDArray[np.float64],
    entries: NDArray[np.float64],
    offsets: NDArray[np.int64],
    feature: NDArray[np.int64],
    test: NDArray[np.uint8],
    or_missing: NDArray[np.uint8],
) -> NDArray[np.uint64]: ...
def redundant_columns(*, hashes: NDArray[np.uint64]) -> NDArray[np.uint8]: ...
def class_cells(
    *,
    values: NDArray[np.float64],
    edges: NDArray[np.float64],
    classes: NDArray[np.int32],
    n_classes: int,
    row_weight: NDArray[np.float64] | None,
) -> NDArray[np.float64]: ...

class Ranker:  # keeps memory for one feature at a time
    def rank(
        self, *, values: NDArray[np.float64], ranks: NDArray[np.uint32]
    ) -> tuple[int, bool]: ...  # writes the ranks; returns their number, and whether all values are whole

def short_decimals(*, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]: ...
def tell_apart(*, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.uint8]: ...  # in float32
def split_order(*, cells: NDArray[np.float64], n: int) -> NDArray[np.int64]: ...
def make_shard(
    *,
    rows: NDArray[np.uint64] | NDArray[np.uint8],
    n_columns: int,
    classes: NDArray[np.int32],
    n_classes: int,
    row_weight: NDArray[np.int64] | None,
    block_bytes: int,
) -> NDArray[np.uint64]: ...
def count_shard(
    *,
    shard: NDArray[np.uint64],
    n_columns: int,
    n_classes: int,
    depth: NDArray[np.int32],
    column: NDArray[np.int32],
    side: NDArray[np.uint8],
    answers: NDArray[np.int64],
    n_answers: int,
    count_rows: bool,
) -> NDArray[np.int64]: ...  # (n_answers, n_classes, n_columns)
def rank_columns(
    *,
    counts: NDArray[np.int64],
    totals: NDArray[np.int64],
    usable: NDArray[np.uint8] | None,
    limit: NDArray[np.int64],
    k: NDArray[np.int64],  # (n_nodes,)
    every_column: bool,
    criterion: str,
    min_weight: int,
    total_weight: int,
    second_reading: NDArray[np.int32] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]: ...  # fewest errors, columns, their errors
def walk(
    *,
    rows: NDArray[np.uint64] | NDArray[np.uint8],
    n_columns: int,
    column: NDArray[np.int32],
    false_child: NDArray[np.int32],
    true_child: NDArray[np.int32],
) -> NDArray[np.int32]: ...
def kernels() -> list[str]: ...
