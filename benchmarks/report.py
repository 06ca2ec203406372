"""The report of a run as Markdown: the circumstances, then a section for each peer.

In: sections, and the packages measured. Out: text.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

from verdicts import Section


def report(sections: Sequence[Section], conditions: str, packages: Iterable[str]) -> str:
    """The whole text; conditions says how the numbers were taken."""
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    machine = f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    lines = ["# topktree against its peers", "", f"{machine}; {versions}.", "", conditions]
    for section in sections:
        lines += ["", f"## {section.title}", "", *section.lines]
        lines += listed("Wrong:", section.wrong) + listed("Notes:", section.notes)
    return "\n".join(lines) + "\n"


def listed(title: str, points: list[str]) -> list[str]:
    """A list with its title; nothing if it is empty."""
    return ["", title, "", *(f"- {point}" for point in points)] if points else []


def version(package: str) -> str:
    """As installed; a source folder on the path has none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(version unknown)"


def processor() -> str:
    """The processor's name where Linux tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
