"""The part of ensembles.md on what was run, and what was not.

In: the summary of `ensembles`. Out: Markdown.
"""

from __future__ import annotations

from collections.abc import Sequence

from topktree_evidence.studies.ensembles.equal import ALL_SIZES, DEPTHS, KS, PROBES, SIZES
from topktree_evidence.studies.ensembles.models import OURS, PEERS
from topktree_evidence.studies.ensembles.pictures import NAMES
from topktree_evidence.study import Row, Settings
from topktree_evidence.text import limits, listed, markdown, numbers, values, where


def what_was_run(rows: Sequence[Row]) -> str:
    """The setting, and what is missing."""
    names = values(rows, "dataset")
    most = max(row["splits"] for row in rows)
    fixed = [name for name in names if max(row["splits"] for row in where(rows, dataset=name)) == 1 < most]
    lines = [
        f"{len(names)} datasets, the paper's that are at hand, up to {most} splits each"
        + (f" ({listed(fixed)} have one, fixed)" if fixed else "")
        + ". Tables as they are: thresholds come from the training rows; categories are categories for ours and for "
        "HistGradientBoosting, a column each for scikit-learn's other models.",
        f"* **Ours**: k in {_list(KS)}, depth in {_list(DEPTHS)}; forests with all features or, at every node, the "
        "square root of their number; boosting as it is.",
        "* **scikit-learn's**: default parameters but for trees and depth; HistGradientBoosting without early "
        "stopping.",
        f"* **Sizes**: fits of {' and '.join(map(str, SIZES))} trees give those of {_list(ALL_SIZES)}: the first trees "
        "of a forest are the forest of so many trees, and boosting likewise. Boosting that ends early stays as it is.",
        "* **Time**: CPU seconds of a fit on one thread. Two fits are measured, of "
        f"{', or of '.join(f'{probe} and {trees}' for trees, probe in PROBES.items())} trees; the sizes between are on "
        "the line through both.",
        f"* **Missing**: {_missing(rows)}",
    ]
    return "\n".join([lines[0], "", *lines[1:], "", _done(rows)])


def _list(found: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in found)


def _done(rows: Sequence[Row]) -> str:
    """How many of the runs there are, by depth and trees."""
    splits = {name: max(row["splits"] for row in where(rows, dataset=name)) for name in values(rows, "dataset")}
    planned = sum(n if n == 1 else Settings().splits for n in splits.values()) * (len(OURS) * len(KS) + len(PEERS))
    header = ("finished, of all runs", *(f"depth {depth}" for depth in DEPTHS))
    body = [
        (
            f"{trees} trees",
            *(f"{sum(numbers(where(rows, trees=trees, depth=d), 'splits')) / planned:.0%}" for d in DEPTHS),
        )
        for trees in SIZES
    ]
    return markdown(header, body)


def _missing(rows: Sequence[Row]) -> str:
    """Cells that the limit came first in: in every split, or in some."""
    stopped = [row for row in rows if row["stopped"] and row["trees"] in SIZES]
    if not stopped:
        return "nothing was stopped by the limit; what is not finished was not begun."
    with_some = [row for row in stopped if row["splits"]]
    fewest = min((row["splits"] for row in with_some), default=0)
    counts = [
        _counted(where(stopped, splits=0), "have no result"),
        _counted(with_some, f"have fewer splits than others, as few as {fewest}"),
    ]
    return (
        f"a run that would have taken more than {limits(stopped)} s was not made, nor were those of the same dataset "
        "and method with more choices, levels or trees. Of the cells (dataset x method x k x depth x trees) "
        f"{'. '.join(filter(None, counts))}. Everything else that is not finished was not begun."
    )


def _counted(cells: Sequence[Row], what: str) -> str:
    """How many, and of which methods and datasets."""
    parts = [
        f"{NAMES[method]} {len(of_method)} ({listed(values(of_method, 'dataset'))})"
        for method in (*OURS, *PEERS)
        if (of_method := where(cells, method=method))
    ]
    return f"{len(cells)} {what}: {'; '.join(parts)}" if cells else ""
