"""paper.md: the paper's claims, our numbers and verdicts, with pictures and tables.

In: the tables of the studies. Out: the page, from templates/paper.md. The one idea: no number on it is typed by hand
that a table could say; what was not run is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from topktree import datasets

from ... import pages
from ...pictures import ALL, name_of
from ...splits import DEFAULT_COLUMNS, FICO, PAPER_COLUMNS, VARIANTS
from ...study import FINISHED, LIMIT, TIMEOUT, TIMING_LIMIT
from ...text import Tables, bold, crossed, is_clear, limits, markdown, only, points, seconds, signed, where
from . import fig3, frontier, lemma, running_time, theorem2, theorem3
from .claims import all_answers
from .fits import RANDOM, TOP
from .verdicts import lead

TIMED = ("fig3", "fig6")


def write_pages(out: Path, found: Tables) -> tuple[list[Path], list[str]]:
    """Write paper.md from the tables, with the pictures in the folder's `paper`."""
    path = out / "paper.md"
    shown = {}
    for title, (show, *needs) in SECTIONS.items():
        tables = [found[name] for name in needs]
        if all(map(len, tables)):
            shown[title] = show(*tables)
    pages.write(path, "paper", answers=all_answers(found), basis=basis(found["fig2"]), runs=runs(found), shown=shown)
    return [path], []


def basis(rows: pd.DataFrame) -> dict[str, Any]:
    """Return what the verdicts rest on, and the datasets that are missing from Figure 2."""
    if not len(rows):
        return {}
    there = set(rows["dataset"])
    return {
        "datasets": len(there - set(VARIANTS)),
        "splits": max(rows["splits"]),
        "limits": _limits(rows),
        "absent": [name for name in datasets.PAPER if name != FICO and name not in there],
    }


def _limits(rows: pd.DataFrame) -> str:
    return " or ".join(f"{limit} s" for limit in limits(rows))


def runs(found: Tables) -> str:
    """Return the table of runs, limits and cost."""
    header = ("experiment", "runs", "finished", "splits", "limit of a run", "time of the fits")
    return markdown((*header, "with the default limits"), [_runs(name, rows) for name, rows in found.items()])


def _runs(name: str, rows: pd.DataFrame) -> tuple[str, ...]:
    """Return the line of a study; times only where seconds are what was measured."""
    if not len(rows):
        return name, "not run", "", "", "", "", ""
    if "splits" in rows:
        counts = str(rows["splits"].sum()), str(rows["finished"].sum()), str(rows["splits"].max())
        spent = (rows["seconds"] * rows["splits"]).sum()
        n_stopped, stopped = rows["stopped"].sum(), (rows["limit"] * rows["stopped"]).sum()
    else:
        counts = str(len(rows)), str(len(where(rows, status=FINISHED))), ""
        spent = rows["seconds"].sum() if "seconds" in rows else 0.0
        ended = where(rows, status=TIMEOUT)
        n_stopped, stopped = len(ended), ended["limit"].sum()
    if not spent:
        return name, *counts, "", "", ""
    default = TIMING_LIMIT if name in TIMED else LIMIT
    return name, *counts, _limits(rows), _duration(spent + stopped), _duration(spent + n_stopped * default)


def _duration(spent: float) -> str:
    if spent < 60:
        return f"{spent:.0f} s" if spent >= 1 else "under 1 s"
    return f"{spent / 60:.0f} min" if spent < 3600 else f"{spent / 3600:.1f} h"


def data(timed: pd.DataFrame) -> str:
    """Return the table of datasets."""
    lines = []
    for name, record in datasets.PAPER.items():
        row = only(timed, dataset=name, status=FINISHED)
        here = ("", "") if row is None else (f"{row['rows']:.0f}", f"{row['columns']:.0f}")
        lines.append((name, record.kind, str(record.rows), here[0], str(record.paper_columns), here[1]))
    return markdown(("dataset", "features", "rows", "training rows", "columns in the paper", "columns here"), lines)


def greedy_gains(table: pd.DataFrame) -> dict[str, Any]:
    """Return Figure 2 in numbers: gains, accuracies at one depth, and how deep optimal trees are proven."""
    paper = where(table, columns=PAPER_COLUMNS)
    rows = paper[~paper["dataset"].isin(VARIANTS)]
    if not len(rows):
        return {}
    depth = min(5, max(rows["depth"]))
    proven = where(rows, k=ALL).dropna(subset="test_mean").groupby("dataset")["depth"].max()
    reached = {name: int(proven.get(name, 0)) for name in rows["dataset"].unique()}
    depths = sorted(set(reached.values()), reverse=True)
    lines = {name_of(k): where(rows, k=k) for k in rows["k"].unique() if k != 1}
    return {
        "gains": gains(rows, lines, "depth", "depth {}"),
        "depth": depth,
        "accuracies": accuracies(where(paper, depth=depth), "dataset"),
        "proven": {depth: [name for name in reached if reached[name] == depth] for depth in depths},
    }


def gains(rows: pd.DataFrame, lines: Mapping[str, pd.DataFrame], column: str, title: str) -> str:
    """Return mean gains over Top-1: a line for each selection of rows, a column for each value of a column."""
    across = {title.format(value): value for value in sorted(set(rows[column]))}
    return crossed("", lines, across, lambda own, value: with_count(where(own, **{column: value})["gain_mean"]))


def with_count(found: Iterable[float]) -> str:
    """Return a mean in points, and of how many."""
    present = [value for value in found if value == value]
    return f"{signed(fmean(present))} ({len(present)})" if present else ""


