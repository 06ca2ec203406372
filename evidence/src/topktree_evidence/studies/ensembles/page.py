"""ensembles.md: whether Top-k helps inside forests and boosting, with pictures.

In: the summaries of `ensembles` and `ensembles-tuned`. Out: the page, from templates/ensembles.md. The one idea: no
number on it is typed by hand, and whether k helps is decided by a rule that the page states.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from topktree import datasets

from ... import pages
from ...paired import LEVEL, Comparison, over_datasets
from ...study import Settings
from ...text import Tables, bold, geometric_mean, limits, listed, markdown, mean, only, points, seconds, signed, where
from .equal import ALL_SIZES, DEPTHS, KS, PROBES, SIZES
from .models import ADABOOST, BOOSTING, FOREST, HIST, OURS, PEERS, RANDOM_FOREST, SKLEARN_TREE, SQRT, TREE
from .pictures import NAMES, SHORTEST, SMALL, complete
from .tuned import CANDIDATE, FREE, GREEDY, LEAGUES, READABLE, VALIDATION, methods
from .tuned import KS as TUNED_KS

TITLES = {FOREST: "Forests", SQRT: "Forests that draw features at every node", BOOSTING: "Boosting"}
NARROW, WIDE, LARGE = min(KS), max(KS), max(ALL_SIZES)


def write_pages(out: Path, found: Tables) -> tuple[list[Path], list[str]]:
    """Write the page from the summaries, with the pictures in the folder's `ensembles`."""
    table, tuned = found["ensembles"], found["ensembles-tuned"]
    path = out / "ensembles.md"
    shown: dict[str, Any] = {"is_run": bool(table["gain"].notna().any()), "is_tuned": bool(len(tuned))}
    shown |= {"small": SMALL, "wide": WIDE, "level": LEVEL, "large": LARGE}
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


def verdict(compared: Comparison) -> str:
    """Say what a larger k does, if the datasets agree."""
    return {1: "helps", 0: "makes no clear difference", -1: "does harm"}[compared.direction]


def said(compared: Comparison) -> str:
    """Say the numbers of a comparison."""
    ahead, behind = str(compared.ahead), str(compared.behind)
    if compared.tested:
        ahead += f" (clearly on {len(compared.clearly_ahead)})"
        behind += f" (clearly on {len(compared.clearly_behind)})"
    text = f"{signed(compared.mean)} points in the mean of {compared.n} datasets, ahead on {ahead}, behind on {behind}"
    if compared.p is None:
        return text
    return f"{text}, p < 0.001" if compared.p < 0.001 else f"{text}, p = {compared.p:.2g}"


def in_a_cell(compared: Comparison, most: int = 0) -> str:
    """Return the mean, bold where the datasets agree, on how many it is clear, and how many these are if not `most`."""
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


def in_short(table: pd.DataFrame, tuned: pd.DataFrame) -> list[str]:
    """Answer the question over all cells, for a small ensemble and for a large one; then against others."""
    lines = [f"**{TITLES[method]}**: {_answer(table, method)}" for method in OURS if method in set(table["method"])]
    pairs = ((FOREST, RANDOM_FOREST), (BOOSTING, ADABOOST), (BOOSTING, HIST))
    found = {pair: over_datasets(_cell(table, pair[0], WIDE, *SMALL), pair[1]) for pair in pairs}
    against = [f"{NAMES[m]} {said(compared)} against {NAMES[p]}" for (m, p), compared in found.items() if compared.n]
    if against:
        size = f"{SMALL[0]} trees of depth {SMALL[1]}, k = {WIDE}"
        lines.append(f"**Against scikit-learn**, {size}: {'; '.join(against)}.")
    for name, title in ((READABLE, "Tuned, at most 5 trees of depth 4"), (FREE, "Tuned, up to 100 trees")):
        chosen = {m: over_datasets(where(tuned, league=name, method=m), "gain") for m in OURS}
        parts = [
            f"{NAMES[m]}: it {verdict(compared)}, {said(compared)}" for m, compared in chosen.items() if compared.n
        ]
        if parts:
            lines.append(f"**{title}**, with k to choose instead of k = 1: {'; '.join(parts)}.")
    over_tree = {m: over_datasets(where(tuned, league=READABLE, method=m), TREE) for m in OURS}
    parts = [f"{NAMES[m]} {said(compared)}" for m, compared in over_tree.items() if compared.n]
    if parts:
        title = "**Up to 5 trees instead of one**, all tuned, depth at most 4, k to choose"
        lines.append(f"{title}: {'; '.join(parts)}.")
    return lines


