"""Two methods compared on the same splits, and on the same datasets: differences with a test.

In: accuracies by seed, or a table with differences and their p-values. Out: means, p-values, counts.
The one idea: the training rows of the splits overlap, so their differences vary less than those of new data would;
the corrected resampled t-test (Nadeau and Bengio, 2003) widens the variance by test rows over training rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

import numpy as np
import pandas as pd
from scipy.stats import rankdata, t

from .text import mean

LEVEL = 0.05  # p-values below are called clear
ROUNDING = 1e-9  # differences of accuracies smaller than this are none


def paired_test(differences: Sequence[float], test_share: float) -> float | None:
    """Return the two-sided p-value of a mean over splits; `test_share`: test over training rows. None for one."""
    n = len(differences)
    if n < 2:
        return None
    center, spread = fmean(differences), stdev(differences)
    if spread <= ROUNDING:
        return 1.0 if abs(center) <= ROUNDING else 0.0
    return float(2 * t.sf(abs(center) / (spread * sqrt(1 / n + test_share)), n - 1))


def compared(
    mine: Mapping[int, float], others: Mapping[int, float], test_share: float
) -> tuple[float | None, float | None]:
    """Return the mean difference on the splits that both have, and its p-value, both rounded for a table."""
    differences = [value - others[seed] for seed, value in mine.items() if seed in others]
    if not differences:
        return None, None
    p = paired_test(differences, test_share)
    return round(fmean(differences), 5), None if p is None else float(f"{p:.2g}")


@dataclass(frozen=True)
class Comparison:
    """Differences on many datasets."""

    n: int
    tested: int  # datasets with more than one split
    mean: float
    ahead: int
    behind: int
    clearly_ahead: tuple[str, ...]  # datasets, the largest difference first
    clearly_behind: tuple[str, ...]
    p: float | None  # of the datasets' means (Wilcoxon); None of too few

    @property
    def direction(self) -> int:
        """Return 1 or -1 if the datasets together show a clear difference, else 0."""
        if self.p is None or self.p >= LEVEL:
            return 0
        return 1 if self.mean > 0 else -1


def over_datasets(rows: pd.DataFrame, name: str) -> Comparison:
    """Compare by the columns `name` and `name`_p of rows of different datasets; rows without one do not count."""
    found = rows.dropna(subset=name).sort_values(name, ascending=False, kind="stable")
    up, down = found[found[name] > ROUNDING], found[found[name] < -ROUNDING]
    p = f"{name}_p"
    other = [*up[name], *down[name]]
    return Comparison(
        n=len(found),
        tested=int(found[p].notna().sum()),
        mean=mean(found[name]),
        ahead=len(up),
        behind=len(down),
        clearly_ahead=tuple(up["dataset"][up[p] < LEVEL]),
        clearly_behind=tuple(down["dataset"][down[p] < LEVEL][::-1]),
        p=signed_rank_test(other) if len(other) >= 6 else None,  # six are the fewest that can be clear
    )


def signed_rank_test(differences: Sequence[float]) -> float:
    """Return Wilcoxon's two-sided p-value, exact with ties as well: ranks count in halves, over all signs."""
    halves = np.rint(2 * rankdata(np.abs(differences).round(9))).astype(int)
    ways = np.ones(1)  # that sums of positive ranks come about, over 2**n
    for rank in halves:
        ways = (np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))) / 2
    positive = halves[np.array(differences) > 0].sum()
    return float(min(1.0, 2 * min(ways[: positive + 1].sum(), ways[positive:].sum())))
