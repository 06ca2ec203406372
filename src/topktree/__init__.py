"""Accurate decision trees small enough for a person to read: Top-k search over the best splits."""

from importlib.metadata import version

from . import datasets, hard
from ._classifier import TopKTreeClassifier
from ._data.binarizer import Binarizer
from ._loading import load
from ._selection.classifier_cv import TopKTreeClassifierCV
from .ensemble import TopKBoostingClassifier, TopKForestClassifier

__version__ = version("topktree")

__all__ = [
    "Binarizer",
    "TopKBoostingClassifier",
    "TopKForestClassifier",
    "TopKTreeClassifier",
    "TopKTreeClassifierCV",
    "__version__",
    "datasets",
    "hard",
    "load",
]
