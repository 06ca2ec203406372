"""Every midpoint or a grid? `max_thresholds=None` against the default, on the same splits.

In: the numerical datasets of the paper and of Quant-BnB. Out: docs/thresholds-midpoints.csv, a row per run, and a
section of thresholds.md. The one idea: both are fitted to the same rows, so that their differences can be tested.
"""

from __future__ import annotations

import time
from functools import lru_cache
from statistics import fmean, median
from typing import Any

import pandas as pd
from sklearn.model_selection import train_test_split

from topktree import TopKTreeClassifier

from .. import machine, pages
from ..matrices import RAW, load, raw
from ..paired import Comparison, compared, over_datasets
from ..splits import FIRST_SEED, Array, chosen
from ..study import FINISHED, TIMEOUT, Row, Settings, Study, Task
from ..text import aligned, geometric_mean, where

GRID, EVERY = "grid", "every midpoint"
MAX_THRESHOLDS = {GRID: TopKTreeClassifier().max_thresholds, EVERY: None}
KS = (1, 4, 8)
DEPTHS = (3, 4, 5, 6)
TIME_LIMIT = 20.0  # seconds, for k > 1
MOST_ROWS = 20_000  # of a split: those of a larger dataset are drawn anew for each
TRAIN_SHARE = 0.8
TEST_SHARE = (1 - TRAIN_SHARE) / TRAIN_SHARE  # test rows by training rows, for the corrected test
CELL = ["k", "depth", "dataset"]


def plan(settings: Settings) -> list[Task]:
    """Plan the fits split by split; the two rules take turns."""
    return [
        {"dataset": name, "seed": seed, "k": k, "depth": depth, "rule": rule}
        for name in chosen(settings, list(RAW))
        for seed in range(FIRST_SEED, FIRST_SEED + settings.splits)
        for k in KS
        for depth in settings.up_to(DEPTHS)
        for rule in (list(MAX_THRESHOLDS), list(MAX_THRESHOLDS)[::-1])[seed % 2]
    ]


def run(task: Task, settings: Settings) -> Row:
    """Fit one tree and score it on training and test rows."""
    X, X_test, y, y_test = split(task["dataset"], task["seed"], settings.data_home)
    limit = settings.time_limit if task["k"] > 1 else None
    thresholds = MAX_THRESHOLDS[task["rule"]]
    tree = TopKTreeClassifier(k=task["k"], max_depth=task["depth"], max_thresholds=thresholds, time_limit=limit)
    start = time.perf_counter()
    tree.fit(X, y)
    seconds = time.perf_counter() - start
    return {
        "train": round(tree.score(X, y), 6),
        "test": round(tree.score(X_test, y_test), 6),
        "seconds": round(seconds, 5),
        "rows": len(X),
        "status": TIMEOUT if tree.status_ == "time_limit" else FINISHED,
        "engine": machine.engine(),
        "machine": machine.description(),
    }


@lru_cache(maxsize=2)  # runs of the same split follow each other
def split(name: str, seed: int, data_home: str | None) -> tuple[Array, Array, Array, Array]:
    """Return X of training and test rows, then y of both."""
    X, y = raw(name, data_home)
    n_train = round(TRAIN_SHARE * min(len(X), MOST_ROWS))
    n_test = min(len(X), MOST_ROWS) - n_train
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=n_train, test_size=n_test, random_state=seed)
    return X_train, X_test, y_train, y_test


def section(runs: pd.DataFrame) -> str:
    """Return the section of the page."""
    pairs = paired(runs)
    names = list(pairs["dataset"].unique())
    rows = runs.groupby("dataset")["rows"].max()
    return pages.render(
        "midpoints",
        grid=MAX_THRESHOLDS[GRID],
        engines=sorted(set(runs["engine"])),
        machines=sorted(set(runs["machine"])),
        minutes=runs["seconds"].sum() / 60,
        ks=KS,
        depths=DEPTHS,
        limit=runs,
        splits=sorted(runs.groupby("dataset")["seed"].nunique().unique()),
        datasets=names,
        drawn=[name for name in names if rows[name] == round(TRAIN_SHARE * MOST_ROWS)],
        most_rows=f"{MOST_ROWS:,}",
        by_cell=cell_table(pairs),
        by_dataset=dataset_table(pairs),
        verdicts={k: verdicts(where(pairs, k=k)) for k in KS},
        stopped=(runs["status"] == TIMEOUT).sum(),
        runs=len(runs),
    )


