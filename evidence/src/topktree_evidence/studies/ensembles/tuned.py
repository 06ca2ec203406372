"""Ensembles whose parameters are chosen: the best that each method can do, small enough to read or free.

In: a dataset, a split, a league, a method. Out: errors on rows that had no part in the choice, leaves, what was
chosen, CPU seconds.
The one idea: all methods choose by the same quarter of the training rows, by errors alone, and are then fitted to all
training rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from sklearn.model_selection import train_test_split

from topktree import datasets

from ...splits import Array, chosen, seeds
from ...study import Row, Settings, Task
from . import models
from .models import ADABOOST, BOOSTING, EXTRA_TREES, FOREST, HIST, OURS, PEERS, RANDOM_FOREST, SKLEARN_TREE, SQRT, TREE

KEYS = ("dataset", "seed", "league", "method")
RESULTS = (
    *("train_rows", "test_rows", "test_errors", "leaves", "k", "depth", "trees", "rate"),
    *("tried", "planned", "cpu", "fit_cpu"),
)

READABLE, FREE = "readable", "free"
GREEDY = "-greedy"  # ends the name of a method of ours that may choose k = 1 only
KS = (1, 4, 8)
VALIDATION = 0.25
CANDIDATE = 6  # a candidate may take this part of the limit; the first one always may
PROBE = 5


@dataclass(frozen=True)
class League:
    """The parameters that may be chosen."""

    sizes: tuple[int, ...]
    depths: dict[str, tuple[int, ...]]  # by method; 0: unlimited
    rates: dict[str, tuple[float, ...]]  # by method, where there are any


LEAGUES = {
    READABLE: League(
        sizes=(1, 2, 3, 4, 5),
        depths=dict.fromkeys((TREE, SKLEARN_TREE, *OURS, *PEERS), (2, 3, 4)),
        rates={BOOSTING: (0.3, 1.0), ADABOOST: (0.3, 1.0), HIST: (0.1, 0.3, 1.0)},
    ),
    FREE: League(
        sizes=(10, 20, 50, 100),
        depths={
            **dict.fromkeys((FOREST, SQRT), (4, 6)),
            **dict.fromkeys((BOOSTING, ADABOOST), (2, 4, 6)),
            **dict.fromkeys((RANDOM_FOREST, EXTRA_TREES), (4, 6, 0)),
            HIST: (2, 4, 6),
        },
        rates={HIST: (0.1, 0.3)},
    ),
}


def methods(league: str) -> list[str]:
    """Return the methods of a league; ours twice, with k to choose and without."""
    found = list(LEAGUES[league].depths)
    return [*found, *(f"{method}{GREEDY}" for method in found if method in (TREE, *OURS))]


def tasks(settings: Settings) -> list[Task]:
    """Plan every method on every split of every dataset; the maximum depth of the settings does not apply."""
    return [
        {"dataset": name, "seed": seed, "league": league, "method": method}
        for league in LEAGUES
        for name in chosen(settings, list(datasets.PAPER))
        for seed in seeds(name, settings)
        for method in methods(league)
    ]


def candidates(league: str, method: str) -> list[models.Recipe]:
    """Return the fits to compare, each for all sizes of the league; cheap ones first."""
    rules, name = LEAGUES[league], method.removesuffix(GREEDY)
    ks = (0,) if name not in (TREE, *OURS) else (1,) if method.endswith(GREEDY) else KS
    trees = 1 if name in (TREE, SKLEARN_TREE) else max(rules.sizes)
    grid = product(sorted(rules.depths[name], key=_levels), ks, rules.rates.get(name, (0.0,)))
    return [models.Recipe(name, k, depth, trees, rate) for depth, k, rate in grid]


def _levels(depth: int) -> float:
    return depth or float("inf")


def run(task: Task, settings: Settings) -> Row:
    """Choose, fit, count errors."""
    assert settings.time_limit is not None
    data = models.coded(task["dataset"], task["seed"], settings.data_home)
    planned = candidates(task["league"], task["method"])
    with models.alone():
        sizes, limit = LEAGUES[task["league"]].sizes, settings.time_limit / CANDIDATE
        tried = list(_try(planned, data, task["seed"], sizes, limit))
        recipe = min(tried, key=lambda one: one.rank).recipe
        model, cpu = models.fit(recipe, data, task["seed"])
        return {
            "train_rows": len(data.y_train),
            "test_rows": len(data.y_test),
            "test_errors": models.errors_of(model, data.testing(recipe.method), data.y_test)[-1],
            "leaves": models.leaves_of(model)[-1],
            **{name: getattr(recipe, name) for name in ("k", "depth", "trees", "rate")},
            "tried": len({replace(one.recipe, trees=0) for one in tried}),
            "planned": len(planned),
            "cpu": round(cpu + sum(one.cpu for one in tried), 4),
            "fit_cpu": round(cpu, 4),
        }


@dataclass(frozen=True)
class Tried:
    """A candidate of one size, and its errors on the rows that choose."""

    recipe: models.Recipe
    errors: int
    cpu: float

    @property
    def rank(self) -> tuple[float, ...]:
        """Return the sort key: fewest errors, then the smallest model."""
        return self.errors, self.recipe.trees, _levels(self.recipe.depth), self.recipe.k, self.recipe.rate


def _try(
    planned: Sequence[models.Recipe], data: models.Data, seed: int, sizes: Sequence[int], limit: float
) -> Iterator[Tried]:
    """Try all candidates that a few trees do not show to be too expensive, and none that is more expensive still."""
    train, test = inner_split(data.y_train)
    stopped: list[models.Recipe] = []
    for i, recipe in enumerate(planned):
        if any(_is_more_expensive(recipe, other) for other in stopped):
            continue
        if i and _expected(recipe, data, seed, train) > limit:
            stopped.append(recipe)
            continue
        model, cpu = models.fit(recipe, data, seed, rows=train)
        wrong = models.errors_of(model, data.training(recipe.method)[test], data.y_train[test])
        of_sizes = sizes if recipe.trees > 1 else (1,)
        for size, errors in zip(of_sizes, models.at_sizes(wrong, of_sizes), strict=True):
            yield Tried(replace(recipe, trees=size), errors, cpu / len(of_sizes))


def _is_more_expensive(recipe: models.Recipe, stopped: models.Recipe) -> bool:
    return recipe.k >= stopped.k and _levels(recipe.depth) >= _levels(stopped.depth)


def _expected(recipe: models.Recipe, data: models.Data, seed: int, rows: Array) -> float:
    """Return the CPU seconds that all trees will take; 0 if there are so few that they are simply tried."""
    if recipe.trees <= PROBE:
        return 0.0
    of_few, of_one = (models.fit(replace(recipe, trees=trees), data, seed, rows=rows)[1] for trees in (PROBE, 1))
    return models.expected_cpu(recipe.trees, PROBE, of_few, of_one)


def inner_split(y: Array) -> tuple[Array, Array]:
    """Return rows to fit and rows to choose by, stratified if every class has two rows."""
    rows, counts = np.arange(len(y)), np.bincount(y)
    stratify = y if counts[counts > 0].min() > 1 else None
    train, test = train_test_split(rows, test_size=VALIDATION, stratify=stratify, random_state=0)
    return train, test


def effort(task: Task) -> tuple[int, ...]:
    """Order the runs: league by league, split by split, so that every dataset has some results early."""
    return list(LEAGUES).index(task["league"]), task["seed"]
