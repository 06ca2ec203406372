"""The runner: runs of a study that are not in its file yet are made, easy ones first.

In: a Study, Settings, its Store. Out: rows in the store, one as soon as each run ends.
The one idea: runs go in waves of growing effort, so that after a run stopped at the limit the harder ones are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Protocol

from joblib import Parallel, delayed

from .stopwatch import Stopwatch
from .store import Store
from .study import FAILED, FINISHED, SKIPPED, TIMEOUT, Row, Settings, Study, Task

GRACE = 1.0  # seconds beyond the limit, before a run in a process of its own is killed


class Progress(Protocol):
    """The display of how far the runs are."""

    def start(self, name: str, total: int, done: int) -> None:
        """Show a new study, `done` of whose runs are in its file already."""

    def advance(self, row: Row) -> None:
        """Count one more run."""

    def stop(self) -> None:
        """Remove the display."""


@dataclass(frozen=True)
class Tally:
    """The number of runs of a study by how they ended."""

    total: int
    made: int  # now; the others were in the file
    finished: int
    stopped: int  # at the limit, or not even tried because of that
    failed: int


def make_runs(
    study: Study, tasks: Sequence[Task], settings: Settings, store: Store, jobs: int | None, progress: Progress
) -> Tally:
    """Make the runs that are missing, and again those that failed or were stopped at a shorter limit."""
    settled = [is_settled(study, store, task, settings) for task in tasks]
    pending = [task for task, done in zip(tasks, settled, strict=True) if not done]
    known = [row for task, done in zip(tasks, settled, strict=True) if done and (row := store.find(task))]
    stopped = [row for row in known if row["status"] == TIMEOUT]
    progress.start(study.name, len(tasks), len(tasks) - len(pending))
    made = 0
    with Stopwatch(GRACE, memory_cap()) as stopwatch:
        try:
            for _, group in groupby(sorted(pending, key=study.effort), key=study.effort):
                for row in _wave(study, list(group), settings, store, stopped, jobs, stopwatch):
                    store.add(row)
                    progress.advance(row)
                    made += 1
                    if row["status"] == TIMEOUT:
                        stopped.append(row)
        finally:
            progress.stop()
            store.close()
    return tally(store, tasks, made)


def memory_cap() -> int | None:
    """Return three quarters of the machine's memory, so that no solver takes the whole machine down."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4


def tally(store: Store, tasks: Sequence[Task], made: int) -> Tally:
    """Count the tasks by the status that the store has of them."""
    statuses = [row["status"] for task in tasks if (row := store.find(task))]
    stopped = statuses.count(TIMEOUT) + statuses.count(SKIPPED)
    finished = statuses.count(FINISHED)
    return Tally(len(tasks), made, finished, stopped, len(statuses) - stopped - finished)


def is_settled(study: Study, store: Store, task: Task, settings: Settings) -> bool:
    """Return True for a run that need not be made again."""
    row = store.find(task)
    if row is None or not study.is_current(row):
        return False
    if row["status"] in (TIMEOUT, SKIPPED):
        return isinstance(row["limit"], int | float) and row["limit"] >= study.time_limit(task, settings)
    return bool(row["status"] != FAILED)


def _wave(
    study: Study,
    tasks: Sequence[Task],
    settings: Settings,
    store: Store,
    stopped: Sequence[Row],
    jobs: int | None,
    stopwatch: Stopwatch,
) -> Iterator[Row]:
    """Yield the rows of tasks of equal effort as they end; `stopped` grows meanwhile."""
    calls = []
    for task in tasks:
        own = replace(settings, time_limit=study.time_limit(task, settings))
        if study.is_repeated(task, store.find):
            continue
        if any(study.is_hopeless(task, row) for row in stopped):
            yield _complete(study, task, {"status": SKIPPED}, own)
        elif study.alone is not None:
            yield _complete(study, task, study.alone(task, own, stopwatch), own)
        else:
            calls.append(delayed(_caught)(study.run, task, own))
    for task, own, result in Parallel(n_jobs=jobs, return_as="generator_unordered")(calls):
        yield _complete(study, task, result, own)


def _caught(run: Callable[[Task, Settings], Row], task: Task, settings: Settings) -> tuple[Task, Settings, Row]:
    """Make a run; an exception is a result like any other."""
    try:
        return task, settings, run(task, settings)
    except Exception as error:
        return task, settings, {"status": FAILED, "message": f"{type(error).__name__}: {error}"}


def _complete(study: Study, task: Task, result: Row, settings: Settings) -> Row:
    """Return all columns of a row; results that a run does not have are empty."""
    known = {**task, "status": FINISHED, "limit": settings.time_limit, **result}
    return {name: known.get(name) for name in study.run_columns}
