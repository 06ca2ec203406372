"""Verdicts: whether the training errors of the contestants go together.

In: the results of a section. Out: Findings, sentences on what is wrong (the benchmark then fails) and what is worth a
note. The one idea: training errors are exact, so they are compared exactly; a better tree proves itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from topktree_evidence.studies.speed.results import Duel, Result
from topktree_evidence.studies.speed.runs import FAILED, FINISHED, OURS
from topktree_evidence.studies.speed.tables import errors

COST_TOLERANCE = 1e-3  # rows: gosdt adds up in float32, topktree rounds a penalty to 2^-20 of a row


@dataclass
class Findings:
    """The result of comparing the errors of a section."""

    wrong: list[str] = field(default_factory=list)  # training errors that cannot be right, failures of topktree
    notes: list[str] = field(default_factory=list)  # a contestant failed, or a peer found a worse tree

    def failures(self, found: Iterable[Result]) -> None:
        """Contestants without an answer: topktree's crash is wrong, all else is a note."""
        for result in found:
            if result.status == FINISHED:
                continue
            job = result.job
            text = f"{job.dataset}{f', k = {job.k}' if job.k else ''}, depth {job.depth}: {job.solver} {result.status}"
            if result.status == FAILED and job.solver == OURS:
                self.wrong.append(f"{text}: {result.message}")
            elif not result.capped:
                self.notes.append(f"{text}{': ' if result.message else ''}{result.message}")

    def check_optimal(self, duel: Duel) -> None:
        """No tree is better than a proven optimum, neither than ours nor than the peer's."""
        ours, theirs = cost_of(duel.ours), cost_of(duel.peer)
        if ours is None or theirs is None:
            return
        text = f"{duel.where}: topktree {shown(duel.ours)}, {duel.peer.job.solver} {shown(duel.peer)}"
        if duel.ours.finished and theirs < ours - COST_TOLERANCE:
            self.wrong.append(text)
        elif duel.peer.finished and ours < theirs - COST_TOLERANCE:
            self.notes.append(f"{text}: what the peer calls optimal is not")

    def check_topk(self, duel: Duel) -> None:
        """Not more errors than the peer's Top-k, but where ties let it take a column that is not among our k."""
        ours, theirs = duel.ours.errors, duel.peer.errors
        if ours is None or theirs is None or not duel.ours.finished:
            return
        text = f"{duel.where}: topktree {ours}, {duel.peer.job.solver} {errors(duel.peer)} training errors"
        if ours > theirs and (duel.peer.widest or 0) > int(duel.job.k):
            self.notes.append(f"{text} (ties: a column of its tree is number {duel.peer.widest} in our order)")
        elif ours > theirs:
            self.wrong.append(text)
        elif ours < theirs and duel.peer.finished:
            self.notes.append(f"{text} (a tree lost by the peer, or ties broken otherwise)")

    def check_wider(self, narrow: Result, wide: Result) -> None:
        """Check that a larger k is never worse."""
        if narrow.errors is not None and wide.errors is not None and wide.errors > narrow.errors and wide.finished:
            where = f"{wide.job.dataset}, depth {wide.job.depth}"
            self.wrong.append(
                f"{where}: k = {wide.job.k} has {wide.errors} training errors, k = {narrow.job.k} only {narrow.errors}"
            )

    def check_greedy(self, duel: Duel) -> None:
        """scikit-learn takes one of several equal columns at random, so it may differ."""
        if duel.ours.errors != duel.peer.errors:
            self.notes.append(
                f"{duel.where}: topktree {errors(duel.ours)}, scikit-learn {errors(duel.peer)} training errors (ties)"
            )

    def check_equal(self, duel: Duel) -> None:
        """Check that the number of threads changes nothing."""
        ours, theirs = (duel.ours.errors, duel.ours.leaves), (duel.peer.errors, duel.peer.leaves)
        if duel.ours.finished and duel.peer.finished and ours != theirs:
            self.wrong.append(f"{duel.where}: {ours} training errors and leaves on two threads, {theirs} on one")


def cost_of(result: Result) -> float | None:
    """Return what the contestant minimised."""
    return result.cost if result.job.penalty else result.errors


def shown(result: Result) -> str:
    """Return errors, and leaves where they cost."""
    if result.job.penalty:
        return f"{errors(result)} training errors with {result.leaves} leaves"
    return f"{errors(result)} training errors"
