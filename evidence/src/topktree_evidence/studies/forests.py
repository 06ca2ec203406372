"""The cost of an ensemble's trees beside their searches, and the effect of rounding boosting's weights.

In: a folder of the paper's datasets. Out: docs/forests/numbers.md: a table of fits against the searches within them and
against scikit-learn's ensembles of the same trees, one of searches that draw features before and after counting, one of
peak memory, one of accuracy and time by digits of the weights. Time is CPU time of one thread, so that it can be
measured beside other work.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier

from topktree import Binarizer, TopKBoostingClassifier, TopKForestClassifier, TopKTreeClassifier
from topktree._search import engine
from topktree.ensemble import samme

from ..machine import REPOSITORY, processor
from ..splits import RAW, split
from ..text import aligned as table

N_TREES = 100
TIMED = ("telescope", "spambase", "dry-bean")
SIZES = ((1, 4), (8, 4))  # k and depth
DRAWN: tuple[str, ...] = (
    "taiwanese-bankruptcy",
    "spambase",
    "sensorless-drive-diagnosis",
    "credit-card",
    "dry-bean",
    "telescope",
)
DRAWN += ("letter-recognition", "artificial-characters", "connect-4")  # by their columns, falling
ROUNDED: tuple[str, ...] = ("nursery", "car", "kr-vs-kp", "hiv-1-protease", "molecular-biology-splice", "tic-tac-toe")
ROUNDED += ("artificial-characters", "telescope", "spambase", "dry-bean", "occupancy-estimation")
SEEDS = (42, 43, 44)
DIGITS = (1, 2, 3, 4)
MEMORY = """
import sys
from topktree_evidence.splits import RAW, split
from topktree_evidence.studies.forests import ours
name, kind, n, data = sys.argv[1:]
X, _, y, _ = split(name, RAW, 42, data)
ours(kind, int(n), 4, 4).fit(X, y)
status = dict(line.split(":") for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) / 1024)  # what getrusage says may be the parent's
"""


few_digits = samme.few_digits


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
    """CPU seconds of every search, with these of its options."""
    seconds: list[float] = []
    solve = engine.solve

    def timed(rows: Any, n_columns: int, y: Any, objective: Any, options: Any, *args: Any) -> Any:
        start = time.process_time()
        try:
            return solve(rows, n_columns, y, objective, replace(options, **switches), *args)
        finally:
            seconds.append(time.process_time() - start)

    engine.solve = timed  # type: ignore[assignment]
    try:
        yield seconds
    finally:
        engine.solve = solve


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
            for many_columns in seconds:
                model = TopKForestClassifier(n_estimators=2, k=8, max_depth=5, max_features="sqrt", random_state=0)
                with searches_timed(many_columns=many_columns) as own:
                    model.fit(X, y)
                seconds[many_columns].append(sum(own) / len(own))
        first, last = (float(np.median(found)) for found in seconds.values())
        n_columns = len(Binarizer().fit(X, y).get_feature_names_out())
        cells = (str(n_columns), f"{1000 * first:.0f}", f"{1000 * last:.0f}", f"{last / first:.1f}")
        rows.append((name, str(X.shape[1]), *cells))
    head = ("dataset", "features", "columns", "before counting, ms a tree", "after counting", "ratio")
    return table(head, rows)


def memory_table(data: str) -> str:
    """Measure the peak memory of a process that reads a table and fits."""
    rows = []
    for name in TIMED[:2]:
        for kind in ("forest", "boosting"):
            peaks = []
            for n in (2, 100):
                command = [sys.executable, "-c", MEMORY, name, kind, str(n), data]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                peaks.append(f"{float(done.stdout):.0f}")
            rows.append((name, kind, *peaks))
    return table(("dataset", "ensemble", "2 trees, MiB", "100 trees, MiB"), rows)


def with_digits(n_digits: int | None) -> Callable[[Any], Any]:
    """Return the rounding of a search's weights to so many digits; None: as they are."""
    if n_digits is None:
        return lambda weights: weights

    def rounded(weights: Any) -> Any:
        before, samme.DIGITS = samme.DIGITS, n_digits
        try:
            return few_digits(weights)
        finally:
            samme.DIGITS = before

    return rounded


def digits_table(data: str) -> str:
    """Compare accuracy and time of boosting by the digits of its weights."""
    scores: dict[int | None, list[tuple[float, float]]] = {n: [] for n in (None, *DIGITS)}
    seconds = dict.fromkeys(scores, 0.0)
    for name in ROUNDED:
        for seed in SEEDS:
            X, X_test, y, y_test = split(name, RAW, seed, data)
            for k, depth in ((1, 4), (4, 3)):
                for n in scores:
                    samme.few_digits = with_digits(n)  # type: ignore[assignment]
                    model = ours("boosting", 30, k, depth)
                    seconds[n] += cpu_seconds(model.fit, X, y)
                    staged = list(model.staged_score(X_test, y_test))
                    scores[n].append((staged[min(9, len(staged) - 1)], staged[-1]))
    samme.few_digits = few_digits
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
    sections = [
        "<!-- Written by python -m topktree_evidence.studies.forests -->",
        f"CPU time of one thread, {processor()}. {N_TREES} trees; `BaggingClassifier` and `AdaBoostClassifier` around "
        "`TopKTreeClassifier` have 5, and binarize the table for each of them.",
        fits_table(arguments.data),
        "Searches of forests that draw the square root of the number of features at every node, k = 8, depth 5, with "
        "features drawn before columns are counted, or afterwards. Searches do the former from "
        f"{engine.SearchOptions().many_columns} columns on:",
        draws_table(arguments.data),
        "Peak memory of a process that reads the table and fits:",
        memory_table(arguments.data),
        f"Test accuracy of boosting against weights of 20 bits, {len(ROUNDED)} datasets, {len(SEEDS)} splits, "
        "k = 1 at depth 4 and k = 4 at depth 3; means of the differences, with their standard errors:",
        digits_table(arguments.data),
    ]
    (arguments.out / "numbers.md").write_text("\n\n".join(sections) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
