"""The demonstration of `make demo`: two datasets, five values of k, scikit-learn's greedy tree beside them.

In: nothing. Out, printed: a table per dataset and one of its trees as text. The one idea: a tree is chosen by what the
search saw, never by the held-out rows, so that the test accuracy of the tree shown is an honest one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from topktree import Binarizer, TopKTreeClassifier
from topktree.datasets import load_tic_tac_toe

KS: tuple[int | str, ...] = (1, 2, 4, 8, "all")
TIME_LIMIT = 10.0  # seconds per fit; only k = "all" can come near it
HEADINGS = ("k", "train", "test", "leaves", "seconds", "status")


@dataclass(frozen=True)
class Problem:
    """A dataset with a held-out quarter, and the depth of the trees to fit to it."""

    title: str
    names: list[str]
    X: tuple[NDArray[Any], NDArray[Any]]  # train, test; rows x names, strings or float64
    y: tuple[NDArray[Any], NDArray[Any]]  # train, test; class names
    max_depth: int


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
    """Print the table and the chosen tree of each problem."""
    for problem in (tic_tac_toe(), breast_cancer()):
        fits = [fit_top_k(problem, k) for k in KS]
        rows = len(problem.y[0]), len(problem.y[1])
        print(f"{problem.title}: {rows[0]} training rows, {rows[1]} test rows, depth {problem.max_depth}\n")
        print(table([*fits, fit_greedy(problem)]))
        best = choose(fits)
        points = 100 * margin(best.test, rows[1])
        print(f"\nOne split of few rows: take the test accuracies as good to {points:.0f} points.")
        print(f"Fewest training errors, then fewest leaves (the test rows had no say): k = {best.name}\n")
        print(best.classifier.export_text(feature_names=problem.names))


def tic_tac_toe() -> Problem:
    """Has x won? Nine squares, each x, o or b for blank."""
    bunch = load_tic_tac_toe()
    return split("Tic-tac-toe, has x won", bunch.data, bunch.target, bunch.feature_names, max_depth=4)


def breast_cancer() -> Problem:
    """Is the tumour benign? 30 measurements."""
    bunch = load_breast_cancer()
    return split(
        "Breast cancer (scikit-learn's data)",
        bunch.data,
        bunch.target_names[bunch.target],
        list(bunch.feature_names),
        max_depth=3,
    )


def split(title: str, X: NDArray[Any], y: NDArray[Any], names: list[str], max_depth: int) -> Problem:
    """Hold out a quarter of the rows, with the classes in proportion."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    return Problem(title, names, (X_train, X_test), (y_train, y_test), max_depth)


def fit_top_k(problem: Problem, k: int | str) -> Fit:
    """Fit one Top-k tree."""
    classifier = TopKTreeClassifier(k=k, max_depth=problem.max_depth, time_limit=TIME_LIMIT)
    return measure(str(k), classifier, problem)


def fit_greedy(problem: Problem) -> Fit:
    """Fit scikit-learn's tree of the same depth, to Boolean columns where there are categories."""
    classifier = DecisionTreeClassifier(criterion="entropy", max_depth=problem.max_depth, random_state=0)
    if problem.X[0].dtype == object:
        columns = Binarizer(strategy="paper").fit(problem.X[0])
        problem = replace(problem, X=(columns.transform(problem.X[0]), columns.transform(problem.X[1])))
    return measure("scikit-learn", classifier, problem)


def measure(name: str, classifier: Any, problem: Problem) -> Fit:
    """Fit on the training rows, score on both parts."""
    start = time.perf_counter()
    classifier.fit(problem.X[0], problem.y[0])
    seconds = time.perf_counter() - start
    train, test = (classifier.score(X, y) for X, y in zip(problem.X, problem.y, strict=True))
    status = getattr(classifier, "status_", "greedy")
    return Fit(name, classifier, train, test, classifier.get_n_leaves(), seconds, status)


def choose(fits: Sequence[Fit]) -> Fit:
    """Of the searches that finished (all, if none did) the best on the training rows, then smallest, then first."""
    finished = [fit for fit in fits if fit.status != "time_limit"]
    return min(finished or fits, key=lambda fit: (-fit.train, fit.leaves))


def margin(accuracy: float, n_rows: int) -> float:
    """Two standard deviations of an accuracy measured on `n_rows` rows."""
    return float(2 * np.sqrt(accuracy * (1 - accuracy) / n_rows))


def table(fits: Sequence[Fit]) -> str:
    """The fits as aligned text, a line each, under headings."""
    lines = [HEADINGS]
    for fit in fits:
        accuracies = f"{fit.train:.1%}", f"{fit.test:.1%}"
        lines.append((fit.name, *accuracies, str(fit.leaves), f"{fit.seconds:.3f}", fit.status))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_align(line, widths) for line in lines)


def _align(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Numbers to the right; the first and the last column, which are words, to the left."""
    padded = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
    return "  ".join([cells[0].ljust(widths[0]), *padded[1:-1], cells[-1]])


if __name__ == "__main__":
    main()
