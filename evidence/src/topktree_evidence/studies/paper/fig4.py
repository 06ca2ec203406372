"""Figure 4: training and test accuracy as k goes from 1 to all columns, depth 3.

In: Settings. Out: an Experiment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from topktree import datasets
from topktree_evidence import pictures
from topktree_evidence.splits import chosen
from topktree_evidence.studies.paper import fits
from topktree_evidence.study import Row, Settings, Task

DATASETS = ["car", "hayes-roth", "tic-tac-toe"]
DEPTH = 3


def plan(settings: Settings) -> list[Task]:
    """Every k, for every split."""
    found: list[Task] = []
    for name in chosen(settings, DATASETS):
        n_columns = datasets.PAPER[name].paper_columns
        assert n_columns is not None
        found += fits.tasks([name], settings, ks=range(1, n_columns + 1), depths=[DEPTH])
    return found


def summarise(rows: Sequence[Row]) -> list[Row]:
    """Means over the splits, and the lead over the largest k of the same split."""
    summary = fits.summarise(rows)
    for cell in summary:
        own = [row for row in rows if row["dataset"] == cell["dataset"]]
        last = [row for row in own if row["k"] == max(row["k"] for row in own)]
        mine = [row for row in own if row["k"] == cell["k"]]
        lead = [] if cell["test_mean"] is None else fits.differences(mine, last)
        cell["last_mean"], cell["last_sd"] = fits.spread(lead)
    return summary


def draw(summary: Sequence[Row]) -> dict[str, Any]:
    """A panel per dataset, two lines in each."""
    names = list(dict.fromkeys(str(row["dataset"]) for row in summary))

    def panel(place: Any, name: str) -> None:
        rows = [row for row in summary if row["dataset"] == name]
        for part, colour, marker in (("train", "#0072b2", "o"), ("test", "#d55e00", "s")):
            ks, accuracy = pictures.line(rows, "k", f"{part}_mean")
            bars = pictures.error_bars(rows, "k", part)
            place.errorbar(
                ks, accuracy, yerr=bars, color=colour, marker=marker, markersize=3, label=part, elinewidth=0.6
            )
        place.xaxis.get_major_locator().set_params(integer=True)

    return {"fig4": pictures.panels(names, panel, "k", f"accuracy, depth {DEPTH}")} if names else {}


EXPERIMENT = fits.experiment("fig4", plan, draw, ("fig4",), summarise, (*fits.SUMMARY, "last_mean", "last_sd"))
