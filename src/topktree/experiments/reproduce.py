"""`topktree reproduce`: runs, tables, pictures and the page of one or all experiments.

In: names of experiments, Settings, a folder. Out, in the folder: runs/<name>.csv (every run), paper/<name>.csv (what
the page is written from) with pictures beside it, and paper.md.
The one idea: everything shown is made from a file that the step before wrote, so each step can be repeated by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from .. import datasets
from . import beyond, fig2, fig3, fig4, fig6, pictures, theory
from .experiment import Experiment, Row, Settings, Task
from .page import write_page
from .runner import Progress, Tally, columns, is_settled, make_runs
from .splits import VARIANTS, WITHOUT_ANSWER
from .store import Store, write_table

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        *theory.EXPERIMENTS,
        fig4.EXPERIMENT,
        fig2.EXPERIMENT,
        beyond.WIDER,
        beyond.NOISE,
        beyond.RANDOM_K,
        beyond.CRITERIA_COMPARED,
        fig3.EXPERIMENT,
        fig6.EXPERIMENT,
    )
}
PARTS = {"theorem3": ("theorem3", "theorem3-frontier")}  # what is asked for by one name


class Screen(Progress, Protocol):
    """Where words go."""

    def say(self, text: str) -> None:
        """A line for the user."""


@dataclass
class Report:
    """What a command did."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)  # dataset -> why
    empty: list[str] = field(default_factory=list)  # experiments none of whose datasets is there
    excluded: list[str] = field(default_factory=list)  # experiments none of whose datasets was asked for
    files: list[Path] = field(default_factory=list)


def reproduce(
    names: Sequence[str], settings: Settings, out: Path, screen: Screen, *, jobs: int | None = None, resume: bool = True
) -> Report:
    """Make what is missing of each experiment, then its tables and pictures, then the page.

    Runs go through joblib, but for those that are timed: within `joblib.parallel_config(backend="dask")`, or any other
    backend of joblib's, and with `jobs` left to it, they go to that cluster.
    """
    report = Report()
    for part in dict.fromkeys(part for name in names for part in PARTS.get(name, (name,))):
        _one(EXPERIMENTS[part], settings, out, screen, report, jobs, resume)
    report.files.append(write_page(out))
    return report


def known_datasets() -> list[str]:
    """Names that can be asked for."""
    return [*datasets.PAPER, *VARIANTS]


def _one(
    experiment: Experiment,
    settings: Settings,
    out: Path,
    screen: Screen,
    report: Report,
    jobs: int | None,
    resume: bool,
) -> None:
    store = Store(out / "runs" / f"{experiment.name}.csv", experiment.keys, columns(experiment))
    if store.damage:
        screen.say(store.damage)
    if not resume and (aside := store.set_aside()):
        screen.say(f"{experiment.name}: the runs that were there are now {aside}")
    planned = experiment.tasks(settings)
    tasks = _with_data(experiment, planned, settings, store, screen, report)
    if not tasks:
        (report.empty if planned else report.excluded).append(experiment.name)
        return
    report.tallies[experiment.name] = make_runs(experiment, tasks, settings, store, jobs, screen)
    report.files += write_results(experiment, [row for task in tasks if (row := store.find(task))], out)


def write_results(experiment: Experiment, rows: Sequence[Row], out: Path) -> list[Path]:
    """The table that the page is written from, and the pictures."""
    table = out / "paper" / f"{experiment.name}.csv"
    summary = list(rows) if experiment.summarise is None else experiment.summarise(rows)
    write_table(table, summary)
    files = [table]
    for name, figure in (experiment.pictures(summary) if experiment.pictures else {}).items():
        pictures.save(figure, out / "paper" / name)
        files += [out / "paper" / f"{name}.png", out / "paper" / f"{name}.svg"]
    return files


def _with_data(
    experiment: Experiment, tasks: Sequence[Task], settings: Settings, store: Store, screen: Screen, report: Report
) -> list[Task]:
    """The tasks whose dataset is there; those that are not are named once."""
    limit = experiment.time_limit(settings)
    needed = {experiment.needs(task) for task in tasks if not is_settled(store.find(task), limit)}
    for name in sorted(name for name in needed if name is not None and name not in report.missing):
        reason = why_missing(name, settings.data_home)
        if reason:
            report.missing[name] = reason
            screen.say(f"{name}: left out. {reason}")
    return [task for task in tasks if experiment.needs(task) not in report.missing or store.find(task)]


def why_missing(name: str, data_home: str | None) -> str:
    """Why a dataset cannot be had; nothing if it can."""
    try:
        datasets.load(VARIANTS[name] if name == WITHOUT_ANSWER else name, data_home)
    except (FileNotFoundError, ValueError) as error:
        return " ".join(str(error).split())
    return ""
