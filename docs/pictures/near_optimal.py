"""Draw the picture for docs/near-optimal.md: the importance of the features across the near-optimal trees.

In: the folder for the file, by default this one. Out: near-optimal.png in that folder. The one idea: call
`NearOptimalTrees.plot` on the example of that page.

    python docs/pictures/near_optimal.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
from sklearn.datasets import load_breast_cancer

from topktree import TopKTreeClassifier


def draw(folder: Path) -> None:
    """Draw a dot for every tree, and the range and mean for every feature."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    X, y = load_breast_cancer(as_frame=True, return_X_y=True)
    y = y.map({0: "malignant", 1: "benign"})
    trees = TopKTreeClassifier(k=16, max_depth=2).near_optimal(X, y, n=100, epsilon=0.1)
    figure = trees.plot().figure
    figure.savefig(folder / "near-optimal.png", dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
