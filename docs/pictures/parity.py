"""Draw the picture for README and docs/how-it-works.md: a greedy and a Top-2 tree of the same depth on the same rows.

In: the folder for the files, by default this one. Out: parity.png and parity.svg in that folder. The one idea:
`hard.parity` with h = 2 and K = 2 is a hallway light with two switches, which everybody knows.

    python docs/pictures/parity.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

from topktree import TopKTreeClassifier, hard

SIZE = (10, 4.4)
TITLES = {1: "Greedy, k = 1", 2: "Top-2, same depth"}


def light() -> tuple[pd.DataFrame, np.ndarray]:
    """Return every case of two switches and the time of day, repeated in proportion to its probability."""
    distribution = hard.parity(h=2, K=2, eps=0.1)
    X, y, probability = distribution.exact()
    times = np.rint(probability * distribution.denominator * 5).astype(int)
    X, y = np.repeat(X, times, axis=0), np.repeat(y, times)
    words = {
        "upper switch": np.where(X[:, 0], "up", "down"),
        "lower switch": np.where(X[:, 1], "up", "down"),
        "time": np.where(X[:, 2], "night", "day"),
    }
    return pd.DataFrame(words), np.where(y == 1, "bright", "dark")


def fit(k: int) -> tuple[TopKTreeClassifier, float]:
    """Return the tree of depth 2 and its accuracy."""
    X, y = light()
    classifier = TopKTreeClassifier(k=k, max_depth=2).fit(X, y)
    return classifier, classifier.score(X, y)


def draw(folder: Path) -> None:
    """Draw both trees side by side."""
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "parity"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=SIZE, width_ratios=(2, 3))
    for ax, (k, title) in zip(axes, TITLES.items(), strict=True):
        classifier, accuracy = fit(k)
        classifier.plot(ax)
        ax.set_title(f"{title}: accuracy {accuracy:.0%}", fontsize=14, weight="bold")
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.02, top=0.86, wspace=0.05)
    figure.savefig(folder / "parity.png", dpi=120)
    figure.savefig(folder / "parity.svg", metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
