"""What an experiment is: its runs, how one of them is made, and what is written about them.

In: nothing; these are the records that every file of this folder fills in and that `runner.py` reads.
The one idea: a run is a row of a CSV file, known by its key columns, so that what is done need not be done again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from topktree_evidence.stopwatch import Stopwatch

Value = Any  # str, int, float or None: a field of a CSV file
Task = Mapping[str, Value]  # the key columns of one run
Row = dict[str, Value]  # key and result columns

# What became of a run: the column `status`.
FINISHED = "finished"
TIMEOUT = "timeout"  # the limit came first
SKIPPED = "skipped"  # an easier run did not finish within the limit
FAILED = "failed"

BOOKKEEPING = ("status", "limit", "message")  # columns that every file of runs has

LIMIT, TIMING_LIMIT = 60.0, 600.0  # seconds for one run, unless the user says otherwise


@dataclass(frozen=True)
class Settings:
    """What the user asks for; what is None is up to each experiment."""

    data_home: str | None = None
    datasets: tuple[str, ...] | None = None
    splits: int = 10  # of each dataset
    sizes: int = 30  # in each sweep of Figure 3
    max_depth: int | None = None
    time_limit: float | None = None  # seconds for one run


def never(task: Task, stopped: Task) -> bool:
    """No run is hopeless because of another."""
    return False


def no_data(task: Task) -> str | None:
    """A run that needs no dataset."""
    return None


def its_dataset(task: Task) -> str | None:
    """The dataset that the run names."""
    return str(task["dataset"])


@dataclass(frozen=True)
class Experiment:
    """A figure or a table: runs, pictures, summary.

    `run(task, settings)` gives the result columns of a run. An experiment that measures time has `alone` instead: one
    run after the other, each in a process that is stopped at the limit.
    """

    name: str
    keys: tuple[str, ...]
    results: tuple[str, ...]
    tasks: Callable[[Settings], Sequence[Task]]
    run: Callable[[Task, Settings], Row] | None = None
    alone: Callable[[Task, Settings, Stopwatch], Row] | None = None
    limit: float = LIMIT
    effort: Callable[[Task], tuple[int, ...]] = field(default=lambda task: ())  # runs of less effort come first
    is_hopeless: Callable[[Task, Task], bool] = never  # would a run be stopped, given that this other one was?
    needs: Callable[[Task], str | None] = no_data  # the dataset of a run, by its name in the paper's folder
    summarise: Callable[[Sequence[Row]], list[Row]] | None = None  # None: the runs themselves are few enough
    summary: tuple[str, ...] = ()  # its columns; none: those of the runs
    pictures: Callable[[Sequence[Row]], dict[str, Figure]] | None = None  # of the summary, by file name
    drawn: tuple[str, ...] = ()  # all file names that there can be
    folder: str = "paper"  # of tables and pictures
    is_long: bool = False  # its runs take hours: they are kept beside the table, packed, and a new folder starts there

    @property
    def run_columns(self) -> tuple[str, ...]:
        """Of the file of runs."""
        return *self.keys, *self.results, *(name for name in BOOKKEEPING if name not in self.results)

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Of the table that the page is written from."""
        return self.summary or self.run_columns

    def file_of_runs(self, out: Path) -> Path:
        """Where rows are added, run by run."""
        return out / "runs" / f"{self.name}.csv"

    def packed_runs(self, out: Path) -> Path:
        """Where they are kept, if they take long."""
        return out / self.folder / f"{self.name}-runs.csv.xz"

    def time_limit(self, settings: Settings) -> float:
        """Seconds for one run."""
        return self.limit if settings.time_limit is None else settings.time_limit
