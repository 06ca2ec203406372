"""Options that say what a table's columns are, for the commands that fit trees; and their completion in a shell.

In: a click command's function. Out: the same with options, which reach it as one `ColumnOptions`.
"""

from __future__ import annotations

import csv
import functools
import gzip
import os
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from .._data.features import KINDS
from .columns import ColumnOptions, parse_types
from .tables import GZIP_MAGIC


def columns_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """FILE, --target, --weight, --type and --drop; the function gets `data` and `columns`."""

    @functools.wraps(function)
    def command(target: str, weight: str | None, types: dict[str, str], drop: tuple[str, ...], **others: Any) -> Any:
        return function(columns=ColumnOptions(target, weight, types, drop), **others)

    for decorate in reversed(_OPTIONS):
        command = decorate(command)
    return command


def complete_column(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of columns, if FILE comes before and is CSV."""
    before = [context.params.get("data"), *context.args]  # an option without its value stops click's parser
    try:
        names = _first_line(next(path for path in before if path and os.path.isfile(path)))
    except (OSError, EOFError, ValueError, csv.Error, StopIteration):
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _first_line(path: str) -> list[str]:
    """The names of columns in a CSV file, without pandas, which takes a second to start."""
    with open(path, "rb") as stream:
        is_gzip = stream.read(2) == GZIP_MAGIC
    with (gzip.open if is_gzip else open)(path, "rt", encoding="utf-8-sig", newline="") as text:
        return next(csv.reader(text))


_OPTIONS = (
    click.argument("data", metavar="FILE", type=click.Path()),
    click.option(
        "--target", metavar="COLUMN", required=True, shell_complete=complete_column, help="The classes to predict."
    ),
    click.option("--weight", metavar="COLUMN", shell_complete=complete_column, help="Weights of the rows."),
    click.option(
        "--type",
        "types",
        metavar="COLUMN=KIND",
        multiple=True,
        callback=parse_types,
        help=f"What a column is: {', '.join(KINDS)}. May be repeated.",
    ),
    click.option(
        "--drop",
        metavar="COLUMN",
        multiple=True,
        shell_complete=complete_column,
        help="A column to leave out. May be repeated.",
    ),
)
