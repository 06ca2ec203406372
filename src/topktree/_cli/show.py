"""`topktree show`: the tree of a model file, for people and for other programs.

In: a model file and a format. Out: text on stdout or in a file.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from .._classifier import TopKTreeClassifier
from .._runtime import checks
from .._tree.naming import one_line
from ..ensemble import TopKBoostingClassifier, TopKForestClassifier
from .common import Mistake, check_apart, check_output, counted, listed, output_option, write_file
from .models import Model, read_model_file
from .tables import STDOUT

FORMATS = ("text", "rules", "dot", "sql", "json")
MOST_CLASSES = 10


def _output(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    return None if path is None or str(path) == STDOUT else check_output(context, parameter, path)


@click.command("show", short_help="The tree of a model file: text, rules, DOT, SQL or JSON.")
@click.argument("model", metavar="MODEL", type=click.Path())
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default=FORMATS[0], show_default=True, help="What to print."
)
@click.option("--table", metavar="NAME", help="For sql: SELECT from this table, which may be SCHEMA.NAME.")
@output_option("-o", "--output", callback=_output, help="Write to a file instead of stdout.")
def show_command(model: str, form: str, table: str | None, output: Path | None) -> None:
    """Show the tree of a model file.

    MODEL is what topktree fit --save and choose --save write; - is standard input. text is the tree with a line on what
    it is, rules a line per leaf, dot a drawing for Graphviz, sql a CASE expression (with --table the whole query), json
    features, classes and nodes.
    """
    if table is not None and form != "sql":
        raise Mistake(f"--table {table}: is for --format sql, got --format {form}")
    check_apart({"-o": output}, {"MODEL": model})
    text = _text(read_model_file(model), form, table)
    if output is None:
        click.echo(text)
    else:
        write_file("-o", output, lambda: output.write_text(f"{text}\n", encoding="utf-8"))


def _text(classifier: Model, form: str, table: str | None) -> str:
    if not isinstance(classifier, TopKTreeClassifier):
        return _ensemble_text(classifier, form)
    if form == "sql":
        try:
            return classifier.export_sql(table.split(".") if table and "." in table else table)
        except ValueError as error:
            raise Mistake(str(error)) from None
    if form == "json":
        return json.dumps(classifier.export_dict(), indent=1, allow_nan=False)
    text = {"text": classifier.export_text, "rules": classifier.export_rules, "dot": classifier.export_dot}[form]()
    heading = f"{_heading(classifier)}\n\n" if form == "text" else ""
    return f"{heading}{text.rstrip()}"


def _ensemble_text(ensemble: TopKForestClassifier | TopKBoostingClassifier, form: str) -> str:
    if form == "json":
        return json.dumps(ensemble.export_dict(), indent=1, allow_nan=False)
    if form != "text":
        allowed = "is for a model that is one tree"
        raise Mistake(f"--format {form}: {allowed}, this is an ensemble of {len(ensemble)}: text and json show all")
    kind = "forest" if isinstance(ensemble, TopKForestClassifier) else "boosting"
    leaves = counted(ensemble.get_n_leaves(), "leaf", "leaves")
    heading = f"{kind} of {counted(len(ensemble), 'tree')}, {leaves} in all; k = {checks.k_text(ensemble.k)}"
    return f"{heading}\n{_data_line(ensemble)}\n\n{ensemble.export_text().rstrip()}"


def _data_line(classifier: Model) -> str:
    classes = classifier.classes_.tolist()
    return (
        f"{counted(classifier.n_features_in_, 'feature')}; {counted(len(classes), 'class', 'classes')}: "
        f"{one_line(listed(classes, MOST_CLASSES))}"
    )


def _heading(classifier: TopKTreeClassifier) -> str:
    """What the tree is, in two lines."""
    n_rows, n_wrong = int(classifier.tree_.n_node_samples[0]), classifier.train_errors_
    wrong = "" if n_wrong is None else f", {n_wrong:,} of them wrong"
    return (
        f"{counted(classifier.get_n_leaves(), 'leaf', 'leaves')}, depth {classifier.get_depth()}; "
        f"k = {checks.k_text(classifier.k)}, search {classifier.status_}; "
        f"fitted to {counted(n_rows, 'row')}{wrong}\n{_data_line(classifier)}"
    )
