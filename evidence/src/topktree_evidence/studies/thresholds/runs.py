"""The runs behind the page on thresholds: every rule, k, depth and split, each fitted once.

In: a folder of the datasets. Out: a CSV file with a row per run. The one idea:
the CSV file is the memory. Runs that it has are not repeated, so a stopped benchmark goes on where it was.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from topktree import Binarizer, TopKTreeClassifier
from topktree_evidence.studies.speed.matrices import FICO, NUMERICAL, numbers

# The numerical ones of the paper: a damaged column of dry-bean put right, and all rows of FICO.
DATASETS = tuple({"dry-bean": "dry-bean-repaired", FICO: "fico"}.get(name, name) for name in NUMERICAL)

SKLEARN, EXACT, GUESS = "scikit-learn", "exact", "guess"
MAX_THRESHOLDS = {"8": 8, "16": 16, "32": 32, "64": 64, "128": 128, EXACT: None}  # by the rule's name
RULES = (*MAX_THRESHOLDS, GUESS)
DEFAULT = str(TopKTreeClassifier().max_thresholds)
KS = (1, 8)
DEPTHS = (3, 4, 5, 6)
SEEDS = (42, 43, 44, 45, 46)

TIME_LIMIT = 30.0  # seconds, for k > 1
EXACT_DEPTH = 4  # the deepest for "exact" with k > 1: one level more takes 12 to 30 s a fit on half of the sets
EXACT_BYTES = 400e6  # of packed bits, rows x columns / 8: a dataset with more is skipped by "exact"
CLOSE = 0.2  # points: what "as good as scikit-learn" means

COMPLETE, TIMED_OUT, SKIPPED = "complete", "time_limit", "skipped"

Array = NDArray[Any]


@dataclass(frozen=True)
class Job:
    """One fit."""

    dataset: str
    seed: int
    depth: int
    rule: str  # SKLEARN or one of RULES
    k: int  # 1 for scikit-learn


@dataclass(frozen=True)
class Outcome:
    """What came of it; of a skipped one only the number of columns is known."""

    train: float | None  # accuracies, 0 to 1
    test: float | None
    seconds: float | None  # of fit, binarising included
    columns: int | None
    status: str


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows: X float64 (rows, features), y int64 (rows,)."""

    X: Array
    X_test: Array
    y: Array
    y_test: Array
    columns: dict[str, int]  # Boolean columns of the training rows, by rule; of "exact" before copies are dropped


Results = dict[Job, Outcome]


def jobs(dataset: str, seed: int) -> Iterator[Job]:
    """The fits of one split, scikit-learn's first."""
    for rule, k in [(SKLEARN, 1), *((rule, k) for k in KS for rule in RULES)]:
        for depth in DEPTHS:
            if depth in depths_of(rule, k):
                yield Job(dataset, seed, depth, rule, k)


def depths_of(rule: str, k: int) -> tuple[int, ...]:
    return tuple(depth for depth in DEPTHS if depth <= EXACT_DEPTH or rule != EXACT or k == 1)


def estimator(job: Job) -> Any:
    if job.rule == SKLEARN:
        return DecisionTreeClassifier(criterion="entropy", max_depth=job.depth, random_state=0)
    tree = TopKTreeClassifier(k=job.k, max_depth=job.depth, time_limit=TIME_LIMIT if job.k > 1 else None)
    if job.rule == GUESS:
        return make_pipeline(Binarizer(strategy="guess"), tree)
    return tree.set_params(max_thresholds=MAX_THRESHOLDS[job.rule])


def run(job: Job, split: Split) -> Outcome:
    if job.rule == EXACT and len(split.X) * split.columns[EXACT] / 8 > EXACT_BYTES:
        return Outcome(None, None, None, split.columns[EXACT], SKIPPED)
    model = estimator(job)
    start = time.perf_counter()
    model.fit(split.X, split.y)
    seconds = round(time.perf_counter() - start, 5)
    train, test = (round(model.score(*rows), 6) for rows in ((split.X, split.y), (split.X_test, split.y_test)))
    if job.rule == SKLEARN:
        return Outcome(train, test, seconds, None, COMPLETE)
    columns = len(model[0].columns_) if job.rule == GUESS else split.columns[job.rule]
    return Outcome(train, test, seconds, columns, (model[-1] if job.rule == GUESS else model).status_)


def measure(names: Sequence[str], folder: Path, memory: Path) -> Results:
    """Run what the CSV file `memory` does not have yet, and add it there row by row."""
    results = recall(memory)
    plan = [job for name in names for seed in SEEDS for job in jobs(name, seed)]
    todo = [job for job in plan if job not in results]
    loaded: Callable[[str], tuple[Array, Array]] = last_only(lambda name: numbers(name, folder))
    splits: Callable[[tuple[str, int]], Split] = last_only(lambda key: make_split(*loaded(key[0]), key[1]))
    start = time.perf_counter()
    with memory.open("a", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        if stream.tell() == 0:
            writer.writerow([field.name for kind in (Job, Outcome) for field in fields(kind)])
        for done, job in enumerate(todo, 1):
            outcome = results[job] = run(job, splits((job.dataset, job.seed)))
            writer.writerow([*asdict(job).values(), *asdict(outcome).values()])
            stream.flush()
            where = f"{job.dataset}, split {job.seed}, {job.rule}, k = {job.k}, depth {job.depth}"
            progress(f"{done}/{len(todo)} {time.perf_counter() - start:.0f} s: {where}: {outcome}")
    return {job: results[job] for job in plan}


def last_only(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`make` that remembers its last result alone: datasets are large and come in order."""
    held: dict[Any, Any] = {}

    def get(key: Any) -> Any:
        if key not in held:
            held.clear()
            held[key] = make(key)
        return held[key]

    return get


def make_split(X: Array, y: Array, seed: int) -> Split:
    train, test, y_train, y_test = train_test_split(X, y, train_size=0.8, random_state=seed)
    columns = {
        rule: len(Binarizer(max_thresholds=n).fit(train, y_train).columns_)
        for rule, n in MAX_THRESHOLDS.items()
        if rule != EXACT
    }
    columns[EXACT] = sum(len(np.unique(feature)) - 1 for feature in train.T)
    return Split(train, test, y_train, y_test, columns)


def recall(memory: Path) -> Results:
    """The runs that the CSV file has; a last line cut short by a kill counts as none."""
    if not memory.is_file():
        return {}
    text = memory.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        memory.write_text(whole)
    results = {}
    for row in csv.DictReader(whole.splitlines()):
        job = Job(row["dataset"], int(row["seed"]), int(row["depth"]), row["rule"], int(row["k"]))
        train, test, seconds = (float(row[name]) if row[name] else None for name in ("train", "test", "seconds"))
        results[job] = Outcome(train, test, seconds, int(row["columns"]) if row["columns"] else None, row["status"])
    return results


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
