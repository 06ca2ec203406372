"""Accurate decision trees small enough for a person to read: Top-k search over the best splits."""

from . import datasets
from .classifier import TopKTreeClassifier

__version__ = "0.1.0"

__all__ = ["TopKTreeClassifier", "__version__", "datasets"]
