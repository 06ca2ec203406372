"""A study: which runs it has, how one of them is made, and what is written about them.

In: nothing; these are the records that every study fills in and that `runner.py` and `laboratory.py` read.
The one idea: a run is a row of a CSV file, identified by its key columns, so that finished work is never repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from .stopwatch import Stopwatch

Value = Any  # str, int, float or None: a field of a CSV file
Task = Mapping[str, Value]  # the key columns of one run
Row = dict[str, Value]  # key and result columns

# The values of the column `status`.
FINISHED = "finished"
TIMEOUT = "timeout"  # stopped at the limit
SKIPPED = "skipped"  # not tried, because an easier run did not finish within the limit
FAILED = "failed"
NO_MEMORY = "out of memory"

BOOKKEEPING = ("status", "limit", "message")  # columns that every file of runs has

LIMIT, TIMING_LIMIT = 60.0, 600.0  # seconds for one run, unless the user says otherwise


@dataclass(frozen=True)
class Settings:
    """The choices of the user; None leaves the choice to each study."""

    data_home: str | None = None
    datasets: tuple[str, ...] | None = None
    splits: int = 10  # of each dataset
    sizes: int = 30  # in each sweep of Figure 3
    max_depth: int | None = None
    time_limit: float | None = None  # seconds for one run

    def up_to(self, depths: Sequence[int]) -> list[int]:
        """Return the depths that the user allows."""
        return [depth for depth in depths if self.max_depth is None or depth <= self.max_depth]


@dataclass(frozen=True)
class Study:
    """A figure, a table or a page: its runs, its summary and its pictures.

    `run(task, settings)` returns the result columns of a run. A study that measures time or memory has `alone` instead:
    one run after the other, each in a process that is stopped at the limit.
    """

    name: str
    keys: tuple[str, ...]
    results: tuple[str, ...]
    tasks: Callable[[Settings], Sequence[Task]]
    run: Callable[[Task, Settings], Row] | None = None
    alone: Callable[[Task, Settings, Stopwatch], Row] | None = None
    limit: float | Callable[[Task], float] = LIMIT
    optional: tuple[str, ...] = ()  # results that a finished run may lack
    origin: tuple[str, ...] = ()  # columns that say which code and machine made a run
    effort: Callable[[Task], tuple[int, ...]] = field(default=lambda task: ())  # runs of less effort come first
    is_hopeless: Callable[[Task, Task], bool] = lambda task, stopped: False  # would it be stopped, since that one was?
    is_current: Callable[[Row], bool] = lambda row: True  # is a kept run still valid for today's code?
    is_repeated: Callable[[Task, Callable[[Task], Row | None]], bool] = lambda task, find: False  # not worth a repeat?
    needs: Callable[[Task], str | None] = lambda task: task.get("dataset")  # the dataset of a run
    load: Callable[[str, str | None], Any] | None = None  # of a dataset that `topktree.datasets` does not have
    summarise: Callable[[pd.DataFrame], pd.DataFrame] | None = None  # None: the runs themselves are the table
    summary: tuple[str, ...] = ()  # columns of the summary
    finished_only: bool = False  # leave runs without a result out of the table
    pictures: Callable[[pd.DataFrame], dict[str, Figure]] | None = None  # from the table, by file name
    drawn: tuple[str, ...] = ()  # all file names that there can be
    folder: str = "paper"  # of the table and the pictures
    file: str = ""  # name of the table, if it is not the study's
    keeps_runs: bool = False  # the runs take hours: they are committed with the table, and a new folder starts there

    @property
    def run_columns(self) -> tuple[str, ...]:
        """Columns of the file of runs."""
        return *self.keys, *self.results, *(name for name in BOOKKEEPING if name not in self.results), *self.origin

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Columns of the table that the page is written from."""
        return self.summary or self.run_columns

    def file_of_runs(self, out: Path) -> Path:
        """Return the path to which rows are added, run by run."""
        return out / "runs" / f"{self.name}.csv"

    def table(self, out: Path) -> Path:
        """Return the path of the table."""
        return out / self.folder / f"{self.file or self.name}.csv"

    def kept_runs(self, out: Path) -> Path:
        """Return the path of the committed runs: the table itself, or a compressed file next to a summary."""
        return out / self.folder / f"{self.name}-runs.csv.xz" if self.summary else self.table(out)

    def time_limit(self, task: Task, settings: Settings) -> float:
        """Return the seconds that one run may take."""
        if settings.time_limit is not None:
            return settings.time_limit
        return self.limit(task) if callable(self.limit) else self.limit