def _answer(table: pd.DataFrame, method: str) -> str:
    """Say how often k helps, and look closely at two sizes."""
    cells = [_gain(table, method, trees, depth) for depth in DEPTHS for trees in ALL_SIZES]
    directions = [compared.direction for compared in cells if compared.n]
    helps, harms = directions.count(1), directions.count(-1)
    text = (
        f"{answer(directions)}. Of {len(directions)} cells (depth x trees) k = {WIDE} helps in {helps}, does harm in "
        f"{harms} and makes no clear difference in {len(directions) - helps - harms}."
    )
    for trees in (SMALL[0], LARGE):
        compared = _gain(table, method, trees, SMALL[1])
        if compared.n:
            ratio = _over_greedy(table, method, WIDE, trees, SMALL[1])
            times = f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"
            text += f" {trees} trees of depth {SMALL[1]}: it {verdict(compared)}, {said(compared)}"
            text += f", for {times} times the CPU time."
    return text


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
    found = []
    for method in OURS:
        cells = {depth: [_gain(table, method, trees, depth) for trees in ALL_SIZES] for depth in DEPTHS}
        most = max(compared.n for line in cells.values() for compared in line)
        header = (f"{NAMES[method]}, {most} datasets", *("1 tree" if n == 1 else f"{n} trees" for n in ALL_SIZES))
        body = [
            (f"depth {depth}", *(in_a_cell(compared, most) for compared in line))
            for depth, line in cells.items()
            if any(compared.n for compared in line)
        ]
        found.append(markdown(header, body))
    return found


def on_training_rows(table: pd.DataFrame) -> str:
    """Say how much of a gain there is on the training rows."""
    parts = []
    for trees in (SMALL[0], LARGE):
        gains = []
        for method in OURS:
            mine, greedy = (_cell(table, method, k, trees, SMALL[1]) for k in (WIDE, NARROW))
            found = _differences(mine, greedy, "train_mean")["difference"]
            gains += [f"{NAMES[method]} {signed(mean(found))}"] if len(found) else []
        parts += [f"with {trees} trees {'; '.join(gains)}"] if gains else []
    return ". ".join(parts)


def _differences(mine: pd.DataFrame, others: pd.DataFrame, name: str = "test_mean") -> pd.DataFrame:
    """Return differences of means on the same datasets, which have no test of their own."""
    base = others.set_index("dataset")[name].rename("base")
    both = mine.join(base, on="dataset").dropna(subset=[name, "base"])
    return both.assign(difference=both[name] - both["base"], difference_p=float("nan"))


def by_dataset(table: pd.DataFrame) -> dict[str, Any]:
    """Return small ensembles: a line per dataset, and the names where the difference is clear."""
    trees, depth = SMALL
    header = ("dataset", "splits", *(column for method in OURS for column in (NAMES[method], "gain")))
    body = []
    for name in where(table, trees=trees, depth=depth)["dataset"].unique():
        found = [only(_cell(table, method, WIDE, trees, depth), dataset=name) for method in OURS]
        present = [row for row in found if row is not None]
        if any(row["gain"] == row["gain"] for row in present):
            line: list[Any] = [name, str(max(row["splits"] for row in present))]
            for row in found:
                line += ["", ""] if row is None else [points(row["test_mean"]), _bold_gain(row)]
            body.append(line)
    clear = []
    for method in OURS:
        compared = _gain(table, method, trees, depth)
        if compared.tested:
            ahead, behind = (
                listed(names) or "no dataset" for names in (compared.clearly_ahead, compared.clearly_behind)
            )
            clear.append(f"{TITLES[method]}: clearly ahead on {ahead}; clearly behind on {behind}.")
    return {"table": markdown(header, body), "names": clear}


def _bold_gain(row: pd.Series) -> str:
    return bold(signed(row["gain"]), row["gain_p"] < LEVEL)


