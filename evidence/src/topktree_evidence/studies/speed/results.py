"""Rows into results: the rounds of a job as one, ratios of results, and their means.

In: the rows of a CSV file. Out: a Result for every job, Ratios between two of them.
The one idea: a contestant stopped at the cap still says something, a bound, and bounds stay marked as such.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean, median

from topktree_evidence.studies.speed.runs import FAILED, FINISHED, NO_MEMORY, OURS, TIMEOUT, Job, Outcome, Rows

EXACTLY, AT_LEAST, AT_MOST, ABOUT = "", ">", "<", "~"  # ABOUT: both kinds of bounds went into it


@dataclass(frozen=True)
class Result:
    """The result of one contestant in one cell, over all rounds."""

    job: Job
    status: str
    message: str
    seconds: float | None  # median of the rounds; the cap if stopped there; None: failed or out of memory
    low: float | None  # of the rounds
    high: float | None
    cores: float | None  # that were busy with it, on the average
    errors: int | None  # of a contestant stopped at the cap: those of the best tree it had
    leaves: int | None
    widest: int | None  # of a peer's Top-k tree: the last rank among its columns, by topktree's order
    peak: int | None  # bytes resident at most
    growth: int | None  # bytes above what was resident before the fit, the data in place
    rows: int | None
    columns: int | None

    @property
    def finished(self) -> bool:
        """Came to the end of its search."""
        return self.status == FINISHED

    @property
    def capped(self) -> bool:
        """Was stopped at the cap."""
        return self.status == TIMEOUT

    @property
    def cost(self) -> float | None:
        """Errors and penalties of leaves."""
        if self.errors is None or self.leaves is None or self.rows is None:
            return None
        return self.errors + self.job.penalty * self.rows * self.leaves


@dataclass(frozen=True)
class Duel:
    """topktree and a peer, or two settings of topktree, in one cell."""

    ours: Result
    peer: Result

    @property
    def job(self) -> Job:
        """topktree's."""
        return self.ours.job

    @property
    def where(self) -> str:
        """The cell in words."""
        k = f", k = {self.job.k}" if self.job.k else ""
        return f"{self.job.dataset}{k}, depth {self.job.depth}"

    @property
    def size(self) -> tuple[int | None, int | None]:
        """Rows and columns (features of raw numbers), which a killed process does not tell."""
        known = self.ours if self.ours.rows else self.peer
        return known.rows, known.columns

    @property
    def ratio(self) -> Ratio | None:
        """How many times faster topktree was; None: a run failed, or both were stopped at the cap."""
        if self.ours.seconds is None or self.peer.seconds is None or (self.ours.capped and self.peer.capped):
            return None
        bound = AT_MOST if self.ours.capped else AT_LEAST if self.peer.capped else EXACTLY
        return Ratio(self.peer.seconds / self.ours.seconds, bound)


@dataclass(frozen=True)
class Ratio:
    """A quotient of seconds, or a bound of it."""

    value: float
    bound: str = EXACTLY

    def __str__(self) -> str:
        value = self.value
        return f"{self.bound}{value:,.0f}" if value >= 100 else f"{self.bound}{value:.{1 if value >= 10 else 2}f}"


def mean(ratios: Sequence[Ratio]) -> Ratio:
    """Return the geometric mean; a bound as soon as one of the ratios is."""
    bounds = {ratio.bound for ratio in ratios} - {EXACTLY}
    bound = EXACTLY if not bounds else bounds.pop() if len(bounds) == 1 else ABOUT
    return Ratio(geometric_mean(ratio.value for ratio in ratios), bound)


def results(rows: Rows) -> dict[Job, Result]:
    """By the job of round 0."""
    rounds: dict[Job, list[Outcome]] = defaultdict(list)
    for job, (outcome, _) in rows.items():
        rounds[replace(job, round=0)].append(outcome)
    return {job: result(job, outcomes) for job, outcomes in rounds.items()}


def duels(found: dict[Job, Result], section: str, peer: str) -> list[Duel]:
    """Return the cells of a section in which both have a result, in the order of the file."""
    pairs = []
    for job, ours in found.items():
        if job.section == section and job.solver == OURS:
            other = replace(job, solver=peer, k=job.k if peer == "pytrees-rs" else "")
            pairs += [Duel(ours, found[other])] if other in found else []
    return pairs


def result(job: Job, outcomes: Sequence[Outcome]) -> Result:
    """One Result out of the rounds; what went wrong in any of them went wrong."""
    status = next((s for s in (FAILED, NO_MEMORY, TIMEOUT) if any(o.status == s for o in outcomes)), FINISHED)
    message = next((o.message for o in outcomes if o.status == status and o.message), "")
    errors = {o.errors for o in outcomes if o.errors is not None}
    if status == FINISHED and len(errors) > 1:
        status, message = FAILED, f"training errors differ from run to run: {sorted(errors)}"
    seconds = [o.seconds for o in outcomes if o.seconds is not None] if status == FINISHED else []
    capped = job.cap if status == TIMEOUT else None
    return Result(
        job,
        status,
        message,
        median(seconds) if seconds else capped,
        min(seconds, default=capped),
        max(seconds, default=capped),
        median(o.cpu for o in outcomes if o.cpu is not None) if seconds else None,
        min(errors, default=None),
        next((o.leaves for o in outcomes if o.leaves is not None), None),
        next((o.widest for o in outcomes if o.widest is not None), None),
        max((o.rss_peak for o in outcomes if o.rss_peak is not None), default=None),
        max((o.rss_peak - o.rss_before for o in outcomes if o.rss_peak and o.rss_before), default=None),
        next((o.rows for o in outcomes if o.rows is not None), None),
        next((o.columns for o in outcomes if o.columns is not None), None),
    )
