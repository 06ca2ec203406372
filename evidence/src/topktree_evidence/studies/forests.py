"""The cost of an ensemble's trees besides their searches, and the effect of rounding boosting's weights.

In: a folder of the paper's datasets. Out: docs/forests/numbers.md: a table of fits against the searches within them and
against scikit-learn's ensembles of the same trees, one of searches that draw features before and after counting, one of
peak memory, one of accuracy and time by digits of the weights. Time is CPU time of one thread, so that it can be
measured while the machine does other work.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier

from topktree import Binarizer, TopKBoostingClassifier, TopKForestClassifier, TopKTreeClassifier
from topktree._search import engine
from topktree.ensemble import samme

from .. import pages
from ..machine import REPOSITORY, processor
from ..splits import RAW, split
from ..stopwatch import resident_bytes
from ..text import aligned as table

N_TREES = 100
TIMED = ("telescope", "spambase", "dry-bean")
SIZES = ((1, 4), (8, 4))  # k and depth
DRAWN = (  # by their columns, falling
    *("taiwanese-bankruptcy", "spambase", "sensorless-drive-diagnosis", "credit-card", "dry-bean", "telescope"),
    *("letter-recognition", "artificial-characters", "connect-4"),
)
ROUNDED = (
    *("nursery", "car", "kr-vs-kp", "hiv-1-protease", "molecular-biology-splice", "tic-tac-toe"),
    *("artificial-characters", "telescope", "spambase", "dry-bean", "occupancy-estimation"),
)
SEEDS = (42, 43, 44)
DIGITS = (1, 2, 3, 4)


def ours(kind: str, n_trees: int, k: int, depth: int) -> Any:
    """Return one of our ensembles, not fitted."""
    if kind == "forest":
        return TopKForestClassifier(n_estimators=n_trees, k=k, max_depth=depth, random_state=0)
    return TopKBoostingClassifier(n_estimators=n_trees, k=k, max_depth=depth)


def theirs(kind: str, n_trees: int, k: int, depth: int) -> Any:
    """Return scikit-learn's ensemble of our trees, not fitted."""
    tree = TopKTreeClassifier(k=k, max_depth=depth)
    ensemble = BaggingClassifier if kind == "forest" else AdaBoostClassifier
    return ensemble(tree, n_estimators=n_trees, random_state=0)


@contextmanager
def searches_timed(**switches: Any) -> Iterator[list[float]]:
    """Collect the CPU seconds of every search, made with these options."""
    seconds: list[float] = []
    solve = engine.solve

    def timed(rows: Any, n_columns: int, y: Any, objective: Any, options: Any, **others: Any) -> Any:
        start = time.process_time()
        try:
            return solve(rows, n_columns, y, objective, replace(options, **switches), **others)
        finally:
            seconds.append(time.process_time() - start)

    with patch.object(engine, "solve", timed):
        yield seconds


def cpu_seconds(call: Callable[..., Any], *arguments: Any) -> float:
    """Return the CPU seconds of a call."""
    start = time.process_time()
    call(*arguments)
    return time.process_time() - start


def fits_table(data: str) -> str:
    """Compare fits with the searches within them, and with scikit-learn's ensembles of the same trees."""
    rows = []
    for name in TIMED:
        X, _, y, _ = split(name, RAW, SEEDS[0], data)
        for kind in ("forest", "boosting"):
            for k, depth in SIZES:
                model = ours(kind, N_TREES, k, depth)
                with searches_timed() as seconds:
                    whole = cpu_seconds(model.fit, X, y)
                other = cpu_seconds(theirs(kind, 5, k, depth).fit, X, y)
                per_tree, of_theirs = 1000 * whole / len(model), 1000 * other / 5
                cells = (f"{per_tree:.1f}", f"{1000 * sum(seconds) / len(seconds):.1f}", f"{of_theirs:.1f}")
                rows.append((name, kind, str(k), str(depth), *cells))
    head = ("dataset", "ensemble", "k", "depth", "fit, ms a tree", "of that searches", "scikit-learn's, ms a tree")
    return table(head, rows)


