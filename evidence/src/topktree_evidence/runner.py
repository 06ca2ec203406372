"""Runs of an experiment that are not in its file yet are made, easy ones first.

In: an Experiment, Settings, its Store. Out: rows in the store, one as soon as each run ends.
The one idea: runs go in waves of growing effort, so that one that was stopped at the limit spares the harder ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Protocol

from joblib import delayed

from topktree._runtime.parallel import results_of
from topktree_evidence.stopwatch import Stopwatch
from topktree_evidence.store import Store
from topktree_evidence.study import FAILED, FINISHED, SKIPPED, TIMEOUT, Experiment, Row, Settings, Task

GRACE = 1.0  # seconds beyond the limit, before a run that is alone is killed


class Progress(Protocol):
    """What shows the user how far it is."""

    def start(self, name: str, total: int, done: int) -> None:
        """Runs of an experiment, and how many of them are in its file already."""

    def advance(self, row: Row) -> None:
        """One more is done."""

    def stop(self) -> None:
        """That is all."""


@dataclass(frozen=True)
class Tally:
    """How many runs of an experiment there are, and what became of them."""

    total: int
    made: int  # now; the others were in the file
    finished: int
    stopped: int  # at the limit, or not even tried because of that
    failed: int


def make_runs(
    experiment: Experiment,
    tasks: Sequence[Task],
    settings: Settings,
    store: Store,
    jobs: int | None,
    progress: Progress,
) -> Tally:
    """Make the runs that are missing, and again those that failed or were stopped at a shorter limit than today's."""
    limit = experiment.time_limit(settings)
    settings = replace(settings, time_limit=limit)
    pending = [task for task in tasks if not is_settled(store.find(task), limit)]
    progress.start(experiment.name, len(tasks), len(tasks) - len(pending))
    settled = [row for task in tasks if is_settled(row := store.find(task), limit) and row]
    stopped = [row for row in settled if row["status"] == TIMEOUT]
    with Stopwatch(GRACE, memory_cap()) as stopwatch:
        try:
            for _, group in groupby(sorted(pending, key=experiment.effort), key=experiment.effort):
                wave = list(group)
                if experiment.alone:
                    rows = _alone(experiment, wave, settings, stopped, stopwatch)
                else:
                    rows = _in_parallel(experiment, wave, settings, stopped, jobs)
                for row in rows:
                    store.add(row)
                    progress.advance(row)
                    if row["status"] == TIMEOUT:
                        stopped.append(row)
        finally:
            progress.stop()
            store.close()
    return tally(store, tasks, len(pending))


def memory_cap() -> int | None:
    """Three quarters of the machine's memory, so that a solver without measure does not take the machine with it."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4


def tally(store: Store, tasks: Sequence[Task], made: int) -> Tally:
    """Count what the store has of the tasks."""
    statuses = [row["status"] for task in tasks if (row := store.find(task))]
    return Tally(
        total=len(tasks),
        made=made,
        finished=statuses.count(FINISHED),
        stopped=statuses.count(TIMEOUT) + statuses.count(SKIPPED),
        failed=statuses.count(FAILED),
    )


def is_settled(row: Row | None, limit: float) -> bool:
    """Whether a run need not be made again."""
    if row is None or row["status"] == FAILED:
        return False
    if row["status"] == FINISHED:
        return True
    return isinstance(row["limit"], int | float) and row["limit"] >= limit


def _in_parallel(
    experiment: Experiment, tasks: Sequence[Task], settings: Settings, stopped: Sequence[Row], jobs: int | None
) -> Iterator[Row]:
    """The rows of tasks of equal effort, as they come."""
    assert experiment.run is not None
    worth_it: list[Task] = []
    for task in tasks:
        if any(experiment.is_hopeless(task, row) for row in stopped):
            yield _complete(experiment, task, {"status": SKIPPED}, settings)
        else:
            worth_it.append(task)
    calls = (delayed(_caught)(experiment.run, task, settings) for task in worth_it)
    for task, result in results_of(calls, jobs):
        yield _complete(experiment, task, result, settings)


def _alone(
    experiment: Experiment, tasks: Sequence[Task], settings: Settings, stopped: Sequence[Row], stopwatch: Stopwatch
) -> Iterator[Row]:
    """The rows of tasks of equal effort, one after the other; `stopped` grows meanwhile."""
    assert experiment.alone is not None
    for task in tasks:
        if any(experiment.is_hopeless(task, row) for row in stopped):
            yield _complete(experiment, task, {"status": SKIPPED}, settings)
        else:
            yield _complete(experiment, task, experiment.alone(task, settings, stopwatch), settings)


def _caught(run: Callable[[Task, Settings], Row], task: Task, settings: Settings) -> tuple[Task, Row]:
    """A run whose exception is its result."""
    try:
        return task, run(task, settings)
    except Exception as error:
        return task, {"status": FAILED, "message": f"{type(error).__name__}: {error}"}


def _complete(experiment: Experiment, task: Task, result: Row, settings: Settings) -> Row:
    """All columns of a row; what a run does not say is empty."""
    known = {**task, "status": FINISHED, "limit": settings.time_limit, **result}
    return {name: known.get(name) for name in experiment.run_columns}
