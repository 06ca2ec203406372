"""Runs into results: the rounds of a contestant as one row, pairs of contestants as duels, and all of it as text.

In: the table of runs. Out: DataFrames, a row per contestant and cell or per duel, with columns of text for the tables.
The one idea: a contestant stopped at the cap still says something, a bound, and bounds stay marked as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...peers import OURS, TOP_K
from ...store import as_key
from ...study import FAILED, FINISHED, NO_MEMORY, SKIPPED, TIMEOUT
from ...text import aligned, geometric_mean, is_missing, where
from .measuring import RESULTS
from .plans import KEYS, WIDE

EXACTLY, AT_LEAST, AT_MOST, ABOUT = "", ">", "<", "~"  # ABOUT: both kinds of bounds went into it
CELL = [name for name in KEYS if name != "round"]
BAD_FIRST = [FAILED, NO_MEMORY, TIMEOUT, FINISHED]
MIB = 1 << 20
BUSY = 0.9  # of a core: a run on one thread that got less was disturbed


def readable(runs: pd.DataFrame) -> pd.DataFrame:
    """Return runs with k as text and numbers as floats; a search that was not tried counts as one that was stopped."""
    texts = {"k": runs["k"].map(as_key), "message": runs["message"].fillna("")}
    return runs.astype(dict.fromkeys(RESULTS, float)).assign(**texts, status=runs["status"].replace(SKIPPED, TIMEOUT))


def results(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per contestant and cell; a failure in any of its rounds counts."""
    runs = runs.assign(growth=runs["rss_peak"] - runs["rss_before"], rank=runs["status"].map(BAD_FIRST.index))
    runs["used"] = runs["seconds"] * runs["cpu"]
    rounds = runs.groupby(CELL, sort=False)
    found = rounds.agg(
        seconds=("seconds", "median"),  # the cap if stopped there; missing: failed or out of memory
        low=("seconds", "min"),
        high=("seconds", "max"),
        cores=("cpu", "median"),  # that were busy with it, on the average
        used=("used", "median"),  # seconds of a processor
        errors=("errors", "min"),  # of a contestant stopped at the cap: those of the best tree it had
        distinct=("errors", lambda own: sorted(map(int, own.dropna().unique()))),
        leaves=("leaves", "first"),
        widest=("widest", "first"),
        peak=("rss_peak", "max"),
        growth=("growth", "max"),
        rows=("rows", "first"),
        columns=("columns", "first"),
    ).reset_index()
    worst = runs.loc[rounds["rank"].idxmin(), ["status", "message"]].reset_index(drop=True)
    differ = (worst["status"] == FINISHED) & (found["distinct"].map(len) > 1)
    worst.loc[differ, "status"] = FAILED
    worst.loc[differ, "message"] = "training errors differ from run to run: " + found["distinct"].astype(str)
    found = found.assign(**worst, finished=worst["status"] == FINISHED, capped=worst["status"] == TIMEOUT)
    found.loc[~found["finished"], ["seconds", "low", "high", "cores", "used"]] = np.nan
    for name in ("seconds", "low", "high"):
        found[name] = found[name].mask(found["capped"], found["cap"])
    return found.assign(
        time=[time_text(row) for row in found.itertuples()],
        counted=[f"{'<=' if row.capped else ''}{whole(row.errors)}".replace("<=-", "-") for row in found.itertuples()],
        cores=["-" if is_missing(cores) else f"{cores:.2f}" for cores in found["cores"]],
        mib=(found["peak"] / MIB).map(whole),
    )


def busy(runs: pd.DataFrame) -> dict[str, Any]:
    """Count the runs on one thread that had less than most of a core."""
    shares = where(runs, threads=1)["cpu"].dropna()
    return {"share": BUSY, "runs": (shares < BUSY).sum(), "all": len(shares)}


