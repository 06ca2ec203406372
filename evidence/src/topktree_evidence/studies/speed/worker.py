"""One measurement in a process of its own: data read, warmed up, fitted, evaluated.

In: a Job, the Source of its data and a cap of memory. Out: an Outcome.
The one idea: the three steps are three calls of one stopwatch, so that only the fit is under the cap, and a solver that
hangs, crashes or runs out of memory is an outcome like any other.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from topktree import TopKTreeClassifier

from ... import peers
from ...stopwatch import Stopwatch, resident_bytes
from .matrices import Labels, Matrix, Source
from .ranks import last_rank
from .runs import EXACT, FAILED, FINISHED, NO_MEMORY, TIMEOUT, Job, Outcome

ASIDE = 120.0  # seconds for imports and data before the fit, and for predictions after it
GRACE = 5.0  # seconds beyond the cap, for a solver to stop itself
ENOUGH_SECONDS = 0.3  # of fits; what is shorter is repeated, its first fit not counted
ENOUGH_FITS = 51
DEFAULT_THRESHOLDS = TopKTreeClassifier().max_thresholds  # where the input is not exact

_kept: dict[str, Any] = {}  # in the process that measures: the data, then the fitted solver


def measure(job: Job, source: Source, memory_cap: int) -> Outcome:
    """Measure a job in a process of its own."""
    found: dict[str, Any] = {}
    with Stopwatch(GRACE, memory_cap) as stopwatch:
        for step, limit in ((prepare, ASIDE), (fit, job.cap), (evaluate, ASIDE)):
            done = stopwatch.run(step, job, source, limit=limit)
            if done.status != FINISHED:
                is_capped = done.status == TIMEOUT and step is fit
                lacks_memory = done.message.startswith(NO_MEMORY)
                status = TIMEOUT if is_capped else NO_MEMORY if lacks_memory else FAILED
                return Outcome(status, done.message, rss_peak=done.peak)
            found |= done.value
    outcome = Outcome(**found)
    is_late = outcome.status == FINISHED and (outcome.seconds or 0.0) > job.cap
    return replace(outcome, status=TIMEOUT) if is_late else outcome


def problem_of(job: Job) -> peers.Problem:
    """Return what the solver is asked for."""
    k: int | str = int(job.k) if job.k.isdigit() else "all"
    thresholds = None if job.input == EXACT else DEFAULT_THRESHOLDS
    return peers.Problem(job.depth, job.penalty, job.cap, k, job.threads, thresholds)


def prepare(job: Job, source: Source) -> dict[str, Any]:
    """Read the data, and fit 64 rows, so that imports made on first use are not timed."""
    _kept["data"] = source.get()
    X = np.random.default_rng(0).random((64, 20)) < 0.5
    small = problem_of(replace(job, depth=2, cap=10.0))
    peers.PEERS[job.solver].make(small).fit(X, (X[:, 0] ^ X[:, 1]).astype(np.int32))
    return {}


def fit(job: Job, source: Source) -> dict[str, Any]:
    """Fit, several times if that is quick; return seconds and memory."""
    X, y = _kept["data"]
    before = resident_bytes("VmRSS")
    if before is not None:
        Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts again from what is resident now
    wall, cpu = time.perf_counter(), time.process_time()
    _kept["solver"], seconds = fits(job, X, y)
    return {
        "cpu": (time.process_time() - cpu) / (time.perf_counter() - wall),
        "seconds": median(seconds),
        "fastest": min(seconds),
        "slowest": max(seconds),
        "fits": len(seconds),
        "rss_before": before,
        "rss_peak": resident_bytes("VmHWM"),
        "rows": X.shape[0],
        "columns": X.shape[1],
    }


def fits(job: Job, X: Matrix, y: Labels) -> tuple[Any, Sequence[float]]:
    """Return the last fitted solver and the seconds of each fit."""
    seconds: list[float] = []
    while True:
        solver = peers.PEERS[job.solver].make(problem_of(job))
        start = time.perf_counter()
        solver.fit(X, y)
        seconds.append(time.perf_counter() - start)
        if seconds[0] >= ENOUGH_SECONDS:
            return solver, seconds
        if sum(seconds[1:]) >= ENOUGH_SECONDS or len(seconds) > ENOUGH_FITS:
            return solver, seconds[1:]


def evaluate(job: Job, source: Source) -> dict[str, Any]:
    """Return errors, leaves and status of the fitted solver."""
    (X, y), solver = _kept["data"], _kept["solver"]
    found = peers.read(job.solver, solver, X, y, 0.0)
    tree = solver.tree_ if job.solver == peers.TOP_K else None
    return {
        "status": FINISHED if found.finished else TIMEOUT,
        **{name: value for name, value in asdict(found).items() if name in ("errors", "leaves")},
        "widest": None if tree is None else last_rank(tree, X, y),
    }
