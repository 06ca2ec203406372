"""The accuracy figures: Figures 2 and 4, and beyond the paper larger k, label noise, random candidates and criteria.

In: Settings. Out: Studies, each a selection of the runs of fits.py. Figure 2 is made with the paper's columns and with
topktree's own, since the choice of thresholds matters as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from topktree import datasets

from ...pictures import ALL, MARKERS, accuracy_lines, error_bars, in_order, integers_only, name_of, panels
from ...splits import DEFAULT_COLUMNS, FICO, PAPER_COLUMNS, REPAIRED, WITHOUT_ANSWER, chosen
from ...study import Settings, Task
from ...text import where
from . import fits

KS = (1, 2, 3, 4, 8, 12, 16, ALL)
DEPTHS = range(1, 9)
# Which dataset the paper shows where follows from its text, as far as it goes; its source has no pictures.
APPENDIX = (
    *("car", "kr-vs-kp", "hiv-1-protease", "molecular-biology-splice", "monks-1", "hayes-roth", "tic-tac-toe"),
    *("taiwanese-bankruptcy", "credit-card", "electrical-grid-stability", WITHOUT_ANSWER, REPAIRED),
)
SUFFIX = {PAPER_COLUMNS: "", DEFAULT_COLUMNS: "-default"}

FIG4_DATASETS = ["car", "hayes-roth", "tic-tac-toe"]
FIG4_DEPTH = 3
NOISES = (0.0, 0.1, 0.2, 0.3, 0.4)
CRITERIA = ("entropy", "gini", "sqrt", "gain_ratio")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
RANDOM_DEPTHS = {3: range(1, 7), 8: range(1, 5)}  # a Python call for every node is slow


def fig2_plan(settings: Settings) -> list[Task]:
    """Plan every k and depth of every split, with both kinds of columns."""
    return fits.tasks(chosen(settings), settings, ks=KS, depths=DEPTHS, columns=(PAPER_COLUMNS, DEFAULT_COLUMNS))


def draw_fig2(table: pd.DataFrame) -> dict[str, Any]:
    """Draw four pictures: main and appendix, the paper's columns and ours."""
    figures: dict[str, Any] = {}
    for columns, suffix in SUFFIX.items():
        rows = where(table, columns=columns)
        ks = in_order(rows["k"])
        for part in ("", "-appendix"):
            shown = [name for name in rows["dataset"].unique() if (name in APPENDIX) == bool(part)]

            def panel(place: Any, name: str, rows: pd.DataFrame = rows, ks: Any = ks) -> None:
                accuracy_lines(place, where(rows, dataset=name), ks)

            if shown:
                figures[f"fig2{part}{suffix}"] = panels(shown, panel, "depth", "test accuracy")
    return figures


def fig4_plan(settings: Settings) -> list[Task]:
    """Plan every k up to all columns, for every split."""
    found: list[Task] = []
    for name in chosen(settings, FIG4_DATASETS):
        n_columns = datasets.PAPER[name].paper_columns
        assert n_columns is not None
        found += fits.tasks([name], settings, ks=range(1, n_columns + 1), depths=[FIG4_DEPTH])
    return found


def summarise_fig4(runs: pd.DataFrame) -> pd.DataFrame:
    """Return means over the splits, and the lead over the largest k of the same split."""
    summary = fits.summarise(runs)
    cells = {(cell[0], cell[2]): own for cell, own in fits.cells_of(runs).items()}
    leads = []
    for row in summary.itertuples():
        last = cells[row.dataset, max(k for name, k in cells if name == row.dataset)]
        is_complete = row.finished == row.splits
        leads.append(fits.spread(fits.differences(cells[row.dataset, row.k], last) if is_complete else []))
    return summary.assign(last_mean=[lead[0] for lead in leads], last_sd=[lead[1] for lead in leads])


def draw_fig4(table: pd.DataFrame) -> dict[str, Any]:
    """Draw a panel per dataset, two lines in each."""

    def panel(place: Any, name: str) -> None:
        rows = where(table, dataset=name).sort_values("k")
        for part, colour, marker in (("train", "#0072b2", "o"), ("test", "#d55e00", "s")):
            look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 3, "elinewidth": 0.6}
            bars = error_bars(rows, part)
            place.errorbar(
                rows["k"].to_numpy(float), rows[f"{part}_mean"].to_numpy(float), yerr=bars, label=part, **look
            )
        integers_only(place)

    return {"fig4": panels(list(table["dataset"].unique()), panel, "k", f"accuracy, depth {FIG4_DEPTH}")}


