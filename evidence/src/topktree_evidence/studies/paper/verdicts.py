"""What verdicts are made of: grades, counts of cells, cells that can be compared.

In: rows of the tables that the experiments wrote. Out: the parts of a claim's answer, a text and a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from topktree_evidence.splits import PAPER_COLUMNS, VARIANTS
from topktree_evidence.study import Row
from topktree_evidence.text import is_clear, where

HOLDS, IN_PART, DOES_NOT, NOT_RUN = "holds", "holds in part", "does not hold", "not run"

Tables = dict[str, list[Row]]
Answer = tuple[str, str]  # what we see, and the verdict
Case = TypeVar("Case")


class NoCases(Exception):
    """The tables have nothing that the claim is about."""


def some(cases: list[Case]) -> list[Case]:
    """Cases of which there is at least one."""
    if not cases:
        raise NoCases
    return cases


def graded(right: int, cases: int, text: str, enough: float = 1.0, enough_for_part: float = 0.5) -> Answer:
    """A verdict by the share of cases in which a claim is right."""
    if not cases:
        raise NoCases
    share = right / cases
    return text, HOLDS if share >= enough else IN_PART if share >= enough_for_part else DOES_NOT


def finished(rows: Sequence[Row]) -> list[Row]:
    """Accuracy cells all of whose splits finished, with a greedy tree to compare with, on the paper's own datasets."""
    complete = [row for row in rows if row["test_mean"] is not None and row["gain_mean"] is not None]
    return [row for row in complete if row["dataset"] not in VARIANTS]


def paper_cells(found: Tables) -> list[Row]:
    """Figure 2 with the paper's columns."""
    return finished(where(found["fig2"], columns=PAPER_COLUMNS))


def ahead(rows: Sequence[Row]) -> list[Row]:
    """Cells in which Top-k has more test accuracy than Top-1."""
    return [row for row in rows if row["gain_mean"] > 0]


def behind(rows: Sequence[Row]) -> list[Row]:
    """Cells in which it has less."""
    return [row for row in rows if row["gain_mean"] < 0]


def clear(rows: Sequence[Row]) -> list[Row]:
    """Of these, those in which the difference is more than chance."""
    return [row for row in rows if is_clear(row)]
