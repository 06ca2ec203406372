"""The results of cross-validation as a table, with the names that scikit-learn's searches use.

In: an outcome per candidate and fold. Out: `Results`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from .._data.arrays import FloatArray
from .._runtime.limits import COMPLETE
from .grid import Outcome
from .rule import Candidate, Scores, summarise, usable_folds


@dataclass(frozen=True)
class Results:
    """The results of cross-validation: an entry per candidate and fold, and summaries per candidate."""

    scores: Scores
    status: list[str]  # per candidate: that of a fold that it did not finish, if there is one
    is_usable: NDArray[np.bool_]  # per fold: whether any candidate has a score
    table: dict[str, Any]  # as scikit-learn's searches have it


def tabulate(candidates: Sequence[Candidate], n_folds: int, outcomes: Sequence[Outcome]) -> Results:
    """Return the outcomes as arrays."""
    shape = (len(candidates), n_folds)
    values = {name: np.full(shape, np.nan) for name in ("score", "n_leaves", "depth", "fit_seconds", "score_seconds")}
    for outcome in outcomes:
        for name, array in values.items():
            array[outcome.candidate, outcome.fold] = getattr(outcome, name)
    is_usable = usable_folds(values["score"])
    status = [COMPLETE] * len(candidates)
    for outcome in outcomes:
        if outcome.status != COMPLETE and is_usable[outcome.fold]:
            status[outcome.candidate] = outcome.status
    scores = summarise(values["score"], values["n_leaves"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing: there are candidates that never finished
        table = _timings(values) | _parameters_of(candidates) | _score_columns(values["score"], scores)
        table |= {
            "mean_n_leaves": scores.n_leaves,
            "std_n_leaves": np.nanstd(values["n_leaves"], axis=1),
            "mean_depth": np.nanmean(values["depth"], axis=1),
            "seconds": np.nansum(values["fit_seconds"] + values["score_seconds"], axis=1),
            "status": np.array(status),
        }
    return Results(scores, status, is_usable, table)


def _timings(values: dict[str, FloatArray]) -> dict[str, Any]:
    return {
        f"{kind}_{name}_time": function(values[f"{name}_seconds"], axis=1)
        for name in ("fit", "score")
        for kind, function in (("mean", np.nanmean), ("std", np.nanstd))
    }


def _parameters_of(candidates: Sequence[Candidate]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name in ("k", "max_depth", "leaf_penalty"):
        values = np.empty(len(candidates), dtype=object)
        for i, candidate in enumerate(candidates):
            values[i] = candidate.params[name]  # a k may be a tuple
        table[f"param_{name}"] = np.ma.MaskedArray(values)
    table["params"] = [candidate.params for candidate in candidates]
    return table


def _score_columns(values: FloatArray, scores: Scores) -> dict[str, Any]:
    columns: dict[str, Any] = {f"split{f}_test_score": values[:, f] for f in range(values.shape[1])}
    columns["mean_test_score"] = scores.mean
    columns["std_test_score"] = np.nanstd(values, axis=1)
    columns["se_test_score"] = scores.standard_error
    lowest = np.where(np.isnan(scores.mean), -np.inf, scores.mean)
    columns["rank_test_score"] = rankdata(-lowest, method="min").astype(np.int32)
    return columns
