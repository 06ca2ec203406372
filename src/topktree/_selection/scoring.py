"""Scoring a fitted tree by accuracy or by any scikit-learn scorer.

In: the parameter `scoring`. Out: a function of a fitted tree and of rows to score it on.
"""

from __future__ import annotations

import inspect
from typing import Any

from numpy.typing import ArrayLike
from sklearn.metrics import get_scorer

from .._data.arrays import FloatArray
from .._runtime.checks import short

ACCURACY = "accuracy"


class Scoring:
    """A scikit-learn scorer, or accuracy. It is given the rows' weights if it accepts them."""

    def __init__(self, scoring: Any) -> None:
        self.name = scoring if isinstance(scoring, str) else ACCURACY if scoring is None else "score"
        self.is_accuracy = self.name == ACCURACY
        self._scorer = _read(scoring)
        self._is_weighted = _takes_weights(getattr(self._scorer, "_score_func", self._scorer))

    @property
    def is_share(self) -> bool:
        """Tell whether the score is a share, which people state in percent."""
        return self.name.endswith(ACCURACY)

    def __call__(self, tree: Any, X: Any, y: ArrayLike, weights: FloatArray | None) -> float:
        """Return the score; higher is better. Not for accuracy: ours accepts labels that scikit-learn's rejects."""
        keywords = {"sample_weight": weights} if weights is not None and self._is_weighted else {}
        score = self._scorer(tree, X, y, **keywords)
        try:
            return float(score)
        except (TypeError, ValueError):
            raise ValueError(f"scoring must return a number, got {short(score)}") from None


def _read(scoring: Any) -> Any:
    message = f"scoring must be the name of a scikit-learn scorer, a callable or None, got {short(scoring)}"
    if isinstance(scoring, str):
        try:
            return get_scorer(scoring)
        except ValueError:
            raise ValueError(f"{message}; sklearn.metrics.get_scorer_names() lists them") from None
    if scoring is not None and not callable(scoring):
        raise ValueError(message)
    return scoring


def _takes_weights(function: Any) -> bool:
    try:
        return "sample_weight" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
