"""`topktree reproduce`: runs, tables, pictures and the page of one or all experiments.

In: names of experiments, Settings, a folder. Out, in the folder: runs/<name>.csv (every run), paper/<name>.csv (what
the page is written from) with pictures beside it, and paper.md. Experiments that are long have paper/<name>-runs.csv.xz
as well, every run once more.
The one idea: everything shown is made from a file that the step before wrote, so each step can be repeated by itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from topktree import datasets
from topktree_evidence import pictures
from topktree_evidence.runner import Progress, Tally, is_settled, make_runs
from topktree_evidence.splits import VARIANTS, file_name
from topktree_evidence.store import Damaged, Store, locked, read_table, unpack, write_table
from topktree_evidence.studies.choosing import page as choosing_page
from topktree_evidence.studies.ensembles import page as ensembles_page
from topktree_evidence.studies.paper import beyond, fig2, fig3, fig4, fig6, theory
from topktree_evidence.studies.paper.page import write_page
from topktree_evidence.study import Experiment, Row, Settings, Task

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
        choosing_page.EXPERIMENT,
        ensembles_page.EXPERIMENT,
        ensembles_page.TUNED,
    )
}
# What is asked for by one name.
PARTS = {"theorem3": ("theorem3", "theorem3-frontier"), "ensembles": ("ensembles", "ensembles-tuned")}


class Screen(Progress, Protocol):
    """Where words go."""

    def say(self, text: str) -> None:
        """A line for the user."""


@dataclass
class Report:
    """What a command did."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    looked_for: set[str] = field(default_factory=set)  # datasets
    missing: dict[str, str] = field(default_factory=dict)  # dataset -> why
    empty: list[str] = field(default_factory=list)  # experiments none of whose datasets is there
    excluded: list[str] = field(default_factory=list)  # experiments that the settings leave nothing of


def reproduce(
    names: Sequence[str], settings: Settings, out: Path, screen: Screen, *, jobs: int | None = None, resume: bool = True
) -> Report:
    """Make what is missing of each experiment, then its tables and pictures, then the page.

    Runs go through joblib, but for those that are timed: within `joblib.parallel_config(backend="dask")`, or any other
    backend of joblib's, and with `jobs` left to it, they go to that cluster.
    """
    for folder in {"runs", *(experiment.folder for experiment in EXPERIMENTS.values())}:
        (out / folder).mkdir(parents=True, exist_ok=True)
    report = Report()
    with locked(out / "runs"):
        for part in dict.fromkeys(part for name in names for part in PARTS.get(name, (name,))):
            _one(EXPERIMENTS[part], settings, out, screen, report, jobs, resume)
        found = _read_tables(out, screen)
        # These have pages of their own.
        choices, ensembles, tuned = (found.pop(name) for name in ("choosing", "ensembles", "ensembles-tuned"))
        write_page(out, found)
        if choices:
            choosing_page.write_page(out, choices)
        if ensembles:
            ensembles_page.write_page(out, ensembles, tuned)
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
    if experiment.is_long and resume:
        try:
            unpack(experiment.packed_runs(out), experiment.file_of_runs(out))
        except Damaged as error:
            screen.say(f"{error}: its runs are made again")
    store = Store(experiment.file_of_runs(out), experiment.keys, experiment.run_columns)
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
    # Not only what was asked for now: a command for one dataset more must not take the others off the page.
    whole = replace(settings, datasets=None, max_depth=None, splits=max(settings.splits, Settings().splits))
    rows = [row for task in experiment.tasks(whole) if (row := store.find(task))]
    write_results(experiment, rows, out)


def write_results(experiment: Experiment, rows: Sequence[Row], out: Path) -> None:
    """The table that the page is written from, and the pictures; those that are no longer drawn go away."""
    if experiment.is_long:
        write_table(experiment.packed_runs(out), experiment.run_columns, rows)
    summary = list(rows) if experiment.summarise is None else experiment.summarise(rows)
    write_table(out / experiment.folder / f"{experiment.name}.csv", experiment.table_columns, summary)
    figures = experiment.pictures(summary) if experiment.pictures and summary else {}
    for name in experiment.drawn:
        path = out / experiment.folder / name
        if name in figures:
            pictures.save(figures[name], path)
        else:
            for kind in pictures.KINDS:
                path.with_suffix(kind).unlink(missing_ok=True)


def _read_tables(out: Path, screen: Screen) -> dict[str, list[Row]]:
    """The tables of all experiments; one that cannot be read is named and left out."""
    found: dict[str, list[Row]] = {}
    for name, experiment in EXPERIMENTS.items():
        try:
            found[name] = read_table(out / experiment.folder / f"{name}.csv", experiment.table_columns)
        except Damaged as error:
            screen.say(f"{error}: left out of the page; `topktree reproduce {name}` makes it again")
            found[name] = []
    return found


def _with_data(
    experiment: Experiment, tasks: Sequence[Task], settings: Settings, store: Store, screen: Screen, report: Report
) -> list[Task]:
    """The tasks that are done or whose dataset is there; datasets that are not are named once."""
    limit = experiment.time_limit(settings)
    done = [is_settled(store.find(task), limit) for task in tasks]
    needed = {experiment.needs(task) for task, settled in zip(tasks, done, strict=True) if not settled}
    for name in sorted(name for name in needed if name is not None and name not in report.looked_for):
        report.looked_for.add(name)
        reason = why_missing(name, settings.data_home, screen)
        if reason:
            report.missing[name] = reason
            screen.say(f"{name}: left out. {reason}")
    return [
        task
        for task, settled in zip(tasks, done, strict=True)
        if settled or experiment.needs(task) not in report.missing
    ]


def why_missing(name: str, data_home: str | None, screen: Screen) -> str:
    """Why a dataset cannot be had; nothing if it can."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            datasets.load(file_name(name), data_home)
    except (OSError, ValueError) as error:
        return " ".join(str(error).split())
    for warning in caught:
        screen.say(f"{name}: {warning.message}")
    return ""
