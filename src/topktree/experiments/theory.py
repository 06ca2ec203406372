"""The theorems, the lemma and the running time as experiments: small, exact, without data.

In: nothing. Out: Experiments of the modules that make the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from . import lemma, running_time, theorem2, theorem3, theorem3_frontier
from .experiment import FINISHED, Experiment, Row, Settings, Task


def _experiment(name: str, title: str, module: ModuleType) -> Experiment:
    draw = getattr(module, "draw", None)
    return Experiment(
        name,
        title,
        module.KEYS,
        module.RESULTS,
        lambda settings: module.tasks(settings.max_depth),
        run=_Run(module.__name__),
        pictures=(lambda rows: {name: draw(_finished(rows))}) if draw else None,
        drawn=(name,) if draw else (),
    )


def _finished(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["status"] == FINISHED]


class _Run:
    """A module's `run`, as something that can be sent to another process."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __call__(self, task: Task, settings: Settings) -> Row:
        from importlib import import_module

        result: Row = import_module(self.module).run(task)
        return result


EXPERIMENTS = (
    _experiment("theorem2", "Theorem 2: the greediness hierarchy", theorem2),
    _experiment("theorem3", "Theorem 3: the monotone hierarchy", theorem3),
    _experiment("theorem3-frontier", "Theorem 3: where Majority overtakes Tribes", theorem3_frontier),
    _experiment("lemma", "Lemma: the best tree of the search space", lemma),
    _experiment("running-time", "Claim: running time", running_time),
)
