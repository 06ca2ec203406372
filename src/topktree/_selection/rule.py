"""The rule that chooses a candidate of a grid, given the results of cross-validation.

In: scores per candidate and fold, leaves, parameters. Out: the index of a candidate.
The one idea: scores of few folds are noisy, so a simpler tree whose score is within one standard error of the best is
preferred to it ("1se", after Breiman et al.'s trees).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._data.arrays import FloatArray
from .._runtime.checks import candidates_per_level
from .._search.objective import LOOKAHEAD

BEST, ONE_SE = "best", "1se"
RULES = (BEST, ONE_SE)

# Means of the same scores in another order may differ in their last bits: such candidates tie.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Candidate:
    """A point of the grid."""

    k: Any
    max_depth: int
    leaf_penalty: float | str
    others: tuple[tuple[str, Any], ...] = ()  # name and value of each other parameter that the grid varies

    @property
    def params(self) -> dict[str, Any]:
        """The parameters as `set_params` takes them."""
        own = {"k": self.k, "max_depth": self.max_depth, "leaf_penalty": self.leaf_penalty}
        return own | dict(self.others)

    @property
    def widths(self) -> tuple[int, ...]:
        """The candidates per level, "all" being more than any number."""
        return candidates_per_level(self.k, self.max_depth, 2**31)

    @property
    def size(self) -> tuple[Any, ...]:
        """The measure of simplicity, after the leaves: depth, then k, a higher penalty, less effort."""
        penalty = math.inf if isinstance(self.leaf_penalty, str) else -self.leaf_penalty
        others = dict(self.others)
        return self.max_depth, self.widths, penalty, others.get("refine", False), others.get("criterion") == LOOKAHEAD


@dataclass(frozen=True)
class Scores:
    """The scores of all candidates. A mean is NaN if a fold that can be used has no score of the candidate."""

    mean: FloatArray
    standard_error: FloatArray
    n_leaves: FloatArray  # means over the folds


def summarise(scores: FloatArray, n_leaves: FloatArray) -> Scores:
    """Return means over the folds (the columns) in which any candidate has a score."""
    usable = ~np.isnan(scores).all(axis=0)
    scores, n_leaves = scores[:, usable], n_leaves[:, usable]
    n_folds = scores.shape[1]
    spread = scores.std(axis=1, ddof=1) / math.sqrt(n_folds) if n_folds > 1 else np.zeros(len(scores))
    return Scores(scores.mean(axis=1), spread, n_leaves.mean(axis=1))


def scores_of(results: Mapping[str, Any]) -> Scores:
    """Return the scores that `cv_results_` has."""
    return Scores(results["mean_test_score"], results["se_test_score"], results["mean_n_leaves"])


def best(candidates: Sequence[Candidate], scores: Scores) -> int:
    """Return the candidate with the highest mean score; of several, the simplest."""
    return _simplest(candidates, scores, float(np.nanmax(scores.mean)))


def best_of(results: Mapping[str, Any]) -> int:
    """Return the same from `cv_results_`."""
    return best([_candidate(**params) for params in results["params"]], scores_of(results))


def _candidate(k: Any, max_depth: int, leaf_penalty: float | str, **others: Any) -> Candidate:
    return Candidate(k, max_depth, leaf_penalty, tuple(others.items()))


def threshold(candidates: Sequence[Candidate], scores: Scores, rule: str) -> float:
    """Return the lowest mean score that may be chosen."""
    top = best(candidates, scores)
    allowance = float(scores.standard_error[top]) if rule == ONE_SE else 0.0
    return float(scores.mean[top]) - allowance


def choose(candidates: Sequence[Candidate], scores: Scores, rule: str) -> int:
    """Return the simplest candidate whose score is high enough: fewest leaves, then depth, then k."""
    return _simplest(candidates, scores, threshold(candidates, scores, rule))


def _simplest(candidates: Sequence[Candidate], scores: Scores, lowest: float) -> int:
    allowed = np.flatnonzero(scores.mean >= lowest - ROUNDING)  # which NaN never is
    return min((int(i) for i in allowed), key=lambda i: (round(float(scores.n_leaves[i]), 9), candidates[i].size))
