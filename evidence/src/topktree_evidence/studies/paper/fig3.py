"""Figure 3: training time against the number of features and of samples, Top-k next to solvers of optimal trees.

In: FICO's 1000 rows, as 1407 Boolean columns. Out: a run per sweep, size, solver and depth; a picture; a table.
The one idea: the first n columns of all rows, or the first n rows of all columns, n growing until a solver does not
finish within the limit.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from topktree import Binarizer, datasets

from ... import peers
from ...peers import OPTIMAL, OURS, Fit, Problem
from ...pictures import new_figure
from ...stopwatch import Stopwatch
from ...study import FAILED, FINISHED, NO_MEMORY, SKIPPED, TIMEOUT, TIMING_LIMIT, Row, Settings, Study, Task
from ...text import crossed, where

KEYS = ("sweep", "size", "solver", "k", "depth", "penalty")  # k: "" for a peer
RESULTS = ("status", "seconds", "errors", "leaves", "limit", "message")

DATASET = "fico-1000"
FEATURES, SAMPLES = "features", "samples"
TOTALS = {FEATURES: 1407, SAMPLES: 1000}
SMALLEST = 10
KS = (1, 2, 4, 8, 16)
DEPTHS = (4, 5, 6)
PENALTY = 0.001

# A fit of milliseconds is repeated, and its first time not counted.
ENOUGH_SECONDS = 0.3
ENOUGH_FITS = 51

# Blues that grow darker with k, and two of Okabe and Ito's colours: apart for the colour-blind, and in grey by marker.
PEER_LABELS = {"gosdt": "GOSDT", "pystreed": "pystreed"}
LOOKS: dict[str, dict[str, Any]] = {
    f"Top-{k}": {"color": blue, "marker": "o", "markersize": 3, "linewidth": 1.5}
    for k, blue in zip(KS, ("#a6cee8", "#6baed6", "#3d8dc4", "#1c63a5", "#08306b"), strict=True)
} | {
    "GOSDT": {"color": "#d55e00", "marker": "s", "markersize": 5, "linewidth": 1.8, "linestyle": "--"},
    "pystreed": {"color": "#009e73", "marker": "^", "markersize": 5, "linewidth": 1.8, "linestyle": "--"},
}
X_LABELS = {FEATURES: "features (of 1000 samples)", SAMPLES: "samples (of 1407 features)"}
ENDS = {TIMEOUT: "x", SKIPPED: "x", FAILED: "+"}  # a run is skipped if an easier one has timed out
END_LABELS = {"x": "not finished within the limit", "+": "failed"}
FAINT = "#666666"


def sizes(sweep: str, steps: int) -> list[int]:
    """Return the authors' sizes of a sweep: evenly spaced from 10 to all."""
    return [int(size) for size in np.unique(np.round(np.linspace(SMALLEST, TOTALS[sweep], steps)))]


def tasks(settings: Settings) -> list[Task]:
    """Plan the runs of all solvers that are installed, small ones first, unless the user asks for other datasets."""
    if settings.datasets is not None and DATASET not in settings.datasets:
        return []
    models = [(OURS, k) for k in KS] + [(name, "") for name in OPTIMAL if peers.is_installed(name)]
    return [
        dict(zip(KEYS, (sweep, size, solver, k, depth, PENALTY), strict=True))
        for sweep in TOTALS
        for size in sizes(sweep, settings.sizes)
        for depth in settings.up_to(DEPTHS)
        for solver, k in models
    ]


def is_harder(task: Task, other: Task) -> bool:
    """Return True for a run of the same sweep, solver and penalty with a larger size, depth or k, and none smaller."""
    if any(task[name] != other[name] for name in ("sweep", "solver", "penalty")):
        return False
    size = _effort(task), _effort(other)
    return size[0] != size[1] and all(a >= b for a, b in zip(*size, strict=True))