def costs(table: pd.DataFrame) -> str:
    """Return the CPU time of each k over that of k = 1."""
    trees = max(SIZES[min(SIZES)])
    body = []
    for method in OURS:
        for k in KS[1:]:
            ratios = [
                f"{_over_greedy(table, method, k, trees, depth):.1f}"
                if _cell(table, method, k, trees, depth)["gain"].fillna(0).any()
                else ""
                for depth in DEPTHS
            ]
            body.append((f"{NAMES[method]}, k = {k}", *ratios))
    return markdown((f"{trees} trees", *(f"depth {depth}" for depth in DEPTHS)), body)


def instead(table: pd.DataFrame) -> list[str]:
    """Compare a larger k with greedy trees that are more, or deeper."""
    trees, depth = SMALL
    found = []
    for method in OURS:
        mine = _cell(table, method, WIDE, trees, depth)
        for other_trees, other_depth in ((2 * trees, depth), (trees, depth + 1)):
            greedy = _cell(table, method, NARROW, other_trees, other_depth)
            compared = over_datasets(_differences(mine, greedy), "difference")
            if compared.n:
                word = {1: "better", 0: "about as good", -1: "worse"}[compared.direction]
                found.append(
                    f"{NAMES[method]}, {other_trees} greedy trees of depth {other_depth}: k = {WIDE} is {word}, "
                    f"{signed(compared.mean)} points, ahead on {compared.ahead} of {compared.n} datasets."
                )
    return found


def peers(table: pd.DataFrame) -> list[str]:
    """Return tables of ours, with the smallest and the largest k, against each of scikit-learn's."""
    found = []
    for trees, depth in (SMALL, (10, 6), (LARGE, SMALL[1]), (LARGE, 6)):
        cells = {
            f"{NAMES[method]}, k = {k}": [over_datasets(_cell(table, method, k, trees, depth), peer) for peer in PEERS]
            for method in OURS
            for k in (NARROW, WIDE)
        }
        most = max(compared.n for line in cells.values() for compared in line)
        if most:
            header = (f"{trees} trees, depth {depth}, {most} datasets", *(NAMES[peer] for peer in PEERS))
            body = [(name, *(in_a_cell(compared, most) for compared in line)) for name, line in cells.items()]
            found += [markdown(header, body), with_two_classes(_cell(table, BOOSTING, WIDE, trees, depth))]
    return found


def times_of_peers(table: pd.DataFrame, trees: int) -> str:
    """Return CPU time over that of scikit-learn's models."""
    depth = SMALL[1]
    others = [_cell(table, peer, 0, trees, depth) for peer in PEERS]
    cells = {
        f"{NAMES[method]}, k = {k}": _cell(table, method, k, trees, depth) for method in OURS for k in (NARROW, WIDE)
    }
    body = [
        (name, *(f"{_ratio(mine, other):.2g}" for other in others))
        for name, mine in cells.items()
        if mine["cpu"].fillna(0).any()
    ]
    header = (f"{trees} trees, depth {depth}", *(NAMES[peer] for peer in PEERS))
    return markdown(header, body) if body and all(len(other) for other in others) else ""


def what_was_run(table: pd.DataFrame) -> dict[str, Any]:
    """Return the setting, and what is missing."""
    splits = table.groupby("dataset", sort=False)["splits"].max()
    most = splits.max()
    planned = sum(n if n == 1 else Settings().splits for n in splits) * (len(OURS) * len(KS) + len(PEERS))
    body = [
        (f"{n} trees", *(f"{where(table, trees=n, depth=depth)['splits'].sum() / planned:.0%}" for depth in DEPTHS))
        for n in SIZES
    ]
    stopped = table[(table["stopped"] > 0) & table["trees"].isin(SIZES)]
    none, some = stopped[stopped["splits"] == 0], stopped[stopped["splits"] > 0]
    fewest = min(some["splits"], default=0)
    counts = [
        _counted(none, "have no result"),
        _counted(some, f"have fewer splits than others, as few as {fewest}"),
    ]
    return {
        "datasets": len(splits),
        "splits": most,
        "fixed": listed(splits[(splits == 1) & (most > 1)].index),
        "ks": KS,
        "depths": DEPTHS,
        "fitted": list(SIZES),
        "sizes": ALL_SIZES,
        "probes": ", or of ".join(f"{probe} and {trees}" for trees, probe in PROBES.items()),
        "stopped": len(stopped),
        "limits": listed(limits(stopped), "or"),
        "counts": ". ".join(filter(None, counts)),
        "table": markdown(("finished, of all runs", *(f"depth {depth}" for depth in DEPTHS)), body),
    }


