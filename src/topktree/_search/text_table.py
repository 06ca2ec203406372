"""A table of results as text, for printing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray


def text_table(table: Mapping[str, NDArray[Any]], formats: Mapping[str, str], note: str = "") -> str:
    """Return the columns side by side, numbers to the right, text to the left, and the note below.

    The formats are those of columns of floats, by name.
    """
    columns = []
    for name, values in table.items():
        form = formats[name] if values.dtype.kind == "f" else "{}"
        cells = [name, *(form.format(value) for value in values.tolist())]
        width = max(map(len, cells))
        columns.append([cell.ljust(width) if values.dtype == object else cell.rjust(width) for cell in cells])
    lines = ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
    return "\n".join([*lines, note] if note else lines)
