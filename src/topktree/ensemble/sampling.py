"""The samples of a forest: the rows that each tree draws, with replacement, and the features that its nodes draw.

In: training data, parameters and a seed. Out: the integer problem of each tree. The one idea: rows are numbered in the
order of hashes of their content, each as often as its weight says, and numbers are drawn. So the order of the rows does
not change a sample, and a row of weight 2 is the same as two rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._data.arrays import IntArray
from .._data.columns import hash_rows, packed
from .._data.training import TrainingData
from .._data.weights import integer_weights
from .._runtime import checks
from .._search.objective import FeatureDraw, Objective, objective_of_totals
from .._search.spec import TreeSpec

# Integer weights count as repeated rows up to this sum; larger ones are not numbers of rows.
MAX_REPEATED = 2**24


@dataclass(frozen=True, eq=False)
class RowSampler:
    """A sampler of rows, with replacement."""

    order: IntArray  # (n,), rows by the hash of their content
    ends: IntArray  # (n,), the end of each row's range of the numbers that are drawn, in that order
    n_draws: int

    def counts(self, random: np.random.RandomState) -> IntArray:
        """Draw a sample and return how often it has each row, (n,)."""
        numbers = random.randint(0, int(self.ends[-1]), size=self.n_draws, dtype=np.int64)
        if self.ends[-1] > len(self.ends):  # rows have more than one number
            numbers = np.searchsorted(self.ends, numbers, side="right")
        counts = np.empty(len(self.order), dtype=np.int64)
        counts[self.order] = np.bincount(numbers, minlength=len(self.order))
        return counts


@dataclass(frozen=True, eq=False)
class Sampler:
    """The draws of all trees of a forest. Tree i always draws the same, however many trees there are."""

    seed: int
    rows: RowSampler | None  # None: every tree has all rows
    n_features: int | None  # drawn at every node; None: all

    def counts(self, i: int) -> IntArray:
        """Return how often the sample of tree i has each row, if rows are drawn."""
        assert self.rows is not None
        return self.rows.counts(np.random.RandomState(self._seeds(i)[0]))

    def objective(self, data: TrainingData, spec: TreeSpec, i: int) -> Objective:
        """Return the integer problem of tree i; rows that its sample does not have weigh 0 in it."""
        objective = spec.objective(data) if self.rows is None else _sample_objective(data, spec, self.counts(i))
        if self.n_features is None:
            return objective
        _, _, high, low = self._seeds(i)
        draw = FeatureDraw(self.n_features, data.columns.feature.astype(np.int32), high << 32 | low)
        return replace(objective, draw=draw)

    def _seeds(self, i: int) -> list[int]:
        """Return the seed of the rows, one that is not used, and the two halves of the seed of the features."""
        return [int(seed) for seed in np.random.SeedSequence([self.seed, i]).generate_state(4)]


def row_sampler(data: TrainingData, max_samples: int | float | None) -> RowSampler:
    """Return a sampler that draws rows by weight, by default as many as there are or as integer weights sum to."""
    n, weights = len(data.y), data.sample_weight
    numbers, n_rows = np.ones(n, dtype=np.int64), n
    if weights is not None and np.all(weights == np.rint(weights)) and weights.sum() <= MAX_REPEATED:
        numbers, n_rows = weights.astype(np.int64), int(weights.sum())
    elif weights is not None:
        numbers = integer_weights(weights)[0]
    hashes = hash_rows(packed(data.rows), data.y, data.columns.ranked)
    order = np.lexsort((numbers, hashes))  # among equal rows the lighter one first
    n_draws = n_rows if max_samples is None else max_samples
    if not checks.is_int(n_draws):
        n_draws = max(1, round(n_rows * n_draws))
    return RowSampler(order, np.cumsum(numbers[order]), int(n_draws))


def count_features(max_features: Any, n_all: int) -> int | None:
    """Return how many features are drawn; None: all of them, which is no draw."""
    if max_features is None:
        return None
    if isinstance(max_features, str):
        n = int(np.sqrt(n_all)) if max_features == "sqrt" else int(np.log2(n_all))
    else:
        n = int(max_features) if checks.is_int(max_features) else int(max_features * n_all)
    return None if max(1, n) >= n_all else max(1, n)


def check_part(name: str, value: Any, *words: str) -> None:
    """Require an int >= 1, a fraction in (0, 1], None or one of the words."""
    if isinstance(value, str):
        good = value in words
    elif checks.is_int(value):
        good = value >= 1
    else:
        good = value is None or (checks.is_number(value) and 0 < value <= 1)
    if not good:
        allowed = "".join(f'"{word}", ' for word in words)
        raise ValueError(
            f"{name} must be {allowed}an int >= 1, a fraction in (0, 1] or None, got {checks.short(value)}"
        )


def check_at_most(name: str, value: Any, most: int, what: str = "") -> None:
    """Require that a value is at most `most` if it is an int; `what` explains the number."""
    if checks.is_int(value) and value > most:
        raise ValueError(f"{name} must be an int of at most {what}{most}, or a fraction, got {checks.short(value)}")


def _sample_objective(data: TrainingData, spec: TreeSpec, counts: IntArray) -> Objective:
    n_rows = int(np.count_nonzero(counts))
    return objective_of_totals(
        np.bincount(data.y, counts, len(data.classes)).astype(np.int64),
        n_rows,
        row_weight=counts,
        rows_weigh=bool(counts.max() > 1),
        unit=1.0,
        class_weight=data.class_weight,
        **spec.objective_options(n_rows, data.columns),
    )
