"""Theorem 3 at sizes beyond any search: the h from which a Majority feature outranks a Tribes feature.

In: a task with `eps` and `rule`, which says how K grows with h. Out: the smallest h at which a Majority feature has the
greater covariance with the label, at the root, and both covariances there. The one idea: both are closed forms, and the
covariance decides the rank since the features are uniform; so h can be followed far beyond what can be fitted.

The theorem takes K between h log h and h**2 / (log h)**2, up to constants. With natural logarithms and constants of one
there is such a K from h = 94 on, where the scan begins. At the upper end both covariances shrink alike, so whether
Majority ever gets ahead depends on the constant, which must be small for a small eps.

`tribes_mean` is P(Tribes = 1). The proof takes it to be 1/2 + o(1), which holds where the width has just grown. Then it
rises until the width grows again, to about 3/4, and with it the accuracy of the tree that is a single leaf.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from topktree.hard import tribes_size

from ...pictures import new_figure
from ...study import Row, Settings, Study, Task
from ...text import where
from .lemma import IntArray

FloatArray = NDArray[np.float64]

KEYS = ("eps", "rule")
# first_h: 0 if there is none up to LIMIT, and the columns after it are then those of LIMIT. always_from: the smallest h
# from which on Majority is ahead at every h up to LIMIT, 0 if it is not ahead at LIMIT.
RESULTS = ("first_h", "always_from", "K", "width", "tribes", "tribes_mean", "tribes_covariance", "majority_covariance")

EPS = (0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
RULES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "h + 1": lambda h: h + 1,
    "h ln h": lambda h: np.ceil(h * np.log(h)),
    "h^1.5 / (ln h)^0.5": lambda h: np.ceil(h**1.5 / np.sqrt(np.log(h))),
    "h^2 / (ln h)^2": lambda h: np.floor((h / np.log(h)) ** 2),
}
SMALLEST = 94
LIMIT = 10**8


def tasks(settings: Settings) -> list[Task]:
    """Plan every eps with every rule. Nothing is fitted, so there is no depth to limit."""
    return [{"eps": eps, "rule": rule} for eps in EPS for rule in RULES]


def run(task: Task, settings: Settings) -> Row:
    """Follow h until Majority is ahead."""
    eps, rule = float(task["eps"]), RULES[str(task["rule"])]
    first, last_behind = 0, 0
    for width, starts, ends in _blocks(SMALLEST, LIMIT):
        tribes = (1 - eps) * _influence(width, starts // width)
        ahead = np.flatnonzero(eps * majority_influence(rule(starts.astype(np.float64)) - 1) > tribes)
        behind = np.flatnonzero(eps * majority_influence(rule(ends.astype(np.float64)) - 1) <= tribes)
        if first == 0 and len(ahead):
            first = int(starts[ahead[0]])
        if len(behind):
            last_behind = int(ends[behind[-1]])
    h = first or LIMIT
    K = int(rule(np.array([float(h)]))[0])
    width, count = tribes_size(h)
    return {
        "first_h": first,
        "always_from": 0 if last_behind == LIMIT else max(last_behind + 1, SMALLEST),
        "K": K,
        "width": width,
        "tribes": count,
        "tribes_mean": tribes_mean(h),
        "tribes_covariance": tribes_covariance(h, eps),
        "majority_covariance": majority_covariance(K, eps),
    }


def tribes_mean(h: int) -> float:
    """Return P(Tribes = 1)."""
    width, count = tribes_size(h)
    return -math.expm1(count * math.log1p(-(2.0**-width)))


def tribes_covariance(h: int, eps: float) -> float:
    """Return the covariance of the label and a feature of a tribe: (1 - eps) / 4 times P(it decides)."""
    width, count = tribes_size(h)
    return float((1 - eps) / 4 * _influence(width, np.array([count]))[0])


def majority_covariance(K: int, eps: float) -> float:
    """Return the covariance of the label and a Majority feature: eps / 4 times the probability that it decides."""
    return float(eps / 4 * majority_influence(np.array([K - 1.0]))[0])


def majority_influence(m: FloatArray) -> FloatArray:
    """Return the probability that one of m features decides the Majority: C(2j, j) / 4**j with j = m // 2.

    The first 1000 by the recurrence, the others by Stirling's series, whose error there is below 1e-15.
    """
    j = np.floor(m / 2)
    i = np.arange(1.0, 1000.0)
    small = np.concatenate([[1.0], np.cumprod((2 * i - 1) / (2 * i))])
    r = 1 / np.maximum(j, 1000.0)
    series = np.sqrt(r / math.pi) * (1 - r / 8 + r**2 / 128 + 5 * r**3 / 1024 - 21 * r**4 / 32768)
    return np.where(j < 1000, small[np.minimum(j, 999).astype(np.int64)], series)


def _influence(width: int, count: IntArray) -> FloatArray:
    """Return the probability that a feature decides Tribes: the rest of its tribe is set, and no other tribe is."""
    return np.asarray(2.0 ** (1 - width) * np.exp((count - 1) * math.log1p(-(2.0**-width))))


def _blocks(low: int, high: int) -> Iterator[tuple[int, IntArray, IntArray]]:
    """Yield width, first and last h of the blocks with equal tribes.

    K grows with h, so if Majority is ahead anywhere in a block it is at the first h, if behind anywhere at the last.
    """
    while low <= high:
        width, count = tribes_size(low)
        last = last_of_width(width, low, high)
        starts = np.arange(count, last // width + 1, dtype=np.int64) * width
        yield width, np.maximum(starts, low), np.minimum(starts + width - 1, last)
        low = last + 1


def last_of_width(width: int, low: int, high: int) -> int:
    """Return the greatest h up to `high` with tribes of that width, by bisection."""
    if tribes_size(high)[0] == width:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tribes_size(middle)[0] == width else (low, middle)
    return low


def lines(rows: pd.DataFrame) -> list[list[str]]:
    """Return a line per eps and rule."""
    none = f"none to {LIMIT:.0e}"
    return [
        [
            *(str(row.eps), row.rule, f"{row.first_h:,}" if row.first_h else none),
            *(f"{row.always_from:,}" if row.always_from else none, f"{row.K:,}", f"{row.tribes:,} of {row.width}"),
            *(f"{row.tribes_mean:.3f}", f"{row.tribes_covariance:.3e}", f"{row.majority_covariance:.3e}"),
        ]
        for row in rows.itertuples()
    ]


def draw(rows: pd.DataFrame) -> dict[str, Any]:
    """Draw the smallest h against eps, a line per rule."""
    figure, axes = new_figure(6.5, 4.2)
    place = axes[0, 0]
    for rule, colour, marker in zip(RULES, ("#0072b2", "#d55e00", "#009e73", "#cc79a7"), "osD^", strict=True):
        own = where(rows, rule=rule).sort_values("eps")
        seen = own[own["first_h"] > 0]
        label = f"K = {rule}" + ("" if len(seen) else f": none up to h = {LIMIT:,}")
        place.plot(seen["eps"], seen["first_h"], color=colour, marker=marker, label=label)
    place.set_xscale("log")
    place.set_yscale("log")
    place.set_xlabel("eps")
    place.set_ylabel("smallest h with Majority ahead of Tribes")
    place.grid(alpha=0.3)
    place.legend(fontsize=9)
    return {"theorem3-frontier": figure}


STUDY = Study(
    "theorem3-frontier", KEYS, RESULTS, tasks, run, finished_only=True, pictures=draw, drawn=("theorem3-frontier",)
)
