"""`topktree predict`: the classes that a fitted tree gives to the rows of a table.

In: a model file and a table. Out: a table with a row per row, in the same order, on stdout or in a file. The one idea:
the model knows what its columns are, so that a file is read as the training data were, whatever its own values suggest.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .._classifier import TopKTreeClassifier
from .._tree.naming import one_line
from .._tree.text import rule_text, rules
from .columns import known_as_text, known_features
from .common import Mistake, check_apart, counted, listed, output_option
from .models import Model, read_model_file
from .tables import STDIN, TableFile, check_table_output, is_csv, write_table

if TYPE_CHECKING:
    import pandas as pd

MOST_CLASSES = 10  # in the line that says what was predicted


@click.command("predict", short_help="Classes for the rows of a table.")
@click.argument("model", metavar="MODEL", type=click.Path())
@click.argument("data", metavar="FILE", type=click.Path())
@output_option(
    "-o", "--output", callback=check_table_output, help="Write to .csv, .csv.gz, .parquet or .feather, not to stdout."
)
@click.option(
    "--proba",
    is_flag=True,
    help="Add a column proba_CLASS per class: its share in the row's leaf, or what the trees of an ensemble give it.",
)
@click.option("--rule", is_flag=True, help="Add a column rule: why, in words.")
@click.option("--keep", is_flag=True, help="Put the columns of FILE before these.")
@click.option(
    "--column", metavar="NAME", default="prediction", show_default=True, help="Name of the column of predictions."
)
def predict_command(
    model: str, data: str, output: Path | None, proba: bool, rule: bool, keep: bool, column: str
) -> None:
    """Predict the class of every row of a table.

    MODEL is what topktree fit --save and choose --save write. FILE is a table: CSV, also compressed by gzip, Parquet or
    Feather; - is standard input. Columns that the model does not know are ignored. Output is a row per row of FILE, in
    its order.
    """
    if model == data == STDIN:
        raise Mistake("MODEL and FILE cannot both be standard input")
    check_apart({"-o": output}, {"MODEL": model, "FILE": data})
    classifier = read_model_file(model)
    file = TableFile(data)
    frame = file.read(as_text=known_as_text(classifier.features_))
    X = known_features(frame, file.title, classifier.features_, hasattr(classifier, "feature_names_in_"))
    try:
        predicted = _predictions(classifier, X, column, proba, rule)
    except (TypeError, ValueError) as error:
        raise Mistake(f"{file.title}: {error}") from None
    if keep:
        kept = file.read_as_written() if is_csv(output) else frame
        predicted = _beside(kept, predicted, file.title)
    write_table(predicted, output)
    if output is not None:
        click.echo(_summary(predicted[column], output))


def _predictions(classifier: Model, X: pd.DataFrame, column: str, proba: bool, rule: bool) -> pd.DataFrame:
    """A column of classes, then those that were asked for."""
    import pandas as pd

    columns: dict[str, Any] = {}
    if proba:
        shares = classifier.predict_proba(X)
        for c, label in enumerate(classifier.classes_.tolist()):
            columns[f"proba_{label}"] = shares[:, c]
    if rule:
        columns["rule"] = _rules(classifier, X)
    if column in columns:
        raise Mistake(f"--column {column}: another column of the output has that name")
    return pd.DataFrame({column: classifier.predict(X), **columns})


def _rules(classifier: Model, X: pd.DataFrame) -> Any:
    """The rule of each row's leaf."""
    if not isinstance(classifier, TopKTreeClassifier):
        raise Mistake(f"--rule: is for a model that is one tree, this is an ensemble of {len(classifier)}")
    words = np.full(classifier.tree_.node_count, "", dtype=object)
    for leaf, conditions in rules(classifier._model(None, None)):
        words[leaf] = one_line(rule_text(conditions))
    return words[classifier.apply(X)]


def _beside(kept: pd.DataFrame, predicted: pd.DataFrame, title: str) -> pd.DataFrame:
    import pandas as pd

    twice = [name for name in predicted.columns if name in kept.columns]
    if twice:
        advice = " --column names another" if twice[0] == predicted.columns[0] else " leave out --keep, or rename it"
        raise Mistake(f"--keep: {title} has a column {twice[0]!r} already:{advice}")
    return pd.concat([kept, predicted], axis=1)


def _summary(labels: pd.Series, output: Path) -> str:
    counts = labels.value_counts()
    texts = [f"{label} {count:,}" for label, count in counts.items()]
    return one_line(f"{output}: {counted(len(labels), 'row')}; {listed(texts, MOST_CLASSES)}")
