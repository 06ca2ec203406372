"""paper.md: the paper's claims, our numbers and verdicts, with pictures and tables beside them.

In: the tables of the studies. Out: the page, from templates/paper.md. The one idea: no number on it is typed by hand
that a table could say; what was not run is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from topktree import datasets

from ... import pages
from ...pictures import ALL, name_of
from ...splits import DEFAULT_COLUMNS, FICO, PAPER_COLUMNS, VARIANTS
from ...study import FINISHED, LIMIT, TIMEOUT, TIMING_LIMIT
from ...text import Tables, bold, is_clear, limits, listed, markdown, mean, only, points, seconds, signed, where
from . import fig3, frontier, lemma, running_time, theorem2, theorem3
from .claims import all_claims
from .fits import RANDOM, TOP

TIMED = ("fig3", "fig6")
CASE = ["dataset", "depth"]
# The sections of the page, in the order of the template, and the tables that each needs.
SECTIONS = {
    "Data": ("fig6",),
    "Figure 2": ("fig2",),
    "Thresholds": ("fig2",),
    "Figure 3": ("fig3",),
    "Figure 4": ("fig4",),
    "Figure 6": ("fig6",),
    "Theorem 2": ("theorem2",),
    "Theorem 3": ("theorem3", "theorem3-frontier"),
    "Lemma": ("lemma",),
    "Running time": ("running-time",),
    "Larger k": ("wider", "fig2"),
    "Label noise": ("noise",),
    "Random-k": ("random-k",),
    "Criteria": ("criteria",),
}


def write_pages(out: Path, found: Tables) -> tuple[list[Path], list[str]]:
    """Write paper.md from the tables, with the pictures in the folder's `paper`."""
    path = out / "paper.md"
    there = [title for title, needs in SECTIONS.items() if all(len(found[name]) for name in needs)]
    shown = {title: _TABLES[title](found) for title in there if title in _TABLES}
    pages.write(path, "paper", claims=all_claims(found), there=there, basis=basis(found), runs=runs(found), shown=shown)
    return [path], []


