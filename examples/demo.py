"""The demonstration of `make demo`: Top-k trees for five values of k and scikit-learn's greedy tree, on two datasets.

In: nothing. Out, printed: a table per dataset and one of its trees. The one idea: the tree to show is chosen by its
training errors, never by the test rows, so that its test accuracy is an honest estimate.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from topktree import Binarizer, TopKTreeClassifier
from topktree.datasets import load_tic_tac_toe

KS = (1, 2, 4, 8, "all")
TIME_LIMIT = 10.0  # seconds per fit; only k = "all" can come near it
HEADINGS = ("k", "train", "test", "leaves", "seconds", "status")


@dataclass(frozen=True)
class Fit:
    """A fitted classifier and its line of the table."""

    name: str
    classifier: Any
    train: float
    test: float
    leaves: int
    seconds: float
    status: str


def main() -> None:
    boards, cancer = load_tic_tac_toe(), load_breast_cancer()
    show("Tic-tac-toe, has x won", boards.data, boards.target, boards.feature_names, max_depth=4)
    benign = cancer.target_names[cancer.target]
    show("Breast cancer (scikit-learn's data)", cancer.data, benign, cancer.feature_names, max_depth=3)


def show(title: str, X: Any, y: Any, names: Sequence[str], max_depth: int) -> None:
    """Print the table of a dataset and the chosen tree; a quarter of the rows are test rows."""
    rows = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    n_train, n_test = len(rows[0]), len(rows[1])
    greedy: Any = DecisionTreeClassifier(criterion="entropy", max_depth=max_depth, random_state=0)
    if X.dtype == object:  # scikit-learn's tree takes numbers only
        greedy = make_pipeline(Binarizer(strategy="paper"), greedy)
    fits = [measure(str(k), TopKTreeClassifier(k=k, max_depth=max_depth, time_limit=TIME_LIMIT), rows) for k in KS]
    best = choose(fits)
    margin = 200 * np.sqrt(best.test * (1 - best.test) / n_test)  # two standard errors, in percentage points
    print(f"{title}: {n_train} training rows, {n_test} test rows, depth {max_depth}\n")
    print(table([*fits, measure("scikit-learn", greedy, rows)]))
    print(f"\nWith one split and few rows, the test accuracies are good to {margin:.0f} points.")
    print(f"Fewest training errors, then fewest leaves (the test rows are not used): k = {best.name}\n")
    print(best.classifier.export_text(feature_names=list(names)))


def measure(name: str, classifier: Any, rows: Sequence[Any]) -> Fit:
    """Fit on the training rows, score on both parts."""
    X_train, X_test, y_train, y_test = rows
    start = time.perf_counter()
    classifier.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    train, test = classifier.score(X_train, y_train), classifier.score(X_test, y_test)
    tree = classifier[-1] if hasattr(classifier, "steps") else classifier
    return Fit(name, classifier, train, test, tree.get_n_leaves(), seconds, getattr(tree, "status_", "greedy"))


def choose(fits: Sequence[Fit]) -> Fit:
    """Return the fit with the fewest training errors, then fewest leaves, among the searches that were completed."""
    completed = [fit for fit in fits if fit.status != "time_limit"]
    return min(completed or fits, key=lambda fit: (-fit.train, fit.leaves))


def table(fits: Sequence[Fit]) -> str:
    """Return a line per fit under headings; words are aligned to the left, numbers to the right."""
    lines = [HEADINGS]
    for fit in fits:
        accuracies = f"{fit.train:.1%}", f"{fit.test:.1%}"
        lines.append((fit.name, *accuracies, str(fit.leaves), f"{fit.seconds:.3f}", fit.status))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = []
    for first, *numbers, last in lines:
        padded = [number.rjust(width) for number, width in zip(numbers, widths[1:-1], strict=True)]
        aligned.append("  ".join([first.ljust(widths[0]), *padded, last]))
    return "\n".join(aligned)


if __name__ == "__main__":
    main()
