"""One measurement in a separate process: data read, warmed up, fitted, evaluated.

In: a task of the plan. Out: a row of the store.
The one idea: the three steps are three calls of one stopwatch, so that only the fit is under the cap, and a solver that
hangs, crashes or runs out of memory is a result like any other.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from topktree import TopKTreeClassifier

from ... import machine, matrices, peers
from ...runner import memory_cap
from ...splits import Array
from ...stopwatch import Stopwatch, resident_bytes
from ...store import as_key
from ...study import FAILED, FINISHED, NO_MEMORY, TIMEOUT, Row, Settings, Task
from .plans import BOOLEAN, EXACT, GENERATED, KEYS, NORMAL
from .ranks import last_rank

RESULTS = (
    "seconds",  # median of the fits
    "fastest",
    "slowest",
    "cpu",  # processor seconds of all fits by their seconds: below 1, a thread had to wait
    "fits",
    "errors",  # training rows that the tree gets wrong, counted from its predictions
    "leaves",
    "widest",  # of a peer's Top-k tree: the last rank among its columns, each by topktree's order
    "rss_before",  # bytes resident before the fits, the data in place
    "rss_peak",  # most bytes resident during the fits
    "rows",
    "columns",
)
ORIGIN = ("version", "engine", "machine")  # the version of the solver's package, topktree's code, the machine

ENOUGH = 5.0  # seconds from which a run is not repeated, and a peer's run stays valid when only topktree has changed
HARDER = ("topk", "optimal", "penalty", "contree")  # sections in which a larger k or depth only takes longer
ASIDE = 120.0  # seconds for imports and data before the fit, and for predictions after it
GRACE = 5.0  # seconds beyond the cap, for a solver to stop itself
ENOUGH_SECONDS = 0.3  # of fits; what is shorter is repeated, its first fit not counted
ENOUGH_FITS = 51
CHUNK = 1 << 16  # generated rows at a time: what making them takes must not show in the peak of a fit
NOISE = 0.1  # generated classes that are wrong
DEFAULT_THRESHOLDS = TopKTreeClassifier().max_thresholds  # where the input is not exact

_kept: dict[str, Any] = {}  # in the process that measures: the data, then the fitted solver


def measure(task: Task, settings: Settings, stopwatch: Stopwatch) -> Row:
    """Measure in a separate process, not in the runner's, so that memory is that of this fit alone."""
    found: Row = origin(task["solver"])
    files = None if task["input"] in GENERATORS else _stored(task["dataset"], task["input"], settings.data_home)
    with Stopwatch(GRACE, memory_cap()) as own:
        for step, limit in ((prepare, ASIDE), (fit, task["cap"]), (evaluate, ASIDE)):
            done = own.run(step, task, files, limit=limit)
            if done.status != FINISHED:
                is_capped = done.status == TIMEOUT and step is fit
                lacks_memory = done.message.startswith(NO_MEMORY)
                status = TIMEOUT if is_capped else NO_MEMORY if lacks_memory else FAILED
                return origin(task["solver"]) | {"status": status, "message": done.message, "rss_peak": done.peak}
            found |= done.value
    return found | {"status": TIMEOUT} if found["seconds"] > task["cap"] else found


def origin(solver: str) -> Row:
    """Return the code and the machine at hand."""
    return {"version": machine.version(solver), "engine": machine.engine(), "machine": machine.description()}


def is_current(row: Row) -> bool:
    """Return True for a row that need not be measured again with the code at hand."""
    changed = {name for name, value in origin(row["solver"]).items() if row[name] != value}
    return not changed or (changed == {"engine"} and row["solver"] != peers.OURS and _is_long(row))


def is_repeated(task: Task, find: Callable[[Task], Row | None]) -> bool:
    """Return True for a later round of a run that took long enough, or did not finish."""
    first = find({**task, "round": 0}) if task["round"] else None
    return first is not None and _is_long(first)


def _is_long(row: Row) -> bool:
    return bool(row["status"] != FINISHED or (row["seconds"] or 0.0) >= ENOUGH)


def is_hopeless(task: Task, stopped: Task) -> bool:
    """Return True for a search that is no easier than one of the same contestant that was stopped at the cap."""
    is_alike = all(as_key(task[name]) == as_key(stopped[name]) for name in KEYS if name not in ("k", "depth"))
    is_smaller = stopped["depth"] <= task["depth"] and _width(stopped["k"]) <= _width(task["k"])
    return task["section"] in HARDER and is_alike and is_smaller


def _width(k: Any) -> float:
    return float(k) if as_key(k).isdigit() else float("inf")


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="topktree-")


