"""Figure 6: training time against depth for each k.

In: Settings. Out: an Experiment whose runs go alone, one thread each, on the first split of every dataset.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from topktree._classifier import TopKTreeClassifier
from topktree_evidence import pictures
from topktree_evidence.splits import FIRST_SEED, PAPER_COLUMNS, chosen, split
from topktree_evidence.stopwatch import Stopwatch
from topktree_evidence.studies.paper import fits
from topktree_evidence.studies.paper.fig2 import DEPTHS, KS
from topktree_evidence.study import FINISHED, TIMEOUT, TIMING_LIMIT, Experiment, Row, Settings, Task, Value, its_dataset

KEYS = ("dataset", "k", "depth")
RESULTS = ("rows", "columns", "seconds", "errors", "leaves", "nodes")
PREPARATION = 600.0  # seconds to read a dataset
ENOUGH_SECONDS, ENOUGH_FITS = 0.1, 51  # short fits are repeated, and the median counts


def plan(settings: Settings) -> list[Task]:
    """Every k and depth of every dataset."""
    return [
        {"dataset": name, "k": k, "depth": depth}
        for name in chosen(settings)
        for k in KS
        for depth in fits.up_to(DEPTHS, settings)
    ]


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
    """Read the data, which the process keeps, so that this is not timed."""
    split(dataset, PAPER_COLUMNS, FIRST_SEED, data_home)


def timed_fit(dataset: str, k: int | str, depth: int, data_home: str | None) -> Row:
    """The median of a few fits, or one long one."""
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


def is_hopeless(task: Task, stopped: Task) -> bool:
    """Deeper or wider than a search of the same dataset that was stopped."""
    return task["dataset"] == stopped["dataset"] and fits.is_wider(task, stopped)


def draw(rows: Sequence[Row]) -> dict[str, Any]:
    """A panel per dataset, a line per k."""
    ks = pictures.in_order({row["k"] for row in rows})
    names = list(dict.fromkeys(str(row["dataset"]) for row in rows))

    times = [row["limit"] if row["status"] == TIMEOUT else row["seconds"] for row in rows]
    times = [value for value in times if value is not None]

    def panel(place: Any, name: str) -> None:
        for k in ks:
            found = [row for row in rows if row["dataset"] == name and row["k"] == k and row["status"] == FINISHED]
            place.plot(*pictures.line(found, "depth", "seconds"), label=pictures.name_of(k), **pictures.style(k, ks))
            place.plot(*pictures.line(_ends(rows, name, k), "depth", "limit"), "x", color="grey", markersize=5)
        place.set_yscale("log")
        place.set_ylim(0.7 * min(times), 1.5 * max(times))
        place.yaxis.set_major_formatter("{x:g}")
        place.yaxis.set_minor_formatter("")
        place.xaxis.get_major_locator().set_params(integer=True)

    label = "seconds to fit, one thread (x: stopped at the limit)"
    return {"fig6": pictures.panels(names, panel, "depth", label)} if times else {}


def _ends(rows: Sequence[Row], name: str, k: Value) -> list[Row]:
    """The run of a line that was stopped."""
    return [row for row in rows if row["dataset"] == name and row["k"] == k and row["status"] == TIMEOUT]


EXPERIMENT = Experiment(
    "fig6",
    KEYS,
    RESULTS,
    plan,
    alone=alone,
    limit=TIMING_LIMIT,
    effort=fits.size,
    is_hopeless=is_hopeless,
    needs=its_dataset,
    pictures=draw,
    drawn=("fig6",),
)
