"""The work of `topktree predict`: the classes that a fitted model predicts for the rows of a table.

In: the arguments of the command. Out: a table with the same rows in the same order, on stdout or in a file. The one
idea: the model knows what its columns are, so the file is read like the training data, whatever its values suggest.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from .._classifier import TopKTreeClassifier
from .._data.features import encode, one_line
from .._data.table import read_table
from .._tree.naming import make_model
from .._tree.text import row_rules
from .columns import known_as_text, known_features
from .files import STDIN, Model, check_apart, read_model
from .messages import Mistake, counted, echo, estimator_messages, listed
from .table_files import CSV, TableFile, format_of, write_table

MOST_CLASSES = 10  # in the summary


def predict_table(
    model: str,
    data: str,
    sep: str | None,
    decimal: str | None,
    output: Path | None,
    proba: bool,
    rule: bool,
    keep: bool,
    column: str,
) -> None:
    """Predict the rows of a file and write the table."""
    if model == data == STDIN:
        raise Mistake("MODEL and FILE cannot both be standard input")
    check_apart({"-o": output}, {"MODEL": model, "FILE": data})
    classifier = read_model(model)
    file = TableFile(data, sep, decimal)
    frame = file.read(as_text=known_as_text(classifier.features_))
    has_names, used = hasattr(classifier, "feature_names_in_"), used_features(classifier)
    X = known_features(frame, file.title, classifier.features_, has_names, used)
    with estimator_messages(f"{file.title}: "):
        predicted = _predictions(classifier, X, column, proba, rule)
    if keep:
        kept = file.read_as_written() if format_of(output) == CSV else frame
        predicted = _beside(kept, predicted, file.title)
    write_table(predicted, output)
    if output is not None:
        counts = [f"{label} {count:,}" for label, count in predicted[column].value_counts().items()]
        echo(one_line(f"{output}: {counted(len(predicted), 'row')}; {listed(counts, MOST_CLASSES)}"))


def used_features(classifier: Model) -> set[str]:
    """Return the names of the features that some tree tests."""
    trees = [classifier] if isinstance(classifier, TopKTreeClassifier) else classifier.estimators_
    return {classifier.features_[f].name for tree in trees for f in tree.tree_.used_features()}


def _predictions(classifier: Model, X: pd.DataFrame, column: str, proba: bool, rule: bool) -> pd.DataFrame:
    """Return a column of classes, then the columns that were asked for."""
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
    """Return the rule of each row's leaf."""
    if not isinstance(classifier, TopKTreeClassifier):
        raise Mistake(f"--rule: is for a model that is one tree, this is an ensemble of {len(classifier)}")
    encoded = encode(read_table(classifier, X, reset=False), classifier.features_)
    return row_rules(make_model(classifier.tree_, classifier.features_, classifier.classes_), encoded)


def _beside(kept: pd.DataFrame, predicted: pd.DataFrame, title: str) -> pd.DataFrame:
    twice = [name for name in predicted.columns if name in kept.columns]
    if twice:
        is_prediction = twice[0] == predicted.columns[0]
        advice = "choose another with --column" if is_prediction else "leave out --keep, or rename it"
        raise Mistake(f"--keep: {title} has a column {twice[0]!r} already: {advice}")
    return pd.concat([kept, predicted], axis=1)
