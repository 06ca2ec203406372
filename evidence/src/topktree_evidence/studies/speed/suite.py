"""The speed study: topktree against its peers, one process for each measurement.

In: the plan of a profile, quick or full. Out: a Study whose runs take turns, and whose kept runs are
docs/benchmarks/<profile>.csv.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

from ...numbers import boolean, raw
from ...runner import memory_cap
from ...stopwatch import Stopwatch
from ...study import FINISHED, Row, Settings, Study, Task
from . import matrices
from .matrices import Source
from .plans import Profile, plan
from .runs import BOOLEAN, GENERATED, KEYS, ORIGIN, RESULTS, Job, is_current, job_of, origin
from .worker import measure

ENOUGH = 5.0  # seconds from which a measurement is not repeated: noise is small against it, repeating expensive
HARDER = ("topk", "optimal", "penalty", "contree")  # sections in which a larger k or depth only takes longer
NO_CAP = 1 << 40


def make_study(name: str, profile: Profile) -> Study:
    """Return the study of a profile."""

    def tasks(settings: Settings) -> list[Task]:
        jobs = [job for cell in plan(profile) for job in cell.all_jobs()]
        return [asdict(job) for job in jobs if settings.datasets is None or job.dataset in settings.datasets]

    return Study(
        name,
        KEYS,
        RESULTS,
        tasks,
        alone=alone,
        limit=lambda task: float(task["cap"]),
        optional=RESULTS,
        origin=ORIGIN,
        is_hopeless=is_hopeless,
        is_current=is_current,
        is_repeated=is_repeated,
        needs=lambda task: None if task["input"] == GENERATED else task["dataset"],
        folder="benchmarks",
        file=profile.name,
        keeps_runs=True,
    )


def alone(task: Task, settings: Settings, stopwatch: Stopwatch) -> Row:
    """Measure in a process of its own, not in the runner's, so that memory is that of this fit alone."""
    job = job_of(task)
    outcome = measure(job, source(job, settings.data_home), memory_cap() or NO_CAP)
    return asdict(outcome) | asdict(origin(job))


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="topktree-")


def source(job: Job, data_home: str | None) -> Source:
    """Return where the measuring process finds its data."""
    if job.input == GENERATED:
        rows, columns = map(int, job.dataset.split("x"))
        return Source(None, (rows, columns))
    return _stored(job.dataset, job.input == BOOLEAN, data_home)


@cache
def _stored(name: str, is_boolean: bool, data_home: str | None) -> Source:
    X, y = (boolean if is_boolean else raw)(name, data_home)
    return matrices.store(f"{name}.{is_boolean}", X, y, Path(_folder().name))


def is_repeated(task: Task, find: Callable[[Task], Row | None]) -> bool:
    """Return True for a later round of a run that took long enough, or did not finish."""
    if task["round"] == 0:
        return False
    first = find({**task, "round": 0})
    return first is not None and (first["status"] != FINISHED or (first["seconds"] or 0.0) >= ENOUGH)


def is_hopeless(task: Task, stopped: Task) -> bool:
    """Return True for a search that is no easier than one of the same contestant that was stopped at the cap."""
    job, other = job_of(task), job_of(stopped)
    is_alike = replace(other, k=job.k, depth=job.depth) == job
    return job.section in HARDER and is_alike and other.depth <= job.depth and _width(other) <= _width(job)


def _width(job: Job) -> float:
    return float(job.k) if job.k.isdigit() else float("inf")
