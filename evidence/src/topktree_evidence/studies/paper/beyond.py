"""Beyond the paper: larger k and FICO, label noise, random candidates, criteria.

In: Settings. Out: four Experiments, each a choice of accuracy runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from topktree_evidence import pictures
from topktree_evidence.splits import FICO, chosen
from topktree_evidence.studies.paper import fits
from topktree_evidence.study import Row, Settings, Task

NOISES = (0.0, 0.1, 0.2, 0.3, 0.4)
CRITERIA = ("entropy", "gini", "sqrt", "gain_ratio")
DEPTHS = range(3, 7)
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
RANDOM_DEPTHS = {3: range(1, 7), 8: range(1, 5)}  # a callback for every node takes its time


def wider_plan(settings: Settings) -> list[Task]:
    """Larger k than the paper's on its datasets, and FICO down to depth 6."""
    return [
        *fits.tasks(chosen(settings), settings, ks=(32, 64), depths=range(2, 6)),
        *fits.tasks(chosen(settings, [FICO]), settings, ks=(1, 2, 4, 8, 16, 32, 64, fits.ALL), depths=range(1, 7)),
    ]


def noise_plan(settings: Settings) -> list[Task]:
    """Flipped training labels."""
    return fits.tasks(chosen(settings), settings, ks=(1, 4, 16), depths=DEPTHS, noises=NOISES)


def random_plan(settings: Settings) -> list[Task]:
    """Greedy, k best and k random candidates."""
    names = chosen(settings)
    found = fits.tasks(names, settings, ks=(1,), depths=RANDOM_DEPTHS[3])
    for k, depths in RANDOM_DEPTHS.items():
        found += fits.tasks(names, settings, ks=(k,), depths=depths, candidates=(fits.TOP, fits.RANDOM))
    return found


def criteria_plan(settings: Settings) -> list[Task]:
    """What ranks the candidates."""
    return fits.tasks(chosen(settings), settings, ks=(1, 4, 16), depths=range(3, 6), criteria=CRITERIA)


def draw_wider(summary: Sequence[Row]) -> dict[str, Any]:
    """FICO, as Figure 2 shows the others."""
    rows = [row for row in summary if row["dataset"] == FICO]
    if not rows:
        return {}
    ks = pictures.in_order({row["k"] for row in rows})
    figure = pictures.panels(
        [FICO], lambda place, name: pictures.accuracy_lines(place, rows, ks), "depth", "test accuracy"
    )
    return {"fico": figure}


def draw_noise(summary: Sequence[Row]) -> dict[str, Any]:
    """Test accuracy against the share of flipped labels, at depth 5 if it is there."""
    depth = max((row["depth"] for row in summary if row["depth"] <= 5), default=None)
    return _lines(
        [row for row in summary if row["depth"] == depth],
        "noise",
        x="noise",
        x_label="share of training labels flipped",
        of="k",
        label=pictures.name_of,
        y_label=f"test accuracy, depth {depth}",
    )


def draw_random(summary: Sequence[Row]) -> dict[str, Any]:
    """Test accuracy against depth."""
    named = [row | {"who": _contestant(row)} for row in summary if row["k"] in (1, 3)]
    return _lines(named, "random-k", x="depth", x_label="depth", of="who", label=str, y_label="test accuracy")


def draw_criteria(summary: Sequence[Row]) -> dict[str, Any]:
    """Test accuracy against depth at one k."""
    rows = [row for row in summary if row["k"] == 4]
    return _lines(
        rows, "criteria", x="depth", x_label="depth", of="criterion", label=str, y_label="test accuracy, k = 4"
    )


def _contestant(row: Row) -> str:
    return f"{'Random' if row['candidates'] == fits.RANDOM else 'Top'}-{row['k']}"


def _lines(
    rows: Sequence[Row],
    name: str,
    *,
    x: str,
    x_label: str,
    of: str,
    label: Callable[[Any], str],
    y_label: str,
) -> dict[str, Any]:
    """A panel per dataset, a line for each value of a column."""
    values = list(dict.fromkeys(row[of] for row in rows))

    def panel(place: Any, dataset: str) -> None:
        for value, colour, marker in zip(values, COLOURS, pictures.MARKERS, strict=False):
            found = [row for row in rows if row["dataset"] == dataset and row[of] == value]
            points = pictures.line(found, x, "test_mean")
            bars = pictures.error_bars(found, x, "test")
            place.errorbar(
                *points, yerr=bars, color=colour, marker=marker, markersize=3, label=label(value), elinewidth=0.6
            )
        if x == "depth":
            place.xaxis.get_major_locator().set_params(integer=True)

    names = list(dict.fromkeys(str(row["dataset"]) for row in rows))
    return {name: pictures.panels(names, panel, x_label, y_label)} if names else {}


WIDER = fits.experiment("wider", wider_plan, draw_wider, ("fico",))
NOISE = fits.experiment("noise", noise_plan, draw_noise, ("noise",))
RANDOM_K = fits.experiment("random-k", random_plan, draw_random, ("random-k",))
CRITERIA_COMPARED = fits.experiment("criteria", criteria_plan, draw_criteria, ("criteria",))
