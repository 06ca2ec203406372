"""Numbers into text: aligned Markdown tables, seconds, errors, memory, lists.

In: results. Out: lines of Markdown that also read well on a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence

from topktree_evidence.studies.speed.results import Ratio, Result, mean

MIB = 1 << 20


def duration(seconds: float) -> str:
    """Three digits in a fitting unit."""
    for unit, factor in (("µs", 1e6), ("ms", 1e3)):
        if seconds * factor < 999.5:
            return f"{three_digits(seconds * factor)} {unit}"
    return f"{three_digits(seconds)} s"


def three_digits(value: float) -> str:
    """Return three digits."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def binary_size(n_bytes: float) -> str:
    """Three digits in KiB or MiB."""
    return f"{n_bytes / MIB:.3g} MiB" if n_bytes >= 1e6 else f"{n_bytes / 1024:.3g} KiB"


def seconds(result: Result) -> str:
    """Return the median, with half of the range of the rounds in percent; or what went wrong."""
    if result.seconds is None or result.low is None or result.high is None:
        return result.status
    if result.capped:
        return f">{duration(result.seconds)}"
    spread = (result.high - result.low) / 2 / result.seconds
    return f"{duration(result.seconds)} ±{100 * spread:.0f} %" if spread else duration(result.seconds)


def errors(result: Result) -> str:
    """Errors of a search cut short are those of the best tree it had found."""
    if result.errors is None:
        return "-"
    return f"{'<=' if result.capped else ''}{result.errors}"


def megabytes(result: Result) -> str:
    """Return the peak memory in MiB."""
    return "-" if result.peak is None else f"{result.peak / MIB:.0f}"


def times(ratio: Ratio | None) -> str:
    """Return a ratio as text."""
    return f"{ratio}x" if ratio else "-"


def summary(ratios: Sequence[Ratio]) -> str:
    """Geometric mean, smallest and largest."""
    if not ratios:
        return "no cells"
    low, high = min(ratios, key=lambda r: r.value), max(ratios, key=lambda r: r.value)
    return f"geometric mean {mean(ratios)}x, smallest {low}x, largest {high}x ({len(ratios)} cells)"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return an aligned Markdown table, the first column to the left and the others to the right."""
    widths = [max(3, *(len(row[i]) for row in [header, *rows])) for i in range(len(header))]
    rule = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
    lines = []
    for row in [header, rule, *rows]:
        cells = [row[0].ljust(widths[0])] + [row[i].rjust(widths[i]) for i in range(1, len(row))]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def listed(title: str, points: Sequence[str]) -> list[str]:
    """Return a list with its title; nothing if it is empty."""
    return ["", title, "", *(f"- {point}" for point in points)] if points else []
