"""Figure 3: training time against the number of features and of samples, Top-k beside solvers of optimal trees.

In: FICO's 1000 rows, as 1407 Boolean columns. Out: a run per sweep, size, solver and depth; a picture; a table.
The one idea: the first n columns of all rows, or the first n rows of all columns, n growing until a solver does not
finish within the limit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topktree import datasets
from topktree._data.binarizer import Binarizer
from topktree_evidence import peers
from topktree_evidence.stopwatch import NO_MEMORY, Stopwatch
from topktree_evidence.study import (
    FAILED,
    FINISHED,
    SKIPPED,
    TIMEOUT,
    TIMING_LIMIT,
    Experiment,
    Row,
    Settings,
    Task,
    Value,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KEYS = ("sweep", "size", "solver", "k", "depth", "penalty")  # k: "" for a peer
RESULTS = ("status", "seconds", "errors", "leaves", "limit", "message")

DATASET = "fico-1000"
FEATURES, SAMPLES = "features", "samples"
TOTALS = {FEATURES: 1407, SAMPLES: 1000}
SMALLEST = 10
STEPS = 30
KS = (1, 2, 4, 8, 16)
DEPTHS = (4, 5, 6)
PENALTY = 0.001

# A fit of milliseconds is repeated, and its first time not counted.
ENOUGH_SECONDS = 0.3
ENOUGH_FITS = 51

# Blues that grow darker with k, and two of Okabe and Ito's colours: apart for the colour-blind, and in grey by marker.
TOP_K_COLOURS = ("#a6cee8", "#6baed6", "#3d8dc4", "#1c63a5", "#08306b")
PEER_STYLES = {"gosdt": ("#d55e00", "s"), "pystreed": ("#009e73", "^")}
PEER_LABELS = {"gosdt": "GOSDT", "pystreed": "pystreed"}
X_LABELS = {FEATURES: "features (of 1000 samples)", SAMPLES: "samples (of 1407 features)"}
ENDS = {TIMEOUT: "x", SKIPPED: "x", FAILED: "+"}  # a run is skipped if an easier one has timed out
END_LABELS = {"x": "not finished within the limit", "+": "failed"}
FAINT = "#666666"

Model = tuple[str, int]  # a solver and its k; 0 for a peer


def sizes(sweep: str, steps: int = STEPS) -> list[int]:
    """The authors' sizes of a sweep: evenly spaced from 10 to all."""
    return [int(size) for size in np.unique(np.round(np.linspace(SMALLEST, TOTALS[sweep], steps)))]


def tasks(
    steps: int = STEPS,
    ks: Sequence[int] = KS,
    depths: Sequence[int] = DEPTHS,
    solvers: Sequence[str] | None = None,
    penalty: float = PENALTY,
) -> list[Task]:
    """All runs, small ones first. Of solvers, all that are installed if nothing is said."""
    solvers = [peers.OURS, *peers.installed()] if solvers is None else solvers
    models = [(name, k) for name in solvers for k in (ks if name == peers.OURS else ("",))]
    return [
        dict(zip(KEYS, (sweep, size, solver, k, depth, penalty), strict=True))
        for sweep in TOTALS
        for size in sizes(sweep, steps)
        for depth in depths
        for solver, k in models
    ]


def is_harder(task: Task, other: Task) -> bool:
    """Whether a run has the other one's sweep, solver and penalty, is in nothing less and in something more."""
    if any(task[name] != other[name] for name in ("sweep", "solver", "penalty")):
        return False
    size = _effort(task), _effort(other)
    return size[0] != size[1] and all(a >= b for a, b in zip(*size, strict=True))


def _effort(task: Task) -> tuple[int, int, int]:
    return _int(task["size"]), _int(task["depth"]), _int(task["k"])


def run(task: Task, data_home: str | os.PathLike[str] | None, limit: float, stopwatch: Stopwatch) -> Row:
    """Make one run in the stopwatch's process."""
    folder = None if data_home is None else os.fspath(data_home)
    outcome = stopwatch.run(measure, dict(task), folder, limit, limit=limit)
    row: Row = dict.fromkeys(RESULTS)
    row |= {"status": outcome.status, "limit": limit, "message": outcome.message}
    if outcome.status == FAILED and outcome.message.startswith(NO_MEMORY):
        row["status"] = TIMEOUT  # a larger size would need more
    if outcome.status == FINISHED:
        fit: peers.Fit = outcome.value
        if fit.finished and fit.seconds <= limit:
            row |= {"seconds": fit.seconds, "errors": fit.errors, "leaves": fit.leaves}
        else:
            end = "finished" if fit.finished else "stopped itself"
            row |= {"status": TIMEOUT, "message": f"{end} after {fit.seconds:.1f} s"}
    return row


