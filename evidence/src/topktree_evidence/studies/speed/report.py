"""benchmarks.md: the targets, and a section with a table and a plot for each comparison.

In: the runs of a profile and the throughputs of the kernels. Out: the page (templates/benchmarks.md) and its plots.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ... import pages
from ...text import Tables, aligned
from . import kernels, plots
from .plans import FULL, QUICK, Profile, plan
from .results import results
from .runs import OURS, Job, Row, Rows, rows_of
from .sections import sections
from .targets import Target, targets

BUSY = 0.9  # of a core: a run on one thread that got less was disturbed
STUDY_OF = {"speed-full": FULL, "speed": QUICK}  # the better one first


def write_pages(out: Path, found: Tables) -> tuple[list[Path], list[str]]:
    """Write a page per profile that was run; the best is the one that other pages point to."""
    written: list[Path] = []
    wrong: list[str] = []
    for name, profile in STUDY_OF.items():
        if len(found[name]):
            path = out / "benchmarks" / f"{profile.name}.md" if written else out / "benchmarks.md"
            wrong += write(path, out / "benchmarks", profile, rows_of(found[name]))
            written.append(path)
    return written, wrong


def write(path: Path, folder: Path, profile: Profile, rows: Rows) -> list[str]:
    """Write the page and the plots of a profile; return training errors that cannot be right."""
    rows = {job: rows[job] for cell in plan(profile) for job in cell.all_jobs() if job in rows}
    throughputs = kernels.read(folder / f"{profile.name}-kernels.csv")
    found = results(rows)
    parts, reached = sections(found, throughputs), targets(found, throughputs)
    plots.draw(found, throughputs, profile.name, folder)
    pages.write(
        path,
        "benchmarks",
        made_from=made_from(profile.name, rows.items()),
        targets=target_table(reached),
        caps=caps(profile),
        busy=busy(rows),
        parts=parts,
        prefix=f"{os.path.relpath(folder, path.parent)}/{profile.name}",
    )
    return [sentence for part in parts for sentence in part.findings.wrong]


def caps(profile: Profile) -> str:
    """Return the caps of a profile in words."""
    same = profile.cap == profile.fico_cap
    return f"{profile.cap:g} s" if same else f"{profile.cap:g} s ({profile.fico_cap:g} s on FICO)"


def target_table(reached: list[Target]) -> str:
    """Return the table at the top of the page."""
    header = ["target", "bar", "reached", "verdict", "cells"]
    return aligned(header, [[t.text, t.bar, t.reached, t.verdict, t.cells] for t in reached])


def made_from(profile: str, rows: Iterable[tuple[Job, Row]]) -> str:
    """Name the profile, the machine and the versions."""
    machines, engines, peers = set(), set(), set()
    for job, (_, origin) in rows:
        machines.add(origin.machine)
        if job.solver == OURS:
            engines.add(origin.engine)
        else:
            peers.add(f"{job.solver} {origin.version}")
    used = f"topktree {', '.join(sorted(engines))}; {', '.join(sorted(peers))}"
    mixed = " Sections are of different states of topktree: `make bench` makes them one." if len(engines) > 1 else ""
    return f"Profile `{profile}`. {'; '.join(sorted(machines))}. {used}.{mixed}"


def busy(rows: Rows) -> str:
    """Say so if the machine had other things to do."""
    shares = [outcome.cpu for job, (outcome, _) in rows.items() if outcome.cpu is not None and job.threads == 1]
    disturbed = sum(share < BUSY for share in shares)
    if not disturbed:
        return ""
    return f"The machine was busy: {disturbed} of {len(shares)} runs of one thread had less than {BUSY:.0%} of a core."
