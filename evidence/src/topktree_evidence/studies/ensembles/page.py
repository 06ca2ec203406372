"""ensembles.md: whether Top-k helps inside forests and boosting, with pictures.

In: the summaries of `ensembles` and `ensembles-tuned`. Out: the page, from templates/ensembles.md. The one idea: no
number on it is typed by hand, and whether k helps is decided by a rule that the page states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from topktree import datasets

from ... import pages
from ...paired import LEVEL, Comparison, over_datasets
from ...study import Settings
from ...text import Tables, bold, crossed, geometric_mean, markdown, mean, points, seconds, signed, where
from .equal import ALL_SIZES, DEPTHS, KS, PROBES, SIZES
from .models import ADABOOST, BOOSTING, FOREST, HIST, OURS, PEERS, RANDOM_FOREST, SKLEARN_TREE, TREE
from .pictures import NAMES, SHORTEST, SMALL, complete
from .tuned import CANDIDATE, GREEDY, LEAGUES, READABLE, VALIDATION, methods
from .tuned import KS as TUNED_KS

NARROW, WIDE, LARGE = min(KS), max(KS), max(ALL_SIZES)
AGAINST = ((FOREST, RANDOM_FOREST), (BOOSTING, ADABOOST), (BOOSTING, HIST))
DEPTH_COLUMNS = {f"depth {depth}": depth for depth in DEPTHS}
PEER_COLUMNS = {NAMES[peer]: peer for peer in PEERS}
ENDS = {f"{NAMES[method]}, k = {k}": (method, k) for method in OURS for k in (NARROW, WIDE)}


def write_pages(out: Path, found: Tables) -> tuple[list[Path], list[str]]:
    """Write the page from the summaries, with the pictures in the folder's `ensembles`."""
    table, tuned = found["ensembles"], found["ensembles-tuned"]
    path = out / "ensembles.md"
    shown: dict[str, Any] = {"is_run": bool(table["gain"].notna().any()), "is_tuned": bool(len(tuned))}
    shown |= {"small": SMALL, "wide": WIDE, "level": LEVEL, "names": NAMES, "said": said}
    if shown["is_run"]:
        shown |= {
            "in_short": in_short(table, tuned),
            "grid": grid(table),
            "on_training_rows": on_training_rows(table),
            "by_dataset": by_dataset(table),
            "costs": costs(table),
            "instead": instead(table),
            "peers": peers(table),
            "peer_times": [times_of_peers(table, trees) for trees in (SMALL[0], LARGE)],
            "run": what_was_run(table),
        }
    if shown["is_run"] and shown["is_tuned"]:
        shown |= {"leagues": {name: league(tuned, name) for name in LEAGUES}, "tuned": what_was_tuned(tuned)}
    pages.write(path, "ensembles", **shown)
    return [path], []


# Comparisons over datasets in words.


def answer(directions: Sequence[int]) -> str:
    """Sum up many cells: k helps (1), does harm (-1) or neither (0) in each of them."""
    helps, harms = directions.count(1), directions.count(-1)
    if helps <= harms:
        return "no"
    return "yes" if not harms and 3 * helps >= 2 * len(directions) else "in part"


def said(compared: Comparison) -> str:
    """Return the numbers of a comparison in words."""
    ahead, behind = str(compared.ahead), str(compared.behind)
    if compared.tested:
        ahead += f" (clearly on {len(compared.clearly_ahead)})"
        behind += f" (clearly on {len(compared.clearly_behind)})"
    text = f"{signed(compared.mean)} points in the mean of {compared.n} datasets, ahead on {ahead}, behind on {behind}"
    if compared.p is None:
        return text
    return f"{text}, p < 0.001" if compared.p < 0.001 else f"{text}, p = {compared.p:.2g}"


def in_a_cell(compared: Comparison, most: int = 0) -> str:
    """Return the mean, bold if the datasets agree, on how many it is clear, and their number if it is not `most`."""
    if not compared.n:
        return ""
    text = bold(signed(compared.mean), bool(compared.direction))
    if compared.tested:
        text += f" ({len(compared.clearly_ahead)}, {len(compared.clearly_behind)})"
    return f"{text} on {compared.n}" if compared.n < most else text


