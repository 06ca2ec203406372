"""The commands as the user types them: their arguments, options and help texts.

In: arguments. Out: a call of the module that does the work, imported only then. The one idea: the whole interface is
declared in one file that needs no more than click.
"""

from __future__ import annotations

import math
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from .files import STDOUT, check_output
from .messages import Mistake
from .options import (
    CRITERIA,
    MAX_DEPTH,
    RULES,
    FiniteRange,
    jobs_option,
    json_option,
    number,
    output_option,
    read_ks,
    seed_option,
    table_options,
    time_limit_option,
)

TEST_SIZE = 0.2  # the share of the rows that `fit` holds out
UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
FORMATS = ("text", "rules", "dot", "sql", "json")
TABLES = (".csv", ".csv.gz", ".parquet", ".pq", ".feather")
PICTURES = (".png", ".svg", ".pdf")
SHELLS = ("bash", "zsh", "fish")

_read_depths = number(int, 0, MAX_DEPTH, {}, f"whole numbers from 0 to {MAX_DEPTH}", many=True)
_read_penalty = number(float, 0, 1, {"tie": "tie"}, 'a number from 0 to 1, or "tie"')
_read_penalties = number(float, 0, 1, {"tie": "tie"}, 'numbers from 0 to 1, or "tie"', many=True)
_read_thresholds = number(int, 1, math.inf, {"none": None}, 'a whole number from 1 on, or "none" for every midpoint')


