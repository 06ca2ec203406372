"""Where the runs, the report and the plots are.

In: the name of a profile. Out: paths; what a command line says of the profile.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from topktree_evidence.machine import REPOSITORY as ROOT
from topktree_evidence.studies.speed.plans import FULL, QUICK

DOCS = ROOT / "docs"
FOLDER = DOCS / "benchmarks"
PROFILES = {profile.name: profile for profile in (FULL, QUICK)}  # the better one first


def runs_file(profile: str) -> Path:
    return FOLDER / f"{profile}.csv"


def kernels_file(profile: str) -> Path:
    return FOLDER / f"{profile}-kernels.csv"


def report_file(profile: str) -> Path:
    """The best profile that has been run makes the page that others point to."""
    return DOCS / "benchmarks.md" if profile == preferred() else FOLDER / f"{profile}.md"


def preferred() -> str:
    """The best profile that has been run."""
    return next((name for name in PROFILES if runs_file(name).is_file()), QUICK.name)


def profile_argument(description: str) -> str:
    """The profile that the command line asks for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--profile", choices=PROFILES, default=preferred())
    return str(parser.parse_args().profile)
