"""How long numbers take to become packed columns, and how much memory that needs.

In: sizes on the command line. Out, printed: seconds of each step (median of the runs), peak memory of the process, and
what the input and the packed columns take. One thread.

    python benchmarks/binarize.py [--rows 1000000] [--features 20] [--thresholds 32] [--runs 5]
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from topktree._data.columns import by_feature, find_redundant, make_columns, pack
from topktree._data.features import Feature
from topktree._data.table import NUMBER
from topktree._data.thresholds import Target, quantile_thresholds

STEPS = ("transpose", "find thresholds", "find redundant columns", "pack")


def measure(X: np.ndarray, target: Target, n_thresholds: int) -> tuple[list[float], int]:
    """Seconds of each step, and bytes of the packed rows."""
    features = tuple(Feature(f"x{i}", NUMBER) for i in range(X.shape[1]))
    times = [time.perf_counter()]
    encoded = by_feature(X, features)
    times.append(time.perf_counter())
    columns = make_columns(features, lambda f: quantile_thresholds(encoded[f], n_thresholds, None, target))
    times.append(time.perf_counter())
    columns = columns.take(~find_redundant(encoded, columns))
    times.append(time.perf_counter())
    rows = pack(encoded, columns)
    times.append(time.perf_counter())
    return np.diff(times).tolist(), rows.nbytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("rows", 1_000_000), ("features", 20), ("thresholds", 32), ("runs", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(options.rows, options.features))
    target = Target((X[:, 0] + X[:, -1] > 0).astype(np.int32), 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    results = [measure(X, target, options.thresholds) for _ in range(options.runs)]
    for step, seconds in zip(STEPS, np.median([times for times, _ in results], axis=0), strict=True):
        print(f"{step:<24}{seconds:8.3f} s")
    print(f"{'all':<24}{np.median([sum(times) for times, _ in results]):8.3f} s")
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"input {X.nbytes / 2**20:.0f} MiB, packed {results[0][1] / 2**20:.0f} MiB, peak above the input {more:.0f} MiB"
    )


if __name__ == "__main__":
    main()
