"""Speed: topktree against its peers, in two profiles, and on raw numbers; quick.py is `topktree bench`."""

from __future__ import annotations

from functools import partial

from ...study import Study
from . import measuring, numbers, plans
from .page import write_pages

__all__ = ["STUDIES", "write_pages"]

STUDIES = (
    *(
        Study(
            name,
            plans.KEYS,
            measuring.RESULTS,
            partial(plans.tasks, profile),
            alone=measuring.measure,
            limit=lambda task: float(task["cap"]),
            optional=measuring.RESULTS,
            origin=measuring.ORIGIN,
            is_hopeless=measuring.is_hopeless,
            is_current=measuring.is_current,
            is_repeated=measuring.is_repeated,
            needs=lambda task: None if task["input"] == plans.GENERATED else task["dataset"],
            folder="benchmarks",
            file=profile.name,
            keeps_runs=True,
        )
        for name, profile in (("speed", plans.QUICK), ("speed-full", plans.FULL))
    ),
    numbers.STUDY,
)