def _effort(task: Task) -> tuple[int, int, int]:
    return int(task["size"]), int(task["depth"]), int(task["k"] or 0)


def run(task: Task, settings: Settings, stopwatch: Stopwatch) -> Row:
    """Make one run in the stopwatch's process."""
    limit = settings.time_limit
    assert limit is not None
    outcome = stopwatch.run(measure, dict(task), settings.data_home, limit, limit=limit)
    if outcome.status != FINISHED:
        is_too_large = outcome.status == FAILED and outcome.message.startswith(NO_MEMORY)  # larger ones are, too
        return {"status": TIMEOUT if is_too_large else outcome.status, "message": outcome.message}
    fit: Fit = outcome.value
    if fit.finished and fit.seconds <= limit:
        return {"seconds": fit.seconds, "errors": fit.errors, "leaves": fit.leaves}
    end = "finished" if fit.finished else "stopped itself"
    return {"status": TIMEOUT, "message": f"{end} after {fit.seconds:.1f} s"}


def measure(task: Task, data_home: str | None, limit: float) -> Fit:
    """Return the fit of a run, with the median of its seconds."""
    X, y = matrix(data_home)
    size = int(task["size"])
    X, y = (np.ascontiguousarray(X[:, :size]), y) if task["sweep"] == FEATURES else (X[:size], y[:size])
    name, problem = task["solver"], Problem(task["depth"], task["penalty"], limit, task["k"] or "all")
    warm_up(name)
    fit = peers.fit(name, X, y, problem)
    if fit.seconds >= ENOUGH_SECONDS or not fit.finished:
        return fit
    seconds: list[float] = []
    while sum(seconds) < ENOUGH_SECONDS and len(seconds) < ENOUGH_FITS:
        seconds.append(peers.fit(name, X, y, problem).seconds)
    return replace(fit, seconds=median(seconds))


@cache
def matrix(data_home: str | None) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return FICO as the paper has it: bool (1000, 1407), and classes 0 and 1; read-only, read once per process."""
    bunch = datasets.load(DATASET, data_home)
    X = Binarizer(strategy="paper", max_columns=None).fit_transform(bunch.data)
    return X, np.unique(bunch.target, return_inverse=True)[1].astype(np.int64)


@cache
def warm_up(name: str) -> None:
    """Make a small fit, once per process, so that imports made on first use are not timed."""
    X = np.random.default_rng(0).random((64, 8)) < 0.5
    peers.fit(name, X, (X[:, 0] ^ X[:, 1]).astype(np.int64), Problem(depth=2, penalty=0.01, limit=10.0))


def draw(rows: pd.DataFrame) -> Any:
    """Draw seconds against size: a panel per sweep (down) and depth (across), a line per solver."""
    depths = sorted(set(rows["depth"]))
    figure, axes = new_figure(
        3.5 * max(len(depths), 2), 6.4, len(TOTALS), max(len(depths), 1), sharey=True, sharex="row"
    )
    for sweep, beside in zip(TOTALS, axes, strict=True):
        for depth, place in zip(depths, beside, strict=False):
            place.set_title(f"depth {depth}, growing {sweep}", fontsize=10)
            place.set_xlabel(X_LABELS[sweep])
            _draw_panel(place, where(rows, sweep=sweep, depth=depth))
        beside[0].set_ylabel("training time (s)")
        for limit in sorted(set(rows["limit"])):
            at: dict[str, Any] = {"xycoords": beside[0].get_yaxis_transform(), "textcoords": "offset points"}
            beside[0].annotate(f"limit {limit:g} s", (1, limit), (0, 3), ha="right", color=FAINT, fontsize=8, **at)
    _draw_legend(figure, rows)
    return figure


def _draw_panel(place: Any, rows: pd.DataFrame) -> None:
    """Draw the lines of one sweep and depth."""
    place.set_yscale("log")
    place.yaxis.set_major_formatter("{x:g}")
    place.grid(alpha=0.25)
    place.spines[["top", "right"]].set_visible(False)
    for limit in sorted(set(rows["limit"])):
        place.axhline(limit, color=FAINT, linewidth=0.8, linestyle=":")
    crosses: dict[tuple[float, float], int] = {}
    for name, own in reversed(models(rows)):
        own = own.sort_values("size")
        done, ended = where(own, status=FINISHED), where(own, status=tuple(ENDS))
        points = list(zip(done["size"], done["seconds"], strict=True))
        look = LOOKS[name]
        if len(ended):
            end = ended.iloc[0]
            point = end["size"], end["limit"]
            # Where several lines end in one point, each cross is larger than the one on top of it.
            crosses[point] = crosses.get(point, 0) + 1
            large: dict[str, Any] = {"markersize": 4 + 4 * crosses[point], "zorder": 4 - 0.1 * crosses[point]}
            cross = {"color": look["color"], "marker": ENDS[end["status"]], "markeredgewidth": 2}
            place.plot(*point, clip_on=False, **cross, **large)
            points = sorted([*points, point])
        place.plot(*zip(*points, strict=True), markevery=slice(len(points) - bool(len(ended))), **look)
    place.margins(y=0.08)


def _draw_legend(figure: Any, rows: pd.DataFrame) -> None:
    """Add one legend for all panels."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], label=name, **LOOKS[name]) for name, _ in models(rows)]
    ends = set(rows["status"].map(ENDS))
    for marker, meaning in END_LABELS.items():
        if marker in ends:
            lines.append(Line2D([], [], color=FAINT, marker=marker, linestyle="", markeredgewidth=2, label=meaning))
    figure.legend(handles=lines, loc="outside upper center", ncols=max(len(lines), 1), frameon=False)


