"""The runs of the speed study: what one measures, what came of it, and with which code and machine.

A Job, an Outcome and an Origin together are a row of the store. The one idea: a row of the code at hand is not measured
again, and one of a slow peer stays valid when topktree alone has changed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import pandas as pd

from ... import machine
from ...study import FAILED, FINISHED, NO_MEMORY, SKIPPED, TIMEOUT
from ...study import Row as StoreRow
from ...text import is_missing

__all__ = ["FAILED", "FINISHED", "NO_MEMORY", "TIMEOUT"]

BOOLEAN, RAW, EXACT, GENERATED = "boolean", "raw", "exact", "generated"  # EXACT: raw, topktree with every midpoint
OURS = "topktree"

KEPT = 5.0  # seconds: a peer's run that took longer stays valid when topktree alone has changed


@dataclass(frozen=True)
class Job:
    """One measurement: a process that fits one contestant on one dataset, several times if that is quick."""

    section: str
    dataset: str
    input: str
    solver: str
    k: str  # a number, "all", or nothing where the solver has no k
    depth: int
    threads: int
    penalty: float  # of a leaf, as a share of the rows
    cap: float  # seconds
    round: int


@dataclass(frozen=True)
class Outcome:
    """The result of a job; what is not known is None."""

    status: str
    message: str = ""
    seconds: float | None = None  # median of the fits
    fastest: float | None = None
    slowest: float | None = None
    cpu: float | None = None  # processor seconds of all fits by their seconds: below 1, a thread had to wait
    fits: int | None = None
    errors: int | None = None  # training rows that the tree gets wrong, counted from its predictions
    leaves: int | None = None
    widest: int | None = None  # of a peer's Top-k tree: the last rank among its columns, each by topktree's order
    rss_before: int | None = None  # bytes resident before the fits, the data in place
    rss_peak: int | None = None  # most bytes resident during the fits
    rows: int | None = None
    columns: int | None = None


@dataclass(frozen=True)
class Origin:
    """The conditions that a row depends on, besides its job."""

    version: str  # of the solver's package
    engine: str  # topktree's version and what its code hashes to
    machine: str


Row = tuple[Outcome, Origin]
Rows = dict[Job, Row]

KEYS, ORIGIN = (tuple(field.name for field in fields(part)) for part in (Job, Origin))
RESULTS = tuple(field.name for field in fields(Outcome) if field.name not in ("status", "message"))
INTEGERS = ("fits", "errors", "leaves", "widest", "rss_before", "rss_peak", "rows", "columns")


def job_of(task: Any) -> Job:
    """Return the job of a task; in a file, k is a number where it reads as one."""
    values = {name: task[name] for name in KEYS}
    k = values["k"]
    return Job(**values | {"k": "" if is_missing(k) else str(int(k)) if isinstance(k, float) else str(k)})


def origin(job: Job) -> Origin:
    """Return the code and the machine at hand."""
    return Origin(machine.version(job.solver), machine.engine(), machine.description())


def is_current(row: StoreRow) -> bool:
    """Return True for a row that need not be measured again with the code at hand."""
    job = job_of(row)
    now, then = origin(job), Origin(*(row[name] for name in ORIGIN))
    if then == now:
        return True
    took_long = row["status"] != FINISHED or (row["seconds"] or 0.0) >= KEPT
    return job.solver != OURS and took_long and (then.version, then.machine) == (now.version, now.machine)


def rows_of(table: pd.DataFrame) -> Rows:
    """Return the rows of a table by their jobs; a search that was not tried counts as one that was stopped."""
    found: Rows = {}
    for record in table.to_dict("records"):
        values: dict[str, Any] = {name: None if is_missing(record[name]) else record[name] for name in RESULTS}
        values |= {name: int(values[name]) for name in INTEGERS if values[name] is not None}
        status = TIMEOUT if record["status"] == SKIPPED else record["status"]
        message = "" if is_missing(record["message"]) else str(record["message"])
        outcome = Outcome(status, message, **values)
        found[job_of(record)] = outcome, Origin(*(str(record[name]) for name in ORIGIN))
    return found
