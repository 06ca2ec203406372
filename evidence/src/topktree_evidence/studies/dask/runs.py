"""Fits to generated rows on a Dask cluster on this machine: seconds and bytes per round, against the local fit.

In: numbers of rows and of worker processes. Out: docs/dask/fits.csv (a line per fit), docs/dask/rounds.csv (a line per
round), and from these docs/dask/numbers.md, which docs/beyond-one-machine.md includes; `--page` only writes that. The
features have at most 4096 values each, so that the tree of every fit must be that of the local one; it is compared.
"""

from __future__ import annotations

import argparse
import csv
import gc
import sys
import time
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

from topktree import TopKTreeClassifier
from topktree.dask import DaskTopKTreeClassifier
from topktree_evidence import machine
from topktree_evidence.studies.dask import page as dask_page

FOLDER = machine.ROOT / "docs" / "dask"
PARAMETERS: dict[str, Any] = {"k": 8, "max_depth": 4}
N_FEATURES = 10
CHUNK = 500_000
REPEATS = 3
BY_COUNTS = {"gather_bytes": 0}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=numbers, default=[10**6, 10**7, 5 * 10**7], help="1000000,10000000,...")
    parser.add_argument("--workers", type=numbers, default=[1, 2], help="processes of one thread, 1,2,...")
    parser.add_argument("--page", action="store_true", help="measure nothing, only write the page")
    args = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not args.page:
        for name in COLUMNS:
            (FOLDER / f"{name}.csv").unlink(missing_ok=True)
        for n_rows in args.rows:
            measure(n_rows, args.workers)
    return dask_page.write(FOLDER)


def numbers(text: str) -> list[int]:
    return [int(float(part)) for part in text.split(",")]


def chunk_rows(first: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that depend on their numbers alone: features in steps of 1/400, classes by three of them, with noise."""
    rng = np.random.default_rng(first)
    X = (np.clip(rng.normal(size=(n, N_FEATURES)), -5, 5) * 400).round().astype(np.float32)
    signal = (X[:, 0] * X[:, 1] > 0) ^ (X[:, 2] + X[:, 3] > 120)
    return X, (signal ^ (rng.random(n) < 0.1)).astype(np.int8)


def block(first: np.ndarray, column: int, n_rows: int) -> np.ndarray:
    start = int(first.ravel()[0])
    return chunk_rows(start, min(CHUNK, n_rows - start))[column]


def collections(n_rows: int) -> tuple[da.Array, da.Array]:
    """The rows as lazy arrays: their chunks are made on the workers."""
    starts = da.from_array(np.arange(0, n_rows, CHUNK), chunks=1)
    sizes = tuple(min(CHUNK, n_rows - start) for start in range(0, n_rows, CHUNK))
    X = starts[:, None].map_blocks(block, 0, n_rows, chunks=(sizes, (N_FEATURES,)), dtype=np.float32)
    y = starts.map_blocks(block, 1, n_rows, chunks=(sizes,), dtype=np.int8)
    return X, y


def measure(n_rows: int, workers: list[int]) -> None:
    """Local and distributed fits by turns, several times; the medians are taken when the page is written."""
    for repeat in range(REPEATS if n_rows <= 10**7 else 1):
        for n_workers in (0, *workers):
            progress(f"{n_rows:,} rows, {n_workers or 'no'} workers, run {repeat + 1}")
            row, rounds = local_fit(n_rows) if n_workers == 0 else cluster_fit(n_rows, n_workers)
            facts = {"rows": n_rows, "workers": n_workers, "repeat": repeat}
            append("fits", [facts | row | {"machine": machine.description()}])
            append("rounds", [facts | {"round": i} | entry for i, entry in enumerate(rounds)])


def local_fit(n_rows: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    parts = [chunk_rows(start, min(CHUNK, n_rows - start)) for start in range(0, n_rows, CHUNK)]
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    del parts
    start = time.perf_counter()
    clf = TopKTreeClassifier(**PARAMETERS, n_jobs=1).fit(X, y)
    seconds = time.perf_counter() - start
    del X, y
    gc.collect()
    return {"seconds": seconds, "search": clf.search_["seconds"], "tree": tree_of(clf)}, []


def cluster_fit(n_rows: int, n_workers: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, memory_limit=0, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        X, y = client.persist(collections(n_rows))
        wait([X, y])
        start = time.perf_counter()
        clf = DaskTopKTreeClassifier(**PARAMETERS, **BY_COUNTS).fit(X, y)
        seconds = time.perf_counter() - start
    rounds = clf.search_["rounds"]
    return {
        "seconds": seconds,
        **clf.search_["stages"],
        "questions": sum(entry["questions"] for entry in rounds),
        "bytes": sum(entry["bytes"] for entry in rounds),
        "rounds": len(rounds),
        "waiting": sum(entry["seconds"] for entry in rounds),
        "tree": tree_of(clf.to_local()),
    }, rounds


def tree_of(clf: TopKTreeClassifier) -> str:
    """What must be the same of all fits to the same rows."""
    tree = clf.tree_
    return f"{clf.cost_}:{hash((*tree.feature.tolist(), *tree.threshold.tolist(), *tree.n_node_samples.tolist()))}"


COLUMNS = {
    "fits": (
        *("rows", "workers", "repeat", "seconds", "labels", "columns", "packing", "search", "rounds"),
        *("questions", "bytes", "waiting", "tree", "machine"),
    ),
    "rounds": ("rows", "workers", "repeat", "round", "questions", "bytes", "seconds"),
}


def append(name: str, rows: list[dict[str, Any]]) -> None:
    path: Path = FOLDER / f"{name}.csv"
    is_new = not path.is_file()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS[name])
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


def progress(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