def _counted(cells: pd.DataFrame, what: str) -> str:
    """Say how many cells, and of which methods and datasets."""
    parts = [
        f"{NAMES[method]} {len(own)} ({listed(own['dataset'].unique())})"
        for method in (*OURS, *PEERS)
        if len(own := where(cells, method=method))
    ]
    return f"{len(cells)} {what}: {'; '.join(parts)}" if len(cells) else ""


# The tuned leagues.


def league(tuned: pd.DataFrame, name: str) -> dict[str, Any]:
    """Return a line per method, means over the datasets that all of them have; then ours over scikit-learn's."""
    mine = where(tuned, league=name)
    if not len(mine):
        return {}
    names = complete(mine, methods(name), "method")
    common = where(mine, dataset=names)
    header = [f"{len(names)} datasets", "accuracy", "trees", "leaves", "CPU time", "k to choose over k = 1"]
    body = []
    for method in (TREE, SKLEARN_TREE, *OURS, *PEERS):
        for variant in (method, f"{method}{GREEDY}"):
            own = where(common, method=variant)
            if len(own):
                line = [
                    NAMES[method] + (", k = 1" if variant != method else ""),
                    points(mean(own["test_mean"])),
                    f"{mean(own['trees']):.1f}",
                    f"{geometric_mean(own['leaves'], SHORTEST):.0f}",
                    seconds(geometric_mean(own["cpu"], SHORTEST)),
                    in_a_cell(over_datasets(own, "gain")),
                ]
                body.append([*line, in_a_cell(over_datasets(own, TREE))] if name == READABLE else line)
    header += ["over one tree"] if name == READABLE else []
    ours = (TREE, *OURS) if name == READABLE else OURS
    against = [(NAMES[m], *(in_a_cell(over_datasets(where(mine, method=m), p)) for p in PEERS)) for m in ours]
    return {
        "table": markdown(header, body),
        "against": markdown(("over", *(NAMES[peer] for peer in PEERS)), against),
        "two_classes": with_two_classes(where(mine, method=BOOSTING)),
    }


def what_was_tuned(tuned: pd.DataFrame) -> dict[str, Any]:
    """Return the grids, and the candidates that were not tried."""
    return {
        "fit": f"{1 - VALIDATION:.0%}",
        "choose": f"{VALIDATION:.0%}",
        "splits": {name: max(where(tuned, league=name)["splits"], default=0) for name in LEAGUES},
        "grids": {name: "; ".join(_grid(name, method) for method in rules.depths) for name, rules in LEAGUES.items()},
        "sizes": {name: rules.sizes for name, rules in LEAGUES.items()},
        "left_out": [text for name in LEAGUES for text in _left_out(name, where(tuned, league=name))],
        "hist": NAMES[HIST],
    }


def _grid(name: str, method: str) -> str:
    rules = LEAGUES[name]
    depths = ", ".join(str(depth) if depth else "unlimited" for depth in rules.depths[method])
    text = f"{NAMES[method]} depth {depths}"
    if method in (TREE, *OURS):
        text += f", k {', '.join(map(str, TUNED_KS))}"
    if method in rules.rates:
        text += f", learning rate {', '.join(f'{rate:g}' for rate in rules.rates[method])}"
    return text


def _left_out(name: str, rows: pd.DataFrame) -> list[str]:
    """Name the candidates that the limit of a run has left out."""
    cut = rows[rows["tried"] < rows["planned"]]
    if not len(cut):
        return [f"Left out of the {name} league: nothing."] if len(rows) else []
    allowed = " or ".join(f"{limit / CANDIDATE:.2g}" for limit in sorted(set(rows["limit"])))
    by_method = cut.groupby(cut["method"].str.removesuffix(GREEDY), sort=False)["dataset"]
    parts = "; ".join(f"{NAMES[method]} on {listed(sorted(set(own)))}" for method, own in by_method)
    return [
        f"Left out of the {name} league: candidates whose trees would take more than {allowed} s of CPU time, by a "
        f"fit of a few of them, and those with a larger k or depth still: {parts}."
    ]
