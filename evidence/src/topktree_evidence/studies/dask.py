"""Fits to generated rows on a Dask cluster on this machine: seconds and bytes per round, against the local fit.

In: numbers of rows and of worker processes. Out: docs/dask/fits.csv (a row per fit, with its rounds as a JSON list of
questions, bytes and seconds), and from it docs/dask/numbers.md, which docs/beyond-one-machine.md includes: tables, a
cost model and what it says about a cluster that was not measured. Rows with 0 workers are local fits. The features have
at most 4096 values each, so that the tree of every fit must be that of the local one; it is compared.
"""

from __future__ import annotations

import gc
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from topktree import TopKTreeClassifier

from .. import machine, pages
from ..splits import Array
from ..study import Row, Settings, Study, Task
from ..text import Tables

ROWS, WORKERS = (10**6, 10**7, 5 * 10**7), (1, 2)
REPEATS, OFTEN = 3, 10**7  # fits to more rows than that are made once
PARAMETERS: dict[str, Any] = {"k": 8, "max_depth": 4}
N_FEATURES = 10
CHUNK = 500_000
STAGES = ["labels", "columns", "packing"]

# The extrapolation: the cluster, and what is assumed of its network and of Dask's scheduler.
MANY_WORKERS, MANY_ROWS = 100, 10**10
NETWORK_BYTES = 1.25e9  # per second: 10 Gbit/s
TASK_SECONDS = 0.001
PARTITIONS = 2000
TASKS_OF_A_PARTITION = 12  # reading, summaries, packing and merging, before the search


def plan(settings: Settings) -> list[Task]:
    """Plan local and distributed fits by turns."""
    return [
        {"rows": n_rows, "workers": workers, "repeat": repeat}
        for n_rows in ROWS
        for repeat in range(REPEATS if n_rows <= OFTEN else 1)
        for workers in (0, *WORKERS)
    ]


def run(task: Task, settings: Settings) -> Row:
    """Fit once, here or on a cluster."""
    found = cluster_fit(task["rows"], task["workers"]) if task["workers"] else local_fit(task["rows"])
    return found | {"machine": machine.description()}


def chunk_rows(first: int, n: int) -> tuple[Array, Array]:
    """Return rows that depend on their numbers alone: features in steps of 1/400, classes by four of them."""
    rng = np.random.default_rng(first)
    X = (np.clip(rng.normal(size=(n, N_FEATURES)), -5, 5) * 400).round().astype(np.float32)
    signal = (X[:, 0] * X[:, 1] > 0) ^ (X[:, 2] + X[:, 3] > 120)
    return X, (signal ^ (rng.random(n) < 0.1)).astype(np.int8)


def block(first: Array, column: int, n_rows: int) -> Array:
    """Return X or y of the chunk that starts at a row."""
    start = int(first.ravel()[0])
    return chunk_rows(start, min(CHUNK, n_rows - start))[column]


def local_fit(n_rows: int) -> Row:
    """Fit without a cluster, on one thread."""
    parts = [chunk_rows(start, min(CHUNK, n_rows - start)) for start in range(0, n_rows, CHUNK)]
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    del parts
    start = time.perf_counter()
    clf = TopKTreeClassifier(**PARAMETERS, n_jobs=1).fit(X, y)
    seconds = time.perf_counter() - start
    del X, y
    gc.collect()
    return {"seconds": seconds, "search": clf.search_["seconds"], "rounds": "[]", "tree": tree_of(clf)}


