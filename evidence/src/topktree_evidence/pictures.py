"""The common parts of the pictures: a panel per dataset, a colour per k, gaps where a run was stopped.

In: tables. Out: matplotlib Figures, and their PNG and SVG files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .text import where

ALL = "all"  # of k: every column
WIDTH, HEIGHT = 3.4, 2.5  # inches of a panel
ENTRY = 1.6  # inches of an entry of the legend
KINDS = (".png", ".svg")
MARKERS = "osD^vP*Xph"
# Okabe and Ito's colours, which most people can tell apart, without the yellow that is too pale for a line.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#999999", "#000000")
GREEDY = {"color": "#d55e00", "marker": "o", "markersize": 4, "linewidth": 1.8, "zorder": 3}
OPTIMAL = {"color": "black", "linestyle": "--", "marker": "*", "markersize": 5}
SHIFT = 0.03  # of lines that would hide each other

Draw = Callable[[Any, pd.DataFrame], None]  # onto the axes of a panel


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Any, Any]:
    """Return a figure and the array of its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def panels(name: str, cells: Mapping[str, pd.DataFrame], draw: Draw, x_label: str, y_label: str) -> dict[str, Any]:
    """Return a figure by its name: a panel for each title with its rows, one legend above all. No cells, no figure."""
    if not cells:
        return {}
    n_columns = 3 if len(cells) in (5, 6) else min(4, len(cells))
    n_rows = ceil(len(cells) / n_columns)
    figure, axes = new_figure(max(WIDTH * n_columns, 6.5), HEIGHT * n_rows + 0.8, n_rows, n_columns)
    for place, (title, rows) in zip(axes.ravel(), cells.items(), strict=False):
        draw(place, rows)
        place.set_title(title, fontsize=10)
        place.grid(alpha=0.3)
        place.tick_params(labelsize=8)
        place.set_xlabel(x_label, fontsize=9)
    for place in axes.ravel()[len(cells) :]:
        place.set_axis_off()
    figure.supylabel(y_label, fontsize=10)
    add_legend(figure, axes, int(figure.get_figwidth() / ENTRY))
    return {name: figure}


def by_dataset(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of every dataset, in the order of the table."""
    return dict(iter(rows.groupby("dataset", sort=False)))


def add_legend(figure: Any, axes: Any, most: int) -> None:
    """Add one legend for all axes, with at most `most` entries in a row."""
    places = axes.ravel()
    shown = {label: line for place in places for line, label in zip(*place.get_legend_handles_labels(), strict=True)}
    if shown:
        columns = min(len(shown), most)
        figure.legend(shown.values(), shown.keys(), loc="outside upper center", ncols=columns, fontsize=9)


def style(k: Any, ks: Sequence[Any]) -> dict[str, Any]:
    """Return the look of the line of a k: orange for greedy, from blue to yellow as k grows, black for all columns."""
    if k in (1, ALL):
        return GREEDY if k == 1 else OPTIMAL
    from matplotlib import colormaps

    numbers = [value for value in ks if value not in (1, ALL)]
    place = numbers.index(k)
    colour = colormaps["viridis"](0.92 * place / max(len(numbers) - 1, 1))
    return {"color": colour, "marker": MARKERS[(place + 1) % len(MARKERS)], "markersize": 4, "linewidth": 1.2}


def name_of(k: Any) -> str:
    """Return the name of a line in a legend."""
    return "optimal (k = all)" if k == ALL else f"Top-{k}"


def in_order(ks: Iterable[Any]) -> list[Any]:
    """Return the different values of k: numbers first, then "all"."""
    return sorted(set(ks), key=lambda k: (k == ALL, 0 if k == ALL else k))


def error_line(place: Any, rows: pd.DataFrame, x: str, part: str, **look: Any) -> None:
    """Draw means of training or test accuracy, with two standard deviations of the mean over the splits."""
    bars = 2 * rows[f"{part}_sd"].to_numpy(float) / np.sqrt(rows["splits"].to_numpy(float))
    place.errorbar(rows[x].to_numpy(float), rows[f"{part}_mean"].to_numpy(float), yerr=bars, elinewidth=0.6, **look)


def accuracy_lines(place: Any, rows: pd.DataFrame, ks: Sequence[Any]) -> None:
    """Draw test accuracy against depth, a line for every k."""
    for i, k in enumerate(ks):
        of_k = where(rows, k=k).sort_values("depth")
        if of_k["test_mean"].notna().any():
            shifted = of_k.assign(depth=of_k["depth"] + SHIFT * (i - (len(ks) - 1) / 2))
            error_line(place, shifted, "depth", "test", label=name_of(k), **style(k, ks))
    integers_only(place)


def integers_only(place: Any) -> None:
    """Let the x axis have ticks at whole numbers only."""
    place.xaxis.get_major_locator().set_params(integer=True)


def label_datasets(place: Any, names: Sequence[str], x_label: str, **options: Any) -> None:
    """Give every dataset its own line, and mark where there is no difference."""
    place.axvline(0, color="black", linewidth=0.8)
    place.set_yticks(range(len(names)), names, fontsize=8)
    place.set_xlabel(x_label, **options)
    place.grid(axis="x", alpha=0.3)


def label_leaves(place: Any, x_label: str, y_label: str) -> None:
    """Label accuracy against leaves; the logarithmic axis has plain numbers instead of powers of ten."""
    place.set_xscale("log")
    place.xaxis.set_major_formatter("{x:g}")
    place.xaxis.set_minor_formatter("{x:g}")
    place.tick_params(axis="x", which="both", labelsize=8)
    place.set_xlabel(x_label)
    place.set_ylabel(y_label)
    place.grid(alpha=0.3)


def save(figure: Any, path: Path) -> None:
    """Save a figure as PNG and SVG; the same figure gives the same files."""
    from matplotlib import rc_context
    from PIL import Image  # matplotlib brings it

    pixels = BytesIO()
    with rc_context({"svg.hashsalt": path.name, "svg.fonttype": "none"}):
        figure.savefig(pixels, format="png", dpi=110)
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    # Lines on white need no more than 128 colours, and a third of the bytes.
    Image.open(pixels).convert("RGB").quantize(128).save(path.with_suffix(".png"), optimize=True)
