"""The benchmark suite: measures topktree and its peers, then writes the report. `make bench` runs it.

In: a folder of <name>.csv.gz datasets. Out: rows appended to docs/benchmarks/<profile>.csv, and from these the Markdown
and the plots. What the file has of the code at hand is not measured again, so a stopped run goes on where it was.
Exit code 1: training errors are wrong. 2: data or a package is missing. A target missed is reported and no failure.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from importlib import util
from pathlib import Path

from topktree_evidence import machine
from topktree_evidence.studies.speed import kernels
from topktree_evidence.studies.speed.files import PROFILES, kernels_file, preferred, runs_file
from topktree_evidence.studies.speed.plans import FULL, QUICK, SECTIONS, Cell, Profile, plan
from topktree_evidence.studies.speed.runs import is_current, recall, remember
from topktree_evidence.studies.speed.suite import Data, origin, progress, run

MODULES = ("topktree", "sklearn", "pytrees", "pystreed", "gosdt", "pycontree", "matplotlib")
KERNEL = "kernel"  # a section that is a program of its own
GIB = 1 << 30


def arguments() -> argparse.Namespace:
    beside = machine.REPOSITORY.parent / "shared" / "datasets"
    data = Path(os.environ.get("TOPKTREE_DATA") or beside)
    names = ", ".join([*SECTIONS, KERNEL])
    parser = argparse.ArgumentParser(description="topktree against its peers")
    parser.add_argument("--full", action="store_true", help="everything, with long caps: hours; else minutes")
    parser.add_argument("--fresh", action="store_true", help="measure again what the file has")
    parser.add_argument("--only", type=listed, default=[], metavar="SECTIONS", help=f"of {names}")
    parser.add_argument("--datasets", type=listed, default=[], metavar="NAMES", help="only these")
    parser.add_argument("--data", type=Path, default=data, help="folder of <name>.csv.gz files, else $TOPKTREE_DATA")
    parser.add_argument("--memory", type=float, default=8.0, help="GiB that a process may ask for")
    parser.add_argument("--report", action="store_true", help="measure nothing, only write the report")
    args = parser.parse_args()
    if unknown := set(args.only) - {*SECTIONS, KERNEL}:
        parser.error(f"--only has {', '.join(sorted(unknown))}; allowed are {names}")
    return args


def listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def obstacle(args: argparse.Namespace) -> str | None:
    """Why the benchmark cannot run, if it cannot."""
    missing = [module for module in MODULES if util.find_spec(module) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (peers: pip install -r benchmarks/requirements.txt)"
    if not args.data.is_dir():
        return f"no folder {args.data}: set --data or $TOPKTREE_DATA to the folder of <name>.csv.gz files"
    if KERNEL in (args.only or [KERNEL]) and not kernels.PROGRAM.is_file():
        return f"no program {kernels.PROGRAM}: `make bench` builds it"
    return None


def select(profile: Profile, args: argparse.Namespace) -> list[Cell]:
    """The cells of the chosen sections and datasets."""
    cells = [cell for cell in plan(profile) if not args.only or cell.jobs[0].section in args.only]
    return [cell for cell in cells if not args.datasets or cell.jobs[0].dataset in args.datasets]


def forget(path: Path, profile: Profile, selected: Sequence[Cell], fresh: bool) -> None:
    """Take rows out of the file that are to be measured again, or that the profile does not have any more."""
    planned = {job for cell in plan(profile) for job in cell.all_jobs()}
    chosen = {job for cell in selected for job in cell.all_jobs()}
    kept = {}
    for job, row in recall(path).items():
        is_good = not fresh and is_current(job, row, origin(job))
        if job in planned and (is_good or job not in chosen):
            kept[job] = row
    remember(path, kept)


def measure(profile: Profile, args: argparse.Namespace) -> None:
    """All chosen sections."""
    path = runs_file(profile.name)
    selected = select(profile, args)
    forget(path, profile, selected, args.fresh)
    with tempfile.TemporaryDirectory() as folder:
        run(selected, path, Data(args.data, Path(folder)), int(args.memory * GIB))
    if KERNEL in (args.only or [KERNEL]) and not args.datasets:
        progress("kernel: all kernels of this machine")
        kernels.run(kernels_file(profile.name), profile.kernel_samples, args.fresh)


def main() -> int:
    args = arguments()
    profile = FULL if args.full else QUICK
    if args.report:
        profile = FULL if args.full else PROFILES[preferred()]
    else:
        if problem := obstacle(args):
            progress(f"bench.py: {problem}")
            return 2
        try:
            measure(profile, args)
        except FileNotFoundError as missing:
            progress(f"bench.py: {missing}")
            return 2
    from topktree_evidence.studies.speed.report import (
        write,  # here: the processes that measure load this file, and need no matplotlib
    )

    return write(profile.name)


if __name__ == "__main__":
    sys.exit(main())
