"""What `topktree fit` says of a tree: a few lines and the tree itself; or JSON.

In: a fitted classifier, its training rows and its test rows. Out: text on stdout, or a dict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import click
import numpy as np

from .._classifier import TopKTreeClassifier
from .._data.labels import known_classes
from .._runtime import checks
from .._tree.naming import one_line
from .columns import ColumnOptions, Labelled
from .common import counted, listed, make_console

MOST_CLASSES = 5  # in a line
MOST_LEAVES = 100  # of a tree on the screen
STATUS = {
    "complete": "the search was finished",
    "optimal": "no tree of this depth over its columns does better",
    "time_limit": "stopped at the time limit",
}


@dataclass(frozen=True)
class Score:
    """How a tree does on some rows; shares are of the rows' weight."""

    rows: int
    errors: int
    accuracy: float
    se: float  # of the accuracy, as that of a sample
    balanced_accuracy: float  # the mean over the classes that are there


@dataclass(frozen=True, eq=False)
class FitResult:
    """A tree that was fitted, to what, and what it is tested on."""

    classifier: TopKTreeClassifier
    train: Labelled
    test: Labelled | None
    origin: str  # of the test rows
    columns: ColumnOptions
    title: str  # of the file
    seconds: float

    @cached_property
    def train_score(self) -> Score:
        """On the rows that the tree was fitted to."""
        return _score(self.classifier, self.train)

    @cached_property
    def test_score(self) -> Score | None:
        """On the rows that it has not seen."""
        return None if self.test is None else _score(self.classifier, self.test)

    @cached_property
    def shares(self) -> list[tuple[Any, float]]:
        """The classes and their shares of the training weight, the most frequent first."""
        weight = _class_weights(self.classifier, self.train)
        order = np.argsort(-weight, kind="stable")
        labels = self.classifier.classes_.tolist()
        return [(labels[c], float(weight[c] / weight.sum())) for c in order]

    @property
    def baseline(self) -> float:
        """Accuracy of always the most frequent training class, on the test rows or else on the training rows."""
        weight = _class_weights(self.classifier, self.test or self.train)
        common = self.classifier.classes_.tolist().index(self.shares[0][0])
        return float(weight[common] / weight.sum())


def as_json(result: FitResult) -> dict[str, Any]:
    """All of it, for programs."""
    classifier = result.classifier
    names = ("k", "max_depth", "leaf_penalty", "criterion", "min_samples_leaf", "class_weight", "max_thresholds")
    parameters = checks.to_json(classifier.get_params())
    return {
        "params": {name: parameters[name] for name in names},
        "target": result.columns.target,
        "classes": classifier.classes_.tolist(),
        "features": classifier.n_features_in_,
        "train": vars(result.train_score),
        "test": None if result.test_score is None else vars(result.test_score),
        "baseline": result.baseline,
        "leaves": classifier.get_n_leaves(),
        "depth": classifier.get_depth(),
        "status": classifier.status_,
        "k_reached": classifier.search_["k_reached"],
        "cost": classifier.cost_,
        "nodes": classifier.search_["nodes"],
        "seconds": round(result.seconds, 3),
    }


def print_fit(result: FitResult) -> None:
    """The summary, with the accuracy in bold on a terminal, and the tree."""
    console = make_console()
    lines = _lines(result)
    width = max(len(name) for name, _ in lines)
    for name, text in lines:
        console.print(f"{name:<{width}}  {one_line(text)}", style="bold" if name == "Test" else None)
    click.echo()
    n_leaves = result.classifier.get_n_leaves()
    if n_leaves > MOST_LEAVES:
        click.echo(
            f"A tree of {n_leaves:,} leaves is too large to be read here: --save it, and topktree show prints it."
        )
    else:
        click.echo(result.classifier.export_text().rstrip())


def _lines(result: FitResult) -> list[tuple[str, str]]:
    """What the summary says, line by line."""
    n_features = counted(result.classifier.n_features_in_, "feature")
    n_train = counted(len(result.train.y), "row")
    n_test = "no row" if result.test is None else f"{len(result.test.y):,} {result.origin}"
    weights = f", weighted by {result.columns.weight}" if result.columns.weight else ""
    lines = [
        ("Data", f"{result.title}: {n_features}{weights}; {n_train} to fit the tree, {n_test} to test it"),
        ("Target", f"{result.columns.target}: {_classes(result)}"),
        ("Tree", _tree(result)),
    ]
    always = f"always {_name(result.shares[0][0])}: {100 * result.baseline:.1f} %"
    if result.test_score is not None:
        lines.append(("Test", f"{_accuracy(result, result.test_score, with_se=True)}; {always}"))
        always = ""
    training = _accuracy(result, result.train_score, with_se=False)
    return [*lines, ("Training", f"{training}; {always}".rstrip("; "))]


def _classes(result: FitResult) -> str:
    texts = [f"{_name(label)} {100 * share:.1f} %" for label, share in result.shares]
    return f"{counted(len(texts), 'class', 'classes')}, {listed(texts, MOST_CLASSES)}"


def _tree(result: FitResult) -> str:
    classifier = result.classifier
    status = STATUS[classifier.status_]
    if classifier.status_ == "time_limit":
        status += f", with k = {classifier.search_['k_reached']} gone through"
    return (
        f"{counted(classifier.get_n_leaves(), 'leaf', 'leaves')}, depth {classifier.get_depth()}; "
        f"k = {checks.k_text(classifier.k)}, "
        f"{result.seconds:.2f} seconds: {status}"
    )


def _accuracy(result: FitResult, score: Score, with_se: bool) -> str:
    error = f" ± {100 * score.se:.1f}" if with_se else ""
    balanced = f", {100 * score.balanced_accuracy:.1f} % balanced" if result.classifier.class_weight else ""
    wrong = f"{score.errors:,} of {counted(score.rows, 'row')} wrong"
    return f"accuracy {100 * score.accuracy:.1f} %{error}{balanced}; {wrong}"


def _name(label: Any) -> str:
    """A label, cut where it would fill the line."""
    text = str(label)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _score(classifier: TopKTreeClassifier, table: Labelled) -> Score:
    wanted, weights = _indices(classifier, table), _weights(table)
    right = known_classes(classifier.predict(table.X), classifier.classes_, len(wanted)) == wanted
    of_class = np.bincount(wanted, weights)
    right_of_class = np.bincount(wanted, weights * right)
    accuracy = float(right_of_class.sum() / of_class.sum())
    effective = weights.sum() ** 2 / (weights**2).sum()  # rows that say as much, if weights differ
    there = of_class > 0
    return Score(
        rows=len(wanted),
        errors=int(np.count_nonzero(~right)),
        accuracy=accuracy,
        se=math.sqrt(max(accuracy * (1 - accuracy), 0.0) / effective),
        balanced_accuracy=float(np.mean(right_of_class[there] / of_class[there])),
    )


def _class_weights(classifier: TopKTreeClassifier, table: Labelled) -> Any:
    # A class that only rows without weight have is none of the tree's.
    return np.bincount(_indices(classifier, table), _weights(table), len(classifier.classes_) + 1)[:-1]


def _indices(classifier: TopKTreeClassifier, table: Labelled) -> Any:
    return known_classes(table.y.to_numpy(), classifier.classes_, len(table.y))


def _weights(table: Labelled) -> Any:
    """Of the rows, the largest 1: squares of any others may be too small or too large for a number."""
    return np.ones(len(table.y)) if table.weights is None else table.weights / table.weights.max()
