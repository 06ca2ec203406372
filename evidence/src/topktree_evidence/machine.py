"""What a measurement was made with and on: versions, topktree's sources, the machine.

In: the name of a package. Out: text.
"""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("CMakeLists.txt", "cpp/**/*.[ch]pp", "src/topktree/*.py")


@cache
def engine() -> str:
    """topktree's version, and what tells two states of its sources apart."""
    digest = hashlib.sha256()
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            digest.update(path.name.encode() + path.read_bytes())
    return f"{version('topktree')} ({digest.hexdigest()[:8]})"


@cache
def version(package: str) -> str:
    """As installed; a source folder on the path has none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(version unknown)"


@cache
def description() -> str:
    """Processor, cores and Python."""
    return f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def processor() -> str:
    """The processor's name where Linux tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
