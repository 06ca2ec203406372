"""One measurement in a process of its own: a job as JSON on stdin, its fits as JSON in the last line of stdout.

A job names the files of a matrix and its classes, the contestants (who take turns), the rounds and the cap in seconds.
The one idea: a solver that hangs or crashes takes only this process with it.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass

from contestants import Contestant, Fit, timed_fit, warm_up
from matrices import stored


@dataclass(frozen=True)
class Job:
    """What to measure; written by measure.py."""

    matrix: tuple[str, str]  # the files of X and y
    contestants: tuple[Contestant, ...]
    rounds: int  # at most so many
    seconds: float  # no further round once the rounds so far took this long
    cap: float


def run(job: Job) -> list[list[Fit]]:
    """The fits of each contestant, in the order of job.contestants."""
    X, y = stored(job.matrix)
    for who in job.contestants:
        warm_up(who, job.cap)
    fits: list[list[Fit]] = [[] for _ in job.contestants]
    start = time.perf_counter()
    for turn in range(job.rounds):
        # Every other round backwards, so that nobody always comes first.
        order = range(len(fits)) if turn % 2 == 0 else reversed(range(len(fits)))
        for i in order:
            fits[i].append(timed_fit(job.contestants[i], X, y, job.cap))
        if time.perf_counter() - start > job.seconds:
            break
    return fits


def main() -> None:
    fields = json.load(sys.stdin)
    fields["contestants"] = tuple(Contestant(**who) for who in fields["contestants"])
    fits = run(Job(**fields))
    print(json.dumps([[asdict(fit) for fit in of_one] for of_one in fits]))


if __name__ == "__main__":
    main()
