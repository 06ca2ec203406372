"""The kernels against the scalar ones and bare loops: runs kernel_throughput, keeps and reads its CSV.

In: the program that CMake builds with TOPKTREE_BENCHMARKS=ON. Out: a table of GB/s, a row per instruction set, kernel,
cache level, number of columns and word list ("all" words are in it, or "half").
"""

from __future__ import annotations

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pandas as pd

from ... import machine
from ...store import read_table

PROGRAM = machine.REPOSITORY / "build" / "benchmarks" / "kernel_throughput"


def measure(path: Path, samples: int) -> None:
    """Measure, unless the file has the measurements of the code at hand."""
    origin = {"engine": machine.engine(), "machine": machine.description()}
    if path.is_file() and dict(read_table(path).iloc[0][list(origin)]) == origin:
        return
    done = subprocess.run([str(PROGRAM), str(samples)], capture_output=True, text=True, check=True)
    pd.read_csv(StringIO(done.stdout), dtype=str).assign(**origin).to_csv(path, index=False)


def read(path: Path) -> pd.DataFrame:
    """Return the table, empty if there is no file, with throughputs relative to the bare loop and the scalar kernel."""
    found = read_table(path)
    if not len(found):
        return found
    return found.assign(share=found["gb_s"] / found["bare_gb_s"], faster=found["gb_s"] / found["scalar_gb_s"])


def counting(throughputs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the counting kernel, one instruction set after the other."""
    own = throughputs[throughputs["kernel"] == "count"]
    return pd.concat([rows for _, rows in own.groupby("isa", sort=False)]) if len(own) else own


def best(throughputs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the instruction set that topktree takes on this machine, the last one."""
    return throughputs[throughputs["isa"] == throughputs["isa"].iloc[-1]]


if __name__ == "__main__":  # kernels.py FILE SAMPLES
    measure(Path(sys.argv[1]), int(sys.argv[2]))
