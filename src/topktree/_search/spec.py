"""`TreeSpec`: the tree that is asked for.

In: an estimator with the parameters of a tree. Out: a `TreeSpec` of validated parameters; for given rows, the integer
problem that it means.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from .._data.columns import Columns
from .._data.training import TrainingData
from .._runtime import checks
from .objective import CRITERIA, LOOKAHEAD, Objective, ScoreFunction, make_objective

# Deeper trees of few leaves are long and thin: with `max_leaf_nodes`, an integer k is halved every two levels.
DEEP = 5


@dataclass(frozen=True)
class TreeSpec:
    """The tree that is asked for: the parameters that decide it, validated, by their names in the estimators."""

    k: Any  # an int, "all", or a sequence of these with an entry per level
    max_depth: int
    criterion: str | ScoreFunction
    min_samples_leaf: int | float
    min_weight_fraction_leaf: float
    leaf_penalty: float | str
    distinct_splits: bool
    lookahead_columns: int | None = None
    refine: bool = False
    max_leaf_nodes: int | None = None

    def objective_options(self, n_rows: int, columns: Columns) -> dict[str, Any]:
        """Return what `make_objective` takes from the specification, for these columns and this number of rows."""
        # A path has at most one split per column, and one row fewer at every split.
        depth = min(self.max_depth, len(columns), n_rows - 1)
        looks_ahead = self.criterion == LOOKAHEAD
        n_listed = len(columns) if self.lookahead_columns is None else min(self.lookahead_columns, len(columns))
        k = checks.candidates_per_level(self.k, depth, len(columns))
        if halves_k(self.k, self.max_leaf_nodes, depth):
            k = tuple(max(k_here >> (level + 1) // 2, 1) for level, k_here in enumerate(k))
        return {
            "k": k,
            "second_reading": columns.second_readings(),
            "criterion": "entropy" if looks_ahead else self.criterion,
            "lookahead": n_listed if looks_ahead else 0,
            "refine": bool(self.refine),
            "min_samples_leaf": min(checks.count_of(self.min_samples_leaf, n_rows), n_rows),
            "min_weight_fraction_leaf": float(self.min_weight_fraction_leaf),
            "leaf_penalty": self.leaf_penalty,
            "distinct_splits": bool(self.distinct_splits),
        }

    def has_budget(self, depth: int) -> bool:
        """Return True if a tree of this depth may have more leaves than `max_leaf_nodes`."""
        return is_limited(self.max_leaf_nodes, depth)

    def objective(self, data: TrainingData) -> Objective:
        """Return the integer problem for these rows."""
        return data.work.call(
            make_objective,
            data.y,
            len(data.classes),
            class_weight=data.class_weight,
            sample_weight=data.sample_weight,
            **self.objective_options(len(data.y), data.columns),
        )

    @property
    def impurity(self) -> str:
        """Return the criterion that node impurities and importances are stated in."""
        return str(self.criterion) if self.criterion in CRITERIA else "entropy"


def is_limited(max_leaf_nodes: int | None, depth: int) -> bool:
    """Return True if a tree of this depth may have more leaves than `max_leaf_nodes`."""
    return max_leaf_nodes is not None and max_leaf_nodes < 2**depth


def halves_k(k: Any, max_leaf_nodes: int | None, depth: int) -> bool:
    """Return True if levels further from the root have fewer candidates than `k`."""
    return is_limited(max_leaf_nodes, depth) and checks.is_int(k) and depth > DEEP


def read_spec(estimator: Any) -> TreeSpec:
    """Return the specification of an estimator's parameters, all of which are validated."""
    check_parameters(estimator)
    return TreeSpec(**{f.name: getattr(estimator, f.name) for f in fields(TreeSpec) if hasattr(estimator, f.name)})


def check_parameters(estimator: Any, criterion_is_lost: bool = False) -> None:
    """Validate the parameters that every estimator of trees has. A file does not keep a custom criterion."""
    checks.check_int("max_depth", estimator.max_depth, 0, checks.MAX_DEPTH)
    checks.check_k(estimator.k, estimator.max_depth)
    looks_ahead = hasattr(estimator, "lookahead_columns")
    if not criterion_is_lost and not callable(estimator.criterion):
        checks.check_choice("criterion", estimator.criterion, CRITERIA + (LOOKAHEAD,) * looks_ahead, "or a callable")
    if looks_ahead:
        checks.check_int("lookahead_columns", estimator.lookahead_columns, 1, or_none=True)
        checks.check_bool("refine", estimator.refine)
        checks.check_int("max_leaf_nodes", estimator.max_leaf_nodes, 2, or_none=True)
    checks.check_min_samples_leaf(estimator.min_samples_leaf)
    checks.check_number("min_weight_fraction_leaf", estimator.min_weight_fraction_leaf, 0, 0.5)
    checks.check_leaf_penalty(estimator.leaf_penalty)
    checks.check_bool("distinct_splits", estimator.distinct_splits)
    checks.check_class_weight(estimator.class_weight)
    checks.check_int("max_thresholds", estimator.max_thresholds, 1, or_none=True)
    checks.check_time_limit(estimator.time_limit)
    checks.check_int("memory_limit", estimator.memory_limit, 0, or_none=True)
    checks.check_n_jobs(estimator.n_jobs)
    checks.check_verbose(estimator.verbose)
