"""A run of the suite: every job that the CSV file does not have yet, one process after the other.

In: Cells, the file, the folder of datasets and a cap of memory. Out: rows in the file, lines of progress on stderr.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from topktree_evidence import machine
from topktree_evidence.numbers import boolean, raw
from topktree_evidence.studies.speed import matrices
from topktree_evidence.studies.speed.matrices import Source
from topktree_evidence.studies.speed.plans import Cell
from topktree_evidence.studies.speed.runs import (
    BOOLEAN,
    FINISHED,
    GENERATED,
    TIMEOUT,
    Job,
    Origin,
    Outcome,
    Rows,
    append,
    recall,
)
from topktree_evidence.studies.speed.worker import measure

ENOUGH = 5.0  # seconds from which a measurement is not repeated: noise is small against it, repeating expensive
HARDER = ("topk", "optimal", "penalty", "contree")  # sections in which a larger k or depth only takes longer


class Data:
    """The matrices that other processes read, made when they are first needed."""

    def __init__(self, folder: Path, stored: Path) -> None:
        self.folder = folder
        self.stored = stored
        self.sources: dict[tuple[str, bool], Source] = {}

    def source(self, job: Job) -> Source:
        """Where the job finds its data."""
        if job.input == GENERATED:
            rows, columns = map(int, job.dataset.split("x"))
            return Source(None, (rows, columns))
        key = job.dataset, job.input == BOOLEAN
        if key not in self.sources:
            read = boolean if key[1] else raw
            X, y = read(job.dataset, str(self.folder))
            self.sources[key] = matrices.store(f"{job.dataset}.{job.input}", X, y, self.stored)
        return self.sources[key]


def run(cells: Sequence[Cell], path: Path, data: Data, memory: int) -> None:
    """Measure what the file does not have yet."""
    rows = recall(path)
    todo = sum(job not in rows for cell in cells for job in cell.all_jobs())
    start, done = time.perf_counter(), 0
    for job in (job for cell in cells for job in cell.all_jobs()):
        if job in rows:
            continue
        left = (time.perf_counter() - start) / max(done, 1) * (todo - done)
        done += 1
        if repeats_slow(job, rows):
            continue
        progress(f"[{done}/{todo}{f', about {left:.0f} s left' if done > 5 else ''}] {named(job)}")
        outcome = foregone(job, rows) or measure(job, data.source(job), memory)
        rows[job] = outcome, origin(job)
        append(path, job, rows[job])
        if outcome.status != FINISHED:
            progress(f"    {outcome.status} {outcome.message}")


def repeats_slow(job: Job, rows: Rows) -> bool:
    """Whether the first round took long enough, or did not finish."""
    if job.round == 0:
        return False
    first, _ = rows[replace(job, round=0)]
    return first.status != FINISHED or (first.seconds or 0.0) >= ENOUGH


def foregone(job: Job, rows: Rows) -> Outcome | None:
    """A timeout without a try if the same contestant was stopped at the cap in an easier search."""
    if job.section not in HARDER:
        return None
    for other, (outcome, _) in rows.items():
        is_alike = replace(other, k=job.k, depth=job.depth) == job
        is_easier = other.depth <= job.depth and candidates(other) <= candidates(job)
        if is_alike and is_easier and outcome.status == TIMEOUT:
            easier = f"k = {other.k}, depth {other.depth}" if other.k else f"depth {other.depth}"
            return Outcome(TIMEOUT, f"not tried: {easier} was stopped at the cap")
    return None


def candidates(job: Job) -> float:
    return float(job.k) if job.k.isdigit() else float("inf")


def origin(job: Job) -> Origin:
    """The code and the machine at hand."""
    return Origin(machine.version(job.solver), machine.engine(), machine.description())


def named(job: Job) -> str:
    k = f" k = {job.k}" if job.k else ""
    threads = f", {job.threads} threads" if job.threads > 1 else ""
    return f"{job.section}: {job.dataset}: {job.solver}{k}, depth {job.depth}{threads}, round {job.round + 1}"


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