@cache
def _stored(name: str, kind: str, data_home: str | None) -> tuple[Path, Path]:
    """Write X and y to files; the process that measures then never has more in memory than these."""
    X, y = (matrices.boolean if kind == BOOLEAN else matrices.raw)(name, data_home)
    files = Path(_folder().name, f"{name}.{kind}.X.npy"), Path(_folder().name, f"{name}.{kind}.y.npy")
    np.save(files[0], X)
    np.save(files[1], y)
    return files


def generated(n_rows: int, n_columns: int) -> tuple[Array, Array]:
    """Return fair coins, and a class that seven of them decide, except for noise."""
    rng = np.random.default_rng(0)
    X = np.empty((n_rows, n_columns), dtype=np.bool_)
    y = np.empty(n_rows, dtype=np.int32)
    for start in range(0, n_rows, CHUNK):
        part = X[start : start + CHUNK]
        part[:] = rng.integers(0, 2, part.shape, dtype=np.bool_)
        a, b, c, d, e, f, g = part.T[:7]
        y[start : start + CHUNK] = ((a & b) | (c & d) | (e & f & g)) ^ (rng.random(len(part)) < NOISE)
    return X, y


def normal(n_rows: int, n_columns: int) -> tuple[Array, Array]:
    """Return normally distributed numbers, and a class that four of them decide, except for noise."""
    rng = np.random.default_rng(0)
    X = np.empty((n_rows, n_columns))
    y = np.empty(n_rows, dtype=np.int32)
    for start in range(0, n_rows, CHUNK):
        part = X[start : start + CHUNK]
        part[:] = rng.normal(size=part.shape)
        a, b, c, d = part.T[:4]
        y[start : start + CHUNK] = ((a + b > 0.5) ^ ((c > 1) & (d < 0))) ^ (rng.random(len(part)) < NOISE)
    return X, y


GENERATORS = {GENERATED: generated, NORMAL: normal}


def new_solver(task: Task) -> Any:
    """Return the solver of a task, not fitted."""
    k: int | str = int(task["k"]) if task["k"].isdigit() else "all"
    thresholds = None if task["input"] in (EXACT, NORMAL) else DEFAULT_THRESHOLDS
    anytime = task.get("anytime", False)
    problem = peers.Problem(task["depth"], task["penalty"], task["cap"], k, task["threads"], thresholds, anytime)
    return peers.PEERS[task["solver"]].make(problem)


def prepare(task: Task, files: tuple[Path, Path] | None) -> Row:
    """Read the data, and fit 64 rows, so that imports made on first use are not timed."""
    if files is None:
        _kept["data"] = GENERATORS[task["input"]](*map(int, task["dataset"].split("x")))
    else:
        _kept["data"] = np.load(files[0]), np.load(files[1])
    X = np.random.default_rng(0).random((64, 20)) < 0.5
    new_solver({**task, "depth": 2, "cap": 10.0}).fit(X, (X[:, 0] ^ X[:, 1]).astype(np.int32))
    return {}


def fit(task: Task, files: tuple[Path, Path] | None) -> Row:
    """Fit, several times if that is quick; return seconds and memory."""
    X, y = _kept["data"]
    before = resident_bytes("VmRSS")
    if before is not None:
        Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts again from what is resident now
    wall, cpu = time.perf_counter(), time.process_time()
    seconds = fits(task, X, y)
    return {
        "cpu": (time.process_time() - cpu) / (time.perf_counter() - wall),
        "seconds": median(seconds),
        "fastest": min(seconds),
        "slowest": max(seconds),
        "fits": len(seconds),
        "rss_before": before,
        "rss_peak": resident_bytes("VmHWM"),
        "rows": X.shape[0],
        "columns": X.shape[1],
    }


def fits(task: Task, X: Array, y: Array) -> list[float]:
    """Return the seconds of each fit; keep the solver that was fitted last."""
    seconds: list[float] = []
    while True:
        _kept["solver"] = new_solver(task)
        start = time.perf_counter()
        _kept["solver"].fit(X, y)
        seconds.append(time.perf_counter() - start)
        if seconds[0] >= ENOUGH_SECONDS:
            return seconds
        if sum(seconds[1:]) >= ENOUGH_SECONDS or len(seconds) > ENOUGH_FITS:
            return seconds[1:]


def evaluate(task: Task, files: tuple[Path, Path] | None) -> Row:
    """Return errors, leaves and status of the fitted solver."""
    (X, y), solver = _kept["data"], _kept["solver"]
    found = peers.read(task["solver"], solver, X, y, 0.0)
    has_ranks = task["solver"] == peers.TOP_K and solver.tree_ is not None
    return {
        "status": FINISHED if found.finished else TIMEOUT,
        "errors": found.errors,
        "leaves": found.leaves,
        "widest": last_rank(solver.tree_, X, y) if has_ranks else None,
    }
