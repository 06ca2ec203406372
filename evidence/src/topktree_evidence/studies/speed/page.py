"""benchmarks.md: the targets, and a section with a table and a picture for each comparison.

In: the runs of a profile and the throughputs of the kernels. Out: the page (templates/benchmarks.md) and its pictures.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ... import pages
from ...peers import GOSDT, GREEDY, OURS, STREED
from ...study import Settings
from ...text import Tables, aligned, geometric_mean, is_missing, span, where
from . import kernels, numbers, pictures
from .findings import WRONG, findings
from .plans import BOOLEAN, FULL, GREEDY_KS, KEYS, PENALTY, QUICK, SECTIONS, Profile, tasks
from .results import MIB, binary_size, busy, duels, duration, generated, readable, results, summary, table, whole
from .targets import target_table

PROFILES = {"speed-full": FULL, "speed": QUICK}  # by the name of the study, the better one first
SIZE = ["dataset", "rows", "columns"]
WIDENED = ["dataset", "time", "times", "counted", "errors", "finished", "mib"]  # what the greedy table has for each k

Part = dict[str, Any]  # a section of the page: its table, the lines below it, its findings


def write_pages(out: Path, found: Tables) -> tuple[list[Path], list[str]]:
    """Write a page per profile that was run; the best is the one that other pages point to."""
    written: list[Path] = []
    runs = found[numbers.STUDY.name]
    section, wrong = numbers.section(runs) if len(runs) else ("", [])
    for name, profile in PROFILES.items():
        if len(found[name]):
            path = out / "benchmarks" / f"{profile.name}.md" if written else out / "benchmarks.md"
            shown = "" if written else section
            wrong += write(path, out / "benchmarks", profile, readable(found[name]), shown)
            written.append(path)
    if section and not written:
        written.append(out / "benchmarks.md")
        written[0].write_text(section, encoding="utf-8")
    return written, wrong


def write(path: Path, folder: Path, profile: Profile, runs: pd.DataFrame, section: str) -> list[str]:
    """Write the page of a profile, with a section on raw numbers, and its pictures; return errors that are wrong."""
    runs = pd.DataFrame(tasks(profile, Settings())).merge(runs, on=list(KEYS))  # in the order of the plan
    throughputs = kernels.read(folder / f"{profile.name}-kernels.csv")
    found = results(runs)
    pictures.draw(found, throughputs, folder / profile.name)
    there = set(where(found, solver=OURS)["section"])
    parts = {name: make(found, name) for name, make in PARTS.items() if name in there}
    if len(throughputs):
        parts["kernel"] = counting_kernel(kernels.counting(throughputs))
        parts["kernels"] = every_kernel(throughputs)
    tried = runs.dropna(subset="machine")  # not those that a run stopped at the cap made hopeless
    pages.write(
        path,
        "benchmarks",
        profile=profile,
        machines=sorted(set(tried["machine"])),
        engines=sorted(set(where(tried, solver=OURS)["engine"])),
        peers=sorted({f"{run.solver} {run.version}" for run in tried.itertuples() if run.solver != OURS}),
        targets=target_table(found, throughputs),
        busy=busy(runs),
        parts=parts,
        section=section,
        penalty=PENALTY,
        prefix=f"{os.path.relpath(folder, path.parent)}/{profile.name}",
    )
    return [sentence for part in parts.values() for sentence in part["findings"].get(WRONG, [])]


def part(
    found: pd.DataFrame, name: str, shown: str, lines: Sequence[str] = (), pairs: Sequence[pd.DataFrame] = ()
) -> Part:
    """Return a section of the page: its table, the lines below it, and what its duels find."""
    checked = findings(name, where(found, section=name), [duel for own in pairs for duel in own.itertuples()])
    return {"table": shown, "lines": lines, "findings": checked}


def greedy(found: pd.DataFrame, name: str) -> Part:
    """Compare k = 1, 8 and 16 with scikit-learn on the same matrix."""
    pairs = duels(found, name, GREEDY)
    by_k = {k: where(pairs, k=k) for k in GREEDY_KS}
    wide = by_k[GREEDY_KS[0]]
    for k, own in by_k.items():
        wide = wide.merge(own[WIDENED].add_suffix(f"_{k}"), left_on="dataset", right_on=f"dataset_{k}")
    columns = [*SIZE, "time_peer", *(f"{what}_{k}" for k in GREEDY_KS for what in ("time", "times"))]
    columns += ["counted_peer", *(f"counted_{k}" for k in GREEDY_KS), "mib_peer", f"mib_{GREEDY_KS[-1]}"]
    headings = [*SIZE, GREEDY, *(text for k in GREEDY_KS for text in (f"k = {k}", "ratio"))]
    headings += ["errors: sklearn", *(f"k = {k}" for k in GREEDY_KS), "MiB: sklearn", f"k = {GREEDY_KS[-1]}"]
    lines = [f"k = {k}: {summary(own)}.  " for k, own in by_k.items()]
    return part(found, name, table(wide, columns, headings), lines, [wide])


def versus(found: pd.DataFrame, name: str) -> Part:
    """Compare with one peer."""
    data, (peer,) = SECTIONS[name]
    pairs = duels(found, name, peer)
    search = [] if name == "raw" else ["k", "depth"]
    columns = [*SIZE, *search, "time", "time_peer", "times"]
    columns += ["counted", "counted_peer", "mib", "mib_peer"]
    headings = ["dataset", "rows", "columns" if data == BOOLEAN else "features", *search, OURS, peer, "ratio"]
    headings += ["errors", "peer's errors", "MiB", "peer's MiB"]
    return part(found, name, table(pairs, columns, headings), [f"All cells: {summary(pairs)}."], [pairs])


def penalty(found: pd.DataFrame, name: str) -> Part:
    """Compare with two peers, whose trees may differ in leaves as well as in errors."""
    found = found.assign(tree=found["counted"] + " + " + found["leaves"].map(whole))
    gosdt, streed = duels(found, name, GOSDT), duels(found, name, STREED)
    both = gosdt.merge(streed, on=["dataset", "depth"], suffixes=("", "_streed"))
    columns = [*SIZE, "k", "depth", "time", "time_peer", "times", "time_peer_streed", "times_streed"]
    columns += [f"{what}{whose}" for what in ("tree", "mib") for whose in ("", "_peer", "_peer_streed")]
    headings = [*SIZE, "k", "depth", OURS, GOSDT, "ratio", STREED, "ratio"]
    headings += ["errors + leaves", "gosdt's", "pystreed's", "MiB", "gosdt's", "pystreed's"]
    lines = [f"{peer}: {summary(own)}.  " for peer, own in ((GOSDT, gosdt), (STREED, streed))]
    return part(found, name, table(both, columns, headings), lines, [gosdt, streed])


def fico(found: pd.DataFrame, name: str) -> Part:
    """Show k = 16 on FICO."""
    columns = ["rows", "columns", "k", "depth", "time", "counted", "mib"]
    headings = ["rows", "features", "k", "depth", OURS, "errors", "MiB"]
    return part(found, name, table(where(found, section=name), columns, headings))


def threads(found: pd.DataFrame, name: str) -> Part:
    """Compare two threads with one, the longest search first."""
    pairs = duels(found, name).sort_values("seconds_peer", ascending=False, kind="stable")
    columns = [*SIZE, "k", "depth", "time", "time_peer", "times"]
    columns += ["cores", "cores_peer", "counted", "counted_peer"]
    headings = [*SIZE, "k", "depth", "two threads", "one thread", "ratio"]
    headings += ["cores", "on one", "errors", "on one"]
    return part(found, name, table(pairs, columns, headings), pairs=[pairs])


def scale(found: pd.DataFrame, name: str) -> Part:
    """Show time and memory by rows."""
    own = generated(found)
    rows = [
        [
            f"{row.rows:,}",
            f"{row.columns:,}",
            row.time,
            "-" if is_missing(row.seconds) else duration(row.seconds / row.rows),
            f"{8 * row.packed / MIB:.0f}",
            f"{row.packed / MIB:.1f}",
            "-" if is_missing(row.growth) else f"{row.growth / MIB:.1f}",
            "-" if is_missing(row.growth) else f"{row.by_packed:.2f}x",
        ]
        for row in own.itertuples()
    ]
    headings = ["rows", "columns", "seconds", "per row", "MiB: input", "packed bits", "the fit adds", "by packed bits"]
    return part(found, name, aligned(headings, rows))


def counting_kernel(throughputs: pd.DataFrame) -> Part:
    """Show the range over columns and word lists, a line per instruction set and level."""
    rows = [
        [
            *names,
            binary_size(own["bytes"].iloc[0]),
            span(own["gb_s"], ".3g"),
            span(own["bare_gb_s"], ".3g"),
            span(100 * own["share"], ".0f"),
        ]
        for names, own in throughputs.groupby(["isa", "level"], sort=False)
    ]
    shown = aligned(["instructions", "level", "matrix", "GB/s", "bare loop", "share in %"], rows)
    return {"table": shown, "lines": [], "findings": {}}


def every_kernel(throughputs: pd.DataFrame) -> Part:
    """Show each kernel relative to the scalar one and to the bare loop, in the first-level cache."""
    small = where(throughputs, level="L1", words="all")
    isas = list(small["isa"].unique())
    rows = []
    for name, own in small.groupby("kernel", sort=False):
        means = own.groupby("isa")[["gb_s", "share", "faster"]].agg(geometric_mean)
        texts = [f"{means['gb_s'][isas[0]]:.3g}", *(f"{means['faster'][isa]:.2f}x" for isa in isas[1:])]
        rows.append([name, *texts, *(f"{100 * means['share'][isa]:.0f}" for isa in isas)])
    headings = ["kernel", f"{isas[0]}: GB/s", *isas[1:], *(f"share in %: {isa}" for isa in isas)]
    return {"table": aligned(headings, rows), "lines": [], "findings": {}}


# In the order of the page.
PARTS = {
    "greedy": greedy,
    "raw": versus,
    "topk": versus,
    "optimal": versus,
    "penalty": penalty,
    "contree": versus,
    "fico": fico,
    "threads": threads,
    "scale": scale,
}