def measure(task: Task, data_home: str | None, limit: float) -> peers.Fit:
    """The fit of a run, with the median of its seconds."""
    X, y = matrix(data_home)
    size = _int(task["size"])
    X, y = (np.ascontiguousarray(X[:, :size]), y) if task["sweep"] == FEATURES else (X[:size], y[:size])
    name, k = str(task["solver"]), _int(task["k"]) or "all"
    problem = _int(task["depth"]), _float(task["penalty"]), limit, k
    warm_up(name)
    fit = peers.fit(name, X, y, *problem)
    if fit.seconds >= ENOUGH_SECONDS or not fit.finished:
        return fit
    seconds: list[float] = []
    while sum(seconds) < ENOUGH_SECONDS and len(seconds) < ENOUGH_FITS:
        seconds.append(peers.fit(name, X, y, *problem).seconds)
    return replace(fit, seconds=median(seconds))


@cache
def matrix(data_home: str | None) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """FICO as the paper has it: bool (1000, 1407), and classes 0 and 1. Once per process; not to be written to."""
    bunch = datasets.load(DATASET, data_home)
    X = Binarizer(strategy="paper", max_columns=None).fit_transform(bunch.data)
    return X, np.unique(bunch.target, return_inverse=True)[1].astype(np.int64)


@cache
def warm_up(name: str) -> None:
    """A small fit, once per process, so that what is imported on first use is not timed."""
    X = np.random.default_rng(0).random((64, 8)) < 0.5
    peers.fit(name, X, (X[:, 0] ^ X[:, 1]).astype(np.int64), depth=2, penalty=0.01, limit=10.0)


def draw(rows: Sequence[Row]) -> Figure:
    """Seconds against size: a panel per sweep (down) and depth (across), a line per solver that ends at a timeout."""
    from matplotlib.figure import Figure

    depths = sorted({_int(row["depth"]) for row in rows})
    figure = Figure(figsize=(3.5 * max(len(depths), 2), 6.4), layout="constrained")
    panels = figure.subplots(len(TOTALS), max(len(depths), 1), sharey=True, sharex="row", squeeze=False)
    for sweep, beside in zip(TOTALS, panels, strict=True):
        for depth, panel in zip(depths, beside, strict=False):
            chosen = [row for row in rows if (row["sweep"], row["depth"]) == (sweep, depth)]
            panel.set_title(f"depth {depth}, growing {sweep}", fontsize=10)
            panel.set_xlabel(X_LABELS[sweep])
            _draw_panel(panel, chosen)
        beside[0].set_ylabel("training time (s)")
        for limit in _limits(rows):
            place: dict[str, Any] = {"xycoords": beside[0].get_yaxis_transform(), "textcoords": "offset points"}
            beside[0].annotate(f"limit {limit:g} s", (1, limit), (0, 3), ha="right", color=FAINT, fontsize=8, **place)
    _draw_legend(figure, rows)
    return figure


def _draw_panel(panel: Axes, rows: Sequence[Row]) -> None:
    """The lines of one sweep and depth."""
    panel.set_yscale("log")
    panel.yaxis.set_major_formatter("{x:g}")
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)
    for limit in _limits(rows):
        panel.axhline(limit, color=FAINT, linewidth=0.8, linestyle=":")
    crosses: dict[tuple[float, float], int] = {}
    for model in reversed(_models(rows)):
        own = sorted((row for row in rows if _model(row) == model), key=lambda row: _int(row["size"]))
        points = [(_int(row["size"]), _float(row["seconds"])) for row in own if row["status"] == FINISHED]
        end = next((row for row in own if row["status"] in ENDS), None)
        style = _style(model)
        if end is not None:
            point = _int(end["size"]), _float(end["limit"])
            # Where several lines end in one point, each cross is larger than the one on top of it.
            crosses[point] = crosses.get(point, 0) + 1
            large: dict[str, Any] = {
                "markersize": 4 + 4 * crosses[point],
                "markeredgewidth": 2,
                "zorder": 4 - 0.1 * crosses[point],
            }
            panel.plot(*point, color=style["color"], marker=ENDS[str(end["status"])], clip_on=False, **large)
            points = sorted([*points, point])
        panel.plot(*zip(*points, strict=True), markevery=slice(len(points) - (end is not None)), **style)
    panel.margins(y=0.08)


