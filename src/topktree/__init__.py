"""Accurate decision trees small enough for a person to read: Top-k search over the best splits."""

from importlib.metadata import version

from . import datasets, hard
from .binarizer import Binarizer
from .classifier import TopKTreeClassifier, load
from .classifier_cv import TopKTreeClassifierCV

__version__ = version("topktree")

__all__ = ["Binarizer", "TopKTreeClassifier", "TopKTreeClassifierCV", "__version__", "datasets", "hard", "load"]
