"""The parts of a verdict: grades, and cells that can be compared.

In: tables of the studies. Out: the parts of a claim's answer, a text and a verdict.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import TypeVar

import pandas as pd

from ...splits import PAPER_COLUMNS, VARIANTS
from ...text import Tables, where

HOLDS, IN_PART, DOES_NOT, NOT_RUN = "holds", "holds in part", "does not hold", "not run"

CASE = ["dataset", "depth"]

Answer = tuple[str, str]  # what we see, and the verdict
Cases = TypeVar("Cases", bound=Sized)


class NoCases(Exception):
    """The tables have nothing that the claim is about."""


def some(cases: Cases) -> Cases:
    """Return cases of which there is at least one."""
    if not len(cases):
        raise NoCases
    return cases


def graded(right: int, cases: int, text: str, enough: float = 1.0, enough_for_part: float = 0.5) -> Answer:
    """Return a verdict by the share of cases in which a claim is right."""
    if not cases:
        raise NoCases
    share = right / cases
    return text, HOLDS if share >= enough else IN_PART if share >= enough_for_part else DOES_NOT


def finished(table: pd.DataFrame) -> pd.DataFrame:
    """Return cells all of whose splits finished, with a greedy tree to compare with, on the paper's own datasets."""
    complete = table.dropna(subset=["test_mean", "gain_mean"])
    return complete[~complete["dataset"].isin(VARIANTS)]


def paper_cells(found: Tables) -> pd.DataFrame:
    """Return Figure 2 with the paper's columns."""
    return finished(where(found["fig2"], columns=PAPER_COLUMNS))


def ahead(table: pd.DataFrame) -> pd.DataFrame:
    """Return cells in which Top-k has more test accuracy than Top-1."""
    return table[table["gain_mean"] > 0]


def behind(table: pd.DataFrame) -> pd.DataFrame:
    """Return cells in which Top-k has less test accuracy than Top-1."""
    return table[table["gain_mean"] < 0]


def lead(cells: pd.DataFrame, others: pd.DataFrame) -> pd.Series:
    """Return test accuracy less that of others on the same dataset and depth."""
    base = others.set_index(CASE)["test_mean"].rename("base")
    both = cells.join(base, on=CASE, how="inner")
    return both["test_mean"] - both["base"]