def duels(found: pd.DataFrame, section: str, peer: str = OURS) -> pd.DataFrame:
    """Return the cells of a section in which both have a result; without a peer, two threads against one."""
    own = where(found, section=section)
    ours, theirs = where(own, solver=OURS), where(own, solver=peer)
    if peer == OURS:
        ours, theirs = where(own, threads=2), where(own, threads=1)
    shared = ["dataset", "depth", "k"] if peer in (OURS, TOP_K) else ["dataset", "depth"]
    pairs = ours.merge(theirs, on=shared, suffixes=("", "_peer"))
    # A process that was killed does not tell its rows and columns.
    pairs = pairs.assign(**{name: pairs[name].fillna(pairs[f"{name}_peer"]) for name in ("rows", "columns")})
    pairs["bound"] = np.select([pairs["capped"], pairs["capped_peer"]], [AT_MOST, AT_LEAST], EXACTLY)
    pairs["ratio"] = (pairs["seconds_peer"] / pairs["seconds"]).mask(pairs["capped"] & pairs["capped_peer"])
    pairs["times"] = [f"{times(row.ratio, row.bound)}x".replace("-x", "-") for row in pairs.itertuples()]
    pairs["cell"] = pairs["dataset"] + ", k = " + pairs["k"] + ", depth " + pairs["depth"].astype(str)
    return pairs


def generated(found: pd.DataFrame) -> pd.DataFrame:
    """Return the results of generated rows, with their sizes and the bytes of the matrix in bits."""
    own = where(found, section="scale")
    sizes = [tuple(map(int, name.split("x"))) for name in own["dataset"]]
    own = own.assign(rows=[rows for rows, _ in sizes], columns=[columns for _, columns in sizes])
    packed = own["rows"] * own["columns"] / 8
    return own.assign(packed=packed, by_packed=own["growth"] / packed)


def tall(found: pd.DataFrame) -> pd.DataFrame:
    """Return the finished results of generated rows, without the wide ones, the fewest rows first."""
    own = generated(found)
    return own[own["finished"] & (own["dataset"] != WIDE)].sort_values("rows")


def mean_ratio(pairs: pd.DataFrame) -> tuple[float, str]:
    """Return the geometric mean of the ratios, and its bound: it has one if any of the ratios does."""
    bounds = set(pairs.dropna(subset="ratio")["bound"]) - {EXACTLY}
    bound = EXACTLY if not bounds else bounds.pop() if len(bounds) == 1 else ABOUT
    return geometric_mean(pairs["ratio"]), bound


def summary(pairs: pd.DataFrame) -> str:
    """Return the mean, the smallest and the largest ratio."""
    own = pairs.dropna(subset="ratio")
    if not len(own):
        return "no cells"
    low, high = own.loc[own["ratio"].idxmin(), "times"], own.loc[own["ratio"].idxmax(), "times"]
    return f"geometric mean {times(*mean_ratio(own))}x, smallest {low}, largest {high} ({len(own)} cells)"


def times(ratio: float, bound: str = EXACTLY) -> str:
    """Return a ratio or a bound of it."""
    digits = 0 if ratio >= 100 else 1 if ratio >= 10 else 2
    return "-" if is_missing(ratio) else f"{bound}{ratio:,.{digits}f}"


def table(frame: pd.DataFrame, columns: Sequence[str], headings: Sequence[str]) -> str:
    """Return a table of some columns; numbers are whole."""
    texts = [[value if isinstance(value, str) else whole(value) for value in frame[name]] for name in columns]
    return aligned(headings, zip(*texts, strict=True))


def whole(value: float) -> str:
    """Return a whole number, or a dash."""
    return "-" if is_missing(value) else f"{value:.0f}"


def time_text(row: Any) -> str:
    """Return the median, with half of the range of the rounds in percent; or what went wrong."""
    if is_missing(row.seconds):
        return str(row.status)
    spread = (row.high - row.low) / 2 / row.seconds
    bounded = f"{'>' if row.capped else ''}{duration(row.seconds)}"
    return f"{bounded} ±{100 * spread:.0f}%" if spread else bounded


def duration(seconds: float) -> str:
    """Return seconds with three digits in a fitting unit."""
    for unit, factor in (("µs", 1e6), ("ms", 1e3)):
        if seconds * factor < 999.5:
            return f"{three_digits(seconds * factor)} {unit}"
    return f"{three_digits(seconds)} s"


def three_digits(value: float) -> str:
    """Return three digits, those after the point included."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def binary_size(n_bytes: float) -> str:
    """Return three digits in KiB or MiB."""
    return f"{n_bytes / MIB:.3g} MiB" if n_bytes >= 1e6 else f"{n_bytes / 1024:.3g} KiB"