def with_two_classes(rows: pd.DataFrame) -> str:
    """Compare boosting where a round of HistGradientBoosting is one tree; nothing without such data."""
    binary = [name for name, record in datasets.PAPER.items() if record.classes == 2]
    compared = over_datasets(where(rows, dataset=binary), HIST)
    if not compared.n:
        return ""
    return f"With two classes, where a round is one tree, {NAMES[BOOSTING]} has {said(compared)} over {NAMES[HIST]}."


# The parts of the page.


def _cell(table: pd.DataFrame, method: str, k: int, trees: int, depth: int) -> pd.DataFrame:
    return where(table, method=method, k=k, trees=trees, depth=depth)


def _gain(table: pd.DataFrame, method: str, trees: int, depth: int) -> Comparison:
    """Compare the largest k with k = 1."""
    return over_datasets(_cell(table, method, WIDE, trees, depth), "gain")


def in_short(table: pd.DataFrame, tuned: pd.DataFrame) -> dict[str, Any]:
    """Answer the question over all cells, for a small ensemble and for a large one; then against others."""
    leagues = {name: where(tuned, league=name) for name in LEAGUES}
    return {
        "answers": {method: _answer(table, method) for method in OURS if method in set(table["method"])},
        "against": _present({pair: over_datasets(_cell(table, pair[0], WIDE, *SMALL), pair[1]) for pair in AGAINST}),
        "tuned": {name: _by_method(rows, "gain") for name, rows in leagues.items()},
        "over_tree": _by_method(leagues[READABLE], TREE),
    }


def _by_method(rows: pd.DataFrame, name: str) -> dict[str, Comparison]:
    return _present({method: over_datasets(where(rows, method=method), name) for method in OURS})


def _present(found: Mapping[Any, Comparison]) -> dict[Any, Comparison]:
    """Return the comparisons that have datasets."""
    return {key: compared for key, compared in found.items() if compared.n}


def _answer(table: pd.DataFrame, method: str) -> dict[str, Any]:
    """Count the cells in which k helps, and look closely at two sizes: trees, gain, times the CPU time of k = 1."""
    cells = [_gain(table, method, trees, depth) for depth in DEPTHS for trees in ALL_SIZES]
    directions = [compared.direction for compared in cells if compared.n]
    depth = SMALL[1]
    sizes = _present({trees: _gain(table, method, trees, depth) for trees in (SMALL[0], LARGE)})
    return {
        "word": answer(directions),
        "cells": len(directions),
        "counts": [directions.count(direction) for direction in (1, -1, 0)],
        "sizes": [(n, compared, _over_greedy(table, method, WIDE, n, depth)) for n, compared in sizes.items()],
    }


def _over_greedy(table: pd.DataFrame, method: str, k: int, trees: int, depth: int) -> float:
    """Return CPU time over that of k = 1."""
    return _ratio(*(_cell(table, method, value, trees, depth) for value in (k, NARROW)))


def _ratio(mine: pd.DataFrame, others: pd.DataFrame) -> float:
    """Return CPU time over that of others, geometric mean over the datasets that have both."""
    both = list(set(mine["dataset"][mine["cpu"] > 0]) & set(others["dataset"][others["cpu"] > 0]))
    ours, theirs = (geometric_mean(where(rows, dataset=both)["cpu"], SHORTEST) for rows in (mine, others))
    return ours / theirs


def grid(table: pd.DataFrame) -> list[str]:
    """Return a table per method: depth by trees, and where k helps."""
    columns = {"1 tree" if trees == 1 else f"{trees} trees": trees for trees in ALL_SIZES}
    found = []
    for method in OURS:
        cells = {(depth, trees): _gain(table, method, trees, depth) for depth in DEPTHS for trees in ALL_SIZES}
        lines = {f"depth {depth}": depth for depth, _ in _present(cells)}
        found.append(_comparisons(NAMES[method], lines, columns, cells))
    return found


def _comparisons(
    corner: str, lines: Mapping[str, Any], columns: Mapping[str, Any], cells: Mapping[Any, Comparison]
) -> str:
    """Return a table of comparisons; those of fewer datasets than others say so."""
    most = max(compared.n for compared in cells.values())
    return crossed(f"{corner}, {most} datasets", lines, columns, lambda *key: in_a_cell(cells[key], most))


