"""choosing-k.md: what cross-validation chooses and what it is worth, with pictures.

In: the summary of `choosing`. Out: the page, from templates/choosing-k.md. The one idea: no number on it is typed by
hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from ... import pages
from ...splits import WITHOUT_ANSWER
from ...text import Tables, bold, clear, crossed, geometric_mean, is_clear, markdown, mean, only, points, signed, where
from .runs import ALPHAS, DEPTHS, DISTINCT, FOLDS, KS, PENALTY, SKLEARN, STREED, STREED_DEPTHS, TOPK, WITH_PENALTY
from .summary import FIXED, METHODS, comparable

OVERFITTING = ("taiwanese-bankruptcy", "credit-card", "electrical-grid-stability", WITHOUT_ANSWER)
RULES = ("1se", "best")
# The ways that are shown side by side.
TUNED, OPTIMAL = {"method": SKLEARN, "rule": "best"}, {"method": STREED, "rule": "best"}
ONE_SE, BEST = {"method": TOPK, "rule": "1se"}, {"method": TOPK, "rule": "best"}


def write_pages(out: Path, found: Tables) -> tuple[list[Path], list[str]]:
    """Write the page from the summary, with the pictures in the folder's `choosing`."""
    table = found["choosing"]
    path = out / "choosing-k.md"
    shown: dict[str, Any] = {}
    if len(where(table, **ONE_SE)) and len(where(table, **TUNED)):
        shown = {
            "tuned": by_rule(table, "gain"),
            "plain": by_rule(table, "plain"),
            "peers": peers(table),
            "times": times(table),
            "fixed": fixed(table),
            "overfitting": overfitting(table),
            "penalties": penalties(table),
            "distinct": distinct(table),
            "run": what_was_run(table),
        }
    pages.write(path, "choosing-k", shown=shown)
    return [path], []


def by_rule(table: pd.DataFrame, name: str) -> dict[str, dict[str, Any]]:
    """Return how the trees of each method and rule compare with others."""
    return {
        method: {rule: compared(where(table, method=method, rule=rule), name) for rule in RULES} for method in METHODS
    }


def compared(rows: pd.DataFrame, name: str) -> dict[str, Any]:
    """Compare with scikit-learn's tuned tree ("gain"), or with the same method without distinct splits and penalties.

    Only datasets that have both count.
    """
    value, leaves = f"{name}_mean", {"gain": "peer_leaves", "plain": "plain_leaves"}[name]
    found = rows.dropna(subset=value)
    better, worse = found[found[value] > 0], found[found[value] < 0]
    return {
        "datasets": len(found),
        "splits": max(found["splits"], default=0),
        "mean": mean(found[value]),
        "better": len(better),
        "clearly_better": len(clear(better, name)),
        "worse": len(worse),
        "clearly_worse": list(clear(worse, name)["dataset"]),
        "leaves": mean(found["leaves"]),
        "other_leaves": mean(found[leaves]),
        "ratio": geometric_mean(found["leaves"] / found[leaves]),
    }


def peers(table: pd.DataFrame) -> str:
    """Return accuracies and gains of the tuned trees, a line per dataset."""
    header = ("dataset", "splits", "scikit-learn", "1se", "gain", "best", "gain", "pystreed", "gain")
    body = []
    for name in table["dataset"].unique():
        found = [only(table, dataset=name, **way) for way in (TUNED, ONE_SE, BEST, OPTIMAL)]
        if found[0] is not None and found[1] is not None:
            line: list[Any] = [name, str(found[1]["splits"]), _accuracy(found[0])]
            for row in found[1:]:
                line += [_accuracy(row), _gain(row)]
            body.append(line)
    return markdown(header, body)


def _accuracy(row: pd.Series | None) -> str:
    return "" if row is None else f"{points(row['test_mean'])} ({row['leaves']:.0f})"


def _gain(row: pd.Series | None, name: str = "gain") -> str:
    return "" if row is None else bold(signed(row[f"{name}_mean"]), is_clear(row, name))