def models(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the runs of each solver with its name: Top-k by k, then the peers."""
    k = rows["k"].fillna(0).replace("", 0).astype(int)
    rows = rows.assign(k=k, is_peer=rows["solver"] != OURS)
    grouped = rows.groupby(["is_peer", "solver", "k"])
    return [(PEER_LABELS[solver] if is_peer else f"Top-{k}", own) for (is_peer, solver, k), own in grouped]


def table(rows: pd.DataFrame) -> str:
    """Return the largest size that each solver finished within the limit, and the seconds it took."""
    cases = [(sweep, depth) for sweep in TOTALS for depth in sorted(set(where(rows, sweep=sweep)["depth"]))]
    columns = {f"{sweep}, depth {depth}": (sweep, depth) for sweep, depth in cases}
    return crossed("solver", dict(models(rows)), columns, lambda own, case: _largest(own, *case))


def _largest(rows: pd.DataFrame, sweep: str, depth: int) -> str:
    """Return size and seconds of the largest run that finished."""
    done = where(rows, sweep=sweep, depth=depth, status=FINISHED)
    if not len(done):
        return "none"
    row = done.loc[done["size"].idxmax()]
    return f"{row['size']} in {row['seconds']:.2g} s"


def notes(rows: pd.DataFrame) -> list[str]:
    """Return notes on runs that failed and on solvers that are not installed."""
    found = [
        f"Failed: {name}, {row.size_} {row.sweep}, depth {row.depth}: {row.message}."
        for name, own in models(rows)
        for row in where(own, status=FAILED).rename(columns={"size": "size_"}).itertuples()
    ]
    absent = [PEER_LABELS[name] for name in OPTIMAL if name not in set(rows["solver"])]
    return [*found, f"Not installed, so not run: {', '.join(absent)}."] if absent else found


STUDY = Study(
    "fig3",
    KEYS,
    RESULTS,
    tasks,
    alone=run,
    limit=TIMING_LIMIT,
    is_hopeless=is_harder,
    needs=lambda task: DATASET,
    pictures=lambda rows: {"fig3": draw(rows)},
    drawn=("fig3",),
)