def on_training_rows(table: pd.DataFrame) -> dict[int, dict[str, float]]:
    """Return the gain on the training rows by trees and method."""
    found: dict[int, dict[str, float]] = {SMALL[0]: {}, LARGE: {}}
    for trees, gains in found.items():
        for method in OURS:
            mine, greedy = (_cell(table, method, k, trees, SMALL[1]) for k in (WIDE, NARROW))
            if len(both := _differences(mine, greedy, "train_mean")):
                gains[method] = mean(both["difference"])
    return found


def _differences(mine: pd.DataFrame, others: pd.DataFrame, name: str = "test_mean") -> pd.DataFrame:
    """Return differences of means on the same datasets, which have no test of their own."""
    base = others.set_index("dataset")[name].rename("base")
    both = mine.join(base, on="dataset").dropna(subset=[name, "base"])
    return both.assign(difference=both[name] - both["base"], difference_p=float("nan"))


def by_dataset(table: pd.DataFrame) -> dict[str, Any]:
    """Return small ensembles: a line per dataset, and the comparisons over all of them."""
    trees, depth = SMALL
    rows = where(table, k=WIDE, trees=trees, depth=depth, method=OURS)
    cells = {(row["dataset"], row["method"]): row for _, row in rows.iterrows()}
    body = []
    for name, own in rows.groupby("dataset", sort=False):
        if own["gain"].notna().any():
            found = [cells.get((name, method)) for method in OURS]
            line: list[Any] = [name, str(own["splits"].max())]
            for row in found:
                gain = "" if row is None else bold(signed(row["gain"]), row["gain_p"] < LEVEL)
                line += ["" if row is None else points(row["test_mean"]), gain]
            body.append(line)
    header = ("dataset", "splits", *(column for method in OURS for column in (NAMES[method], "gain")))
    return {"table": markdown(header, body), "gains": {method: _gain(table, method, trees, depth) for method in OURS}}


def costs(table: pd.DataFrame) -> str:
    """Return the CPU time of each k over that of k = 1."""
    trees = max(SIZES[min(SIZES)])

    def cell(line: tuple[str, int], depth: int) -> str:
        is_there = _cell(table, *line, trees, depth)["gain"].fillna(0).any()
        return f"{_over_greedy(table, *line, trees, depth):.1f}" if is_there else ""

    lines = {f"{NAMES[method]}, k = {k}": (method, k) for method in OURS for k in KS[1:]}
    return crossed(f"{trees} trees", lines, DEPTH_COLUMNS, cell)


def instead(table: pd.DataFrame) -> dict[tuple[str, int, int], Comparison]:
    """Compare a larger k with more or deeper greedy trees, by the method, number and depth of these."""
    trees, depth = SMALL
    found = {}
    for method in OURS:
        mine = _cell(table, method, WIDE, trees, depth)
        for size in ((2 * trees, depth), (trees, depth + 1)):
            both = _differences(mine, _cell(table, method, NARROW, *size))
            found[method, *size] = over_datasets(both, "difference")
    return _present(found)


def peers(table: pd.DataFrame) -> list[str]:
    """Return tables of ours, with the smallest and the largest k, against each of scikit-learn's."""
    found = []
    for trees, depth in (SMALL, (10, 6), (LARGE, SMALL[1]), (LARGE, 6)):
        cells = {
            (line, peer): over_datasets(_cell(table, *line, trees, depth), peer)
            for line in ENDS.values()
            for peer in PEERS
        }
        if _present(cells):
            found.append(_comparisons(f"{trees} trees, depth {depth}", ENDS, PEER_COLUMNS, cells))
            found.append(with_two_classes(_cell(table, BOOSTING, WIDE, trees, depth)))
    return found


def times_of_peers(table: pd.DataFrame, trees: int) -> str:
    """Return CPU time over that of scikit-learn's models; nothing if there are no such fits."""
    depth = SMALL[1]
    others = {NAMES[peer]: _cell(table, peer, 0, trees, depth) for peer in PEERS}
    cells = {name: _cell(table, *line, trees, depth) for name, line in ENDS.items()}
    timed = {name: mine for name, mine in cells.items() if mine["cpu"].fillna(0).any()}
    if not timed or not all(map(len, others.values())):
        return ""
    return crossed(f"{trees} trees, depth {depth}", timed, others, lambda mine, other: f"{_ratio(mine, other):.2g}")


