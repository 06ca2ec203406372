"""The work of `topktree show`: the tree of a model file, for people and for other programs.

In: a model file and a format. Out: text on stdout or in a file.
"""

from __future__ import annotations

import json
from pathlib import Path

from .._classifier import TopKTreeClassifier
from .._data.features import one_line
from .._runtime import checks
from .._runtime.files import write_whole
from .files import Model, check_apart, read_model, write_file
from .messages import Mistake, counted, echo, echo_exactly, estimator_messages, listed

MOST_CLASSES = 10  # in the heading


def show_model(model: str, form: str, table: str | None, output: Path | None) -> None:
    """Print the tree of a model file, or write it to `output`."""
    check_apart({"-o": output}, {"MODEL": model})
    text = _text(read_model(model), form, table)
    if output is None:
        (echo if form == "text" else echo_exactly)(text)
    write_file("-o", output, lambda path: write_whole(path, f"{text}\n"))


def _text(model: Model, form: str, table: str | None) -> str:
    if form == "json":
        return json.dumps(model.export_dict(), indent=1, allow_nan=False)
    if form == "text":
        return f"{_heading(model)}\n\n{model.export_text().rstrip()}"
    if not isinstance(model, TopKTreeClassifier):
        allowed = "is for a model that is one tree"
        raise Mistake(f"--format {form}: {allowed}, this is an ensemble of {len(model)}: text and json show all")
    if form == "sql":
        with estimator_messages():
            return model.export_sql(table.split(".") if table and "." in table else table)
    return (model.export_rules() if form == "rules" else model.export_dot()).rstrip()


def _heading(model: Model) -> str:
    """Return two lines: about the tree or the ensemble, and about its data."""
    leaves, k = counted(model.get_n_leaves(), "leaf", "leaves"), checks.k_text(model.k)
    if isinstance(model, TopKTreeClassifier):
        n_rows = counted(int(model.tree_.n_node_samples[0]), "row")
        wrong = "" if model.train_errors_ is None else f", {model.train_errors_:,} of them wrong"
        first = f"{leaves}, depth {model.get_depth()}; k = {k}, search {model.status_}; fitted to {n_rows}{wrong}"
    else:
        kind = "boosting" if hasattr(model, "learning_rate") else "forest"
        first = f"{kind} of {counted(len(model), 'tree')}, {leaves} in all; k = {k}"
    labels = model.classes_.tolist()
    classes = f"{counted(len(labels), 'class', 'classes')}: {one_line(listed(labels, MOST_CLASSES))}"
    return f"{first}\n{counted(model.n_features_in_, 'feature')}; {classes}"
