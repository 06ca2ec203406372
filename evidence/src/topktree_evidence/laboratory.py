"""The laboratory: runs, tables, pictures and pages of one or all studies.

In: names of studies, Settings, a folder. Out, in the folder: runs/<name>.csv (every run), <folder>/<name>.csv (the
table that the page is written from) with pictures next to it, and the pages.
The one idea: everything shown is made from a file that the step before wrote, so each step can be repeated by itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from topktree import datasets

from . import matrices, pictures
from .runner import Progress, Tally, is_settled, make_runs
from .splits import VARIANTS, file_name
from .store import Damaged, Store, locked, read_table, start_from, write_table
from .studies import choosing, dask, ensembles, missing, paper, speed, thresholds
from .study import FINISHED, Row, Settings, Study, Task
from .text import Tables

GROUPS = (paper, choosing, ensembles, thresholds, missing, speed, dask)
STUDIES: dict[str, Study] = {study.name: study for group in GROUPS for study in group.STUDIES}
# Studies that are asked for by one name, and those that `all` leaves out, since they take the whole machine.
PARTS = {"theorem3": ("theorem3", "theorem3-frontier"), "ensembles": ("ensembles", "ensembles-tuned")}
NOT_IN_ALL = ("speed", "speed-full", "speed-numbers", "dask")


class Screen(Progress, Protocol):
    """The place where messages go."""

    def say(self, text: str) -> None:
        """Show a line to the user."""


@dataclass
class Report:
    """A record of what a command did."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    looked_for: set[str] = field(default_factory=set)  # datasets
    missing: dict[str, str] = field(default_factory=dict)  # dataset -> why
    empty: list[str] = field(default_factory=list)  # studies none of whose datasets is there
    excluded: list[str] = field(default_factory=list)  # studies that the settings leave nothing of
    pages: list[Path] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # results that cannot be right, as the pages found out


def reproduce(
    names: Sequence[str], settings: Settings, out: Path, screen: Screen, *, jobs: int | None = None, resume: bool = True
) -> Report:
    """Make what is missing of each study, then its tables and pictures, then the pages.

    Runs go through joblib, except those that are timed: within `joblib.parallel_config(backend="dask")`, or any other
    joblib backend, and with `jobs` left to it, they go to that cluster.
    """
    for folder in ("runs", *(study.folder for study in STUDIES.values())):
        (out / folder).mkdir(parents=True, exist_ok=True)
    report = Report()
    with locked(out / "runs"):
        for part in dict.fromkeys(part for name in names for part in PARTS.get(name, (name,))):
            _one(STUDIES[part], settings, out, screen, report, jobs, resume)
        tables = _read_tables(out, screen)
        for group in GROUPS:
            own = {study.name: tables[study.name] for study in group.STUDIES}
            if group is paper or any(len(table) for table in own.values()):
                pages, wrong = group.write_pages(out, own)
                report.pages += pages
                report.wrong += wrong
    return report


def known_datasets() -> list[str]:
    """Return the names that can be asked for."""
    return [*datasets.PAPER, *VARIANTS, *missing.TABLES, *matrices.QUANT_BNB]


def _one(
    study: Study, settings: Settings, out: Path, screen: Screen, report: Report, jobs: int | None, resume: bool
) -> None:
    if study.keeps_runs and resume:
        try:
            start_from(study.kept_runs(out), study.file_of_runs(out))
        except Damaged as error:
            screen.say(f"{error}: its runs are made again")
    store = Store(study.file_of_runs(out), study)
    if store.damage:
        screen.say(store.damage)
    if not resume and (aside := store.set_aside()):
        screen.say(f"{study.name}: the runs that were there are now {aside}")
    planned = study.tasks(settings)
    tasks = _with_data(study, planned, settings, store, screen, report)
    if not tasks:
        (report.empty if planned else report.excluded).append(study.name)
        return
    report.tallies[study.name] = make_runs(study, tasks, settings, store, jobs, screen)
    # Not only what was asked for now: a command for one dataset more must not remove the others from the page.
    whole = Settings(settings.data_home, splits=max(settings.splits, Settings().splits), sizes=settings.sizes)
    rows = [row for task in study.tasks(whole) if (row := store.find(task))]
    write_results(study, rows, out)


def write_results(study: Study, rows: Sequence[Row], out: Path) -> None:
    """Write the table that the page is written from, and the pictures; delete those that are no longer drawn."""
    if study.keeps_runs:
        write_table(study.kept_runs(out), study.run_columns, rows)
    if study.finished_only:
        rows = [row for row in rows if row["status"] == FINISHED]
    table = pd.DataFrame(list(rows), columns=study.run_columns)
    if study.summarise is not None:
        table = study.summarise(table)
        write_table(study.table(out), study.table_columns, table.to_dict("records"))
    elif not study.keeps_runs:
        write_table(study.table(out), study.table_columns, rows)
    figures = study.pictures(read_table(study.table(out))) if study.pictures and len(table) else {}
    for name in study.drawn:
        path = out / study.folder / name
        if name in figures:
            pictures.save(figures[name], path)
        else:
            for kind in pictures.KINDS:
                path.with_suffix(kind).unlink(missing_ok=True)


def _read_tables(out: Path, screen: Screen) -> Tables:
    """Return the tables of all studies; one that cannot be read is reported and left out."""
    found: Tables = {}
    for name, study in STUDIES.items():
        try:
            found[name] = read_table(study.table(out), study.table_columns)
        except Damaged as error:
            screen.say(f"{error}: left out of the page; `topktree reproduce {name}` makes it again")
            found[name] = pd.DataFrame(columns=study.table_columns)
    return found


def _with_data(
    study: Study, tasks: Sequence[Task], settings: Settings, store: Store, screen: Screen, report: Report
) -> list[Task]:
    """Return the tasks that are done or whose dataset is there; report each missing dataset once."""
    settled = [is_settled(study, store, task, settings) for task in tasks]
    needed = {study.needs(task) for task, done in zip(tasks, settled, strict=True) if not done}
    for name in sorted(name for name in needed if name is not None and name not in report.looked_for):
        report.looked_for.add(name)
        if reason := why_missing(name, study.load or datasets.load, settings.data_home, screen.say):
            report.missing[name] = reason
            screen.say(f"{name}: left out. {reason}")
    return [task for task, done in zip(tasks, settled, strict=True) if done or study.needs(task) not in report.missing]


def why_missing(
    name: str, load: Callable[[str, str | None], Any], data_home: str | None, say: Callable[[str], None]
) -> str:
    """Return why a dataset is not available; nothing if it is."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            load(file_name(name), data_home)
    except (OSError, ValueError) as error:
        return " ".join(str(error).split())
    for warning in caught:
        say(f"{name}: {warning.message}")
    return ""
