"""The study of which way missing values go: topktree's choice, a rule without choice, and two peers that choose.

In: tables of mixed features, some of their cells blanked at random. Out: docs/missing-values.csv, a row per run, and
missing-values.md, from templates/missing-values.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from topktree import TopKTreeClassifier
from topktree.datasets.paper import VARIABLE

from .. import machine, pages
from ..paired import compared, over_datasets
from ..splits import FIRST_SEED
from ..study import FINISHED, TIMEOUT, Row, Settings, Study, Task
from ..text import Tables, aligned, mean, points, signed, where

TABLES = ("adult", "churn", "german-credit")
SHARES = (0.0, 0.05, 0.2, 0.4)  # of all cells, blanked
DEPTHS = (3, 4, 5)
K = 8
LEARNT, NEVER, LEARNT_GREEDY, NEVER_GREEDY = f"Top-{K}", f"Top-{K}, no choice", "Top-1", "Top-1, no choice"
SKLEARN, BOOSTING = "scikit-learn", "HistGradientBoosting"
METHODS = (LEARNT, NEVER, LEARNT_GREEDY, NEVER_GREEDY, SKLEARN, BOOSTING)
ABSENT = "(absent)"  # a category for missing values


def plan(settings: Settings) -> list[Task]:
    """Plan the fits split by split."""
    return [
        {"dataset": name, "share": share, "seed": seed, "depth": depth, "method": method}
        for name in TABLES
        if settings.datasets is None or name in settings.datasets
        for share in SHARES
        for seed in range(FIRST_SEED, FIRST_SEED + settings.splits)
        for depth in settings.up_to(DEPTHS)
        for method in METHODS
    ]


def load(name: str, data_home: str | None) -> pd.DataFrame:
    """Return a table of the folder, with the answer in its last column."""
    folder = data_home or os.environ.get(VARIABLE)
    if not folder:
        raise ValueError(f"{name}.csv.gz is looked for in a folder, and none is named")
    return pd.read_csv(Path(folder) / f"{name}.csv.gz")


@lru_cache(maxsize=2)  # runs of the same split follow each other
def split(name: str, share: float, seed: int, data_home: str | None) -> list[Any]:
    """Return X of training and test rows, then y of both: numbers as float64, everything else as text."""
    X = load(name, data_home)
    y = X.pop(X.columns[-1]).astype(str)
    numbers = X.select_dtypes("number").columns
    X = X.astype(dict.fromkeys(numbers, float) | {c: object for c in X.columns.difference(numbers)})
    X = X.mask(np.random.default_rng(seed).random(X.shape) < share)
    parts: list[Any] = train_test_split(X, y, train_size=0.8, random_state=seed, stratify=y)
    return parts


def as_no_test_holds(X: pd.DataFrame) -> pd.DataFrame:
    """Return the table in which a missing value makes every test false, and is a test of its own."""
    numbers = X.select_dtypes("number").columns
    return X.fillna(dict.fromkeys(numbers, np.inf) | dict.fromkeys(X.columns.difference(numbers), ABSENT))


def encoded(encoder: Any, model: Any) -> Any:
    """Return a model that gets numbers as they are, and categories from an encoder."""
    categories = make_column_selector(dtype_exclude="number")
    return make_pipeline(make_column_transformer((encoder, categories), remainder="passthrough"), model)


def scikit_learn(depth: int) -> Any:
    """Return scikit-learn's tree on a column per category, and on numbers with missing values."""
    model = DecisionTreeClassifier(criterion="entropy", max_depth=depth, random_state=0)
    return encoded(OneHotEncoder(handle_unknown="ignore", sparse_output=False), model)


def boosting(depth: int) -> Any:
    """Return one tree of HistGradientBoosting, on numbers and on categories with missing values."""
    model = HistGradientBoostingClassifier(
        max_iter=1, learning_rate=1.0, max_depth=depth, max_leaf_nodes=None, min_samples_leaf=1, early_stopping=False
    )
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=200)
    return encoded(encoder.set_output(transform="pandas"), model)


PEERS: dict[str, Callable[[int], Any]] = {SKLEARN: scikit_learn, BOOSTING: boosting}