def cluster_fit(n_rows: int, n_workers: int) -> Row:
    """Fit on worker processes of one thread, whose chunks of rows are made there."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    from topktree.dask import DaskTopKTreeClassifier

    starts = da.from_array(np.arange(0, n_rows, CHUNK), chunks=1)
    sizes = tuple(min(CHUNK, n_rows - start) for start in range(0, n_rows, CHUNK))
    lazy_X = starts[:, None].map_blocks(block, 0, n_rows, chunks=(sizes, (N_FEATURES,)), dtype=np.float32)
    lazy_y = starts.map_blocks(block, 1, n_rows, chunks=(sizes,), dtype=np.int8)
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, memory_limit=0, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        X, y = client.persist((lazy_X, lazy_y))
        wait([X, y])
        start = time.perf_counter()
        clf = DaskTopKTreeClassifier(**PARAMETERS, gather_bytes=0).fit(X, y)
        seconds = time.perf_counter() - start
    rounds = [[entry["questions"], entry["bytes"], entry["seconds"]] for entry in clf.search_["rounds"]]
    return {
        "seconds": seconds,
        **clf.search_["stages"],
        "rounds": json.dumps(rounds, separators=(",", ":")),
        "tree": tree_of(clf.to_local()),
    }


def tree_of(clf: TopKTreeClassifier) -> str:
    """Return what must be the same for all fits to the same rows."""
    tree = clf.tree_
    return f"{clf.cost_}:{hash((*tree.feature.tolist(), *tree.threshold.tolist(), *tree.n_node_samples.tolist()))}"


def write_pages(out: Path, found: Tables) -> tuple[list[Path], list[str]]:
    """Write the numbers; it is an error if trees that must be the same differ."""
    fits = found["dask"]
    rounds = rounds_of(fits)
    path = out / "dask" / "numbers.md"
    n_runs = fits.groupby(["rows", "workers"]).size()
    model = fit_model(fits, rounds)
    own = rounds[(rounds["repeat"] == 0) & (rounds["rows"] == rounds["rows"].max())]
    own = own[own["workers"] == own["workers"].max()]
    pages.write(
        path,
        "dask-numbers",
        machine=fits["machine"].iloc[0],
        runs=(n_runs.min(), n_runs.max()),
        fits=fit_lines(fits),
        rounds=round_lines(rounds),
        model=model,
        cluster={"rows": MANY_ROWS, "workers": MANY_WORKERS, "bits": NETWORK_BYTES * 8, "partitions": PARTITIONS},
        task_ms=1000 * TASK_SECONDS,
        fan_in=_fan_in(),
        n_rounds=len(own),
        questions=own["questions"].sum(),
        million=own["rows"].iloc[0] / 1e6,
        parts=extrapolate(model, own),
    )
    n_trees = fits.groupby("rows")["tree"].nunique()
    differ = list(n_trees[n_trees > 1].index)
    return [path], [f"dask: trees differ at {differ} rows"] if differ else []


def rounds_of(fits: pd.DataFrame) -> pd.DataFrame:
    """Return a row per round of the fits on a cluster."""
    names = ("questions", "bytes", "seconds")
    rows = [
        {"rows": fit.rows, "workers": fit.workers, "repeat": fit.repeat} | dict(zip(names, entry, strict=True))
        for fit in fits.itertuples()
        for entry in json.loads(fit.rounds)
    ]
    return pd.DataFrame(rows)


def fit_lines(fits: pd.DataFrame) -> list[list[str]]:
    """Return the medians of each stage, next to the local fit."""
    medians = fits.groupby(["rows", "workers"])[[*STAGES, "search", "seconds"]].median()
    found = []
    for (n_rows, workers), row in medians.iterrows():
        if workers:
            local = medians.loc[(n_rows, 0), "seconds"]
            numbers = [f"{value:.1f}" for value in (*row, local)]
            found.append([f"{n_rows / 1e6:g}", str(workers), *numbers, f"{row['seconds'] / local:.1f}"])
    return found


def round_lines(rounds: pd.DataFrame) -> list[list[str]]:
    """Return for one fit each: all rounds, the median one, the longest one."""
    found = []
    for (n_rows, workers), own in rounds[rounds["repeat"] == 0].groupby(["rows", "workers"]):
        longest = own.loc[own["seconds"].idxmax()]
        cells = [f"{n_rows / 1e6:g}", str(workers), str(len(own)), f"{own['questions'].sum():,.0f}"]
        cells += [f"{own['bytes'].sum() / 1e6:.1f} MB", f"{own['seconds'].median():.2f}", f"{longest['seconds']:.2f}"]
        found.append([*cells, f"{longest['questions']:,.0f}", f"{longest['bytes'] / 1e6:.2f} MB"])
    return found


def fit_model(fits: pd.DataFrame, rounds: pd.DataFrame) -> dict[str, float]:
    """Fit the cost model: a round takes fixed + per_question * questions + per_row * questions * rows of a worker."""
    questions, own_rows = rounds["questions"], rounds["rows"] / rounds["workers"]
    terms = np.stack([np.ones(len(rounds)), questions, questions * own_rows], axis=1)
    found = least_squares(terms, rounds["seconds"])
    there = fits[fits["workers"] > 0]
    stage_terms = np.stack([np.ones(len(there)), there["rows"] / there["workers"]], axis=1)
    names = ("fixed", "per_question", "per_row", "stage_fixed", "stage_per_row")
    model = dict(zip(names, [*found, *least_squares(stage_terms, there[STAGES].sum(axis=1))], strict=True))
    return model | {"error": float(np.median(np.abs(terms @ found / rounds["seconds"] - 1)))}


def least_squares(terms: Array, seconds: pd.Series) -> Array:
    """Return the factors of the terms with the least squares of relative errors; none is negative."""
    found: Array = nnls(terms / seconds.to_numpy(float)[:, None], np.ones(len(seconds)))[0]
    return found


def _fan_in() -> int:
    from topktree.dask.cluster import FAN_IN

    return int(FAN_IN)


def extrapolate(model: dict[str, float], rounds: pd.DataFrame) -> dict[str, float]:
    """Return seconds of the same rounds on a cluster that was not measured."""
    rows, fan_in = MANY_ROWS / MANY_WORKERS, _fan_in()
    levels = [-(-MANY_WORKERS // fan_in)]  # tasks that add up answers, level by level
    while levels[-1] > 1:
        levels.append(-(-levels[-1] // fan_in))
    answer_bytes = 2 * rounds["bytes"].sum()  # counts beyond 2^31 take twice the bytes
    n_tasks = len(rounds) * (MANY_WORKERS + sum(levels)) + PARTITIONS * TASKS_OF_A_PARTITION
    return {
        "stages": model["stage_fixed"] + model["stage_per_row"] * rows,
        "counting": sum(model["fixed"] + rounds["questions"] * (model["per_question"] + model["per_row"] * rows)),
        "scheduling": n_tasks * TASK_SECONDS,
        "network": answer_bytes * len(levels) * fan_in / NETWORK_BYTES,
    }


STUDIES = (
    Study(
        "dask",
        ("rows", "workers", "repeat"),
        ("seconds", "labels", "columns", "packing", "search", "rounds", "tree"),
        plan,
        run,
        optional=("labels", "columns", "packing"),
        origin=("machine",),
        folder="dask",
        file="fits",
        keeps_runs=True,
    ),
)
