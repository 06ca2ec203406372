"""Numbers into text: aligned Markdown tables, seconds, ratios and their summary.

In: results. Out: lines of Markdown that also read well on a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from measure import Result


@dataclass(frozen=True)
class Ratio:
    """How many times faster topktree was; at_least when the peer was stopped at the cap."""

    value: float
    at_least: bool = False

    def __str__(self) -> str:
        digits = f"{self.value:.1f}" if self.value >= 1 else f"{self.value:.3g}"
        return f"{'>' if self.at_least else ''}{digits}"


def ratio(ours: Result, peer: Result) -> Ratio | None:
    """None where there is nothing to divide: a run failed, or topktree itself was stopped at the cap."""
    if ours.seconds is None or peer.seconds is None or ours.capped:
        return None
    return Ratio(peer.seconds / ours.seconds, peer.capped)


def mean(ratios: Sequence[Ratio]) -> Ratio:
    """The geometric mean; a lower bound as soon as one of the ratios is."""
    return Ratio(geometric_mean(r.value for r in ratios), any(r.at_least for r in ratios))


def summary(ratios: Sequence[Ratio]) -> str:
    """Geometric mean, smallest and largest."""
    if not ratios:
        return "no cells"
    low, high = min(ratios, key=lambda r: r.value), max(ratios, key=lambda r: r.value)
    return f"geometric mean {mean(ratios)}x, smallest {low}x, largest {high}x ({len(ratios)} cells)"


def seconds(result: Result) -> str:
    if result.seconds is None:
        return "failed"
    return f"{'>' if result.capped else ''}{result.seconds:.3g}"


def errors(result: Result) -> str:
    """Errors of a tree cut short are those of the best tree it had found."""
    if result.errors is None:
        return "-"
    return f"{'<=' if result.capped else ''}{result.errors}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """An aligned Markdown table, the first column to the left and the others to the right."""
    widths = [max(3, *(len(row[i]) for row in [header, *rows])) for i in range(len(header))]
    rule = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
    lines = []
    for row in [header, rule, *rows]:
        cells = [row[0].ljust(widths[0])] + [row[i].rjust(widths[i]) for i in range(1, len(row))]
        lines.append(f"| {' | '.join(cells)} |")
    return lines
