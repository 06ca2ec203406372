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
from ...text import (
    Tables,
    bold,
    clear,
    geometric_mean,
    is_clear,
    limits,
    listed,
    markdown,
    mean,
    only,
    points,
    seconds,
    signed,
    where,
)
from .runs import ALPHAS, DEPTHS, DISTINCT, FOLDS, KS, PENALTY, SKLEARN, STREED, STREED_DEPTHS, TOPK, WITH_PENALTY
from .summary import FIXED, comparable

OVERFITTING = ("taiwanese-bankruptcy", "credit-card", "electrical-grid-stability", WITHOUT_ANSWER)
RULES = (("1se", 'by "1se"'), ("best", 'by "best"'))


def write_pages(out: Path, found: Tables) -> tuple[list[Path], list[str]]:
    """Write the page from the summary, with the pictures in the folder's `choosing`."""
    table = found["choosing"]
    path = out / "choosing-k.md"
    shown: dict[str, Any] = {}
    if len(where(table, method=TOPK, rule="1se")) and len(where(table, method=SKLEARN)):
        shown = {
            "in_short": in_short(table),
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


def in_short(table: pd.DataFrame) -> list[str]:
    """Return how each way compares with the tuned scikit-learn tree."""
    lines = []
    for method, rule, name in (
        (TOPK, "1se", 'Chosen by "1se"'),
        (TOPK, "best", 'Chosen by "best"'),
        (PENALTY, "1se", 'With leaf penalties in the grid, "1se"'),
        (DISTINCT, "1se", 'With distinct splits, "1se"'),
        (STREED, "best", "Pystreed, where it finishes"),
    ):
        mine = where(table, method=method, rule=rule)
        if len(mine):
            most = max(mine["splits"])
            splits = f"{most:g} splits" if most > 1 else "one split"
            lines.append(
                f"**{name}**, against the tuned scikit-learn tree: {_against(mine)}; {_leaves(mine)} ({splits})."
            )
    return lines


def _against(mine: pd.DataFrame) -> str:
    compared = mine.dropna(subset="gain_mean")
    ahead, behind = compared[compared["gain_mean"] > 0], compared[compared["gain_mean"] < 0]
    worse = listed(clear(behind)["dataset"]) or "none"
    return (
        f"{signed(mean(compared['gain_mean']))} points in the mean, ahead on {len(ahead)} of {len(compared)} datasets "
        f"(clearly on {len(clear(ahead))}), behind on {len(behind)} (clearly on {worse})"
    )


def _leaves(mine: pd.DataFrame) -> str:
    """Compare leaves with those of scikit-learn's trees on the same splits, over the datasets."""
    pairs = mine.dropna(subset="peer_leaves")
    ratio = geometric_mean(pairs["leaves"] / pairs["peer_leaves"])
    ours, other = mean(pairs["leaves"]), mean(pairs["peer_leaves"])
    return f"{ours:.1f} leaves against {other:.1f} in the mean, {ratio:.2f} times as many in the geometric mean"


def peers(table: pd.DataFrame) -> str:
    """Return a line per dataset."""
    header = ("dataset", "splits", "scikit-learn", "1se", "gain", "best", "gain", "pystreed", "gain")
    ways = ((SKLEARN, "best"), (TOPK, "1se"), (TOPK, "best"), (STREED, "best"))
    body = []
    for name in table["dataset"].unique():
        found = [only(table, dataset=name, method=method, rule=rule) for method, rule in ways]
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


def times(table: pd.DataFrame) -> str:
    """Say how long the choices took."""
    ours = where(table, method=TOPK, rule="1se")["seconds"]
    parts = [f"the whole choice took {seconds(min(ours))} to {seconds(max(ours))}"]
    for method, name in ((SKLEARN, "scikit-learn's"), (STREED, "pystreed's, where it finished,")):
        theirs = where(table, method=method)["seconds"]
        if len(theirs):
            parts.append(f"{name} {seconds(min(theirs))} to {seconds(max(theirs))}")
    return "; ".join(parts)


def fixed(table: pd.DataFrame) -> dict[str, Any]:
    """Return mean accuracy and leaves over the datasets, for each k and depth that all of them finished."""
    names, done = comparable(table)
    rows = where(table, dataset=names)
    cells = where(rows, method=TOPK, rule=FIXED)
    body = [
        [f"k = {k}"]
        + [_over_datasets(where(cells, k=k, depth=depth)) if (k, depth) in done else "" for depth in DEPTHS]
        for k in KS
    ]
    ways = ((TOPK, "1se", '"1se"'), (TOPK, "best", '"best"'), (SKLEARN, "best", "scikit-learn"))
    chosen = [f"{name} {_over_datasets(where(rows, method=method, rule=rule))}" for method, rule, name in ways]
    return {
        "datasets": len(names),
        "left_out": listed(name for name in table["dataset"].unique() if name not in names) or "none",
        "chosen": ", ".join(chosen),
        "table": markdown(("", *(f"depth {depth}" for depth in DEPTHS)), body),
    }


def _over_datasets(rows: pd.DataFrame) -> str:
    return f"{points(mean(rows['test_mean']))} ({mean(rows['leaves']):.1f})"


def overfitting(table: pd.DataFrame) -> str:
    """Return the sets on which the paper sees more choices do harm."""
    header = ("dataset", "depth", *(f"k = {k}" for k in KS), '"1se"', "scikit-learn")
    body = []
    for name in OVERFITTING:
        rows = where(table, dataset=name)
        chosen = [
            _accuracy(only(rows, method=method, rule=rule)) for method, rule in ((TOPK, "1se"), (SKLEARN, "best"))
        ]
        for depth in DEPTHS[-3:]:
            cells = [_accuracy(only(rows, method=TOPK, rule=FIXED, k=k, depth=depth)) for k in KS]
            body.append([name, str(depth), *cells, *chosen])
    return markdown(header, body)


def distinct(table: pd.DataFrame) -> dict[str, str]:
    """Compare with distinct splits and without, everything else being equal."""
    header = ("k", "depth", "gain, points", "better", "clearly", "worse", "clearly")
    rows = where(table, method=DISTINCT)
    body = []
    for k in KS[1:]:
        for depth in DEPTHS[1:]:
            compared = where(rows, rule=FIXED, k=k, depth=depth).dropna(subset="plain_mean")
            if len(compared):
                body.append((str(k), str(depth), signed(mean(compared["plain_mean"])), *map(str, _counts(compared))))
    return {"table": markdown(header, body), "chosen": _by_rule(rows)}


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
    return {"grid": WITH_PENALTY, "chosen": _by_rule(mine), "table": markdown(header, body)}


def _without(row: pd.Series) -> str:
    """Return the same way without penalties, on the same splits."""
    if row["plain_mean"] != row["plain_mean"]:
        return ""
    return f"{points(row['test_mean'] - row['plain_mean'])} ({row['plain_leaves']:.0f})"


def _by_rule(rows: pd.DataFrame) -> str:
    """Compare the trees that each rule chooses with the same way without distinct splits or penalties."""
    parts = []
    for rule, name in RULES:
        compared = where(rows, rule=rule).dropna(subset="plain_mean")
        better, clearly, worse, clearly_worse = _counts(compared)
        parts.append(
            f"{name}: {signed(mean(compared['plain_mean']))} points, better on {better} of {len(compared)} datasets "
            f"(clearly on {clearly}), worse on {worse} (clearly on {clearly_worse}), "
            f"{mean(compared['leaves']):.1f} leaves instead of {mean(compared['plain_leaves']):.1f} in the mean"
        )
    return "; ".join(parts)


def _counts(rows: pd.DataFrame) -> tuple[int, int, int, int]:
    """Count better, clearly better, worse and clearly worse."""
    better, worse = rows[rows["plain_mean"] > 0], rows[rows["plain_mean"] < 0]
    return len(better), len(clear(better, "plain")), len(worse), len(clear(worse, "plain"))


def what_was_run(table: pd.DataFrame) -> dict[str, Any]:
    """Return the setting."""
    mine = where(table, method=TOPK, rule="1se")
    cut = list(mine["dataset"][mine["cells"] < len(KS) * len(DEPTHS)])
    return {
        "datasets": len(mine),
        "splits": {name: max(where(table, method=name)["splits"], default=0) for name in (TOPK, PENALTY, STREED)},
        "folds": FOLDS,
        "ks": KS,
        "depths": DEPTHS,
        "limits": listed(limits(mine), "or"),
        "cut": len(cut),
        "cut_names": listed(cut) or "none",
        "alphas": ALPHAS,
        "streed_depths": " or, where that takes too long, ".join(map(str, STREED_DEPTHS)),
    }