def accuracies(rows: pd.DataFrame, by: str) -> str:
    """Return test accuracies: a line per dataset or depth, a column per k; bold where clearly other than k = 1."""
    lines = {str(value): where(rows, **{by: value}) for value in rows[by].unique()}
    return crossed(by, lines, _columns(rows), lambda own, k: _accuracy(only(own, k=k)))


def _columns(rows: pd.DataFrame) -> dict[str, Any]:
    return {f"k = {k}": k for k in rows["k"].unique()}


def _accuracy(cell: pd.Series | None) -> str:
    return "" if cell is None else bold(points(cell["test_mean"]), is_clear(cell))


def thresholds(table: pd.DataFrame) -> str:
    """Return both kinds of columns side by side."""
    depths = [depth for depth in (4, 5) if depth in set(table["depth"])] or list(table["depth"].unique())[-1:]
    columns = {
        f"depth {depth}, {whose}, k = {k}": (depth, kind, k)
        for depth in depths
        for kind, whose in ((PAPER_COLUMNS, "paper's"), (DEFAULT_COLUMNS, "ours"))
        for k in (1, 8)
    }
    cells = table.set_index(["dataset", "depth", "columns", "k"])["test_mean"].to_dict()
    return crossed("dataset", _names(table), columns, lambda name, case: points(cells.get((name, *case))))


def _names(rows: pd.DataFrame) -> dict[str, str]:
    return {name: name for name in rows["dataset"].unique()}


def scaling(rows: pd.DataFrame) -> dict[str, Any]:
    """Return Figure 3 in numbers."""
    return {"table": fig3.table(rows), "limits": limits(rows), "notes": fig3.notes(rows)}


def training_time(table: pd.DataFrame) -> str:
    """Return the deepest tree of Figure 6 that finished, and its time."""
    deepest = where(table, status=FINISHED).sort_values("depth").groupby(["dataset", "k"], sort=False).last()
    told = {case: f"{row['depth']}: {seconds(row['seconds'])}" for case, row in deepest.iterrows()}
    return crossed("dataset", _names(table), _columns(table), lambda name, k: told.get((name, k), ""))


def larger_k(wider: pd.DataFrame, fig2: pd.DataFrame) -> dict[str, str]:
    """Return k of 32 and 64 against smaller k and the optimal tree, and FICO."""
    base, fico = where(fig2, columns=PAPER_COLUMNS), where(wider, dataset=FICO)
    wide = wider[wider["dataset"] != FICO].dropna(subset="test_mean")
    body = []
    for depth in sorted(set(wide["depth"])):
        for k in wide["k"].unique():
            cells = where(wide, depth=depth, k=k)
            against = (with_count(lead(cells, where(base, k=other))) for other in (16, ALL))
            body.append((str(depth), str(k), *against))
    header = ("depth", "k", "against k = 16", "against the optimal tree")
    return {"leads": markdown(header, body), "fico": accuracies(fico, "depth") if len(fico) else ""}


def label_noise(rows: pd.DataFrame) -> str:
    """Return gains by noise, depth and k."""
    cases = [(k, depth) for k in (4, 16) for depth in sorted(set(rows["depth"]))]
    lines = {f"Top-{k}, depth {depth}": where(rows, k=k, depth=depth) for k, depth in cases}
    return gains(rows, lines, "noise", "{:.0%} flipped")


def random_candidates(rows: pd.DataFrame) -> str:
    """Return gains of Top-k and Random-k by depth."""
    cases = [(k, kind, name) for k in rows["k"].unique() if k != 1 for kind, name in ((TOP, "Top"), (RANDOM, "Random"))]
    lines = {f"{name}-{k}": where(rows, k=k, candidates=kind) for k, kind, name in cases}
    return gains(rows, lines, "depth", "depth {}")


def criteria(table: pd.DataFrame) -> str:
    """Return test accuracy less that of entropy."""
    rows = table.dropna(subset="test_mean")
    depths = sorted(set(rows["depth"]))
    body = []
    for criterion in [name for name in rows["criterion"].unique() if name != "entropy"]:
        for k in rows["k"].unique():
            own, entropy = where(rows, criterion=criterion, k=k), where(rows, criterion="entropy", k=k)
            cells = (with_count(lead(where(own, depth=depth), entropy)) for depth in depths)
            body.append((criterion, f"k = {k}", *cells))
    return markdown(("criterion", "", *(f"depth {depth}" for depth in depths)), body)


# What each section of the page shows, and of which tables; a section without them is left out.
SECTIONS: dict[str, tuple[Any, ...]] = {
    "Data": (data, "fig6"),
    "Figure 2": (greedy_gains, "fig2"),
    "Thresholds": (thresholds, "fig2"),
    "Figure 3": (scaling, "fig3"),
    "Figure 4": (lambda table: "", "fig4"),  # a picture alone
    "Figure 6": (training_time, "fig6"),
    "Theorem 2": (theorem2.lines, "theorem2"),
    "Theorem 3": (lambda a, b: (theorem3.lines(a), frontier.lines(b)), "theorem3", "theorem3-frontier"),
    "Lemma": (lemma.lines, "lemma"),
    "Running time": (running_time.lines, "running-time"),
    "Larger k": (larger_k, "wider", "fig2"),
    "Label noise": (label_noise, "noise"),
    "Random-k": (random_candidates, "random-k"),
    "Criteria": (criteria, "criteria"),
}
