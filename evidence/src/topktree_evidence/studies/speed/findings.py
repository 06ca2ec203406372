"""Findings: whether the training errors of the contestants are consistent.

In: the results and the duels of a section. Out: sentences on what is wrong (the benchmark then fails) and what is worth
a note. The one idea: training errors are exact, so they are compared exactly; a better tree proves itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import pandas as pd

from ...peers import OURS
from ...study import FAILED
from .plans import GREEDY_KS
from .results import whole

WRONG, NOTES = "Wrong:", "Notes:"
COST_TOLERANCE = 1e-3  # rows: gosdt adds up in float32, topktree rounds a penalty to 2^-20 of a row

Finding = tuple[str, str]  # WRONG or NOTES, and a sentence


def findings(section: str, results: pd.DataFrame, duels: Iterable[Any]) -> dict[str, list[str]]:
    """Return all sentences about a section, by their kind."""
    found = list(failures(results.itertuples()))
    if section in CHECKS:
        found += [finding for duel in duels for finding in CHECKS[section](duel)]
    return {kind: [sentence for own, sentence in found if own == kind] for kind in (WRONG, NOTES)}


def failures(results: Iterable[Any]) -> Iterator[Finding]:
    """Find contestants without an answer: topktree's crash is wrong, all else is a note."""
    for row in results:
        k = f", k = {row.k}" if row.k else ""
        text = ": ".join(filter(None, [f"{row.dataset}{k}, depth {row.depth}: {row.solver} {row.status}", row.message]))
        if row.status == FAILED and row.solver == OURS:
            yield WRONG, text
        elif not (row.finished or row.capped):
            yield NOTES, text


def check_greedy(duel: Any) -> Iterator[Finding]:
    """Find other trees than scikit-learn's, which breaks ties at random, and a larger k with more errors."""
    if whole(duel.errors) != whole(duel.errors_peer):
        counts = f"topktree {duel.counted}, scikit-learn {duel.counted_peer} training errors"
        yield NOTES, f"{duel.cell}: {counts} (ties)"
    for narrow, wide in pairwise(GREEDY_KS):
        few, many = getattr(duel, f"errors_{narrow}"), getattr(duel, f"errors_{wide}")
        if many > few and getattr(duel, f"finished_{wide}"):
            text = f"k = {wide} has {many:.0f} training errors, k = {narrow} only {few:.0f}"
            yield WRONG, f"{duel.dataset}, depth {duel.depth}: {text}"


def check_optimal(duel: Any) -> Iterator[Finding]:
    """Find trees better than a proven optimum, of topktree's or of the peer's."""
    ours = duel.errors + duel.penalty * duel.rows * duel.leaves
    theirs = duel.errors_peer + duel.penalty * duel.rows * duel.leaves_peer
    leaves, leaves_peer = (
        f" with {count:.0f} leaves" if duel.penalty else "" for count in (duel.leaves, duel.leaves_peer)
    )
    text = f"{duel.cell}: topktree {duel.counted} training errors{leaves}"
    text += f", {duel.solver_peer} {duel.counted_peer} training errors{leaves_peer}"
    if duel.finished and theirs < ours - COST_TOLERANCE:
        yield WRONG, text
    elif duel.finished_peer and ours < theirs - COST_TOLERANCE:
        yield NOTES, f"{text}: what the peer calls optimal is not"


def check_topk(duel: Any) -> Iterator[Finding]:
    """Find more errors than the peer's Top-k has, except where ties let it take a column that is not among our k."""
    if not duel.finished:
        return
    text = f"{duel.cell}: topktree {duel.counted}, {duel.solver_peer} {duel.counted_peer} training errors"
    if duel.errors > duel.errors_peer and duel.widest_peer > int(duel.k):
        yield NOTES, f"{text} (ties: a column of its tree is number {duel.widest_peer:.0f} in our order)"
    elif duel.errors > duel.errors_peer:
        yield WRONG, text
    elif duel.errors < duel.errors_peer and duel.finished_peer:
        yield NOTES, f"{text} (a tree lost by the peer, or ties broken otherwise)"


def check_threads(duel: Any) -> Iterator[Finding]:
    """Find trees that depend on the number of threads."""
    two, one = (duel.errors, duel.leaves), (duel.errors_peer, duel.leaves_peer)
    if duel.finished and duel.finished_peer and two != one:
        texts = ["({:.0f}, {:.0f})".format(*counts) for counts in (two, one)]
        yield WRONG, f"{duel.cell}: {texts[0]} training errors and leaves on two threads, {texts[1]} on one"


CHECKS = {
    "greedy": check_greedy,
    "topk": check_topk,
    "optimal": check_optimal,
    "penalty": check_optimal,
    "contree": check_optimal,
    "threads": check_threads,
}
