"""A quick measurement: Top-k against scikit-learn's greedy tree, and other solvers, on the same Boolean columns.

In: a folder of the paper's datasets, or none; whom to measure, how often, for how long. Out: a `Cell` per dataset and
contestant. The one idea: contestants take turns, in a process that is killed if one goes on after its limit, and the
median of the turns is what counts, so that a machine that is busy for a moment affects all of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topktree import Binarizer, datasets, hard

from ... import peers, splits
from ...stopwatch import Outcome, Stopwatch
from ...study import FINISHED, TIMEOUT

DEPTH = 4
FROM_FILES = ("spambase", "telescope", "letter-recognition", "credit-card")
PARITY_ROWS = 20_000
SLOW = 1.0  # seconds from which on a fit is measured once


@dataclass(frozen=True)
class Contestant:
    """A solver, and its k where it has one."""

    solver: str  # as `peers` has it
    k: int | str | None = None

    @property
    def name(self) -> str:
        """Return the name that tables show."""
        return self.solver if self.k is None else f"{self.solver} k = {self.k}"


OURS = (Contestant(peers.OURS, 1), Contestant(peers.OURS, 8), Contestant(peers.OURS, "all"))
GREEDY = Contestant(peers.GREEDY)
PEERS = (Contestant(peers.TOP_K, 8), Contestant(peers.STREED))


@dataclass(frozen=True, eq=False)
class Problem:
    """Boolean columns and classes."""

    name: str
    X: NDArray[np.bool_]
    y: NDArray[np.int64]


@dataclass(frozen=True)
class Cell:
    """The result of a contestant on a dataset: the median of its turns. Without a tree, numbers are None."""

    dataset: str
    rows: int
    columns: int
    contestant: str
    status: str  # "finished", "timeout" or "failed"
    message: str
    seconds: float | None
    ratio: float | None  # seconds over those of scikit-learn's greedy tree
    errors: int | None
    leaves: int | None


def generated_problems() -> list[Problem]:
    """Return the problems that need no file."""
    monks = datasets.load_monks(1)
    found = [
        _columns("tic-tac-toe", *datasets.load_tic_tac_toe(return_X_y=True)),
        _columns("monks-1", monks.data.astype(object), monks.target),
        _columns("balance-scale", *datasets.load_balance_scale(return_X_y=True)),
    ]
    X, y = hard.parity(h=4, K=3, eps=0.1).sample(PARITY_ROWS, random_state=0)
    return [*found, Problem("parity", np.asarray(X, dtype=bool), np.asarray(y, dtype=np.int64))]


def paper_problems(folder: str) -> list[Problem]:
    """Return some of the paper's datasets, with its authors' columns, as far as the folder has them."""
    there = [name for name in FROM_FILES if Path(folder, f"{name}.csv.gz").is_file()]
    found = [(name, splits.problem(name, splits.PAPER_COLUMNS, folder)) for name in there]
    return [Problem(name, problem.X, problem.y) for name, problem in found]


def measure(
    problem: Problem,
    contestants: Sequence[Contestant],
    repeat: int,
    limit: float,
    stopwatch: Stopwatch,
    advance: Callable[[Contestant], None],
) -> list[Cell]:
    """Let the contestants take turns; one that fails, is stopped or is slow runs once. The first is the yardstick."""
    turns: dict[Contestant, list[Outcome]] = {contestant: [] for contestant in contestants}
    for _ in range(repeat):
        for contestant, outcomes in turns.items():
            advance(contestant)
            if all(map(_is_quick, outcomes)):
                outcomes.append(_run(problem, contestant, limit, stopwatch))
    cells: list[Cell] = []
    for contestant, outcomes in turns.items():
        yardstick = cells[0].seconds if cells else None
        cells.append(_cell(problem, contestant, outcomes, yardstick))
    return cells


def _is_quick(outcome: Outcome) -> bool:
    return outcome.status == FINISHED and outcome.value.finished and outcome.value.seconds < SLOW


def _run(problem: Problem, contestant: Contestant, limit: float, stopwatch: Stopwatch) -> Outcome:
    asked = peers.Problem(DEPTH, limit=limit, k=contestant.k or "all")
    return stopwatch.run(peers.fit, contestant.solver, problem.X, problem.y, asked, limit=limit)


def _cell(problem: Problem, contestant: Contestant, outcomes: Sequence[Outcome], yardstick: float | None) -> Cell:
    last = outcomes[-1]
    rows, columns = problem.X.shape
    empty = Cell(problem.name, rows, columns, contestant.name, last.status, last.message, None, None, None, None)
    if last.status != FINISHED:
        return empty
    fit: peers.Fit = last.value
    tree = replace(empty, errors=fit.errors, leaves=fit.leaves)
    if not fit.finished:
        return replace(tree, status=TIMEOUT, message="stopped itself at the limit")
    seconds = statistics.median(outcome.value.seconds for outcome in outcomes)
    return replace(tree, seconds=seconds, ratio=seconds / yardstick if yardstick else None)


def _columns(name: str, X: Any, y: Any) -> Problem:
    columns = np.ascontiguousarray(Binarizer(strategy="paper").fit(X.astype(object)).transform(X.astype(object)))
    return Problem(name, columns, np.unique(y, return_inverse=True)[1].astype(np.int64))
