"""Forests and boosting of Top-k trees, with all trees of an ensemble over one packed matrix."""

from .boosting import TopKBoostingClassifier
from .forest import TopKForestClassifier

__all__ = ["TopKBoostingClassifier", "TopKForestClassifier"]
