"""The command `topktree reproduce`: figures and theorems of the paper, and the other studies.

In: names of experiments, as arguments. Out: files, words on the terminal, and an exit code: 0; 2 for an error that
the user can correct; 1 for Ctrl-C and for runs that failed.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import NoReturn

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from topktree._cli.commands import time_limit_option

from ..laboratory import NOT_IN_ALL, STUDIES, Report, known_datasets, reproduce
from ..store import Busy
from ..study import FINISHED, Row, Settings
from . import data_option

ALL, PAGE = "all", "page"
WIDE = 80  # columns of a terminal that has room for all of the bar
ALIASES = {"fico": "fico-1000"}  # the paper's FICO


def _dataset_names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Split names at commas, and check each of them."""
    if value is None:
        return None
    asked = [name for part in value.split(",") if (name := part.strip().lower())]
    names = tuple(dict.fromkeys(ALIASES.get(name, name) for name in asked))
    unknown = [name for name in names if name not in known_datasets()]
    if unknown or not names:
        what = f"{', '.join(unknown)} is no dataset of the paper" if unknown else "no name is given"
        raise click.BadParameter(f"{what}; allowed are {', '.join(known_datasets())}")
    return names


@click.command("reproduce", short_help="Figures and theorems of the paper, from data to page.")
@click.argument("what", nargs=-1, required=True, metavar="WHAT...", type=click.Choice([*STUDIES, PAGE, ALL]))
@click.option("--datasets", metavar="A,B", callback=_dataset_names, help="Only these datasets, separated by commas.")
@data_option(help="Folder of <name>.csv.gz files; else $TOPKTREE_DATA, else OpenML.")
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default="reproduction",
    show_default=True,
    help="Where files go.",
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(min=-1),
    default=1,
    show_default=True,
    help="Runs at a time, -1: one per core. Timing figures always run alone.",
)
@click.option("--resume/--no-resume", default=True, help="Go on with the runs in DIR (default), or set them aside.")
@click.option(
    "--splits", metavar="N", type=click.IntRange(1, 100), default=10, show_default=True, help="Of each dataset."
)
@click.option(
    "--sizes", metavar="N", type=click.IntRange(2, 1000), default=30, show_default=True, help="In fig3's sweeps."
)
@click.option("--max-depth", metavar="N", type=click.IntRange(1, 30), help="No deeper trees.")
@time_limit_option(help="For one run. Default: 60, and 600 for the timing figures.")
def reproduce_command(
    what: tuple[str, ...],
    datasets: tuple[str, ...] | None,
    data: str | None,
    out: Path,
    jobs: int,
    resume: bool,
    splits: int,
    sizes: int,
    max_depth: int | None,
    time_limit: float | None,
) -> None:
    """Reproduce the paper and the other studies: every run (CSV), pictures (PNG, SVG) and pages.

    \b
    fig2 fig3 fig4 fig6                    the figures
    theorem2 theorem3 lemma running-time   the theory
    wider noise random-k criteria          beyond the paper
    choosing                               k and depth by cross-validation, against fixed k and other trees
    ensembles                              forests and boosting of Top-k trees, against k = 1 and others
    thresholds                             how many thresholds a numeric feature needs
    thresholds-midpoints                   every midpoint against the default number of thresholds
    missing-values                         which way missing values go, on tables of numbers and categories
    speed speed-full                       the benchmarks, in minutes and in hours
    speed-numbers                          the part of them on raw numbers, every midpoint a threshold
    dask                                   fits on a Dask cluster on this machine
    page                                   only the pages, from the tables that are there
    all                                    everything but speed and dask, which take the whole machine

    Finished runs are not repeated: after an interruption the same command continues.
    """  # noqa: D301  click knows the paragraphs to leave as they are by this character
    if jobs == 0:
        raise click.BadParameter("0 is not allowed; -1 is one per core", param_hint="--jobs")
    every = [name for name in STUDIES if name not in NOT_IN_ALL]
    names = every if ALL in what else [name for name in what if name != PAGE]
    settings = Settings(os.path.abspath(data) if data else None, datasets, splits, sizes, max_depth, time_limit)
    screen = Screen()
    try:
        report = reproduce(names, settings, out, screen, jobs=jobs, resume=resume)
    except KeyboardInterrupt:
        message = f"Interrupted. What is done is in {out / 'runs'}; the same command (without --no-resume) goes on."
        screen.end(message, 1)
    except (OSError, Busy) as error:
        screen.end(f"Error: --out {out}: {error}", 2)
    except BrokenExecutor:
        message = "Error: a worker died, perhaps because it ran out of memory. The same command goes on;"
        screen.end(f"{message} try less than --jobs {jobs}.", 2)
    sys.exit(_conclude(report, out, screen))


def _conclude(report: Report, out: Path, screen: Screen) -> int:
    """Say what was done, and return the exit code."""
    for name, tally in report.tallies.items():
        notes = [f"{tally.made} made now"]
        notes += [f"{tally.stopped} stopped at the limit"] if tally.stopped else []
        notes += [f"{tally.failed} failed (see runs/{name}.csv)"] if tally.failed else []
        screen.say(f"{name}: {tally.finished} of {tally.total} runs finished; {', '.join(notes)}.")
    if report.missing:
        screen.say(f"Without data: {', '.join(report.missing)}.")
    for path in report.pages:
        screen.say(f"The page is {path}.")
    for problem in report.wrong:
        screen.say(f"Wrong: {problem}")
    if report.excluded:
        screen.say(f"Not made, since --datasets or --max-depth leave nothing of them: {', '.join(report.excluded)}.")
    if report.empty:
        screen.say(f"Not made for want of data: {', '.join(report.empty)}. Name a folder: --data or $TOPKTREE_DATA.")
    if report.empty or (report.excluded and not report.tallies):
        return 2
    return 1 if report.wrong or any(tally.failed for tally in report.tallies.values()) else 0


class Screen:
    """A bar on a terminal, a line for every tenth of the runs elsewhere."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)
        self._progress: Progress | None = None
        self._name, self._total, self._done = "", 0, 0

    def say(self, text: str) -> None:
        """Show a line."""
        self._console.print(text, markup=False)

    def start(self, name: str, total: int, done: int) -> None:
        """Show a new bar."""
        self._name, self._total, self._done = name, total, done
        if self._console.is_terminal:
            columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
            if self._console.width >= WIDE:
                columns += [TimeElapsedColumn(), TextColumn("{task.fields[last]}", style="dim")]
            self._progress = Progress(*columns, console=self._console)
            self._progress.start()
            self._progress.add_task(name, total=total, completed=done, last="")
        elif done < total:
            self.say(f"{name}: {total} runs, {done} of them done before")

    def advance(self, row: Row) -> None:
        """Count one more run."""
        self._done += 1
        if self._progress is not None:
            status = "" if row["status"] == FINISHED else str(row["status"])
            last = " ".join(str(row[name]) for name in ("dataset", "k", "depth") if name in row)
            self._progress.update(self._progress.task_ids[0], advance=1, last=f"{last} {status}")
        elif self._done * 10 // self._total > (self._done - 1) * 10 // self._total:
            self.say(f"{self._name}: {self._done} of {self._total}")

    def stop(self) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def end(self, text: str, code: int) -> NoReturn:
        """Remove the bar, show a line and end the program."""
        self.stop()
        self.say(text)
        sys.exit(code)
