"""Tables selected, and numbers turned into text: what the claims and the pages are made of.

In: tables (DataFrames, one row per run or cell). Out: selections, means, and Markdown.
The one idea: means are those of `statistics.fmean`, exactly rounded, so that a page does not depend on summation order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import exp, log, sqrt
from statistics import fmean
from typing import Any

import pandas as pd
from scipy.stats import t

Tables = dict[str, pd.DataFrame]


def where(frame: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    """Return the rows with these values; a tuple or list allows several."""
    for name, value in wanted.items():
        column = frame[name]
        frame = frame[column.isin(value) if isinstance(value, tuple | list) else column == value]
    return frame


def only(frame: pd.DataFrame, **wanted: Any) -> pd.Series | None:
    """Return the row with these values, if there is one."""
    found = where(frame, **wanted)
    return found.iloc[0] if len(found) else None


def is_missing(value: Any) -> bool:
    """Return True for None and NaN."""
    return value is None or value != value


def mean(found: Iterable[float]) -> float:
    """Return the mean of what is not missing; 0 if there is nothing."""
    present = [value for value in found if not is_missing(value)]
    return fmean(present) if present else 0.0


def geometric_mean(found: Iterable[float], smallest: float = 0.0) -> float:
    """Return the geometric mean; values below `smallest` count as that."""
    return exp(mean(log(max(value, smallest)) for value in found if not is_missing(value)))


def half_interval(row: Mapping[str, Any] | pd.Series, name: str = "gain") -> float | None:
    """Return half of the 95% interval (Student's t) of a mean over splits; None for one split, or for nothing."""
    spread, splits = row[f"{name}_sd"], row["splits"]
    if is_missing(row[f"{name}_mean"]) or splits < 2:
        return None
    return float(t.ppf(0.975, splits - 1) * spread / sqrt(splits))


def is_clear(row: Mapping[str, Any] | pd.Series, name: str = "gain") -> bool:
    """Return True if 0 is outside the interval."""
    half = half_interval(row, name)
    return half is not None and bool(abs(row[f"{name}_mean"]) > half)


def clear(frame: pd.DataFrame, name: str = "gain") -> pd.DataFrame:
    """Return the rows whose difference is clear."""
    return frame[[is_clear(row, name) for _, row in frame.iterrows()]] if len(frame) else frame


def listed(names: Iterable[Any], last: str = "and") -> str:
    """Join names as in a sentence."""
    found = [str(name) for name in names]
    return f" {last} ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def commas(found: Iterable[Any]) -> str:
    """Join numbers with commas."""
    return ", ".join(f"{value:g}" for value in found)


def limits(frame: pd.DataFrame) -> list[str]:
    """Return the different time limits that runs had."""
    return [f"{limit:g}" for limit in sorted(set(frame["limit"].dropna()))]


def points(share: Any, signed: bool = False) -> str:
    """Return a share as points of accuracy: 0.0123 is 1.2."""
    if is_missing(share):
        return ""
    text = f"{100 * share:+.1f}" if signed else f"{100 * share:.1f}"
    return text.replace("-0.0", "+0.0" if signed else "0.0")


def signed(share: Any) -> str:
    """Return a difference in points, with its sign."""
    return points(share, signed=True)


def seconds(value: Any) -> str:
    """Return seconds with two digits in a fitting unit."""
    if is_missing(value):
        return ""
    return f"{value * 1000:.2g} ms" if value < 0.1 else f"{value:.2g} s" if value < 10 else f"{value:,.0f} s"


def span(values: Iterable[Any], spec: str = ",") -> str:
    """Return the lowest and the highest value, as one number if they read the same; "-" if there is none."""
    found = list(values)
    return " to ".join(dict.fromkeys(f"{value:{spec}}" for value in (min(found), max(found)))) if found else "-"


def bold(text: str, is_bold: bool) -> str:
    """Return the text, in bold type if asked for."""
    return f"**{text}**" if is_bold and text else text


def markdown(header: Sequence[str], body: Iterable[Sequence[Any]]) -> str:
    """Return a table; columns whose first entry is a number are aligned to the right."""
    lines = [[_cell(value) for value in line] for line in body]
    first = [next((line[column] for line in lines if line[column]), "") for column in range(len(header))]
    marks = ["---:" if _is_number(text.strip("*")) else "---" for text in first]
    return "\n".join("| " + " | ".join(line) + " |" for line in [list(header), marks, *lines])


def crossed(corner: str, lines: Mapping[str, Any], columns: Mapping[str, Any], cell: Callable[[Any, Any], str]) -> str:
    """Return a table with a cell for what each line and each column stands for."""
    body = [(name, *(cell(line, column) for column in columns.values())) for name, line in lines.items()]
    return markdown((corner, *columns), body)


def _cell(value: Any) -> str:
    if is_missing(value):
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _is_number(text: str) -> bool:
    return text[:1].isdigit() or (text[:1] in "+-" and text[1:2].isdigit())


def aligned(header: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return a table that also reads well as text: the first column to the left, the others to the right."""
    rows = [list(header), *map(list, body)]
    widths = [max(3, *(len(row[i]) for row in rows)) for i in range(len(header))]
    rule = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
    lines = []
    for row in [rows[0], rule, *rows[1:]]:
        cells = [row[0].ljust(widths[0])] + [row[i].rjust(widths[i]) for i in range(1, len(row))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
