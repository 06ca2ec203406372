"""Verdicts: whether the training errors of topktree and a peer go together.

In: the results of a cell. Out: sentences, in a Section: what is wrong (the benchmark then fails), what is worth a note.
The one idea: training errors are exact, so they are compared exactly; only ties leave a peer room to differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from measure import Result
from tables import errors


@dataclass
class Section:
    """One peer's part of the report."""

    title: str
    lines: list[str] = field(default_factory=list)  # Markdown
    wrong: list[str] = field(default_factory=list)  # training errors that cannot be right, failures of topktree
    notes: list[str] = field(default_factory=list)  # cells where a peer failed or found another tree


@dataclass(frozen=True)
class Cell:
    """topktree and a peer on one dataset, depth and k."""

    where: str
    key: tuple[str, ...]  # the columns of the table that say which cell this is
    ours: Result
    peer: Result


def check_topk(section: Section, cell: Cell) -> None:
    """Not more errors than the peer's Top-k. Fewer: the peer lost a tree, or breaks ties between columns otherwise."""
    if (found := both_errors(section, cell)) is None:
        return
    ours, peer = found
    what = f"{cell.where}: topktree {ours}, pytrees-rs {errors(cell.peer)} training errors"
    if ours > peer:
        section.wrong.append(what)
    elif ours < peer and not cell.peer.capped:
        section.notes.append(f"{what} (a tree lost by the peer, or ties broken otherwise)")


def check_optimal(section: Section, cell: Cell) -> None:
    """There is one optimum; a peer cut short has an upper bound of it."""
    if (found := both_errors(section, cell)) is None:
        return
    ours, peer = found
    if ours > peer or (ours < peer and not cell.peer.capped):
        section.wrong.append(f"{cell.where}: topktree {ours}, pystreed {errors(cell.peer)} training errors")


def check_greedy(section: Section, name: str, peer: Result, greedy: Result, top8: Result) -> None:
    """k = 8 cannot be worse than k = 1. scikit-learn takes one of several equal columns at random, so it may differ."""
    for k, ours in ((1, greedy), (8, top8)):
        if ours.problem or ours.capped:
            section.wrong.append(f"{name}, k = {k}: topktree {ours.problem or 'did not finish within the cap'}")
    if greedy.errors is None or top8.errors is None:
        return
    if top8.errors > greedy.errors:
        section.wrong.append(f"{name}: k = 8 has {top8.errors} training errors, k = 1 only {greedy.errors}")
    if greedy.errors != peer.errors:
        section.notes.append(f"{name}: k = 1 has {greedy.errors} training errors, scikit-learn {errors(peer)} (ties)")


def both_errors(section: Section, cell: Cell) -> tuple[int, int] | None:
    """The errors of both; None, and a sentence in the section, where one of them owes an answer."""
    ours, peer = cell.ours, cell.peer
    if ours.problem:
        section.wrong.append(f"{cell.where}: topktree {ours.problem}")
    elif ours.capped:
        section.notes.append(f"{cell.where}: topktree did not finish within the cap, no ratio")
    if peer.problem:
        section.notes.append(f"{cell.where}: the peer failed: {peer.problem}")
    if ours.problem or ours.capped or peer.problem or ours.errors is None or peer.errors is None:
        return None
    return ours.errors, peer.errors


def verdict(cells: list[Cell], reached: bool) -> str:
    """On a bar: a cell that topktree owes misses it, one where both were stopped at the cap leaves it open."""
    owed = [cell for cell in cells if cell.ours.problem or cell.ours.capped]
    if not reached or any(cell.ours.problem or not cell.peer.capped for cell in owed):
        return "MISSED"
    return "undecided: both were stopped at the cap somewhere" if owed else "met"
