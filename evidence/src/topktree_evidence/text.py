"""Rows of summaries, chosen and compared: what the claims and the page are made of.

In: rows of a CSV file. Out: numbers, and Markdown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean
from typing import Any

from scipy.stats import t

from topktree_evidence.study import Row, Value


def where(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """The rows with these values; a tuple allows several."""
    return [
        row
        for row in rows
        if all(row[name] in value if isinstance(value, tuple) else row[name] == value for name, value in wanted.items())
    ]


def only(rows: Iterable[Row], **wanted: Any) -> Row | None:
    """The row with these values, if there is one."""
    return next(iter(where(rows, **wanted)), None)


def values(rows: Iterable[Row], name: str) -> list[Any]:
    """The different values of a column, in their order."""
    return list(dict.fromkeys(row[name] for row in rows))


def numbers(rows: Iterable[Row], name: str) -> list[float]:
    """A column without what is missing."""
    return [value for row in rows if isinstance(value := row[name], int | float)]


def mean(found: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return fmean(found) if found else 0.0


def half_interval(row: Row, name: str = "gain") -> float | None:
    """Half of the 95 % interval (Student's t) of a mean over the splits; None of one split, or of nothing."""
    spread, splits = row[f"{name}_sd"], row["splits"]
    if row[f"{name}_mean"] is None or splits < 2:
        return None
    return float(t.ppf(0.975, splits - 1) * spread / sqrt(splits))


def is_clear(row: Row, name: str = "gain") -> bool:
    """Whether 0 is outside the interval."""
    half = half_interval(row, name)
    return half is not None and abs(row[f"{name}_mean"]) > half


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names in a sentence."""
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def limits(rows: Iterable[Row]) -> str:
    """The time limits that runs had, in a sentence."""
    return listed([f"{limit:g}" for limit in sorted(set(numbers(rows, "limit")))], "or")


def markdown(header: Sequence[str], body: Iterable[Sequence[Any]]) -> str:
    """A table; columns that begin with a number to the right."""
    lines = [[cell(value) for value in line] for line in body]
    first = [next((line[column] for line in lines if line[column]), "") for column in range(len(header))]
    marks = ["---:" if is_number(text.strip("*")) else "---" for text in first]
    return "\n".join("| " + " | ".join(line) + " |" for line in [list(header), marks, *lines])


def cell(value: Any) -> str:
    """A value as it is printed."""
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def is_number(text: str) -> bool:
    """Whether a cell stands to the right."""
    return text[:1].isdigit() or (text[:1] in "+-" and text[1:2].isdigit())


def points(share: Value, signed: bool = False) -> str:
    """A share as points of accuracy: 0.0123 is 1.2."""
    if not isinstance(share, int | float):
        return ""
    text = f"{100 * share:+.1f}" if signed else f"{100 * share:.1f}"
    return text.replace("-0.0", "+0.0" if signed else "0.0")


def seconds(value: Value) -> str:
    """Seconds as a person writes them."""
    if not isinstance(value, int | float):
        return ""
    return f"{value * 1000:.2g} ms" if value < 0.1 else f"{value:.2g} s" if value < 10 else f"{value:,.0f} s"
