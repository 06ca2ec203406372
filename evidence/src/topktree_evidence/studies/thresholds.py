"""How many thresholds a numeric feature needs: topktree's rules against scikit-learn's greedy tree on raw numbers.

In: every rule, k, depth and split of the numerical datasets, each fitted once. Out: docs/thresholds.csv, a row per run,
and thresholds.md, from templates/thresholds.md.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from statistics import median, stdev
from typing import Any

import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from topktree import Binarizer, TopKTreeClassifier

from .. import machine, pages
from ..matrices import REPAIRED_NUMERICAL, raw
from ..splits import Array, chosen
from ..study import FINISHED, TIMEOUT, Row, Settings, Study, Task
from ..text import Tables, aligned, mean, where
from . import midpoints

DATASETS = list(REPAIRED_NUMERICAL)

SKLEARN, GUESS = "scikit-learn", "guess"
MAX_THRESHOLDS = {"8": 8, "16": 16, "32": 32, "64": 64, "128": 128}  # by the rule's name; midpoints.py has None
RULES = (*MAX_THRESHOLDS, GUESS)
DEFAULT = str(TopKTreeClassifier().max_thresholds)
KS = (1, 8)
DEPTHS = (3, 4, 5, 6)
SEEDS = (42, 43, 44, 45, 46)

TIME_LIMIT = 30.0  # seconds, for k > 1
CLOSE = 0.2  # points: what "as good as scikit-learn" means


def plan(settings: Settings) -> list[Task]:
    """Plan the fits split by split, scikit-learn's first."""
    return [
        {"dataset": name, "seed": seed, "depth": depth, "rule": rule, "k": k}
        for name in chosen(settings, DATASETS)
        for seed in SEEDS[: settings.splits]
        for rule, k in [(SKLEARN, 1), *((rule, k) for k in KS for rule in RULES)]
        for depth in settings.up_to(DEPTHS)
    ]


def estimator(task: Task, limit: float | None) -> Any:
    """Return the model of a run, not fitted."""
    if task["rule"] == SKLEARN:
        return DecisionTreeClassifier(criterion="entropy", max_depth=task["depth"], random_state=0)
    tree = TopKTreeClassifier(k=task["k"], max_depth=task["depth"], time_limit=limit if task["k"] > 1 else None)
    if task["rule"] == GUESS:
        return make_pipeline(Binarizer(strategy="guess"), tree)
    return tree.set_params(max_thresholds=MAX_THRESHOLDS[task["rule"]])


def run(task: Task, settings: Settings) -> Row:
    """Fit one tree and score it on training and test rows."""
    X, X_test, y, y_test = split(task["dataset"], task["seed"], settings.data_home)
    rule, origin = task["rule"], {"machine": made_on()}
    columns = (
        None if rule in (SKLEARN, GUESS) else count_columns(task["dataset"], task["seed"], rule, settings.data_home)
    )
    model = estimator(task, settings.time_limit)
    with threadpool_limits(1):  # the ensemble of "guess" would take every core
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
    tree = model[-1] if rule == GUESS else model
    return {
        "train": round(model.score(X, y), 6),
        "test": round(model.score(X_test, y_test), 6),
        "seconds": round(seconds, 5),
        "columns": len(model[0].columns_) if rule == GUESS else columns,
        "status": TIMEOUT if getattr(tree, "status_", "") == "time_limit" else FINISHED,
    } | origin


def made_on() -> str:
    """Return the machine and the versions that a run was made with."""
    versions = ", ".join(f"{package} {machine.version(package)}" for package in ("topktree", "scikit-learn"))
    return f"{machine.description()}; {versions}"


@lru_cache(maxsize=2)  # runs of the same split follow each other
def split(name: str, seed: int, data_home: str | None) -> tuple[Array, Array, Array, Array]:
    """Return X of training and test rows, then y of both."""
    X, y = raw(name, data_home)
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=0.8, random_state=seed)
    return X_train, X_test, y_train, y_test


@lru_cache(maxsize=16)
def count_columns(name: str, seed: int, rule: str, data_home: str | None) -> int:
    """Return the number of Boolean columns of the training rows."""
    X, _, y, _ = split(name, seed, data_home)
    return len(Binarizer(max_thresholds=MAX_THRESHOLDS[rule]).fit(X, y).columns_)


def write_pages(out: Path, found: Tables) -> tuple[list[Path], list[str]]:
    """Write thresholds.md."""
    path = out / "thresholds.md"
    compared = found[midpoints.STUDY.name]
    section = midpoints.section(compared) if len(compared) else ""
    if not len(found["thresholds"]):
        path.write_text(section, encoding="utf-8")
        return [path], []
    runs = found["thresholds"].astype({"rule": str})
    names = list(runs["dataset"].unique())
    gaps, base = gaps_of(runs), seconds_of(runs, SKLEARN, 1)
    pages.write(
        path,
        "thresholds",
        rules=RULES,
        default=DEFAULT,
        most=Binarizer().max_thresholds,
        ks=KS,
        seeds=SEEDS,
        depths=DEPTHS,
        limit=TIME_LIMIT,
        datasets=len(names),
        machine="; ".join(sorted(set(runs["machine"]))),
        minutes=runs["seconds"].sum() / 60,
        accuracy={what: {k: accuracy_table(runs, gaps, k, what) for k in KS} for what in ("test", "train")},
        seconds={k: seconds_table(runs, k) for k in KS},
        by_depth={k: depth_table(gaps, k) for k in KS},
        columns=columns_table(runs),
        close=CLOSE,
        points=points,
        with_error=with_error,
        gap=partial(gap, gaps),
        best_first=partial(best_first, gaps),
        from_default=partial(from_default, gaps),
        ratios={(rule, k): seconds_of(runs, rule, k) / base for rule in (DEFAULT, GUESS) for k in KS},
        runs=len(runs),
        cut=where(runs, status=TIMEOUT),
        midpoints=section,
    )
    return [path], []


