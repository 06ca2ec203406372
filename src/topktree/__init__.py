"""Accurate decision trees small enough for a person to read: Top-k search over the best splits."""

from importlib.metadata import version

from . import datasets, hard
from ._data.binarizer import Binarizer
from ._selection.classifier_cv import TopKTreeClassifierCV
from .classifier import TopKTreeClassifier
from .ensemble import TopKBoostingClassifier, TopKForestClassifier
from .loading import load

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