def run(task: Task, settings: Settings) -> Row:
    """Fit one tree and score it on training and test rows."""
    X, X_test, y, y_test = split(task["dataset"], task["share"], task["seed"], settings.data_home)
    method, depth = task["method"], task["depth"]
    if method in (NEVER, NEVER_GREEDY):
        X, X_test = as_no_test_holds(X), as_no_test_holds(X_test)
    if method in PEERS:
        model = PEERS[method](depth).fit(X, y)
    else:
        k = K if method in (LEARNT, NEVER) else 1
        model = TopKTreeClassifier(k=k, max_depth=depth, time_limit=settings.time_limit).fit(X, y)
    return {
        "train": round(model.score(X, y), 6),
        "test": round(model.score(X_test, y_test), 6),
        "status": TIMEOUT if getattr(model, "status_", "") == "time_limit" else FINISHED,
        "versions": ", ".join(f"{name} {machine.version(name)}" for name in ("topktree", "scikit-learn")),
    }


def write_pages(out: Path, found: Tables) -> tuple[list[Path], list[str]]:
    """Write missing-values.md."""
    runs = found["missing-values"].dropna(subset=["test"])
    if runs.empty:  # every run has failed
        return [], []
    path = out / "missing-values.md"
    pages.write(
        path,
        "missing-values",
        k=K,
        tables=list(runs["dataset"].unique()),
        shares=[share for share in SHARES if share],
        depths=DEPTHS,
        splits=runs["seed"].nunique(),
        versions=sorted(set(runs["versions"])),
        accuracy={what: accuracy_table(runs, what) for what in ("test", "train")},
        gains={ours: gain_table(runs, ours) for ours in (LEARNT, LEARNT_GREEDY)},
        behind={other: where_behind(runs, other) for other in (NEVER, SKLEARN, BOOSTING)},
        cells=len(runs.groupby(["dataset", "share", "depth"])),
        cut=int((runs["status"] == TIMEOUT).sum()),
    )
    return [path], []


def means(runs: pd.DataFrame, what: str) -> pd.DataFrame:
    """Return means over splits and depths: a row per table and share of blanked cells, a column per method."""
    keys = zip(runs["dataset"], runs["share"], strict=True)
    rows = [f"{name}, {share:.0%} blanked" if share else name for name, share in keys]
    table = runs.assign(row=rows).pivot_table(what, "row", "method", aggfunc=mean, sort=False)
    return table[list(METHODS)]


def accuracy_table(runs: pd.DataFrame, what: str) -> str:
    """Return mean accuracies in percent, and their mean over all tables and shares."""
    table = means(runs, what)
    table.loc["mean"] = table.agg(mean)
    return aligned(["table", *METHODS], [[row, *map(points, values)] for row, *values in table.itertuples()])


def where_behind(runs: pd.DataFrame, other: str) -> list[str]:
    """Return the tables and shares with a lower mean test accuracy than another method's."""
    table = means(runs, "test")
    return [f"{row} ({signed(gain)})" for row, gain in (table[LEARNT] - table[other]).items() if gain < 0]


def gain_table(runs: pd.DataFrame, ours: str) -> str:
    """Return how much more accurate one method is than each of the others, on the same rows."""
    lines = []
    for other in (m for m in METHODS if m != ours):
        cells = []
        for (name, share, depth), cell in runs.groupby(["dataset", "share", "depth"], sort=False):
            mine, theirs = (where(cell, method=m).set_index("seed")["test"].to_dict() for m in (ours, other))
            gain, p = compared(mine, theirs, test_share=0.25)
            cells.append({"dataset": f"{name} {share:.0%} depth {depth}", "gain": gain, "gain_p": p})
        gains = over_datasets(pd.DataFrame(cells), "gain")
        clearly = [str(len(gains.clearly_ahead)), str(len(gains.clearly_behind))]
        lines.append([other, signed(gains.mean), str(gains.ahead), str(gains.behind), *clearly])
    return aligned([f"{ours} against", "points", "ahead", "behind", "clearly ahead", "clearly behind"], lines)


STUDIES = (
    Study(
        "missing-values",
        ("dataset", "share", "seed", "depth", "method"),
        ("train", "test"),
        plan,
        run,
        origin=("versions",),
        load=load,
        folder=".",
        keeps_runs=True,
    ),
)