def _draw_legend(figure: Figure, rows: Sequence[Row]) -> None:
    """One legend for all panels."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], label=label(model), **_style(model)) for model in _models(rows)]
    for marker, text in END_LABELS.items():
        if any(ENDS.get(str(row["status"])) == marker for row in rows):
            cross = Line2D([], [], color=FAINT, marker=marker, linestyle="", markeredgewidth=2, label=text)
            lines.append(cross)
    figure.legend(handles=lines, loc="outside upper center", ncols=max(len(lines), 1), frameon=False)


def _style(model: Model) -> dict[str, Any]:
    """How the line of a solver looks."""
    solver, k = model
    if solver in PEER_STYLES:
        colour, marker = PEER_STYLES[solver]
        return {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.8, "linestyle": "--"}
    place = min(k.bit_length() - 1, len(TOP_K_COLOURS) - 1)
    return {"color": TOP_K_COLOURS[place], "marker": "o", "markersize": 3, "linewidth": 1.5}


def table(rows: Sequence[Row]) -> str:
    """Markdown: the largest size that each solver finished within the limit, and the seconds it took."""
    cells = sorted({(list(TOTALS).index(str(row["sweep"])), _int(row["depth"])) for row in rows})
    columns = [(list(TOTALS)[place], depth) for place, depth in cells]
    lines = [["solver", *(f"{sweep}, depth {depth}" for sweep, depth in columns)], ["---", *("---:" for _ in columns)]]
    for model in _models(rows):
        own = [row for row in rows if _model(row) == model]
        lines.append([label(model), *(_largest(own, sweep, depth) for sweep, depth in columns)])
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), "", *_notes(rows)]) + "\n"


def _largest(rows: Iterable[Row], sweep: str, depth: int) -> str:
    """Size and seconds of the largest run that finished."""
    chosen = [row for row in rows if (row["sweep"], row["depth"], row["status"]) == (sweep, depth, FINISHED)]
    if not chosen:
        return "none"
    row = max(chosen, key=lambda row: _int(row["size"]))
    return f"{row['size']} in {_float(row['seconds']):.2g} s"


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    """What the table must not leave unsaid: the limit, failures, solvers that are not there."""
    limits = " or ".join(f"{limit:g}" for limit in _limits(rows))
    yield f"The largest size finished within {limits} s, one thread." if limits else "No runs yet."
    for row in rows:
        if row["status"] == FAILED:
            where = f"{label(_model(row))}, {row['size']} {row['sweep']}, depth {row['depth']}"
            yield f"Failed: {where}: {row['message']}."
    absent = [label((name, 0)) for name in peers.PEERS if all(row["solver"] != name for row in rows)]
    if absent:
        yield f"Not installed, so not run: {', '.join(absent)}."


def label(model: Model) -> str:
    """Of a line or row, for the reader."""
    return PEER_LABELS.get(model[0], f"Top-{model[1]}")


def _models(rows: Iterable[Row]) -> list[Model]:
    """Top-k by k, then the peers."""
    return sorted(set(map(_model, rows)), key=lambda model: (model[0] != peers.OURS, model))


def _model(row: Task) -> Model:
    return str(row["solver"]), _int(row["k"])


def _limits(rows: Iterable[Row]) -> list[float]:
    return sorted({_float(row["limit"]) for row in rows})


def _int(value: Value) -> int:
    """A number of a row; 0 where there is none, as of k for a peer."""
    return int(value or 0)


def _float(value: Value) -> float:
    return float(value or 0.0)


def plan(settings: Settings) -> list[Task]:
    """All runs, unless the user asks for other datasets."""
    if settings.datasets is not None and DATASET not in settings.datasets:
        return []
    depths = [depth for depth in DEPTHS if settings.max_depth is None or depth <= settings.max_depth]
    return tasks(settings.sizes, depths=depths)


def alone(task: Task, settings: Settings, stopwatch: Stopwatch) -> Row:
    """One run."""
    assert settings.time_limit is not None
    return run(task, settings.data_home, settings.time_limit, stopwatch)


EXPERIMENT = Experiment(
    "fig3",
    KEYS,
    RESULTS,
    plan,
    alone=alone,
    limit=TIMING_LIMIT,
    is_hopeless=is_harder,
    needs=lambda task: DATASET,
    pictures=lambda rows: {"fig3": draw(rows)},
    drawn=("fig3",),
)
