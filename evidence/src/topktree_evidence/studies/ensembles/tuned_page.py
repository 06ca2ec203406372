"""The parts of ensembles.md on ensembles whose parameters were chosen.

In: the summary of `ensembles-tuned`. Out: Markdown.
"""

from __future__ import annotations

from collections.abc import Sequence

from topktree_evidence.paired import over_datasets
from topktree_evidence.studies.ensembles.models import BOOSTING, HIST, OURS, PEERS, SKLEARN_TREE, TREE
from topktree_evidence.studies.ensembles.pictures import NAMES, complete, geometric_mean
from topktree_evidence.studies.ensembles.tuned import (
    CANDIDATE,
    FREE,
    GREEDY,
    KS,
    LEAGUES,
    READABLE,
    VALIDATION,
    methods,
)
from topktree_evidence.studies.ensembles.words import in_a_cell, said, verdict, with_two_classes
from topktree_evidence.study import Row
from topktree_evidence.text import listed, markdown, mean, numbers, points, seconds, where

READABLE_TITLE = "Tuned, and small enough to read"
FREE_TITLE = "Tuned, and as large as it takes"


def in_short_tuned(rows: Sequence[Row]) -> list[str]:
    """What choosing k brings to each method, and several trees over one."""
    lines = []
    for league, name in ((READABLE, "Tuned, at most 5 trees of depth 4"), (FREE, "Tuned, up to 100 trees")):
        parts = [
            f"{NAMES[method]}: it {verdict(compared)}, {said(compared)}"
            for method in OURS
            if (compared := over_datasets(where(rows, league=league, method=method), "gain")).n
        ]
        if parts:
            lines.append(f"* **{name}**, with k to choose instead of k = 1: {'; '.join(parts)}.")
    parts = [
        f"{NAMES[method]} {said(compared)}"
        for method in OURS
        if (compared := over_datasets(where(rows, league=READABLE, method=method), TREE)).n
    ]
    if parts:
        lines.append(
            f"* **Up to 5 trees instead of one**, all tuned, depth at most 4, k to choose: {'; '.join(parts)}."
        )
    return lines


def readable(rows: Sequence[Row]) -> str:
    """The league of small ensembles."""
    text = (
        "At most 5 trees of depth 2 to 4; k, depth, trees and, for boosting, the learning rate chosen by a quarter of "
        "the training rows, then fitted to all of them. The last column is against one Top-k tree that was chosen "
        "likewise: what more trees bring."
    )
    return f"{text}\n\n{_table(rows, READABLE)}\n\n{_against_peers(rows, READABLE)}"


def free(rows: Sequence[Row]) -> str:
    """The league without much of a limit."""
    if not where(rows, league=FREE):
        return "Not run yet."
    text = "Up to 100 trees; depth up to 6, for RandomForest and ExtraTrees also unlimited; chosen as above."
    return f"{text}\n\n{_table(rows, FREE)}\n\n{_against_peers(rows, FREE)}"


def _table(rows: Sequence[Row], league: str) -> str:
    """A line per method: means over the datasets that all of them have."""
    names = complete(where(rows, league=league), methods(league), "method")
    mine = where(rows, league=league, dataset=tuple(names))
    header = [f"{len(names)} datasets", "accuracy", "trees", "leaves", "CPU time", "k to choose over k = 1"]
    header += ["over one tree"] if league == READABLE else []
    body = []
    for method in (TREE, SKLEARN_TREE, *OURS, *PEERS):
        for name in (method, f"{method}{GREEDY}"):
            of_method = where(mine, method=name)
            if of_method:
                line = [
                    NAMES[method] + (", k = 1" if name != method else ""),
                    points(mean(numbers(of_method, "test_mean"))),
                    f"{mean(numbers(of_method, 'trees')):.1f}",
                    f"{geometric_mean(of_method, 'leaves'):.0f}",
                    seconds(geometric_mean(of_method, "cpu")),
                    in_a_cell(over_datasets(of_method, "gain")),
                ]
                body.append([*line, in_a_cell(over_datasets(of_method, TREE))] if league == READABLE else line)
    note = (
        "Accuracy and trees are means over the datasets, leaves (of all trees) and CPU time (of the whole choice) "
        "geometric means. Differences in points, in brackets on how many datasets they are clearly ahead and clearly "
        "behind, **bold** where the datasets together are clear."
    )
    return f"{markdown(header, body)}\n\n{note}"


def _against_peers(rows: Sequence[Row], league: str) -> str:
    header = ("over", *(NAMES[peer] for peer in PEERS))
    body = [
        (NAMES[method], *(in_a_cell(over_datasets(where(rows, league=league, method=method), peer)) for peer in PEERS))
        for method in ((TREE, *OURS) if league == READABLE else OURS)
    ]
    text = f"Ours, with k to choose, over scikit-learn's:\n\n{markdown(header, body)}"
    return f"{text}\n\n{with_two_classes(where(rows, league=league, method=BOOSTING))}"


def what_was_tuned(rows: Sequence[Row]) -> str:
    """The grids, and what of them was not tried."""
    if not rows:
        return ""
    splits = {league: max(numbers(where(rows, league=league), "splits"), default=0) for league in LEAGUES}
    lines = [
        f"Tuned: one split of the training rows, {1 - VALIDATION:.0%} to fit and {VALIDATION:.0%} to choose by, the "
        "same for all methods; fewest errors, of equal ones the fewest trees, then levels, then the smallest k. Up to "
        f"{splits[READABLE]} splits of each dataset in the readable league, {splits[FREE]} in the free one.",
    ]
    for league, rules in LEAGUES.items():
        grids = "; ".join(_grid(league, method) for method in rules.depths)
        lines.append(f"* **{league}**, {', '.join(map(str, rules.sizes))} trees: {grids}.")
    for league in LEAGUES:
        lines += _left_out(league, where(rows, league=league))
    return "\n".join([lines[0], "", *lines[1:], f"\n{_rounds()}"])


def _grid(league: str, method: str) -> str:
    rules = LEAGUES[league]
    depths = ", ".join(str(depth) if depth else "unlimited" for depth in rules.depths[method])
    text = f"{NAMES[method]} depth {depths}"
    if method in (TREE, *OURS):
        text += f", k {', '.join(map(str, KS))}"
    if method in rules.rates:
        text += f", learning rate {', '.join(f'{rate:g}' for rate in rules.rates[method])}"
    return text


def _left_out(league: str, rows: Sequence[Row]) -> list[str]:
    """The candidates that the limit of a run has left out."""
    cut = [row for row in rows if row["tried"] < row["planned"]]
    if not cut:
        return [f"* Left out of the {league} league: nothing."] if rows else []
    limits = " or ".join(f"{limit / CANDIDATE:.2g}" for limit in sorted(set(numbers(rows, "limit"))))
    return [
        f"* Left out of the {league} league: candidates whose trees would take more than {limits} s of CPU time, by a "
        f"fit of a few of them, and those with more choices or levels still: {_cut(cut)}."
    ]


def _cut(rows: Sequence[Row]) -> str:
    datasets: dict[str, list[str]] = {}  # by method, that with k = 1 only being the same one
    for row in rows:
        datasets.setdefault(row["method"].removesuffix(GREEDY), []).append(row["dataset"])
    return "; ".join(f"{NAMES[method]} on {listed(sorted(set(names)))}" for method, names in datasets.items())


def _rounds() -> str:
    return f"{NAMES[HIST]} counts a round as a tree, also where a round is a tree for each of many classes."
