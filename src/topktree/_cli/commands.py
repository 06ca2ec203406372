"""The commands as the user types them: their arguments, options and help texts, and the checks of their values.

In: arguments. Out: a call of the module that does the work, imported only then, or a `Mistake`. The one idea: the whole
interface is declared in one file that needs no more than click, so that `--help` and completion are quick. Some
constants repeat those of the library, which a test compares.
"""

from __future__ import annotations

import csv
import gzip
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from .files import GZIP_MAGIC, STDOUT, read_header
from .messages import Mistake

KINDS = ("number", "boolean", "category")
TYPES = (*KINDS, "date")
CRITERIA = ("entropy", "gini", "sqrt", "gain_ratio", "lookahead")
RULES = ("1se", "best")
MAX_DEPTH = 999
TEST_SIZE = 0.2  # the share of the rows that `fit` holds out
UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
FORMATS = ("text", "rules", "dot", "sql", "json")
TABLES = (".csv", ".csv.gz", ".parquet", ".pq", ".feather")
PICTURES = (".png", ".svg", ".pdf")
SHELLS = ("bash", "zsh", "fish")

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class FiniteRange(click.FloatRange):
    """A finite number in a range; click's own type accepts NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number in a text."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def number(kind: type, least: float, most: float, words: Mapping[str, Any], allowed: str, *, many: bool = False) -> Any:
    """Return a click callback that reads a number, or one of some words; if `many`, several separated by commas."""

    def read(context: click.Context, parameter: click.Parameter, text: str) -> Any:
        values = []
        for part in map(str.strip, text.split(",") if many else [text]):
            word = part.lower()
            try:
                value = words[word] if word in words else kind(word)
                if word not in words and not least <= value <= most:
                    raise ValueError
            except ValueError:
                how = f", separated by commas, got {part!r}" if many else ""
                raise Mistake(f"{parameter.opts[0]} {text}: must be {allowed}{how}") from None
            values.append(value)
        return tuple(values) if many else values[0]

    return read


def _read_bytes(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    """Read a number of bytes: `500000000`, `500M`, `2GB`."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+)\s*([kmg]?)b?", text.strip().lower())
    if match is None:
        raise Mistake(f"--memory-limit {text}: must be a number of bytes, optionally with K, M or G, such as 500M")
    return int(match[1]) * UNITS[match[2]]


