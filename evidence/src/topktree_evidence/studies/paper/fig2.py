"""Figure 2 and its appendix twin: test accuracy against depth for each k, with the paper's columns and with ours.

In: Settings. Out: an Experiment. The paper shows its columns only; where numbers are cut matters as well, so there is a
second picture with ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from topktree_evidence import pictures
from topktree_evidence.splits import DEFAULT_COLUMNS, PAPER_COLUMNS, REPAIRED, WITHOUT_ANSWER, chosen
from topktree_evidence.studies.paper import fits
from topktree_evidence.study import Row, Settings, Task

KS = (1, 2, 3, 4, 8, 12, 16, fits.ALL)
DEPTHS = range(1, 9)

# Which dataset the paper shows where follows from its text, as far as it goes; its source has no pictures.
APPENDIX = (
    "car",
    "kr-vs-kp",
    "hiv-1-protease",
    "molecular-biology-splice",
    "monks-1",
    "hayes-roth",
    "tic-tac-toe",
    "taiwanese-bankruptcy",
    "credit-card",
    "electrical-grid-stability",
    WITHOUT_ANSWER,
    REPAIRED,
)
SUFFIX = {PAPER_COLUMNS: "", DEFAULT_COLUMNS: "-default"}


def plan(settings: Settings) -> list[Task]:
    """Every k and depth of every split, with both kinds of columns."""
    return fits.tasks(chosen(settings), settings, ks=KS, depths=DEPTHS, columns=(PAPER_COLUMNS, DEFAULT_COLUMNS))


def draw(summary: Sequence[Row]) -> dict[str, Any]:
    """Four pictures: main and appendix, the paper's columns and ours."""
    figures: dict[str, Any] = {}
    for columns, suffix in SUFFIX.items():
        rows = [row for row in summary if row["columns"] == columns]
        ks = pictures.in_order({row["k"] for row in rows})
        names = list(dict.fromkeys(str(row["dataset"]) for row in rows))
        for part in ("", "-appendix"):
            shown = [name for name in names if (name in APPENDIX) == bool(part)]

            def panel(place: Any, name: str, rows: Sequence[Row] = rows, ks: Any = ks) -> None:
                pictures.accuracy_lines(place, [row for row in rows if row["dataset"] == name], ks)

            if shown:
                figures[f"fig2{part}{suffix}"] = pictures.panels(shown, panel, "depth", "test accuracy")
    return figures


DRAWN = tuple(f"fig2{part}{suffix}" for suffix in SUFFIX.values() for part in ("", "-appendix"))
EXPERIMENT = fits.experiment("fig2", plan, draw, DRAWN)
