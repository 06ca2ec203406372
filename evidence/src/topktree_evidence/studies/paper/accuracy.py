"""The accuracy figures: Figures 2 and 4, and beyond the paper larger k, label noise, random candidates and criteria.

In: Settings. Out: Studies, each a selection of the runs of fits.py. Figure 2 is made with the paper's columns and with
topktree's own, since the choice of thresholds matters as well.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from topktree import datasets

from ...pictures import ALL, MARKERS, accuracy_lines, by_dataset, error_line, in_order, integers_only, name_of, panels
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


def draw_fig2(table: pd.DataFrame) -> dict[str, Any]:
    """Draw four pictures: main and appendix, the paper's columns and ours."""
    figures: dict[str, Any] = {}
    for columns, suffix in SUFFIX.items():
        rows = where(table, columns=columns)
        is_appendix = rows["dataset"].isin(APPENDIX)
        figures |= _by_depth(f"fig2{suffix}", rows[~is_appendix])
        figures |= _by_depth(f"fig2-appendix{suffix}", rows[is_appendix])
    return figures


def _by_depth(name: str, rows: pd.DataFrame) -> dict[str, Any]:
    """Draw test accuracy against depth: a panel per dataset, a line per k."""
    draw = partial(accuracy_lines, ks=in_order(rows["k"]))
    return panels(name, by_dataset(rows), draw, "depth", "test accuracy")


def fig4_plan(settings: Settings) -> list[Task]:
    """Plan every k up to all columns, for every split."""
    found: list[Task] = []
    for name in chosen(settings, FIG4_DATASETS):
        n_columns = datasets.PAPER[name].paper_columns
        assert n_columns is not None
        found += fits.tasks(settings, [name], ks=range(1, n_columns + 1), depths=[FIG4_DEPTH])
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

    def panel(place: Any, rows: pd.DataFrame) -> None:
        for part, colour, marker in (("train", "#0072b2", "o"), ("test", "#d55e00", "s")):
            look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 3}
            error_line(place, rows.sort_values("k"), "k", part, label=part, **look)
        integers_only(place)

    return panels("fig4", by_dataset(table), panel, "k", f"accuracy, depth {FIG4_DEPTH}")


def wider_plan(settings: Settings) -> list[Task]:
    """Plan larger k than the paper's on its datasets, and FICO down to depth 6."""
    return [
        *fits.tasks(settings, ks=(32, 64), depths=range(2, 6)),
        *fits.tasks(settings, [FICO], ks=(1, 2, 4, 8, 16, 32, 64, ALL), depths=range(1, 7)),
    ]


def draw_wider(table: pd.DataFrame) -> dict[str, Any]:
    """Draw FICO, as Figure 2 shows the others."""
    return _by_depth("fico", where(table, dataset=FICO))


def draw_noise(table: pd.DataFrame) -> dict[str, Any]:
    """Draw test accuracy against the share of flipped labels, at depth 5 if it is there."""
    depth = table["depth"][table["depth"] <= 5].max()
    label = f"test accuracy, depth {depth}"
    return _lines("noise", where(table, depth=depth), "k", "noise", "share of training labels flipped", label)


def random_plan(settings: Settings) -> list[Task]:
    """Plan greedy trees, and those of the k best and of k random candidates."""
    found = fits.tasks(settings, ks=(1,), depths=RANDOM_DEPTHS[3])
    for k, depths in RANDOM_DEPTHS.items():
        found += fits.tasks(settings, ks=(k,), depths=depths, candidates=(fits.TOP, fits.RANDOM))
    return found


def draw_random(table: pd.DataFrame) -> dict[str, Any]:
    """Draw test accuracy against depth."""
    rows = where(table, k=(1, 3))
    kind = rows["candidates"].map({fits.TOP: "Top", fits.RANDOM: "Random"})
    return _lines("random-k", rows.assign(who=kind + "-" + rows["k"].astype(str)), "who")


def draw_criteria(table: pd.DataFrame) -> dict[str, Any]:
    """Draw test accuracy against depth at one k."""
    return _lines("criteria", where(table, k=4), "criterion", y_label="test accuracy, k = 4")


def _lines(
    name: str, rows: pd.DataFrame, of: str, x: str = "depth", x_label: str = "depth", y_label: str = "test accuracy"
) -> dict[str, Any]:
    """Draw a panel per dataset, a line for each value of the column `of`."""
    styles = list(zip(rows[of].unique(), COLOURS, MARKERS, strict=False))

    def panel(place: Any, own: pd.DataFrame) -> None:
        for value, colour, marker in styles:
            label = name_of(value) if of == "k" else value
            look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 3}
            error_line(place, where(own, **{of: value}).sort_values(x), x, "test", label=label, **look)
        if x == "depth":
            integers_only(place)

    return panels(name, by_dataset(rows), panel, x_label, y_label)


FIG4_SUMMARY = (*fits.SUMMARY, "last_mean", "last_sd")
FIG2_PICTURES = tuple(f"fig2{part}{suffix}" for suffix in SUFFIX.values() for part in ("", "-appendix"))
FIG2 = fits.study(
    "fig2",
    tasks=partial(fits.tasks, ks=KS, depths=DEPTHS, columns=(PAPER_COLUMNS, DEFAULT_COLUMNS)),
    pictures=draw_fig2,
    drawn=FIG2_PICTURES,
)
FIG4 = fits.study(
    "fig4", tasks=fig4_plan, pictures=draw_fig4, drawn=("fig4",), summarise=summarise_fig4, summary=FIG4_SUMMARY
)
WIDER = fits.study("wider", tasks=wider_plan, pictures=draw_wider, drawn=("fico",))
NOISE = fits.study(
    "noise",
    tasks=partial(fits.tasks, ks=(1, 4, 16), depths=range(3, 7), noises=NOISES),
    pictures=draw_noise,
    drawn=("noise",),
)
RANDOM_K = fits.study("random-k", tasks=random_plan, pictures=draw_random, drawn=("random-k",))
CRITERIA_COMPARED = fits.study(
    "criteria",
    tasks=partial(fits.tasks, ks=(1, 4, 16), depths=range(3, 6), criteria=CRITERIA),
    pictures=draw_criteria,
    drawn=("criteria",),
)
