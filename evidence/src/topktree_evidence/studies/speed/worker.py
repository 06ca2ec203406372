"""One measurement, in a process of its own: memory capped, data read, warmed up, fitted, read.

In: a Job, the Source of its data, the cap of memory, and a pipe. Out, through the pipe: READY when the clock may start,
FITTED when it may stop, then an Outcome. The one idea: a solver that hangs or crashes takes only this process with it.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from topktree_evidence.studies.speed.contestants import CONTESTANTS, Contestant, count_errors
from topktree_evidence.studies.speed.matrices import Labels, Matrix, Source
from topktree_evidence.studies.speed.runs import FAILED, FINISHED, NO_MEMORY, TIMEOUT, Job, Outcome

READY, FITTED = "ready", "fitted"
ENOUGH_SECONDS = 0.3  # of fits; what is shorter is repeated, its first fit not counted
ENOUGH_FITS = 51
STATUS = Path("/proc/self/status")


def work(job: Job, source: Source, memory_cap: int, output: str, pipe: Connection) -> None:
    """The whole life of the process; what solvers print goes to the file `output`."""
    redirect(output)
    resource.setrlimit(resource.RLIMIT_AS, (memory_cap, memory_cap))
    who = CONTESTANTS[job.solver]
    try:
        outcome = measured(who, job, source, pipe)
    except MemoryError as error:
        outcome = Outcome(NO_MEMORY, str(error), rss_peak=memory("VmHWM"))
    except Exception as error:
        outcome = Outcome(FAILED, f"{type(error).__name__}: {error}")
    pipe.send(outcome)


def redirect(output: str) -> None:
    """stdout and stderr, of C++ and Rust as well, into a file."""
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)


def measured(who: Contestant, job: Job, source: Source, pipe: Connection) -> Outcome:
    """Read the data, fit, and say what came of it."""
    X, y = source.get()
    warm_up(who, job)
    before = memory("VmRSS")
    forget_peak()
    pipe.send(READY)
    wall, cpu = time.perf_counter(), time.process_time()
    fitted, seconds = fits(who, job, X, y)
    cpu_share = (time.process_time() - cpu) / (time.perf_counter() - wall)
    peak = memory("VmHWM")
    pipe.send(FITTED)
    outcome = read(who, job, fitted, X, y)
    return replace(
        outcome,
        seconds=median(seconds),
        fastest=min(seconds),
        slowest=max(seconds),
        cpu=cpu_share,
        fits=len(seconds),
        rss_before=before,
        rss_peak=peak,
        rows=X.shape[0],
        columns=X.shape[1],
    )


def warm_up(who: Contestant, job: Job) -> None:
    """A fit of 64 rows, so that imports made on first use are not timed."""
    X = np.random.default_rng(0).random((64, 20)) < 0.5
    who.make(replace(job, depth=2, cap=10.0)).fit(X, (X[:, 0] ^ X[:, 1]).astype(np.int32))


def fits(who: Contestant, job: Job, X: Matrix, y: Labels) -> tuple[Any, Sequence[float]]:
    """The last fitted estimator and the seconds of each fit."""
    seconds: list[float] = []
    while True:
        estimator = who.make(job)
        start = time.perf_counter()
        estimator.fit(X, y)
        seconds.append(time.perf_counter() - start)
        if seconds[0] >= ENOUGH_SECONDS:
            return estimator, seconds
        if sum(seconds[1:]) >= ENOUGH_SECONDS or len(seconds) > ENOUGH_FITS:
            return estimator, seconds[1:]


def read(who: Contestant, job: Job, fitted: Any, X: Matrix, y: Labels) -> Outcome:
    """Errors and status of a fitted estimator."""
    errors, claimed = count_errors(who, fitted, X, y), who.claimed_errors(fitted)
    if claimed not in (None, errors):
        return Outcome(FAILED, f"states {claimed} training errors, its predictions have {errors}")
    status = FINISHED if who.is_finished(fitted) else TIMEOUT
    return Outcome(status, errors=errors, leaves=who.leaves(fitted), widest=who.widest(fitted, X, y))


def memory(field: str, status: Path = STATUS) -> int | None:
    """Bytes that the kernel notes of a process: VmRSS, resident now, or VmHWM, resident at most; None: it does not."""
    if not status.is_file():
        return None
    lines = [line.split() for line in status.read_text().splitlines() if line.startswith(f"{field}:")]
    return int(lines[0][1]) * 1024 if lines else None


def forget_peak() -> None:
    """Let VmHWM start again from what is resident now."""
    if STATUS.is_file():
        Path("/proc/self/clear_refs").write_text("5")
