"""The numbers of docs/beyond-one-machine.md, from what benchmarks/dask_rows.py measured.

In: fits.csv and rounds.csv. Out: numbers.md beside them: a table of fits, one of rounds, the cost model fitted to them,
and what it says of a cluster that was not measured. Rows with 0 workers are local fits.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import nnls

from topktree.dask.cluster import FAN_IN

# What is extrapolated to, and what that assumes of the network and of Dask's scheduler.
WORKERS = 100
ROWS = 10**10
NETWORK_BYTES = 1.25e9  # per second: 10 Gbit/s
TASK_SECONDS = 0.001
PARTITIONS = 2000
TASKS_OF_A_PARTITION = 12  # reading, summaries, packing and merging, before the search
STAGES = ("labels", "columns", "packing")

Row = dict[str, Any]


def write(folder: Path) -> int:
    """Write the page; 1 if trees differ that must be the same."""
    fits, rounds = (read(folder / f"{name}.csv") for name in ("fits", "rounds"))
    sections = [
        "<!-- Written by benchmarks/dask_rows.py -->",
        "Ten numeric features, 320 Boolean columns, two classes, k = 8, depth 4; workers are processes of one thread.",
        f"Measured on {fits[0]['machine']}; medians of {n_runs(fits, min)} to {n_runs(fits, max)} runs.",
        fits_table(fits),
        rounds_table(rounds),
        model_text(fits, rounds),
    ]
    (folder / "numbers.md").write_text("\n\n".join(sections) + "\n")
    differ = [n for n in sorted({row["rows"] for row in fits}) if len({r["tree"] for r in fits if r["rows"] == n}) > 1]
    if differ:
        sys.stderr.write(f"trees differ at {differ} rows\n")
    return 1 if differ else 0


def n_runs(fits: list[Row], choose: Callable[[Iterable[int]], int]) -> int:
    """The fewest or the most runs of a fit."""
    return choose(Counter((row["rows"], row["workers"]) for row in fits).values())


def read(path: Path) -> list[Row]:
    with path.open(newline="") as file:
        return [{name: number(value) for name, value in row.items()} for row in csv.DictReader(file)]


def number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def cells(rows: list[Row]) -> list[tuple[int, int]]:
    return sorted({(int(row["rows"]), int(row["workers"])) for row in rows})


def middle(rows: list[Row], n_rows: int, workers: int, name: str) -> float:
    return median(row[name] for row in rows if (row["rows"], row["workers"]) == (n_rows, workers))


def table(head: list[str], body: list[list[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + " ---: |" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in body)])


def fits_table(fits: list[Row]) -> str:
    head = ["million rows", "workers", "labels", "columns", "packing", "search", "in all", "local", "ratio"]
    body = []
    for n_rows, workers in cells(fits):
        if workers == 0:
            continue
        local = middle(fits, n_rows, 0, "seconds")
        stages = [middle(fits, n_rows, workers, name) for name in (*STAGES, "search")]
        seconds = middle(fits, n_rows, workers, "seconds")
        numbers = [f"{value:.1f}" for value in (*stages, seconds, local)]
        body.append([f"{n_rows / 1e6:g}", str(workers), *numbers, f"{seconds / local:.1f}"])
    return "Fits, in seconds, and the same fit without a cluster, on one thread:\n\n" + table(head, body)


def rounds_table(rounds: list[Row]) -> str:
    """Of one fit each: all rounds, the median one, the longest one."""
    head = ["million rows", "workers", "rounds", "questions", "bytes", "median", "longest", "questions", "bytes"]
    body = []
    for n_rows, workers in cells(rounds):
        own = [row for row in rounds if (row["rows"], row["workers"], row["repeat"]) == (n_rows, workers, 0)]
        longest = max(own, key=lambda row: row["seconds"])
        body.append(
            [
                f"{n_rows / 1e6:g}",
                str(workers),
                str(len(own)),
                f"{sum(row['questions'] for row in own):,.0f}",
                f"{sum(row['bytes'] for row in own) / 1e6:.1f} MB",
                f"{median(row['seconds'] for row in own):.2f}",
                f"{longest['seconds']:.2f}",
                f"{longest['questions']:,.0f}",
                f"{longest['bytes'] / 1e6:.2f} MB",
            ]
        )
    text = (
        "Rounds of the search by counts: all of one fit; seconds of the median and of the longest, and what that asked"
    )
    return f"{text}:\n\n{table(head, body)}"


@dataclass(frozen=True)
class Model:
    """Seconds of a round: fixed + per_question * questions + per_row * questions * rows of a worker."""

    fixed: float
    per_question: float
    per_row: float
    stage_fixed: float
    stage_per_row: float
    error: float  # relative, of the median round

    def round(self, questions: float, rows: float) -> float:
        return self.fixed + questions * (self.per_question + self.per_row * rows)


def fit_model(fits: list[Row], rounds: list[Row]) -> Model:
    questions = np.array([row["questions"] for row in rounds])
    rows = np.array([row["rows"] / row["workers"] for row in rounds])
    seconds = np.array([row["seconds"] for row in rounds])
    terms = np.stack([np.ones(len(seconds)), questions, questions * rows], axis=1)
    found, _ = nnls(terms / seconds[:, None], np.ones(len(seconds)))  # relative errors count
    error = float(np.median(np.abs(terms @ found / seconds - 1)))
    there = [row for row in fits if row["workers"] > 0]
    stages = np.array([sum(row[name] for name in STAGES) for row in there])
    per_worker = np.array([row["rows"] / row["workers"] for row in there])
    stage, _ = nnls(np.stack([np.ones(len(stages)), per_worker], axis=1) / stages[:, None], np.ones(len(stages)))
    return Model(*found.tolist(), *stage.tolist(), error)


@dataclass(frozen=True)
class Extrapolation:
    """Seconds of a fit on a cluster that was not measured."""

    stages: float
    counting: float
    scheduling: float
    network: float


def levels_of_merging() -> list[int]:
    """How many tasks add up answers, level by level."""
    levels, n = [], WORKERS
    while n > 1:
        n = -(-n // FAN_IN)
        levels.append(n)
    return levels


def extrapolate(model: Model, rounds: list[Row]) -> Extrapolation:
    """Of the same rounds."""
    rows = ROWS / WORKERS
    levels = levels_of_merging()
    answer_bytes = 2 * sum(row["bytes"] for row in rounds)  # counts beyond 2^31 take twice the bytes
    return Extrapolation(
        model.stage_fixed + model.stage_per_row * rows,
        sum(model.round(row["questions"], rows) for row in rounds),
        (len(rounds) * (WORKERS + sum(levels)) + PARTITIONS * TASKS_OF_A_PARTITION) * TASK_SECONDS,
        answer_bytes * len(levels) * FAN_IN / NETWORK_BYTES,
    )


def largest_search(rounds: list[Row]) -> list[Row]:
    """The rounds of one fit to the most rows with the most workers."""
    most = max((row["rows"], row["workers"]) for row in rounds)
    return [row for row in rounds if (row["rows"], row["workers"]) == most and row["repeat"] == 0]


def model_text(fits: list[Row], rounds: list[Row]) -> str:
    model = fit_model(fits, rounds)
    own = largest_search(rounds)
    found = extrapolate(model, own)
    n_questions = sum(row["questions"] for row in own)
    total = found.stages + found.counting + found.scheduling + found.network
    return f"""The cost model, fitted to all rounds (least squares of relative errors; half of the rounds are within
{100 * model.error:.0f} % of it), with q the questions of a round and r the rows of a worker:

    seconds of a round = {model.fixed:.3f} + q ({model.per_question:.2g} + {model.per_row:.2g} r)

    seconds before the search = {model.stage_fixed:.2f} + {model.stage_per_row:.2g} r

**Extrapolated, not measured:** {ROWS / 1e9:g} billion rows of these ten features on {WORKERS} workers of one thread
like those here, {ROWS / WORKERS / 1e6:g} million rows each. Assumed are a network of {NETWORK_BYTES * 8 / 1e9:g} Gbit/s
to every worker, {PARTITIONS:,} partitions in their memory, {1000 * TASK_SECONDS:g} ms of the scheduler per task,
answers added up {FAN_IN} at a time, and the {len(own)} rounds with {n_questions:,.0f} questions that
{own[0]["rows"] / 1e6:g} million rows took here.

| | seconds |
| --- | ---: |
| labels, columns and packing | {found.stages:,.0f} |
| counting | {found.counting:,.0f} |
| scheduling | {found.scheduling:,.1f} |
| network | {found.network:,.1f} |
| in all | {total:,.0f} |"""
