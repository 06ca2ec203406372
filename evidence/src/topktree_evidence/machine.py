"""The code and the machine that a measurement was made with: versions, a hash of topktree, processor and cores.

In: the name of a package. Out: text.
"""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib import import_module, metadata
from pathlib import Path

import topktree

# The repository, where this package is installed from it: some studies need its programs and the tests' oracle.
REPOSITORY = Path(__file__).resolve().parents[3]


@cache
def engine() -> str:
    """Return topktree's version and a hash that tells two states of its code apart."""
    core = import_module("topktree._core").__file__
    digest = hashlib.sha256()
    for path in [*sorted(Path(topktree.__file__).parent.rglob("*.py")), Path(str(core))]:
        digest.update(path.name.encode() + path.read_bytes())
    return f"{version('topktree')} ({digest.hexdigest()[:8]})"


@cache
def version(package: str) -> str:
    """Return the installed version; a source folder on the path has none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(version unknown)"


@cache
def description() -> str:
    """Return processor, cores and Python."""
    return f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"


@cache
def processor() -> str:
    """Return the processor's name where Linux reports it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