def wider_plan(settings: Settings) -> list[Task]:
    """Plan larger k than the paper's on its datasets, and FICO down to depth 6."""
    return [
        *fits.tasks(chosen(settings), settings, ks=(32, 64), depths=range(2, 6)),
        *fits.tasks(chosen(settings, [FICO]), settings, ks=(1, 2, 4, 8, 16, 32, 64, ALL), depths=range(1, 7)),
    ]


def draw_wider(table: pd.DataFrame) -> dict[str, Any]:
    """Draw FICO, as Figure 2 shows the others."""
    rows = where(table, dataset=FICO)
    if not len(rows):
        return {}
    ks = in_order(rows["k"])
    return {"fico": panels([FICO], lambda place, name: accuracy_lines(place, rows, ks), "depth", "test accuracy")}


def noise_plan(settings: Settings) -> list[Task]:
    """Plan runs with flipped training labels."""
    return fits.tasks(chosen(settings), settings, ks=(1, 4, 16), depths=range(3, 7), noises=NOISES)


def draw_noise(table: pd.DataFrame) -> dict[str, Any]:
    """Draw test accuracy against the share of flipped labels, at depth 5 if it is there."""
    depth = table["depth"][table["depth"] <= 5].max()
    rows = where(table, depth=depth)
    return _lines(
        rows, "noise", "noise", "share of training labels flipped", "k", name_of, f"test accuracy, depth {depth}"
    )


def random_plan(settings: Settings) -> list[Task]:
    """Plan greedy trees, and those of the k best and of k random candidates."""
    names = chosen(settings)
    found = fits.tasks(names, settings, ks=(1,), depths=RANDOM_DEPTHS[3])
    for k, depths in RANDOM_DEPTHS.items():
        found += fits.tasks(names, settings, ks=(k,), depths=depths, candidates=(fits.TOP, fits.RANDOM))
    return found


def draw_random(table: pd.DataFrame) -> dict[str, Any]:
    """Draw test accuracy against depth."""
    rows = where(table, k=(1, 3))
    kind = rows["candidates"].map({fits.TOP: "Top", fits.RANDOM: "Random"})
    return _lines(rows.assign(who=kind + "-" + rows["k"].astype(str)), "random-k", "depth", "depth", "who", str)


def criteria_plan(settings: Settings) -> list[Task]:
    """Plan runs with each criterion that ranks the candidates."""
    return fits.tasks(chosen(settings), settings, ks=(1, 4, 16), depths=range(3, 6), criteria=CRITERIA)


def draw_criteria(table: pd.DataFrame) -> dict[str, Any]:
    """Draw test accuracy against depth at one k."""
    return _lines(where(table, k=4), "criteria", "depth", "depth", "criterion", str, "test accuracy, k = 4")


def _lines(
    rows: pd.DataFrame,
    name: str,
    x: str,
    x_label: str,
    of: str,
    label: Callable[[Any], str],
    y_label: str = "test accuracy",
) -> dict[str, Any]:
    """Draw a panel per dataset, a line for each value of the column `of`."""

    def panel(place: Any, dataset: str) -> None:
        for value, colour, marker in zip(rows[of].unique(), COLOURS, MARKERS, strict=False):
            found = where(rows, dataset=dataset, **{of: value}).sort_values(x)
            look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 3, "elinewidth": 0.6}
            points = found[x].to_numpy(float), found["test_mean"].to_numpy(float)
            place.errorbar(*points, yerr=error_bars(found, "test"), label=label(value), **look)
        if x == "depth":
            integers_only(place)

    names = list(rows["dataset"].unique())
    return {name: panels(names, panel, x_label, y_label)} if names else {}


FIG2_PICTURES = tuple(f"fig2{part}{suffix}" for suffix in SUFFIX.values() for part in ("", "-appendix"))
FIG2 = fits.study("fig2", fig2_plan, draw_fig2, FIG2_PICTURES)
FIG4_SUMMARY = (*fits.SUMMARY, "last_mean", "last_sd")
FIG4 = fits.study("fig4", fig4_plan, draw_fig4, ("fig4",), summarise=summarise_fig4, summary=FIG4_SUMMARY)
WIDER = fits.study("wider", wider_plan, draw_wider, ("fico",))
NOISE = fits.study("noise", noise_plan, draw_noise, ("noise",))
RANDOM_K = fits.study("random-k", random_plan, draw_random, ("random-k",))
CRITERIA_COMPARED = fits.study("criteria", criteria_plan, draw_criteria, ("criteria",))
