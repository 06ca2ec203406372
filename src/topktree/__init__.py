"""Accurate decision trees small enough for a person to read: Top-k search over the best splits."""

from importlib.metadata import version

from . import datasets, hard
from .binarizer import Binarizer
from .classifier import TopKTreeClassifier, load
from .classifier_cv import TopKTreeClassifierCV
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