def draws_table(data: str) -> str:
    """Compare searches that draw features at every node before columns are counted with those that draw afterwards."""
    rows = []
    for name in DRAWN:
        X, _, y, _ = split(name, RAW, SEEDS[0], data)
        seconds: dict[int, list[float]] = {0: [], sys.maxsize: []}
        for _ in range(3):  # in turns
            for draw_first_columns in seconds:
                model = TopKForestClassifier(n_estimators=2, k=8, max_depth=5, max_features="sqrt", random_state=0)
                with searches_timed(draw_first_columns=draw_first_columns) as own:
                    model.fit(X, y)
                seconds[draw_first_columns].append(sum(own) / len(own))
        first, last = (float(np.median(found)) for found in seconds.values())
        n_columns = len(Binarizer().fit(X, y).get_feature_names_out())
        cells = (str(n_columns), f"{1000 * first:.0f}", f"{1000 * last:.0f}", f"{last / first:.1f}")
        rows.append((name, str(X.shape[1]), *cells))
    head = ("dataset", "features", "columns", "before counting, ms a tree", "after counting", "ratio")
    return table(head, rows)


def memory_table(data: str) -> str:
    """Measure the peak memory of a process that reads a table and fits."""
    rows = []
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        for name in TIMED[:2]:
            for kind in ("forest", "boosting"):
                peaks = [pool.submit(peak_mebibytes, name, kind, n_trees, data).result() for n_trees in (2, 100)]
                rows.append((name, kind, *(f"{peak:.0f}" for peak in peaks)))
    return table(("dataset", "ensemble", "2 trees, MiB", "100 trees, MiB"), rows)


def peak_mebibytes(name: str, kind: str, n_trees: int, data: str) -> float:
    """Fit an ensemble; return the peak memory of this process, as Linux reports it."""
    X, _, y, _ = split(name, RAW, SEEDS[0], data)
    ours(kind, n_trees, 4, 4).fit(X, y)
    return (resident_bytes("VmHWM") or 0) / 2**20


def digits_table(data: str) -> str:
    """Compare accuracy and time of boosting by the digits of its weights."""
    scores: dict[int | None, list[tuple[float, float]]] = {n: [] for n in (None, *DIGITS)}
    seconds = dict.fromkeys(scores, 0.0)
    for name in ROUNDED:
        for seed in SEEDS:
            X, X_test, y, y_test = split(name, RAW, seed, data)
            for k, depth in ((1, 4), (4, 3)):
                for n in scores:
                    model = ours("boosting", 30, k, depth)
                    rounded = patch.object(samme, "DIGITS", n) if n else patch.object(samme, "few_digits", lambda w: w)
                    with rounded:
                        seconds[n] += cpu_seconds(model.fit, X, y)
                    staged = list(model.staged_score(X_test, y_test))
                    scores[n].append((staged[min(9, len(staged) - 1)], staged[-1]))
    rows = []
    for n, found in scores.items():
        points = 100 * (np.array(found) - np.array(scores[None]))
        errors = points.std(axis=0, ddof=1) / np.sqrt(len(points))
        cells = [f"{mean:+.2f} ± {error:.2f}" for mean, error in zip(points.mean(axis=0), errors, strict=True)]
        if n is None:
            cells = ["0"] * 2
        rows.append(("20 bits" if n is None else str(n), *cells, f"{seconds[n] / seconds[None]:.2f}"))
    head = ("digits of a weight", "10 trees, points", "30 trees, points", "CPU time")
    return table(head, rows)


def main() -> None:
    """Measure everything, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("TOPKTREE_DATA"), help="folder of the paper's datasets")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "docs" / "forests")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    pages.write(
        arguments.out / "numbers.md",
        "forests-numbers",
        processor=processor(),
        n_trees=N_TREES,
        fits=fits_table(arguments.data),
        draw_first_columns=engine.SearchOptions().draw_first_columns,
        draws=draws_table(arguments.data),
        memory=memory_table(arguments.data),
        n_datasets=len(ROUNDED),
        n_splits=len(SEEDS),
        digits=digits_table(arguments.data),
    )


if __name__ == "__main__":
    main()
