"""The picture of docs/near-optimal.md: the importance of features across the trees that are nearly optimal.

In: the folder for the file, by default this one. Out: near-optimal.png there. The one idea: `NearOptimalTrees.plot` of
the page's own example.

    python docs/pictures/near_optimal.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
from sklearn.datasets import load_breast_cancer

from topktree import TopKTreeClassifier
from topktree._search.near_optimal import NearOptimalTrees


def find() -> NearOptimalTrees:
    """The trees of the page."""
    X, y = load_breast_cancer(as_frame=True, return_X_y=True)
    y = y.map({0: "malignant", 1: "benign"})
    return TopKTreeClassifier(k=16, max_depth=2).fit(X, y).near_optimal(n=100, epsilon=0.1)


def draw(folder: Path) -> None:
    """Dots, ranges and means."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure = find().plot().figure
    figure.savefig(folder / "near-optimal.png", dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