def gaps_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the points above scikit-learn of every run that was made, as columns `test_gap` and `train_gap`."""
    case = ["dataset", "seed", "depth"]
    base = where(runs, rule=SKLEARN).set_index(case)[["test", "train"]].add_suffix("_base")
    done = runs[runs["rule"] != SKLEARN].join(base, on=case)
    return done.assign(**{f"{what}_gap": 100 * (done[what] - done[f"{what}_base"]) for what in ("test", "train")})


def gap(gaps: pd.DataFrame, rule: str, k: int, what: str = "test", depths: Sequence[int] = DEPTHS) -> pd.Series:
    """Return the mean gap over splits and depths by dataset."""
    own = where(gaps, rule=rule, k=k, depth=tuple(depths))
    return own.groupby("dataset", sort=False)[f"{what}_gap"].agg(mean).round(6)  # equal is zero


def points(value: float | None) -> str:
    """Return signed points with two digits, never "-0.00"."""
    return "-" if value is None or value != value else f"{round(float(value), 2) + 0.0:+.2f}"


def _mean(found: pd.Series) -> str:
    return points(mean(found) if len(found) else None)


def heading() -> list[str]:
    """Return the columns of a table of rules."""
    return [f"{rule} (default)" if rule == DEFAULT else rule for rule in RULES]


def accuracy_table(runs: pd.DataFrame, gaps: pd.DataFrame, k: int, what: str) -> str:
    """Return gaps per dataset; "t" marks those with fits that were stopped."""
    base = 100 * where(runs, rule=SKLEARN).groupby("dataset", sort=False)[what].agg(mean)
    found = {rule: gap(gaps, rule, k, what) for rule in RULES}
    stopped = where(runs, k=k, status=TIMEOUT)
    cut = set(zip(stopped["dataset"], stopped["rule"], strict=True))
    rows = []
    for name in base.index:
        cells = [points(found[rule].get(name)) + " t" * ((name, rule) in cut) for rule in RULES]
        rows.append([name, f"{base[name]:.2f}%", *cells])
    rows.append(["mean", "", *(_mean(found[rule]) for rule in RULES)])
    return aligned(["dataset", "scikit-learn", *heading()], rows)


def depth_table(gaps: pd.DataFrame, k: int) -> str:
    """Return the mean gap on test rows by depth."""
    rows = [[str(depth), *(_mean(gap(gaps, rule, k, depths=(depth,))) for rule in RULES)] for depth in DEPTHS]
    return aligned(["depth", *heading()], rows)


def seconds_of(runs: pd.DataFrame, rule: str, k: int) -> pd.Series:
    """Return the median over splits and depths by dataset."""
    own = where(runs, rule=rule, k=k)
    return own.groupby("dataset", sort=False)["seconds"].agg(median)


def seconds_table(runs: pd.DataFrame, k: int) -> str:
    """Return seconds per dataset."""
    found = pd.DataFrame({rule: seconds_of(runs, rule, 1 if rule == SKLEARN else k) for rule in (SKLEARN, *RULES)})
    found = found.reindex(runs["dataset"].unique())
    found.loc["median"] = found.median()
    rows = [[name, *("-" if s != s else f"{s:.3g}" for s in cells)] for name, cells in found.iterrows()]
    return aligned(["dataset", "scikit-learn", *heading()], rows)


def columns_table(runs: pd.DataFrame) -> str:
    """Return the number of Boolean columns, which does not depend on k."""
    counts = runs.groupby(["dataset", "rule"], sort=False)["columns"].agg(median)
    names = runs["dataset"].unique()
    return aligned(
        ["dataset", *heading()], [[name, *(f"{counts[name, rule]:,.0f}" for rule in RULES)] for name in names]
    )


def with_error(found: pd.Series) -> str:
    """Return the mean over datasets and its standard error."""
    error = f" (standard error {stdev(found) / len(found) ** 0.5:.2f})" if len(found) > 1 else ""
    return points(mean(found)) + error


def best_first(gaps: pd.DataFrame, k: int, what: str) -> list[tuple[str, pd.Series]]:
    """Return the numbers of thresholds with their gaps, the best mean first."""
    found = {rule: gap(gaps, rule, k, what) for rule in MAX_THRESHOLDS}
    return sorted(found.items(), key=lambda entry: -mean(entry[1]))


def from_default(gaps: pd.DataFrame, rule: str, k: int, what: str = "test") -> pd.Series:
    """Return the points of a rule above the default, on the same datasets, splits and depths."""
    return gap(gaps, rule, k, what) - gap(gaps, DEFAULT, k, what)


STUDIES = (
    Study(
        "thresholds",
        ("dataset", "seed", "depth", "rule", "k"),
        ("train", "test", "seconds", "columns"),
        plan,
        run,
        limit=TIME_LIMIT,
        optional=("columns",),
        origin=("machine",),
        folder=".",
        keeps_runs=True,
    ),
    midpoints.STUDY,
)
