"""Measurements: a process for each job, forked from a server that holds nothing but scikit-learn, ended at its cap.

In: a Job, the Source of its data and a cap of memory. Out: an Outcome.
The one idea: a contestant at a cap, killed or crashed is an outcome like any other.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from topktree_evidence.studies.speed.matrices import Source
from topktree_evidence.studies.speed.runs import FAILED, FINISHED, NO_MEMORY, TIMEOUT, Job, Outcome
from topktree_evidence.studies.speed.worker import memory, work

ASIDE = 120.0  # seconds a process may need before the clock starts, for imports and data, and after it, to predict
GRACE = 5.0  # seconds beyond the cap, to come to an end
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
OUT_OF_MEMORY = ("bad_alloc", "memory allocation of", "MemoryError", "Cannot allocate memory")


def prepare() -> None:
    """Before the first measurement: what every process starts with."""
    os.environ.update(ONE_THREAD)
    # What all contestants import, once and not for every process: it takes two seconds.
    multiprocessing.set_forkserver_preload(["sklearn.tree"])


def measure(job: Job, source: Source, memory_cap: int) -> Outcome:
    """Run the job in a process of its own."""
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe(duplex=False)
    with tempfile.NamedTemporaryFile("r", errors="replace") as output:
        process = context.Process(target=work, args=(job, source, memory_cap, output.name, theirs))
        process.start()
        theirs.close()
        outcome = wait(process, ours, job)
        process.join()
        if outcome is None:
            outcome = crash(process.exitcode, output.read())
    if outcome.status == FINISHED and (outcome.seconds or 0.0) > job.cap:
        return replace(outcome, status=TIMEOUT)
    return outcome


def wait(process: ForkServerProcess, pipe: Connection, job: Job) -> Outcome | None:
    """The outcome that the process sends, or that of killing it; None if it died by itself."""
    at_the_cap = Outcome(TIMEOUT, "killed at the cap")
    not_ready, not_read = (Outcome(FAILED, f"not {what} after {ASIDE:g} s") for what in ("ready", "read"))
    try:
        for seconds, too_late in ((ASIDE, not_ready), (job.cap + GRACE, at_the_cap), (ASIDE, not_read)):
            if not pipe.poll(seconds):
                peak = memory("VmHWM", Path(f"/proc/{process.pid}/status"))
                process.kill()
                return replace(too_late, rss_peak=peak)
            message = pipe.recv()  # READY, FITTED, or an Outcome at any time
            if isinstance(message, Outcome):
                return message
    except EOFError:
        pass
    return None


def crash(exit_code: int | None, output: str) -> Outcome:
    """What the last words of a process tell."""
    last = (output.strip().splitlines() or ["no message"])[-1][:200]
    if any(phrase in output for phrase in OUT_OF_MEMORY):
        return Outcome(NO_MEMORY, last)
    return Outcome(FAILED, f"exit code {exit_code}: {last}")
