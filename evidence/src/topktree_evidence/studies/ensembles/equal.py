"""Ensembles of equal trees and depth: forests and boosting for several k, and scikit-learn's.

In: a dataset, a split, a method, k, depth, trees. Out: errors, leaves and CPU seconds of the ensemble and of smaller
ones that are part of it, as JSON lists.
The one idea: a fit of a few trees comes before that of all. It predicts the time of the latter, so that a run that
cannot end within the limit is not begun, and separates the time per tree from the rest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from topktree import datasets

from ...splits import chosen, seeds
from ...study import TIMEOUT, Row, Settings, Task
from .models import OURS, PEERS, Recipe, alone, at_sizes, coded, errors_of, expected_cpu, fit, leaves_of

KEYS = ("dataset", "seed", "method", "k", "depth", "trees")
LISTS = ("test_errors", "train_errors", "leaves", "cpu")  # a number for each of the sizes
RESULTS = ("train_rows", "test_rows", *LISTS)

KS, DEPTHS = (1, 2, 4, 8), (2, 3, 4, 5, 6)
SIZES = {10: (1, 3, 5, 10), 100: (50, 100)}  # by the trees that are fitted
ALL_SIZES = tuple(size for sizes in SIZES.values() for size in sizes)
PROBES = {10: 1, 100: 5}
READABLE_DEPTH = 4
GRACE = 4.0  # times the limit, by the clock: a probe may be wrong, and others may be at work


def tasks(settings: Settings) -> list[Task]:
    """Plan every method on every split of every dataset."""
    cells = [(method, k) for method in OURS for k in KS] + [(method, 0) for method in PEERS]
    return [
        {"dataset": name, "seed": seed, "method": method, "k": k, "depth": depth, "trees": trees}
        for trees in SIZES
        for name in chosen(settings, list(datasets.PAPER))
        for seed in seeds(name, settings)
        for method, k in cells
        for depth in settings.up_to(DEPTHS)
    ]


def run(task: Task, settings: Settings) -> Row:
    """Fit a few trees, then all, and count errors."""
    assert settings.time_limit is not None
    method, seed, trees = task["method"], task["seed"], task["trees"]
    data = coded(task["dataset"], seed, settings.data_home)
    recipe, few = Recipe(method, task["k"], task["depth"], trees), PROBES[trees]
    with alone():
        probe, probe_cpu = fit(replace(recipe, trees=few), data, seed)
        one_cpu = fit(replace(recipe, trees=1), data, seed)[1] if few > 1 else probe_cpu
        expected = expected_cpu(trees, few, probe_cpu, one_cpu)
        if expected > settings.time_limit:
            return {"status": TIMEOUT, "message": f"{trees} trees would take about {expected:.0f} s"}
        limit = GRACE * settings.time_limit
        model, cpu = fit(recipe, data, seed, time_limit=limit)
        if getattr(model, "status_", "") == "time_limit":
            return {"status": TIMEOUT, "message": f"{trees} trees took more than {limit:.0f} s"}
        leaves = leaves_of(model)
        found = {
            "test_errors": at_sizes(errors_of(model, data.testing(method), data.y_test), SIZES[trees]),
            "train_errors": at_sizes(errors_of(model, data.training(method), data.y_train), SIZES[trees]),
            "leaves": at_sizes(leaves, SIZES[trees]),
            "cpu": cpu_at(SIZES[trees], (len(leaves_of(probe)), probe_cpu), (len(leaves), cpu)),
        }
    lists = {name: json.dumps(values, separators=(",", ":")) for name, values in found.items()}
    return {"train_rows": len(data.y_train), "test_rows": len(data.y_test), **lists}


def cpu_at(sizes: Sequence[int], probe: tuple[int, float], whole: tuple[int, float]) -> list[float]:
    """Return CPU seconds of ensembles of these sizes, on the line through two measured (trees, seconds)."""
    (n_probe, probe_cpu), (n, cpu) = probe, whole
    per_tree = max(0.0, (cpu - probe_cpu) / (n - n_probe)) if n > n_probe else 0.0
    return [round(cpu - per_tree * (n - min(size, n)), 5) for size in sizes]


def effort(task: Task) -> tuple[int, ...]:
    """Order the runs: few trees and readable ones first, then split by split, small k first."""
    return task["trees"], max(task["depth"], READABLE_DEPTH), task["seed"], task["k"]


def is_hopeless(task: Task, stopped: Task) -> bool:
    """Return True for the same method on the same dataset, whatever the split, with no smaller k, depth and trees."""
    same = all(task[name] == stopped[name] for name in ("dataset", "method"))
    return same and all(task[name] >= stopped[name] for name in ("k", "depth", "trees"))
