"""What the pictures of the figures have in common: a panel per dataset, a colour per k, gaps where a run was stopped.

In: rows of a summary. Out: matplotlib Figures, and their PNG and SVG files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from math import ceil, nan, sqrt
from pathlib import Path
from typing import Any

from topktree_evidence.studies.paper.fits import ALL
from topktree_evidence.study import Row, Value

WIDTH, HEIGHT = 3.4, 2.5  # inches of a panel
ENTRY = 1.6  # inches of an entry of the legend
KINDS = (".png", ".svg")
MARKERS = "osD^vP*Xph"
GREEDY = {"color": "#d55e00", "marker": "o", "markersize": 4, "linewidth": 1.8, "zorder": 3}
OPTIMAL = {"color": "black", "linestyle": "--", "marker": "*", "markersize": 5}
SHIFT = 0.03  # of lines that would hide each other

Draw = Callable[[Any, str], None]  # onto the axes of a dataset


def panels(titles: Sequence[str], draw: Draw, x_label: str, y_label: str, n_columns: int = 4) -> Any:
    """A figure with a panel for every title, one legend above them all."""
    from matplotlib.figure import Figure

    n_columns = 3 if len(titles) in (5, 6) else max(1, min(n_columns, len(titles)))
    n_rows = ceil(len(titles) / n_columns)
    figure = Figure(figsize=(max(WIDTH * n_columns, 6.5), HEIGHT * n_rows + 0.8), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for place, title in zip(axes, titles, strict=False):
        draw(place, title)
        place.set_title(title, fontsize=10)
        place.grid(alpha=0.3)
        place.tick_params(labelsize=8)
        place.set_xlabel(x_label, fontsize=9)
    for place in axes[len(titles) :]:
        place.set_axis_off()
    figure.supylabel(y_label, fontsize=10)
    shown = {label: line for place in axes for line, label in zip(*place.get_legend_handles_labels(), strict=True)}
    if not shown:
        return figure
    n_entries = int(figure.get_figwidth() / ENTRY)
    figure.legend(
        shown.values(), shown.keys(), loc="outside upper center", ncols=min(len(shown), n_entries), fontsize=9
    )
    return figure


def style(k: Value, ks: Sequence[Value]) -> dict[str, Any]:
    """How the line of a k looks: orange for greedy, from blue to yellow as k grows, black for all columns."""
    if k in (1, ALL):
        return GREEDY if k == 1 else OPTIMAL
    from matplotlib import colormaps

    numbers = [value for value in ks if value not in (1, ALL)]
    place = numbers.index(k)
    colour = colormaps["viridis"](0.92 * place / max(len(numbers) - 1, 1))
    return {"color": colour, "marker": MARKERS[(place + 1) % len(MARKERS)], "markersize": 4, "linewidth": 1.2}


def name_of(k: Value) -> str:
    """Of a line, in a legend."""
    return "optimal (k = all)" if k == ALL else f"Top-{k}"


def in_order(ks: set[Value]) -> list[Value]:
    """Numbers first, then "all"."""
    return sorted(ks, key=lambda k: (not isinstance(k, int), k if isinstance(k, int) else 0))


def line(rows: Sequence[Row], x: str, y: str) -> tuple[list[float], list[float]]:
    """Points of a line, NaN where there is no value."""
    ordered = sorted(rows, key=lambda row: number(row[x]))
    return [number(row[x]) for row in ordered], [number(row[y]) for row in ordered]


def error_bars(rows: Sequence[Row], x: str, part: str) -> list[float]:
    """Two standard deviations of the mean over the splits."""
    ordered = sorted(rows, key=lambda row: number(row[x]))
    return [2 * number(row[f"{part}_sd"]) / sqrt(number(row["splits"])) for row in ordered]


def number(value: Value) -> float:
    """A value to draw."""
    return nan if value is None or isinstance(value, str) else float(value)


def accuracy_lines(place: Any, rows: Sequence[Row], ks: Sequence[Value]) -> None:
    """Test accuracy against depth, a line for every k."""
    for i, k in enumerate(ks):
        of_k = [row for row in rows if row["k"] == k]
        depths, accuracy = line(of_k, "depth", "test_mean")
        if any(value == value for value in accuracy):
            shifted = [depth + SHIFT * (i - (len(ks) - 1) / 2) for depth in depths]
            bars = error_bars(of_k, "depth", "test")
            place.errorbar(shifted, accuracy, yerr=bars, label=name_of(k), elinewidth=0.6, **style(k, ks))
    place.xaxis.get_major_locator().set_params(integer=True)


def save(figure: Any, path: Path) -> None:
    """As PNG and SVG; the same figure gives the same files."""
    from matplotlib import rc_context
    from PIL import Image  # matplotlib brings it

    pixels = BytesIO()
    with rc_context({"svg.hashsalt": path.name, "svg.fonttype": "none"}):
        figure.savefig(pixels, format="png", dpi=110)
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    # Lines on white need no more than 128 colours, and a third of the bytes.
    Image.open(pixels).convert("RGB").quantize(128).save(path.with_suffix(".png"), optimize=True)
