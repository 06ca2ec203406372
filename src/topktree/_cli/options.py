"""Options that several commands share, the checks of their values, and the completion of column names in a shell.

In: texts from the user. Out: values, or a `Mistake`. The one idea: nothing here needs more than click, so that `--help`
and completion are quick. The constants repeat those of the library, which a test compares.
"""

from __future__ import annotations

import csv
import functools
import gzip
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from .files import GZIP_MAGIC, check_output
from .messages import Mistake

KINDS = ("number", "boolean", "category")
CRITERIA = ("entropy", "gini", "sqrt", "gain_ratio")
RULES = ("1se", "best")
MAX_DEPTH = 999

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class FiniteRange(click.FloatRange):
    """A finite number in a range; click's own type accepts NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number that a text says."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


@dataclass(frozen=True)
class ColumnOptions:
    """What the user says about the columns of a table."""

    target: str
    weight: str | None = None
    types: Mapping[str, str] | None = None
    drop: Sequence[str] = ()


def number(kind: type, least: float, most: float, words: Mapping[str, Any], allowed: str, *, many: bool = False) -> Any:
    """Return a click callback that reads a number, or one of some words; if `many`, several separated by commas."""

    def parse(part: str) -> Any:
        value = words[part] if part in words else kind(part)
        if part not in words and not least <= value <= most:
            raise ValueError
        return value

    def read(context: click.Context, parameter: click.Parameter, text: str) -> Any:
        values = []
        for part in text.split(",") if many else [text]:
            try:
                values.append(parse(part.strip().lower()))
            except ValueError:
                how = f", separated by commas, got {part.strip()!r}" if many else ""
                raise Mistake(f"{parameter.opts[0]} {text}: must be {allowed}{how}") from None
        return tuple(values) if many else values[0]

    return read


read_ks = number(int, 1, math.inf, {"all": "all"}, 'whole numbers from 1 on, or "all"', many=True)


json_option = click.option("--json", "to_json", is_flag=True, help="Print JSON instead of text.")
seed_option = click.option(
    "--seed",
    "random_state",
    metavar="N",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    help="Seed of the random split.",
)


def time_limit_option(help: str) -> Decorator:
    """Add --time-limit."""
    return click.option("--time-limit", metavar="SECONDS", type=FiniteRange(min=0, min_open=True), help=help)


def jobs_option(help: str) -> Decorator:
    """Add --jobs."""
    read_jobs = number(int, 1, math.inf, {"-1": -1}, "1 or more, or -1 for one per core")
    return click.option("--jobs", "n_jobs", metavar="N", default="1", callback=read_jobs, help=help)


def output_option(*names: str, help: str, callback: Any = check_output) -> Decorator:
    """Add an option that names a file to write."""
    return click.option(*names, metavar="FILE", type=click.Path(path_type=Path), callback=callback, help=help)


def table_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add FILE, --target, --weight, --type and --drop; the function gets `data` and `columns`."""

    @functools.wraps(function)
    def command(target: str, weight: str | None, types: dict[str, str], drop: tuple[str, ...], **others: Any) -> Any:
        return function(columns=ColumnOptions(target, weight, types, drop), **others)

    kinds = f"What a column is: {', '.join(KINDS)}. May be repeated."
    for decorate in (
        _column_option("--drop", multiple=True, help="A column to leave out. May be repeated."),
        click.option("--type", "types", metavar="COLUMN=KIND", multiple=True, callback=_read_types, help=kinds),
        _column_option("--weight", help="The column with the weights of the rows."),
        _column_option("--target", required=True, help="The column with the classes to predict."),
        click.argument("data", metavar="FILE", type=click.Path()),
    ):
        command = decorate(command)
    return command


def _column_option(name: str, help: str, **settings: Any) -> Decorator:
    return click.option(name, metavar="COLUMN", shell_complete=_complete_column, help=help, **settings)


def _read_types(context: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> dict[str, str]:
    """Read --type COLUMN=KIND; the name of a column may contain =."""
    types: dict[str, str] = {}
    for text in texts:
        name, _, kind = text.rpartition("=")
        if not name or kind not in KINDS:
            raise Mistake(f"--type {text}: must be COLUMN=KIND, where KIND is {', '.join(KINDS[:-1])} or {KINDS[-1]}")
        if types.setdefault(name, kind) != kind:
            raise Mistake(f"--type {text}: {name} is a {types[name]} already")
    return types


def _complete_column(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a column, if FILE comes before it and is CSV."""
    before = [context.params.get("data"), *context.args]  # an option without its value stops click's parser
    try:
        names = _first_line(next(path for path in before if path and os.path.isfile(path)))
    except (OSError, EOFError, ValueError, csv.Error, StopIteration):
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _first_line(path: str) -> list[str]:
    with open(path, "rb") as stream:
        is_gzip = stream.read(2) == GZIP_MAGIC
    with (gzip.open if is_gzip else open)(path, "rt", encoding="utf-8-sig", newline="") as text:
        return next(csv.reader(text))