def _read_types(context: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> dict[str, str]:
    """Read --type COLUMN=KIND, where KIND may be an order such as S<M<L; the name of a column may contain =."""
    types: dict[str, str] = {}
    for text in texts:
        name, _, kind = text.rpartition("=")
        values = [value.strip() for value in kind.split("<")]
        if not name or (kind not in TYPES and len(values) == 1):
            kinds = f"{', '.join(TYPES)} or an order of values such as S<M<L (values cannot contain < or =)"
            raise Mistake(f"--type {text}: must be COLUMN=KIND, where KIND is {kinds}")
        if "" in values:
            raise Mistake(f"--type {text}: must be an order of values such as S<M<L, got an empty value")
        if len(set(values)) < len(values):
            twice = next(value for value in values if values.count(value) > 1)
            raise Mistake(f"--type {text}: must be an order of values such as S<M<L, got {twice!r} twice")
        kind = "<".join(values)
        if types.setdefault(name, kind) != kind:
            raise Mistake(f"--type {text}: {name} is a {types[name]} already")
    return types


def _read_separator(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """Read --sep: a character, or the word tab."""
    sep = "\t" if text == "tab" else text
    if sep is not None and (len(sep) != 1 or not sep.isascii() or sep.isalnum() or sep in '"\r\n'):
        raise Mistake(f"--sep {text}: must be one character such as ';', or tab; not a letter, a digit or a quote")
    return sep


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
        return read_header(text)[1]


_read_ks = number(int, 1, math.inf, {"all": "all"}, 'whole numbers >= 1, or "all"', many=True)
_read_depths = number(int, 0, MAX_DEPTH, {}, f"whole numbers from 0 to {MAX_DEPTH}", many=True)
_read_penalty = number(float, 0, 1, {"tie": "tie"}, 'a number from 0 to 1, or "tie"')
_read_penalties = number(float, 0, 1, {"tie": "tie"}, 'numbers from 0 to 1, or "tie"', many=True)
_read_thresholds = number(int, 1, math.inf, {"none": None}, 'a whole number >= 1, or "none" for every midpoint')
_read_leaves = number(int, 2, math.inf, {"none": None}, 'whole numbers >= 2, or "none" for any number', many=True)
_read_least_rows = number(int, 1, math.inf, {}, "whole numbers >= 1", many=True)
_read_jobs = number(int, 1, math.inf, {"-1": -1}, "1 or more, or -1 for one per core")


def _read_criteria(context: click.Context, parameter: click.Parameter, text: str) -> tuple[str, ...]:
    """Read names of criteria, separated by commas."""
    names = tuple(map(str.strip, text.split(",")))
    for name in names:
        if name not in CRITERIA:
            raise Mistake(f"--criterion {text}: must be {', '.join(CRITERIA[:-1])} or {CRITERIA[-1]}, got {name!r}")
    return names


json_option = click.option("--json", "to_json", is_flag=True, help="Print JSON instead of text.")
seed_option = click.option(
    "--seed",
    "random_state",
    metavar="N",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    help="Seed of the random split.",
)
time_limit_option = partial(click.option, "--time-limit", metavar="SECONDS", type=FiniteRange(min=0, min_open=True))
jobs_option = partial(click.option, "--jobs", "n_jobs", metavar="N", default="1", callback=_read_jobs)
column_option = partial(click.option, metavar="COLUMN", shell_complete=_complete_column)


def output_option(*names: str, help: str, suffixes: Sequence[str] = (), or_stdout: bool = False) -> Decorator:
    """Add a file to write, refused before anything is computed if it cannot be written; "-" is None if allowed."""

    def check(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
        if path is None or (or_stdout and str(path) == STDOUT):
            return None
        option = f"{parameter.opts[0]} {path}"
        if suffixes and not path.name.lower().endswith(tuple(suffixes)):
            raise Mistake(f"{option}: the name must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}")
        if path.is_dir():
            raise Mistake(f"{option}: that is a folder")
        if not path.parent.is_dir():
            raise Mistake(f"{option}: there is no folder {path.parent}")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise Mistake(f"{option}: cannot write: permission denied")
        return path

    return click.option(*names, metavar="FILE", type=click.Path(path_type=Path), callback=check, help=help)


def csv_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --sep and --decimal."""
    separator = "What separates the values of CSV files: a character, or tab.  [default: recognised]"
    decimal = "Decimal sign of CSV files.  [default: recognised]"
    for add in (
        click.option("--decimal", type=click.Choice([".", ","]), help=decimal),
        click.option("--sep", metavar="CHARACTER", callback=_read_separator, help=separator),
    ):
        function = add(function)
    return function


def table_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add FILE, --target, --weight, --type, --drop, --sep and --decimal."""
    kinds = f"What a column is: {', '.join(TYPES)}, or an order such as 'S<M<L'. May be repeated."
    for add in (
        csv_options,
        column_option("--drop", multiple=True, help="A column to leave out. May be repeated."),
        click.option("--type", "types", metavar="COLUMN=KIND", multiple=True, callback=_read_types, help=kinds),
        column_option("--weight", help="The column with the weights of the rows."),
        column_option("--target", required=True, help="The column with the classes to predict."),
        click.argument("data", metavar="FILE", type=click.Path()),
    ):
        function = add(function)
    return function


@click.command("fit", short_help="Fit a tree to a table and test it on held-out rows.")
@table_options
@click.option(
    "-k", metavar="N", default="8", callback=_read_ks, help='Splits tried per node, or "all"; with commas: per level.'
)
@click.option("--depth", "max_depth", metavar="N", type=click.IntRange(0, MAX_DEPTH), default=5, help="Maximum depth.")
@click.option(
    "--leaf-penalty",
    metavar="X",
    default="0",
    callback=_read_penalty,
    help='Cost of a leaf, a share of the rows; "tie": fewest errors, then fewest leaves.',
)
@click.option(
    "--max-leaves", "max_leaf_nodes", metavar="N", type=click.IntRange(min=2), help="Maximum number of leaves."
)
@click.option("--criterion", type=click.Choice(CRITERIA), default=CRITERIA[0], help="The score that ranks splits.")
@click.option(
    "--lookahead-columns",
    metavar="N",
    type=click.IntRange(min=1),
    help="Splits per node that lookahead ranks.  [default: all]",
)
@click.option("--refine", is_flag=True, help="Improve the tree by a local search.")
@click.option("--min-samples-leaf", metavar="N", type=click.IntRange(min=1), default=1, help="Minimum rows in a leaf.")
@click.option("--distinct-splits", is_flag=True, help="Count splits that divide the rows in the same way as one.")
@click.option("--class-weight", type=click.Choice(["balanced"]), help="Give all classes the same total weight.")
@click.option(
    "--max-thresholds",
    metavar="N",
    default="32",
    callback=_read_thresholds,
    help='Thresholds per numeric feature; "none": every midpoint.',
)
@click.option("--test", "test_file", metavar="FILE", type=click.Path(), help="Test the tree on this table.")
@click.option(
    "--test-size",
    metavar="SHARE",
    type=FiniteRange(0, 1, max_open=True),
    help=f"Share of rows held out to test the tree; 0: none.  [default: {TEST_SIZE}, without --test]",
)
@seed_option
@time_limit_option(help="Stop with the best tree found by then.")
@click.option(
    "--memory-limit", metavar="BYTES", callback=_read_bytes, help="For solved subproblems, such as 500M.  [default: 1G]"
)
@jobs_option(help="Number of threads; -1: one per core.")
@output_option("--save", help="Write the tree to a model file (JSON).")
@output_option("--report", help="Write a report (HTML).")
@click.option(
    "--report-rows",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Test rows that the report contains, for its readers to follow through the tree.",
)
@json_option
def fit_command(test_size: float | None, test_file: str | None, **arguments: Any) -> None:
    """Fit a tree to a table, test it, and show it.

    FILE is a table: CSV (optionally gzipped), Parquet or Feather; - is standard input. The first line of CSV names
    the columns. Numbers are numbers, text is categories, and missing values are allowed everywhere except in the
    target.

    One row in five, drawn at random within each class, is held out: the tree is not fitted to these rows, and its
    accuracy on them is what to expect on new rows. --test-size 0 fits the tree to all rows.
    """
    if test_file is not None and test_size is not None:
        raise Mistake("--test and --test-size: only one of them can be given")
    from .fit import fit_and_show

    fit_and_show(test_size=TEST_SIZE if test_size is None else test_size, test_file=test_file, **arguments)


@click.command("predict", short_help="Predict the classes of the rows of a table.")
@click.argument("model", metavar="MODEL", type=click.Path())
@click.argument("data", metavar="FILE", type=click.Path())
@csv_options
@output_option(
    "-o", "--output", suffixes=TABLES, or_stdout=True, help="Write to a .csv, .csv.gz, .parquet or .feather file."
)
@click.option("--proba", is_flag=True, help="Add a column proba_CLASS with the probability of each class.")
@click.option("--rule", is_flag=True, help="Add a column rule with the conditions of the row's leaf.")
@click.option("--keep", is_flag=True, help="Put the columns of FILE before these.")
@click.option("--column", metavar="NAME", default="prediction", help="Name of the column of predictions.")
def predict_command(**arguments: Any) -> None:
    """Predict the class of every row of a table.

    MODEL is a file that topktree fit --save or choose --save wrote. FILE is a table: CSV (optionally gzipped),
    Parquet or Feather; - is standard input. Columns that the model does not know are ignored. The output has a row for
    each row of FILE, in the same order.
    """
    from .predict import predict_table

    predict_table(**arguments)


@click.command("show", short_help="Show the tree of a model file: text, rules, DOT, SQL or JSON.")
@click.argument("model", metavar="MODEL", type=click.Path())
@click.option("--format", "form", type=click.Choice(FORMATS), default=FORMATS[0], help="What to print.")
@click.option("--table", metavar="NAME", help="For sql: SELECT from this table, which may be SCHEMA.NAME.")
@output_option("-o", "--output", or_stdout=True, help="Write to a file instead of stdout.")
def show_command(form: str, table: str | None, **arguments: Any) -> None:
    """Show the tree of a model file.

    MODEL is a file that topktree fit --save or choose --save wrote; - is standard input. text is the tree below two
    lines about it, rules one line per leaf, dot a drawing for Graphviz, sql a CASE expression (with --table the whole
    query), json the features, classes and nodes.
    """
    if table is not None and form != "sql":
        raise Mistake(f"--table {table}: is for --format sql, got --format {form}")
    from .show import show_model

    show_model(form=form, table=table, **arguments)


@click.command("choose", short_help="Choose k and depth by cross-validation and fit the tree.")
@table_options
@click.option(
    "--ks", metavar="A,B", default="1,2,4,8,16", callback=_read_ks, help='Values of k to try: numbers, or "all".'
)
@click.option(
    "--depths", "max_depths", metavar="A,B", default="2,3,4,5,6", callback=_read_depths, help="Depths to try."
)
@click.option(
    "--penalties",
    "leaf_penalties",
    metavar="A,B",
    default="0",
    callback=_read_penalties,
    help='Leaf penalties to try: shares of the rows, or "tie".',
)
@click.option(
    "--max-leaves",
    "max_leaf_nodes",
    metavar="A,B",
    default="none",
    callback=_read_leaves,
    help='Maximum numbers of leaves to try, or "none".',
)
@click.option(
    "--min-samples-leaf",
    metavar="A,B",
    default="1",
    callback=_read_least_rows,
    help="Minimum numbers of rows in a leaf to try.",
)
@click.option(
    "--criterion",
    metavar="A,B",
    default=CRITERIA[0],
    callback=_read_criteria,
    help=f"Scores that rank splits to try: {', '.join(CRITERIA)}.",
)
@click.option(
    "--lookahead-columns",
    metavar="N",
    type=click.IntRange(min=1),
    help="Splits per node that lookahead ranks.  [default: all]",
)
@click.option(
    "--refine", type=click.Choice(["no", "yes", "both"]), default="no", help="Improve trees by a local search."
)
@click.option(
    "--rule",
    type=click.Choice(RULES),
    default=RULES[0],
    help="Choose the simplest within one standard error of the best, or the best.",
)
@click.option("--cv", metavar="N", type=click.IntRange(min=2), default=5, help="Number of folds.")
@click.option("--scoring", metavar="NAME", help="The scikit-learn scorer to choose by.  [default: accuracy]")
@time_limit_option(help="Choose among the candidates that are finished by then.")
@jobs_option(help="Number of fits at a time; -1: one per core.")
@seed_option
@output_option("--plot", suffixes=PICTURES, help="Draw the scores: png, svg or pdf.")
@output_option("--save", help="Write the tree to a model file (JSON).")
@output_option("--report", help="Write a report on the tree (HTML).")
@json_option
def choose_command(**arguments: Any) -> None:
    """Choose the k and depth of a tree by cross-validation, explain the choice, and show the tree.

    FILE is a table: CSV (optionally gzipped), Parquet or Feather; - is standard input. The first line of CSV names
    the columns. Numbers are numbers, text is categories, and missing values are allowed everywhere except in the
    target.
    """
    if arguments["plot"] is not None and find_spec("matplotlib") is None:
        raise Mistake("--plot needs matplotlib: pip install 'topktree[cli,plot]'")
    from .choose import choose_and_show

    for name in ("max_leaf_nodes", "min_samples_leaf", "criterion"):
        if len(arguments[name]) == 1:
            (arguments[name],) = arguments[name]
    arguments["refine"] = {"no": False, "yes": True, "both": (False, True)}[arguments["refine"]]
    choose_and_show(**arguments)


@click.command("completion", short_help="Print the script that completes arguments in a shell.")
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the script with which a shell completes the arguments of topktree.

    \b
    bash: eval "$(topktree completion bash)"           in ~/.bashrc
    zsh:  eval "$(topktree completion zsh)"            in ~/.zshrc
    fish: topktree completion fish > ~/.config/fish/completions/topktree.fish
    """  # noqa: D301  click keeps the lines of paragraphs that open with this character
    found = get_completion_class(shell)
    assert found is not None  # click knows all of SHELLS
    completer = found(context.find_root().command, {}, "topktree", "_TOPKTREE_COMPLETE")
    click.echo(completer.source_template % completer.source_vars())  # source() would start a shell to ask its version
