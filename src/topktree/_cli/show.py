"""The work of `topktree show`: the tree of a model file, for people and for other programs.

In: a model file and a format. Out: text on stdout or in a file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .._classifier import TopKTreeClassifier
from .._runtime import checks
from .._tree.export import one_line
from .files import Model, check_apart, read_model, write_file
from .messages import Mistake, counted, listed

if TYPE_CHECKING:
    from ..ensemble import TopKBoostingClassifier, TopKForestClassifier

MOST_CLASSES = 10  # in the heading


def show_model(model: str, form: str, table: str | None, output: Path | None) -> None:
    """Print the tree of a model file, or write it to `output`."""
    check_apart({"-o": output}, {"MODEL": model})
    classifier = read_model(model)
    if isinstance(classifier, TopKTreeClassifier):
        text = _tree_text(classifier, form, table)
    else:
        text = _ensemble_text(classifier, form)
    if output is None:
        click.echo(text)
    else:
        write_file("-o", output, lambda: output.write_text(f"{text}\n", encoding="utf-8"))


def _tree_text(classifier: TopKTreeClassifier, form: str, table: str | None) -> str:
    if form == "json":
        return json.dumps(classifier.export_dict(), indent=1, allow_nan=False)
    if form == "sql":
        try:
            return classifier.export_sql(table.split(".") if table and "." in table else table)
        except ValueError as error:
            raise Mistake(str(error)) from None
    if form == "text":
        return f"{_heading(classifier)}\n\n{classifier.export_text().rstrip()}"
    return {"rules": classifier.export_rules, "dot": classifier.export_dot}[form]().rstrip()


def _ensemble_text(ensemble: TopKForestClassifier | TopKBoostingClassifier, form: str) -> str:
    if form == "json":
        return json.dumps(ensemble.export_dict(), indent=1, allow_nan=False)
    if form != "text":
        allowed = "is for a model that is one tree"
        raise Mistake(f"--format {form}: {allowed}, this is an ensemble of {len(ensemble)}: text and json show all")
    kind = "boosting" if hasattr(ensemble, "learning_rate") else "forest"
    leaves = counted(ensemble.get_n_leaves(), "leaf", "leaves")
    heading = f"{kind} of {counted(len(ensemble), 'tree')}, {leaves} in all; k = {checks.k_text(ensemble.k)}"
    return f"{heading}\n{_data_line(ensemble)}\n\n{ensemble.export_text().rstrip()}"


def _heading(classifier: TopKTreeClassifier) -> str:
    """Return two lines about the tree."""
    n_rows, n_wrong = int(classifier.tree_.n_node_samples[0]), classifier.train_errors_
    wrong = "" if n_wrong is None else f", {n_wrong:,} of them wrong"
    return (
        f"{counted(classifier.get_n_leaves(), 'leaf', 'leaves')}, depth {classifier.get_depth()}; "
        f"k = {checks.k_text(classifier.k)}, search {classifier.status_}; "
        f"fitted to {counted(n_rows, 'row')}{wrong}\n{_data_line(classifier)}"
    )


def _data_line(classifier: Model) -> str:
    labels = classifier.classes_.tolist()
    classes = f"{counted(len(labels), 'class', 'classes')}: {one_line(listed(labels, MOST_CLASSES))}"
    return f"{counted(classifier.n_features_in_, 'feature')}; {classes}"
