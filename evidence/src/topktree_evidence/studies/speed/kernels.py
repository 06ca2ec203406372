"""The counting kernels against bare loops: runs kernel_throughput, keeps and reads its CSV.

In: the program that CMake builds with TOPKTREE_BENCHMARKS=ON. Out: Throughputs, one per kernel, cache level, number of
columns and word list.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from topktree_evidence import machine

PROGRAM = machine.REPOSITORY / "build" / "benchmarks" / "kernel_throughput"
LEVELS = ("L1", "L2", "L3", "DRAM")


@dataclass(frozen=True)
class Throughput:
    """GB/s of matrix words."""

    kernel: str
    level: str
    size: int  # of the matrix, bytes
    columns: int
    words: str  # "all" are in the list, or "half"
    counted: float
    bare: float

    @property
    def share(self) -> float:
        """The share of the bare loop's throughput."""
        return self.counted / self.bare


def run(path: Path, samples: int, fresh: bool) -> None:
    """Measure, unless the file has the measurements of the code at hand."""
    origin = machine.engine(), machine.description()
    if not fresh and path.is_file() and origin_of(path) == origin:
        return
    done = subprocess.run([str(PROGRAM), str(samples)], capture_output=True, text=True, check=True)
    header, *lines = [line.split(",") for line in done.stdout.splitlines()]
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*header, "engine", "machine"])
        writer.writerows([*line, *origin] for line in lines)


def origin_of(path: Path) -> tuple[str, str]:
    """Return the code and the machine of a file."""
    with path.open(newline="") as stream:
        record = next(csv.DictReader(stream))
    return record["engine"], record["machine"]


def read(path: Path) -> list[Throughput]:
    """Return the content of the file; nothing if there is none."""
    if not path.is_file():
        return []
    with path.open(newline="") as stream:
        return [
            Throughput(
                record["kernel"],
                record["level"],
                int(record["bytes"]),
                int(record["columns"]),
                record["words"],
                float(record["kernel_gb_s"]),
                float(record["bare_gb_s"]),
            )
            for record in csv.DictReader(stream)
        ]


def best(throughputs: list[Throughput]) -> list[Throughput]:
    """Return the results of the kernel that topktree takes on this machine, the last one."""
    return [t for t in throughputs if t.kernel == throughputs[-1].kernel]


if __name__ == "__main__":  # kernels.py FILE SAMPLES
    run(Path(sys.argv[1]), int(sys.argv[2]), fresh=False)
