"""Two ways compared on the same splits, and on the same datasets: differences with a test.

In: accuracies by seed, or rows of a summary that have a difference and its p-value. Out: means, p-values, counts.
The one idea: the training rows of the splits overlap, so that their differences vary less than those of new data would;
the corrected resampled t-test (Nadeau and Bengio, 2003) widens the variance by test rows over training rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

import numpy as np
from scipy.stats import rankdata, t

from topktree_evidence.study import Row

LEVEL = 0.05  # p-values below are called clear
ROUNDING = 1e-9  # differences of accuracies smaller than this are none


def paired_test(differences: Sequence[float], test_share: float) -> float | None:
    """Two-sided p-value of a mean over splits; `test_share` is test rows over training rows. None of one split."""
    n = len(differences)
    if n < 2:
        return None
    mean, spread = fmean(differences), stdev(differences)
    if spread <= ROUNDING:
        return 1.0 if abs(mean) <= ROUNDING else 0.0
    return float(2 * t.sf(abs(mean) / (spread * sqrt(1 / n + test_share)), n - 1))


def compared(
    mine: Mapping[int, float], others: Mapping[int, float], test_share: float
) -> tuple[float | None, float | None]:
    """The mean difference on the splits that both have, and its p-value, both rounded for a table."""
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
        """1 and -1 where the datasets together are clear about it, 0 where they are not."""
        if self.p is None or self.p >= LEVEL:
            return 0
        return 1 if self.mean > 0 else -1


def over_datasets(rows: Sequence[Row], name: str) -> Comparison:
    """The columns `name` and `name`_p of rows of different datasets; those without a difference do not count."""
    found = sorted((row for row in rows if row[name] is not None), key=lambda row: -row[name])
    up, down = ([row for row in found if sign * row[name] > ROUNDING] for sign in (1, -1))
    return Comparison(
        n=len(found),
        tested=sum(row[f"{name}_p"] is not None for row in found),
        mean=fmean(row[name] for row in found) if found else 0.0,
        ahead=len(up),
        behind=len(down),
        clearly_ahead=tuple(row["dataset"] for row in up if _is_clear(row, name)),
        clearly_behind=tuple(row["dataset"] for row in reversed(down) if _is_clear(row, name)),
        p=_signed_rank(up + down, name),
    )


def _is_clear(row: Row, name: str) -> bool:
    return row[f"{name}_p"] is not None and row[f"{name}_p"] < LEVEL


def _signed_rank(rows: Sequence[Row], name: str) -> float | None:
    """Of the differences that are not 0. Six are the fewest that can be clear."""
    return signed_rank_test([row[name] for row in rows]) if len(rows) >= 6 else None


def signed_rank_test(differences: Sequence[float]) -> float:
    """Wilcoxon's two-sided p-value, exact with ties as well: ranks count in halves, all signs are gone through."""
    halves = np.rint(2 * rankdata(np.abs(differences).round(9))).astype(int)
    ways = np.ones(1)  # that sums of positive ranks come about, over 2**n
    for rank in halves:
        ways = (np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))) / 2
    positive = halves[np.array(differences) > 0].sum()
    return float(min(1.0, 2 * min(ways[: positive + 1].sum(), ways[positive:].sum())))
