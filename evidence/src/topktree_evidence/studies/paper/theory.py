"""The theorems, the lemma and the running time as experiments: small, exact, without data.

In: nothing. Out: Experiments of the modules that make the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType

from topktree_evidence.studies.paper import frontier as theorem3_frontier
from topktree_evidence.studies.paper import lemma, running_time, theorem2, theorem3
from topktree_evidence.study import FINISHED, Experiment, Row, Settings, Task


def _experiment(name: str, module: ModuleType) -> Experiment:
    draw = getattr(module, "draw", None)
    return Experiment(
        name,
        module.KEYS,
        module.RESULTS,
        lambda settings: module.tasks(settings.max_depth),
        run=partial(_run, module.run),
        summarise=_finished,
        pictures=(lambda rows: {name: draw(rows)}) if draw else None,
        drawn=(name,) if draw else (),
    )


def _run(run: Callable[[Task], Row], task: Task, settings: Settings) -> Row:
    """A run that no setting changes."""
    return run(task)


def _finished(rows: Sequence[Row]) -> list[Row]:
    """The rows that have numbers."""
    return [row for row in rows if row["status"] == FINISHED]


EXPERIMENTS = (
    _experiment("theorem2", theorem2),
    _experiment("theorem3", theorem3),
    _experiment("theorem3-frontier", theorem3_frontier),
    _experiment("lemma", lemma),
    _experiment("running-time", running_time),
)