def times(table: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return the shortest and the longest time that the choices of a method took."""
    rows = table[table["rule"] == table["method"].map({TOPK: "1se", SKLEARN: "best", STREED: "best"})]
    return {method: (min(own), max(own)) for method, own in rows.groupby("method")["seconds"]}


def fixed(table: pd.DataFrame) -> dict[str, Any]:
    """Return mean accuracy and leaves over the datasets, for each k and depth that all of them finished."""
    names, done = comparable(table)
    rows = where(table, dataset=names)
    cells = where(rows, method=TOPK, rule=FIXED)

    def cell(k: int, depth: int) -> str:
        return _over_datasets(where(cells, k=k, depth=depth)) if (k, depth) in done else ""

    return {
        "datasets": len(names),
        "left_out": [name for name in table["dataset"].unique() if name not in names],
        "chosen": [_over_datasets(where(rows, **way)) for way in (ONE_SE, BEST, TUNED)],
        "table": crossed("", {f"k = {k}": k for k in KS}, {f"depth {depth}": depth for depth in DEPTHS}, cell),
    }


def _over_datasets(rows: pd.DataFrame) -> str:
    return f"{points(mean(rows['test_mean']))} ({mean(rows['leaves']):.1f})"


def overfitting(table: pd.DataFrame) -> str:
    """Return the datasets on which more choices do harm according to the paper."""
    header = ("dataset", "depth", *(f"k = {k}" for k in KS), '"1se"', "scikit-learn")
    body = []
    for name in OVERFITTING:
        rows = where(table, dataset=name)
        chosen = [_accuracy(only(rows, **way)) for way in (ONE_SE, TUNED)]
        for depth in DEPTHS[-3:]:
            cells = [_accuracy(only(rows, method=TOPK, rule=FIXED, k=k, depth=depth)) for k in KS]
            body.append([name, str(depth), *cells, *chosen])
    return markdown(header, body)


def distinct(table: pd.DataFrame) -> str:
    """Compare with distinct splits and without, everything else being equal."""
    header = ("k", "depth", "gain, points", "better", "clearly", "worse", "clearly")
    rows = where(table, method=DISTINCT, rule=FIXED)
    body = []
    for k in KS[1:]:
        for depth in DEPTHS[1:]:
            found = compared(where(rows, k=k, depth=depth), "plain")
            if found["datasets"]:
                counts = found["better"], found["clearly_better"], found["worse"], len(found["clearly_worse"])
                body.append((str(k), str(depth), signed(found["mean"]), *map(str, counts)))
    return markdown(header, body)


def penalties(table: pd.DataFrame) -> dict[str, Any]:
    """Compare with leaf penalties in the grid and without."""
    mine = where(table, method=PENALTY)
    if not len(mine):
        return {}
    header = ("dataset", "splits", "without", '"1se"', "difference", '"best"', "difference")
    body = []
    for name in mine["dataset"].unique():
        one_se, best = (only(mine, dataset=name, rule=rule) for rule in ("1se", "best"))
        if one_se is not None:
            line = [name, str(one_se["splits"]), _without(one_se)]
            body.append([*line, _accuracy(one_se), _gain(one_se, "plain"), _accuracy(best), _gain(best, "plain")])
    return {"grid": WITH_PENALTY, "table": markdown(header, body)}


def _without(row: pd.Series) -> str:
    """Return the same way without penalties, on the same splits."""
    if row["plain_mean"] != row["plain_mean"]:
        return ""
    return f"{points(row['test_mean'] - row['plain_mean'])} ({row['plain_leaves']:.0f})"


def what_was_run(table: pd.DataFrame) -> dict[str, Any]:
    """Return what was run, and with which settings."""
    mine = where(table, **ONE_SE)
    return {
        "datasets": len(mine),
        "splits": {name: max(where(table, method=name)["splits"], default=0) for name in (TOPK, PENALTY, STREED)},
        "folds": FOLDS,
        "ks": KS,
        "depths": DEPTHS,
        "rows": mine,
        "cut": list(mine["dataset"][mine["cells"] < len(KS) * len(DEPTHS)]),
        "alphas": ALPHAS,
        "streed_depths": " or, where that takes too long, ".join(map(str, STREED_DEPTHS)),
    }
