"""Measurements: contestants on one matrix, each in processes of its own or taking turns in one.

In: a Stored matrix, contestants, rounds and a cap. Out: a Result for each contestant.
The one idea: a contestant at the cap, killed or crashed is a result like any other.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from contestants import Contestant, Fit
from matrices import Stored
from worker import Job

WORKER = Path(__file__).with_name("worker.py")
STARTING = 60.0  # seconds a worker may need besides fitting: imports, reading the matrix, warming up, predicting
ENOUGH = 5.0  # seconds from which a measurement is not repeated: noise is small against it, repeating expensive
FITS = 5  # fits in one process, if they are fast
FITS_SECONDS = 0.5
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")

Run = list[Fit] | str | None  # the fits of a worker; or what went wrong; or None: it had to be killed at the cap


@dataclass(frozen=True)
class Result:
    """What became of one contestant on one matrix."""

    seconds: float | None = None  # median of the fits; the cap if capped; None if there is no fit to speak of
    errors: int | None = None
    capped: bool = False  # did not finish within the cap: its time is a lower bound, its errors an upper one
    problem: str | None = None  # what went wrong, if something did


def apart(data: Stored, contestants: list[Contestant], rounds: int, cap: float) -> list[Result]:
    """Each measurement in a process of its own; contestants take turns, slow ones are measured once."""
    runs: list[list[Run]] = [[] for _ in contestants]
    for turn in range(rounds):
        order = list(range(len(runs)))
        for i in order if turn % 2 == 0 else reversed(order):
            if all(isinstance(run, list) and run[0].seconds < ENOUGH for run in runs[i]):
                runs[i].append(fits_of(data, (contestants[i],), FITS, FITS_SECONDS, cap)[0])
    return [result(of_one, cap) for of_one in runs]


def together(data: Stored, contestants: list[Contestant], rounds: int, cap: float) -> list[Result]:
    """All contestants in one process, taking turns: for fits of milliseconds."""
    fits = fits_of(data, tuple(contestants), rounds, cap, cap)
    return [result([of_one], cap) for of_one in fits]


def fits_of(data: Stored, contestants: tuple[Contestant, ...], rounds: int, seconds: float, cap: float) -> list[Run]:
    """The run of each contestant in one worker."""
    job = Job((data.X, data.y), contestants, rounds, seconds, cap)
    try:
        done = subprocess.run(
            [sys.executable, str(WORKER)],
            input=json.dumps(asdict(job)),
            capture_output=True,
            text=True,
            timeout=cap + seconds + STARTING,
            env=os.environ | ONE_THREAD,
        )
    except subprocess.TimeoutExpired:
        return [None] * len(contestants)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return [f"exit code {done.returncode}: {last[0]}"] * len(contestants)
    return [[Fit(**fit) for fit in of_one] for of_one in json.loads(done.stdout.splitlines()[-1])]


def result(runs: list[Run], cap: float) -> Result:
    """One Result out of a contestant's runs."""
    for run in runs:
        if isinstance(run, str):
            return Result(problem=run)
    fits = [fit for run in runs if isinstance(run, list) for fit in run]
    errors = {fit.errors for fit in fits if fit.errors is not None}
    if None in runs or any(not fit.finished or fit.seconds > cap for fit in fits):
        return Result(cap, min(errors, default=None), capped=True)
    return Result(statistics.median(fit.seconds for fit in fits), min(errors), problem=contradiction(fits))


def contradiction(fits: list[Fit]) -> str | None:
    """What the fits say that cannot be, if anything."""
    if len({fit.errors for fit in fits}) > 1:
        return f"training errors differ from fit to fit: {[fit.errors for fit in fits]}"
    if fits[0].claimed not in (None, fits[0].errors):
        return f"states {fits[0].claimed} training errors, its predictions have {fits[0].errors}"
    if any(fit.threads not in (None, 1) for fit in fits):
        return "used more than one thread"
    return None