def what_was_run(table: pd.DataFrame) -> dict[str, Any]:
    """Return what was run, with which settings, and what is missing."""
    splits = table.groupby("dataset", sort=False)["splits"].max()
    most = splits.max()
    planned = sum(n if n == 1 else Settings().splits for n in splits) * (len(OURS) * len(KS) + len(PEERS))
    stopped = table[(table["stopped"] > 0) & table["trees"].isin(SIZES)]
    none, some = stopped[stopped["splits"] == 0], stopped[stopped["splits"] > 0]

    def finished(trees: int, depth: int) -> str:
        return f"{where(table, trees=trees, depth=depth)['splits'].sum() / planned:.0%}"

    return {
        "datasets": len(splits),
        "splits": most,
        "fixed": list(splits[(splits == 1) & (most > 1)].index),
        "ks": KS,
        "depths": DEPTHS,
        "fitted": list(SIZES),
        "sizes": ALL_SIZES,
        "probes": ", or of ".join(f"{probe} and {trees}" for trees, probe in PROBES.items()),
        "cells": stopped,
        "stopped": {"none": _datasets(none), "some": _datasets(some)},
        "fewest": min(some["splits"], default=0),
        "table": crossed("finished, of all runs", {f"{n} trees": n for n in SIZES}, DEPTH_COLUMNS, finished),
    }


def _datasets(cells: pd.DataFrame) -> dict[str, list[str]]:
    """Return the dataset of each cell, by method."""
    found = {method: list(where(cells, method=method)["dataset"]) for method in (*OURS, *PEERS)}
    return {method: names for method, names in found.items() if names}


# The tuned leagues.


def league(tuned: pd.DataFrame, name: str) -> dict[str, Any]:
    """Return a line per method, means over the datasets that all of them have; then ours over scikit-learn's."""
    mine = where(tuned, league=name)
    if not len(mine):
        return {}
    names = complete(mine, methods(name), "method")
    common = where(mine, dataset=names)
    more = {"over one tree": TREE} if name == READABLE else {}
    body = []
    for method in (TREE, SKLEARN_TREE, *OURS, *PEERS):
        for variant in (method, f"{method}{GREEDY}"):
            own = where(common, method=variant)
            if len(own):
                body.append(
                    [
                        NAMES[method] + (", k = 1" if variant != method else ""),
                        points(mean(own["test_mean"])),
                        f"{mean(own['trees']):.1f}",
                        f"{geometric_mean(own['leaves'], SHORTEST):.0f}",
                        seconds(geometric_mean(own["cpu"], SHORTEST)),
                        *(in_a_cell(over_datasets(own, other)) for other in ("gain", *more.values())),
                    ]
                )
    header = (f"{len(names)} datasets", "accuracy", "trees", "leaves", "CPU time", "k to choose over k = 1", *more)
    ours = {NAMES[method]: where(mine, method=method) for method in (*more.values(), *OURS)}
    return {
        "table": markdown(header, body),
        "against": crossed("over", ours, PEER_COLUMNS, lambda own, peer: in_a_cell(over_datasets(own, peer))),
        "two_classes": with_two_classes(where(mine, method=BOOSTING)),
    }


def what_was_tuned(tuned: pd.DataFrame) -> dict[str, Any]:
    """Return the grids, and the candidates that were not tried."""
    return {
        "fit": f"{1 - VALIDATION:.0%}",
        "choose": f"{VALIDATION:.0%}",
        "leagues": LEAGUES,
        "ks": TUNED_KS,
        "with_k": (TREE, *OURS),
        "splits": {name: max(where(tuned, league=name)["splits"], default=0) for name in LEAGUES},
        "left_out": {name: _left_out(rows) for name in LEAGUES if len(rows := where(tuned, league=name))},
    }


def _left_out(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the datasets on which the time limit left out candidates of a method, and what they may take."""
    cut = rows[rows["tried"] < rows["planned"]]
    by_method = cut.groupby(cut["method"].str.removesuffix(GREEDY), sort=False)["dataset"]
    return {
        "seconds": " or ".join(f"{limit / CANDIDATE:.2g}" for limit in sorted(set(rows["limit"]))),
        "methods": {method: sorted(set(own)) for method, own in by_method},
    }