def paired(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per k, depth and dataset: midpoints minus grid, with p-values, and the ratio of seconds."""
    found: list[Row] = []
    for cell, own in runs.groupby(CELL, sort=False):
        rules = {rule: where(own, rule=rule).set_index("seed") for rule in MAX_THRESHOLDS}
        grid, every = rules[GRID], rules[EVERY]
        row: Row = dict(zip(CELL, cell, strict=True))
        for what in ("test", "train"):
            row[what], row[f"{what}_p"] = compared(every[what].to_dict(), grid[what].to_dict(), TEST_SHARE)
        row["ratio"] = median(every["seconds"]) / median(grid["seconds"])
        row["stopped"] = int((own["status"] == TIMEOUT).sum())
        found.append(row)
    return pd.DataFrame(found)


def cell_table(pairs: pd.DataFrame) -> str:
    """Return a line per k and depth."""
    rows = []
    for (k, depth), own in pairs.groupby(["k", "depth"]):
        test = over_datasets(own, "test")
        counts = [test.n, *both(test)]
        ratios = own["ratio"]
        times = [f"{geometric_mean(ratios):.2f}x", f"{ratios.min():.2g} to {ratios.max():.2g}"]
        p = "-" if test.p is None else f"{test.p:.2g}"
        cells = [k, depth, *counts[:1], points(test.mean), *counts[1:], p, points(fmean(own["train"]))]
        rows.append([str(cell) for cell in (*cells, *times, own["stopped"].sum())])
    headings = ["k", "depth", "datasets", "test", "clearly better", "clearly worse", "p", "training"]
    return aligned([*headings, "time", "range", "stopped"], rows)


def both(found: Comparison) -> list[int]:
    """Return the numbers of datasets that are clearly better and clearly worse."""
    return [len(found.clearly_ahead), len(found.clearly_behind)]


def points(share: float) -> str:
    """Return points of accuracy with two digits."""
    return f"{round(100 * share, 2) + 0.0:+.2f}"


def dataset_table(pairs: pd.DataFrame) -> str:
    """Return a line per dataset: mean differences over depths, and ratios of time."""
    rows = []
    for name, own in pairs.groupby("dataset", sort=False):
        by_k = [where(own, k=k) for k in KS]
        cells = [points(fmean(of_k[what])) for what in ("test", "train") for of_k in by_k]
        rows.append([str(name), *cells, *(f"{geometric_mean(of_k['ratio']):.2f}x" for of_k in by_k)])
    headings = [f"{what}, k = {k}" for what in ("test", "training", "time") for k in KS]
    return aligned(["dataset", *headings], rows)


def verdicts(pairs: pd.DataFrame) -> dict[str, Any]:
    """Return a summary over all depths of a k: cells that are clear, the mean by dataset and its test."""
    cells = over_datasets(pairs, "test")
    means = pairs.groupby("dataset", sort=False)[["test", "train"]].mean().reset_index().assign(test_p=None)
    test = over_datasets(means, "test")
    return {
        "n": len(pairs),
        "ahead": len(cells.clearly_ahead),
        "behind": len(cells.clearly_behind),
        "test": points(test.mean),
        "p": test.p,
        "direction": test.direction,
        "sets": (test.ahead, test.behind),
        "train": points(fmean(means["train"])),
        "ratio": geometric_mean(pairs["ratio"]),
    }


STUDY = Study(
    "thresholds-midpoints",
    ("dataset", "seed", "k", "depth", "rule"),
    ("train", "test", "seconds", "rows"),
    plan,
    run,
    limit=TIME_LIMIT,
    origin=("engine", "machine"),
    load=load,
    folder=".",
    keeps_runs=True,
)
