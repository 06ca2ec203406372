"""Figure 6: training time against depth for each k.

In: Settings. Out: a Study whose runs go alone, one thread each, on the first split of every dataset.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import pandas as pd

from topktree import TopKTreeClassifier

from ...pictures import by_dataset, in_order, integers_only, name_of, panels, style
from ...splits import FIRST_SEED, PAPER_COLUMNS, chosen, split
from ...stopwatch import Stopwatch
from ...study import FINISHED, TIMEOUT, TIMING_LIMIT, Row, Settings, Study, Task
from ...text import where
from . import fits
from .accuracy import DEPTHS, KS

PREPARATION = 600.0  # seconds to read a dataset
ENOUGH_SECONDS, ENOUGH_FITS = 0.1, 51  # short fits are repeated, and the median counts


def plan(settings: Settings) -> list[Task]:
    """Plan every k and depth of every dataset."""
    depths = settings.up_to(DEPTHS)
    return [{"dataset": name, "k": k, "depth": depth} for name in chosen(settings) for k in KS for depth in depths]


def alone(task: Task, settings: Settings, stopwatch: Stopwatch) -> Row:
    """Time the fit, or stop it at the limit."""
    assert settings.time_limit is not None
    dataset, limit = task["dataset"], settings.time_limit
    stopwatch.run(prepare, dataset, settings.data_home, limit=PREPARATION)
    outcome = stopwatch.run(timed_fit, dataset, task["k"], task["depth"], settings.data_home, limit=limit)
    if outcome.status != FINISHED:
        return {"status": outcome.status, "message": outcome.message}
    result: Row = outcome.value
    return {"status": TIMEOUT} if result["seconds"] > limit else result


def prepare(dataset: str, data_home: str | None) -> None:
    """Read the data, which the process keeps, so that reading them is not timed."""
    split(dataset, PAPER_COLUMNS, FIRST_SEED, data_home)


def timed_fit(dataset: str, k: int | str, depth: int, data_home: str | None) -> Row:
    """Return the median of a few fits, or one long one."""
    X, _, y, _ = split(dataset, PAPER_COLUMNS, FIRST_SEED, data_home)
    seconds: list[float] = []
    while not seconds or (sum(seconds) < ENOUGH_SECONDS and len(seconds) < ENOUGH_FITS):
        # No time_limit: with one the search widens k step by step, which is another search.
        tree = TopKTreeClassifier(k=k, max_depth=depth)
        start = time.perf_counter()
        tree.fit(X, y)
        seconds.append(time.perf_counter() - start)
    return {
        "rows": X.shape[0],
        "columns": X.shape[1],
        "seconds": round(median(seconds), 6),
        "errors": tree.train_errors_,
        "leaves": int(tree.get_n_leaves()),
        "nodes": tree.search_["nodes"],
    }


def draw(rows: pd.DataFrame) -> dict[str, Any]:
    """Draw a panel per dataset, a line per k."""
    ks = in_order(rows["k"])
    times = rows["seconds"].where(rows["status"] != TIMEOUT, rows["limit"]).dropna()

    def panel(place: Any, own: pd.DataFrame) -> None:
        for k in ks:
            line = where(own, k=k).sort_values("depth")
            done, ended = where(line, status=FINISHED), where(line, status=TIMEOUT)
            place.plot(done["depth"], done["seconds"], label=name_of(k), **style(k, ks))
            place.plot(ended["depth"], ended["limit"], "x", color="grey", markersize=5)
        place.set_yscale("log")
        place.set_ylim(0.7 * min(times), 1.5 * max(times))
        place.yaxis.set_major_formatter("{x:g}")
        place.yaxis.set_minor_formatter("")
        integers_only(place)

    label = "seconds to fit, one thread (x: stopped at the limit)"
    return panels("fig6", by_dataset(rows), panel, "depth", label) if len(times) else {}


STUDY = Study(
    "fig6",
    ("dataset", "k", "depth"),
    ("rows", "columns", "seconds", "errors", "leaves", "nodes"),
    plan,
    alone=alone,
    limit=TIMING_LIMIT,
    effort=fits.size,
    is_hopeless=lambda task, stopped: task["dataset"] == stopped["dataset"] and fits.is_wider(task, stopped),
    pictures=draw,
    drawn=("fig6",),
)
