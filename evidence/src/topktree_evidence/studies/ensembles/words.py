"""Comparisons over datasets in words.

In: a Comparison, or rows of a summary. Out: sentences, or parts of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from topktree import datasets
from topktree_evidence.paired import Comparison, over_datasets
from topktree_evidence.studies.ensembles.models import BOOSTING, HIST
from topktree_evidence.studies.ensembles.pictures import NAMES
from topktree_evidence.study import Row
from topktree_evidence.text import listed, points


def answer(directions: Sequence[int]) -> str:
    """Over many cells: whether k helps (1), does harm (-1) or neither (0) in each of them."""
    helps, harms = directions.count(1), directions.count(-1)
    if helps <= harms:
        return "no"
    return "yes" if not harms and 3 * helps >= 2 * len(directions) else "in part"


def verdict(compared: Comparison) -> str:
    """What a larger k does, if the datasets agree."""
    return {1: "helps", 0: "makes no clear difference", -1: "does harm"}[compared.direction]


def said(compared: Comparison) -> str:
    """The numbers."""
    ahead, behind = str(compared.ahead), str(compared.behind)
    if compared.tested:
        ahead += f" (clearly on {len(compared.clearly_ahead)})"
        behind += f" (clearly on {len(compared.clearly_behind)})"
    text = f"{points(compared.mean, signed=True)} points in the mean of {compared.n} datasets, ahead on {ahead}"
    text += f", behind on {behind}"
    return text if compared.p is None else f"{text}, {p_value(compared.p)}"


def in_a_cell(compared: Comparison) -> str:
    """The mean, bold where the datasets agree, and on how many it is clear, if there are tests."""
    if not compared.n:
        return ""
    gain = points(compared.mean, signed=True)
    text = f"**{gain}**" if compared.direction else gain
    clear = f" ({len(compared.clearly_ahead)}, {len(compared.clearly_behind)})"
    return text + clear if compared.tested else text


def p_value(p: float) -> str:
    """As a person writes it."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def clearly(compared: Comparison) -> str:
    """The names."""
    ahead, behind = (
        listed(names) if names else "no dataset" for names in (compared.clearly_ahead, compared.clearly_behind)
    )
    return f"clearly ahead on {ahead}; clearly behind on {behind}"


def with_two_classes(rows: Sequence[Row]) -> str:
    """Boosting where a round of HistGradientBoosting is one tree, and both are as large; nothing without such data."""
    binary = [row for row in rows if row["dataset"] in datasets.PAPER and datasets.PAPER[row["dataset"]].classes == 2]
    compared = over_datasets(binary, HIST)
    if not compared.n:
        return ""
    return f"With two classes, where a round is one tree, {NAMES[BOOSTING]} has {said(compared)} over {NAMES[HIST]}."