def _read_bytes(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    """Read a number of bytes: `500000000`, `500M`, `2GB`."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+)\s*([kmg]?)b?", text.strip().lower())
    if match is None:
        raise Mistake(f"--memory-limit {text}: must be a number of bytes, also with K, M or G, such as 500M")
    return int(match[1]) * UNITS[match[2]]


@click.command("fit", short_help="Fit a tree to a table and test it on held-out rows.")
@table_options
@click.option(
    "-k", metavar="N", default="8", callback=read_ks, help='Splits tried per node, or "all"; with commas: per level.'
)
@click.option("--depth", "max_depth", metavar="N", type=click.IntRange(0, MAX_DEPTH), default=5, help="Maximum depth.")
@click.option(
    "--leaf-penalty",
    metavar="X",
    default="0",
    callback=_read_penalty,
    help='Cost of a leaf, a share of the rows; "tie": fewest errors, then fewest leaves.',
)
@click.option("--criterion", type=click.Choice(CRITERIA), default=CRITERIA[0], help="The score that ranks splits.")
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
@time_limit_option("Stop with the best tree found by then.")
@click.option(
    "--memory-limit", metavar="BYTES", callback=_read_bytes, help="For solved subproblems, such as 500M.  [default: 1G]"
)
@jobs_option("Number of threads; -1: one per core.")
@output_option("--save", help="Write the tree to a model file (JSON).")
@output_option("--report", help="Write a report (HTML), which contains some of the test rows: see --report-rows.")
@click.option(
    "--report-rows",
    metavar="N",
    type=click.IntRange(min=0),
    default=100,
    help="Test rows in the report, to be followed through the tree; 0: none.",
)
@json_option
def fit_command(test_size: float | None, test_file: str | None, **arguments: Any) -> None:
    """Fit a tree to a table, test it, and show it.

    FILE is a table: CSV, also compressed by gzip, Parquet or Feather; - is standard input. The first line of CSV names
    the columns. Numbers are numbers, text is categories, and missing values are allowed everywhere except in the
    target.

    One row in five, drawn at random within each class, is held out: the tree is not fitted to these rows, and its
    accuracy on them is what to expect on new rows. --test-size 0 fits the tree to all rows.
    """
    if test_file is not None and test_size is not None:
        raise Mistake("--test and --test-size: only one of them can be given")
    from .fit import fit_and_show

    fit_and_show(test_size=TEST_SIZE if test_size is None else test_size, test_file=test_file, **arguments)


def _table_output(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a table file that cannot be written, by its name already."""
    if path is None or str(path) == STDOUT:
        return None
    if not path.name.lower().endswith(TABLES):
        raise Mistake(f"{parameter.opts[0]} {path}: the name must end in {', '.join(TABLES[:-1])} or {TABLES[-1]}")
    if ".csv" not in path.name.lower() and find_spec("pyarrow") is None:
        raise Mistake(f"{parameter.opts[0]} {path}: such files need pyarrow: pip install 'topktree[cli]'")
    return check_output(context, parameter, path)


@click.command("predict", short_help="Predict the classes of the rows of a table.")
@click.argument("model", metavar="MODEL", type=click.Path())
@click.argument("data", metavar="FILE", type=click.Path())
@output_option(
    "-o", "--output", callback=_table_output, help="Write .csv, .csv.gz, .parquet or .feather, not to stdout."
)
@click.option("--proba", is_flag=True, help="Add a column proba_CLASS with the probability of each class.")
@click.option("--rule", is_flag=True, help="Add a column rule with the conditions of the row's leaf.")
@click.option("--keep", is_flag=True, help="Put the columns of FILE before these.")
@click.option("--column", metavar="NAME", default="prediction", help="Name of the column of predictions.")
def predict_command(**arguments: Any) -> None:
    """Predict the class of every row of a table.

    MODEL is a file that topktree fit --save or choose --save wrote. FILE is a table: CSV, also compressed by gzip,
    Parquet or Feather; - is standard input. Columns that the model does not know are ignored. The output has a row for
    each row of FILE, in the same order.
    """
    from .predict import predict_table

    predict_table(**arguments)


def _text_output(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    return None if path is None or str(path) == STDOUT else check_output(context, parameter, path)


@click.command("show", short_help="Show the tree of a model file: text, rules, DOT, SQL or JSON.")
@click.argument("model", metavar="MODEL", type=click.Path())
@click.option("--format", "form", type=click.Choice(FORMATS), default=FORMATS[0], help="What to print.")
@click.option("--table", metavar="NAME", help="For sql: SELECT from this table, which may be SCHEMA.NAME.")
@output_option("-o", "--output", callback=_text_output, help="Write to a file instead of stdout.")
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


def _picture(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in PICTURES:
        raise Mistake(f"--plot {path}: the name must end in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}")
    if path is not None and find_spec("matplotlib") is None:
        raise Mistake("--plot needs matplotlib: pip install 'topktree[cli,plot]'")
    return check_output(context, parameter, path)


@click.command("choose", short_help="Choose k and depth by cross-validation and fit the tree.")
@table_options
@click.option(
    "--ks", metavar="A,B", default="1,2,4,8,16", callback=read_ks, help='Values of k to try: numbers, or "all".'
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
    "--rule",
    type=click.Choice(RULES),
    default=RULES[0],
    help="Choose the simplest within one standard error of the best, or the best.",
)
@click.option("--cv", metavar="N", type=click.IntRange(min=2), default=5, help="Number of folds.")
@click.option("--scoring", metavar="NAME", help="The scikit-learn scorer to choose by.  [default: accuracy]")
@time_limit_option("Choose among the candidates that are finished by then.")
@jobs_option("Number of fits at a time; -1: one per core.")
@seed_option
@output_option("--plot", callback=_picture, help="Draw the scores: png, svg or pdf.")
@output_option("--save", help="Write the tree to a model file (JSON).")
@output_option("--report", help="Write a report on the tree (HTML).")
@json_option
def choose_command(**arguments: Any) -> None:
    """Choose the k and depth of a tree by cross-validation, explain the choice, and show the tree.

    FILE is a table: CSV, also compressed by gzip, Parquet or Feather; - is standard input. The first line of CSV names
    the columns. Numbers are numbers, text is categories, and missing values are allowed everywhere except in the
    target.
    """
    from .choose import choose_and_show

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
    root = context.find_root()
    name = root.info_name or "topktree"
    variable = f"_{name}_COMPLETE".replace("-", "_").upper()
    found = get_completion_class(shell)
    assert found is not None  # click knows all of SHELLS
    completer = found(root.command, {}, name, variable)
    click.echo(completer.source_template % completer.source_vars())  # source() would start a shell to ask its version
