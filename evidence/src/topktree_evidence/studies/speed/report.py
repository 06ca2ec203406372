"""The report: Markdown and plots, made from the CSV files alone.

In: docs/benchmarks/<profile>.csv and <profile>-kernels.csv. Out: docs/benchmarks.md, or docs/benchmarks/quick.md if
there is a full run besides; the plots that it shows. Nothing is measured.

    python benchmarks/report.py [--profile quick|full]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from topktree_evidence.studies.speed import kernels, plots
from topktree_evidence.studies.speed.files import (
    FOLDER,
    PROFILES,
    kernels_file,
    profile_argument,
    report_file,
    runs_file,
)
from topktree_evidence.studies.speed.plans import Profile, plan
from topktree_evidence.studies.speed.results import results
from topktree_evidence.studies.speed.runs import OURS, Job, Row, Rows, recall
from topktree_evidence.studies.speed.sections import Section, sections
from topktree_evidence.studies.speed.tables import listed, table
from topktree_evidence.studies.speed.targets import Target, targets

BUSY = 0.9  # of a core: a run on one thread that got less was disturbed


def write(profile: str) -> int:
    """Write report and plots, print the targets; 1 if training errors are wrong."""
    rows, throughputs = in_order(recall(runs_file(profile)), profile), kernels.read(kernels_file(profile))
    found = results(rows)
    parts, reached = sections(found, throughputs), targets(found, throughputs)
    plots.draw(found, throughputs, profile, FOLDER)
    path = report_file(profile)
    path.write_text(text(profile, rows, parts, reached, os.path.relpath(FOLDER, path.parent)))
    wrong = [sentence for part in parts for sentence in part.findings.wrong]
    print("\n".join([*target_table(reached), *listed("Wrong:", wrong), "", f"Report: {path}"]))
    return 1 if wrong else 0


def in_order(rows: Rows, profile: str) -> Rows:
    """The rows of the plan, as it has them: a part that was measured again stands at the end of the file."""
    return {job: rows[job] for cell in plan(PROFILES[profile]) for job in cell.all_jobs() if job in rows}


def text(profile: str, rows: Rows, parts: list[Section], reached: list[Target], folder: str) -> str:
    """The whole report; `folder` is where its plots are."""
    lines = ["# topktree against its peers", "", made_from(profile, rows.items()), "", *target_table(reached), ""]
    lines += [CONDITIONS.format(caps=caps(PROFILES[profile])), "", *busy(rows)]
    for part in parts:
        lines += ["", f"## {part.title}", ""]
        if part.plot:
            lines += [f"![{part.title}]({folder}/{profile}-{part.plot}.svg)", ""]
        lines += part.lines
        lines += listed("Wrong:", part.findings.wrong) + listed("Notes:", part.findings.notes)
    return "\n".join([*lines, "", HOW]) + "\n"


CONDITIONS = """\
Seconds of `fit` alone, one thread unless said. A process for each measurement; in it a short fit is repeated for 0.3 s,
and its median counts. Contestants take turns; shown is the median of their processes and half of the range in percent.
What takes 5 s or more is measured once. Ratio: the peer's seconds divided by topktree's. `>`: stopped at the cap of
{caps}, so that time and ratio are bounds; `<=`: the errors of the best tree by then. A search that is larger than one
that was stopped is not tried. Means are geometric, without the cells where both were stopped. MiB: the most that was
resident during the fit, Python and its packages (about 120) and the data included. Boolean columns are those of the
paper's authors; raw numbers go without the feature of electrical-grid-stability whose sign is the class. Errors are
counted from the predictions on the training rows."""

HOW = """\
## How to remake it

`make bench` measures the quick profile in less than ten minutes, `make bench BENCH=--full` the full one in hours. A
stopped run goes on where it was; `BENCH=--fresh` starts anew, `BENCH="--only topk --datasets car,nursery"` measures a
part, and `BENCH=--report` makes report and plots from the CSV files, as `python benchmarks/report.py` does;
`python benchmarks/plots.py` makes the plots alone. Rows of the same code are not measured again; those of a peer that
took 5 s or more are kept when only topktree has changed."""


def caps(profile: Profile) -> str:
    same = profile.cap == profile.fico_cap
    return f"{profile.cap:g} s" if same else f"{profile.cap:g} s ({profile.fico_cap:g} s on FICO)"


def target_table(reached: list[Target]) -> list[str]:
    header = ["target", "bar", "reached", "verdict", "cells"]
    return table(header, [[t.text, t.bar, t.reached, t.verdict, t.cells] for t in reached])


def made_from(profile: str, rows: Iterable[tuple[Job, Row]]) -> str:
    """Which profile, machine and versions."""
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


def busy(rows: Rows) -> list[str]:
    """A sentence if the machine had other things to do."""
    shares = [outcome.cpu for job, (outcome, _) in rows.items() if outcome.cpu is not None and job.threads == 1]
    disturbed = sum(share < BUSY for share in shares)
    if not disturbed:
        return []
    return [
        f"The machine was busy: {disturbed} of {len(shares)} runs of one thread had less than {BUSY:.0%} of a core."
    ]


if __name__ == "__main__":
    sys.exit(write(profile_argument("Markdown and plots from the CSV files")))
