"""Runs and the CSV file that remembers them.

A Job says what one process measures, an Outcome what came of it, an Origin with which code and where. Together they are
a row of the file. The one idea: the file is the memory. A row is appended as soon as it is measured, the last row of a
job counts, and what the file has of the code at hand is not measured again.
"""

from __future__ import annotations

import csv
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

BOOLEAN, RAW, EXACT, GENERATED = "boolean", "raw", "exact", "generated"  # EXACT: raw, topktree with every midpoint
FINISHED, TIMEOUT, NO_MEMORY, FAILED = "finished", "timeout", "out of memory", "failed"
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
    """What came of a job; what is not known is None."""

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
    """What a row depends on besides its job."""

    version: str  # of the solver's package
    engine: str  # topktree's version and what its sources hash to
    machine: str


Row = tuple[Outcome, Origin]
Rows = dict[Job, Row]

HEADER = [field.name for part in (Job, Outcome, Origin) for field in fields(part)]


def recall(path: Path) -> Rows:
    """The last row of every job; a last line cut short by a kill counts as none."""
    if not path.is_file():
        return {}
    text = path.read_text()
    rows: Rows = {}
    for record in csv.DictReader(text[: text.rfind("\n") + 1].splitlines()):
        rows[parsed(Job, record)] = parsed(Outcome, record), parsed(Origin, record)
    return rows


def remember(path: Path, rows: Rows) -> None:
    """Write the file anew with these rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(fields_of(job, row) for job, row in rows.items())


def append(path: Path, job: Job, row: Row) -> None:
    """Add one row."""
    with path.open("a", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerow(fields_of(job, row))


def is_current(job: Job, row: Row, now: Origin) -> bool:
    """Whether a row need not be measured again with the code of `now`."""
    outcome, then = row
    if then == now:
        return True
    took_long = outcome.status != FINISHED or (outcome.seconds or 0.0) >= KEPT
    return job.solver != OURS and took_long and (then.version, then.machine) == (now.version, now.machine)


def fields_of(job: Job, row: Row) -> list[str]:
    values: Iterable[Any] = (*astuple(job), *astuple(row[0]), *astuple(row[1]))
    return ["" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value) for value in values]


def parsed(part: Any, record: dict[str, str]) -> Any:
    """The fields of a dataclass out of a row's text."""
    hints = typing.get_type_hints(part)
    return part(**{field.name: value_of(hints[field.name], record.get(field.name) or "") for field in fields(part)})


def value_of(hint: Any, text: str) -> Any:
    if isinstance(hint, types.UnionType):
        return None if text == "" else value_of(typing.get_args(hint)[0], text)
    read: Callable[[str], Any] = hint
    return read(text)
