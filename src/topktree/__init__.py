"""Accurate decision trees small enough for a person to read: Top-k search over the best splits."""

from importlib.metadata import version

from . import datasets
from .classifier import TopKTreeClassifier

__version__ = version("topktree")

__all__ = ["TopKTreeClassifier", "__version__", "datasets"]