def basis(found: Tables) -> dict[str, Any]:
    """Return what the verdicts rest on, and the datasets that are missing."""
    rows = found["fig2"]
    if not len(rows):
        return {}
    there = set(rows["dataset"])
    return {
        "datasets": len(there - set(VARIANTS)),
        "splits": max(rows["splits"]),
        "limits": _limits(rows),
        "absent": listed(name for name in datasets.PAPER if name != FICO and name not in there),
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


def data(found: Tables) -> str:
    """Return the table of datasets."""
    lines = []
    for name, record in datasets.PAPER.items():
        row = only(found["fig6"], dataset=name, status=FINISHED)
        here = ("", "") if row is None else (f"{row['rows']:.0f}", f"{row['columns']:.0f}")
        lines.append((name, record.kind, str(record.rows), here[0], str(record.paper_columns), here[1]))
    return markdown(("dataset", "features", "rows", "training rows", "columns in the paper", "columns here"), lines)


def greedy_gains(found: Tables) -> dict[str, Any]:
    """Return Figure 2 in numbers: gains, accuracies at one depth, and how deep optimal trees are proven."""
    paper = where(found["fig2"], columns=PAPER_COLUMNS)
    rows = paper[~paper["dataset"].isin(VARIANTS)]
    if not len(rows):
        return {}
    depth = min(5, max(rows["depth"]))
    proven = where(rows, k=ALL).dropna(subset="test_mean").groupby("dataset")["depth"].max()
    reached = {name: int(proven.get(name, 0)) for name in rows["dataset"].unique()}
    depths = [
        f"{depth} on {', '.join(name for name in reached if reached[name] == depth)}"
        for depth in sorted(set(reached.values()), reverse=True)
    ]
    lines = [(name_of(k), where(rows, k=k)) for k in rows["k"].unique() if k != 1]
    return {
        "gains": gains(rows, lines, "depth", "depth {}"),
        "depth": depth,
        "accuracies": accuracies(where(paper, depth=depth), "dataset"),
        "proven": "; ".join(depths),
    }


def gains(
    rows: pd.DataFrame, lines: Sequence[tuple[str, pd.DataFrame]], column: str, title: str, value: str = "gain_mean"
) -> str:
    """Return mean gains over Top-1: a line for each selection of rows, a column for each value of a column."""
    across = sorted(set(rows[column]))
    body = [(name, *(with_count(where(own, **{column: at})[value]) for at in across)) for name, own in lines]
    return markdown(("", *(title.format(at) for at in across)), body)


def with_count(found: Iterable[float]) -> str:
    """Return a mean in points, and of how many."""
    present = [value for value in found if value == value]
    return f"{signed(mean(present))} ({len(present)})" if present else ""


def accuracies(rows: pd.DataFrame, by: str) -> str:
    """Return test accuracies: a line per dataset or depth, a column per k; bold where clearly other than k = 1."""
    ks = list(rows["k"].unique())
    body = []
    for value in rows[by].unique():
        cells = [only(rows, **{by: value}, k=k) for k in ks]
        body.append((str(value), *("" if cell is None else _accuracy(cell) for cell in cells)))
    return markdown((by, *(f"k = {k}" for k in ks)), body)


def _accuracy(cell: pd.Series) -> str:
    return bold(points(cell["test_mean"]), cell["k"] != 1 and is_clear(cell))


def thresholds(found: Tables) -> str:
    """Return both kinds of columns side by side."""
    table = found["fig2"]
    depths = [depth for depth in (4, 5) if depth in set(table["depth"])] or list(table["depth"].unique())[-1:]
    cases = [(depth, columns, k) for depth in depths for columns in (PAPER_COLUMNS, DEFAULT_COLUMNS) for k in (1, 8)]
    cells = table.set_index(["dataset", "depth", "columns", "k"])["test_mean"].to_dict()
    body = [(name, *(points(cells.get((name, *case))) for case in cases)) for name in table["dataset"].unique()]
    whose = {PAPER_COLUMNS: "paper's", DEFAULT_COLUMNS: "ours"}
    return markdown(("dataset", *(f"depth {depth}, {whose[columns]}, k = {k}" for depth, columns, k in cases)), body)


def scaling(found: Tables) -> dict[str, Any]:
    """Return Figure 3 in numbers."""
    header, lines = fig3.table(found["fig3"])
    return {"header": header, "lines": lines, "limits": limits(found["fig3"]), "notes": fig3.notes(found["fig3"])}


def training_time(found: Tables) -> str:
    """Return the deepest tree of Figure 6 that finished, and its time."""
    table, ks = found["fig6"], list(found["fig6"]["k"].unique())
    deepest = where(table, status=FINISHED).sort_values("depth").groupby(["dataset", "k"], sort=False).last()
    told = {case: f"{row['depth']}: {seconds(row['seconds'])}" for case, row in deepest.iterrows()}
    body = [(name, *(told.get((name, k), "") for k in ks)) for name in table["dataset"].unique()]
    return markdown(("dataset", *(f"k = {k}" for k in ks)), body)


def larger_k(found: Tables) -> dict[str, str]:
    """Return k of 32 and 64 against smaller k and the optimal tree, and FICO."""
    base = where(found["fig2"], columns=PAPER_COLUMNS)
    wide = found["wider"].dropna(subset="test_mean")
    wide, fico = wide[wide["dataset"] != FICO], where(found["wider"], dataset=FICO)
    body = []
    for depth in sorted(set(wide["depth"])):
        for k in wide["k"].unique():
            cells = where(wide, depth=depth, k=k)
            against = (with_count(_lead(cells, where(base, k=other))) for other in (16, ALL))
            body.append((str(depth), str(k), *against))
    header = ("depth", "k", "against k = 16", "against the optimal tree")
    return {"leads": markdown(header, body), "fico": accuracies(fico, "depth") if len(fico) else ""}


def _lead(cells: pd.DataFrame, others: pd.DataFrame) -> pd.Series:
    """Return test accuracy less that of others on the same dataset and depth."""
    base = others.set_index(CASE)["test_mean"].rename("base")
    both = cells.join(base, on=CASE, how="inner")
    return both["test_mean"] - both["base"]


def label_noise(found: Tables) -> str:
    """Return gains by noise, depth and k."""
    rows = found["noise"]
    cases = [(k, depth) for k in (4, 16) for depth in sorted(set(rows["depth"]))]
    lines = [(f"Top-{k}, depth {depth}", where(rows, k=k, depth=depth)) for k, depth in cases]
    return gains(rows, lines, "noise", "{:.0%} flipped")


def random_candidates(found: Tables) -> str:
    """Return gains of Top-k and Random-k by depth."""
    rows = found["random-k"]
    names = ((TOP, "Top"), (RANDOM, "Random"))
    ks = [k for k in rows["k"].unique() if k != 1]
    lines = [(f"{name}-{k}", where(rows, k=k, candidates=candidates)) for k in ks for candidates, name in names]
    return gains(rows, lines, "depth", "depth {}")


def criteria(found: Tables) -> str:
    """Return test accuracy less that of entropy."""
    rows = found["criteria"].dropna(subset="test_mean")
    depths = sorted(set(rows["depth"]))
    body = []
    for criterion in [name for name in rows["criterion"].unique() if name != "entropy"]:
        for k in rows["k"].unique():
            own, entropy = where(rows, criterion=criterion, k=k), where(rows, criterion="entropy", k=k)
            cells = (with_count(_lead(where(own, depth=depth), entropy)) for depth in depths)
            body.append((criterion, f"k = {k}", *cells))
    return markdown(("criterion", "", *(f"depth {depth}" for depth in depths)), body)


_TABLES: dict[str, Any] = {
    "Data": data,
    "Figure 2": greedy_gains,
    "Thresholds": thresholds,
    "Figure 3": scaling,
    "Figure 6": training_time,
    "Theorem 2": lambda found: theorem2.lines(found["theorem2"]),
    "Theorem 3": lambda found: (theorem3.lines(found["theorem3"]), frontier.lines(found["theorem3-frontier"])),
    "Lemma": lambda found: lemma.lines(found["lemma"]),
    "Running time": lambda found: running_time.lines(found["running-time"]),
    "Larger k": larger_k,
    "Label noise": label_noise,
    "Random-k": random_candidates,
    "Criteria": criteria,
}
