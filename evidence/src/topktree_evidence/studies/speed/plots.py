"""The plots of the report, each as PNG and SVG.

In: results by job and throughputs of the kernels, from the CSV files. Out: docs/benchmarks/<profile>-<name>.{png,svg}.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from topktree_evidence.studies.speed.kernels import LEVELS, Throughput, best
from topktree_evidence.studies.speed.results import AT_LEAST, AT_MOST, EXACTLY, Ratio, duels
from topktree_evidence.studies.speed.sections import Found, by_rows, packed_bytes
from topktree_evidence.studies.speed.tables import MIB, binary_size

# Okabe and Ito's colours, which the colour-blind can tell apart; shapes differ as well.
BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#777777"
BOUNDS = {
    EXACTLY: ("o", "measured"),
    AT_LEAST: (">", "at least: peer stopped at the cap"),
    AT_MOST: ("<", "at most: topktree stopped at the cap"),
}
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
    "svg.hashsalt": "topktree",  # the same picture is the same file
}


def draw(found: Found, throughputs: Sequence[Throughput], profile: str, folder: Path) -> None:
    """Every plot that there is data for."""
    with mpl.rc_context(STYLE):
        figures = {
            "greedy": greedy(found),
            "peers": peers(found),
            "scale": scale(found),
            "kernel": kernel(list(throughputs)),
        }
        for name, figure in figures.items():
            if figure:
                for kind, more in (("png", {"Software": None}), ("svg", {"Date": None})):
                    figure.savefig(folder / f"{profile}-{name}.{kind}", dpi=150, metadata=more)


def greedy(found: Found) -> Figure | None:
    """Time of topktree by dataset, scikit-learn's being 1."""
    cells = duels(found, "greedy", "scikit-learn")
    by_dataset: dict[str, dict[str, float]] = {}
    for duel in cells:
        if duel.ratio and duel.ours.finished:
            by_dataset.setdefault(duel.job.dataset, {})[duel.job.k] = 1 / duel.ratio.value
    if not by_dataset:
        return None
    names = sorted(by_dataset, key=lambda name: by_dataset[name].get("8", 1.0), reverse=True)
    figure = Figure(figsize=(8, 1.6 + 0.27 * len(names)), layout="constrained")
    axes = figure.subplots()
    for k, colour, marker in (("1", BLUE, "o"), ("8", ORANGE, "s"), ("16", GREEN, "^")):
        points = [(by_dataset[name][k], i) for i, name in enumerate(names) if k in by_dataset[name]]
        center = geometric_mean(x for x, _ in points)
        axes.plot(*zip(*points, strict=True), marker, color=colour, label=f"k = {k} (geometric mean {center:.2g})")
        axes.axvline(center, color=colour, linestyle=":", linewidth=1)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.7, len(names) - 0.3)
    log_axis(axes.xaxis, axes.set_xscale)
    axes.set_xlabel("time of topktree / time of scikit-learn (left of 1: topktree is faster)")
    axes.set_title("One fit at depth 5 from the same Boolean matrix")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def peers(found: Found) -> Figure | None:
    """Speed-ups over the two peers that search alike, a row of points per k and depth."""
    groups = peer_groups(found)
    if not groups:
        return None
    figure = Figure(figsize=(8, 1.6 + 0.42 * len(groups)), layout="constrained")
    axes = figure.subplots()
    for i, (name, ratios) in enumerate(groups.items()):
        colour = BLUE if name.startswith("pytrees") else ORANGE
        for j, ratio in enumerate(sorted(ratios, key=lambda ratio: ratio.value)):
            shift = 0.3 * ((j * 0.618) % 1 - 0.5)  # apart, so that points do not hide each other
            face = colour if ratio.bound == EXACTLY else "white"
            axes.plot(ratio.value, i + shift, BOUNDS[ratio.bound][0], mfc=face, mec=colour, markersize=6)
        center = geometric_mean(ratio.value for ratio in ratios)
        axes.plot([center, center], [i - 0.32, i + 0.32], color="black", linewidth=2)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(range(len(groups)), groups)
    axes.set_ylim(len(groups) - 0.4, -0.6)
    log_axis(axes.xaxis, axes.set_xscale)
    axes.set_xlabel("times faster than the peer")
    axes.set_title("The same search by a peer\n(one point per dataset, the bar is the geometric mean)")
    for bound in sorted({ratio.bound for ratios in groups.values() for ratio in ratios}):
        marker, meaning = BOUNDS[bound]
        axes.plot([], [], marker, mec=GREY, mfc=GREY if bound == EXACTLY else "white", label=meaning)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def peer_groups(found: Found) -> dict[str, list[Ratio]]:
    """Return the ratios by peer, k and depth, in this order."""
    groups: dict[str, list[Ratio]] = {}
    for section, peer in (("topk", "pytrees-rs"), ("optimal", "pystreed")):
        for duel in sorted(duels(found, section, peer), key=lambda d: (len(d.job.k), d.job.k, d.job.depth)):
            k = f"k = {duel.job.k}, " if section == "topk" else ""
            if duel.ratio:
                groups.setdefault(f"{peer}, {k}depth {duel.job.depth}", []).append(duel.ratio)
    return groups


def scale(found: Found) -> Figure | None:
    """Seconds and memory by rows."""
    tall = by_rows(found)
    if len(tall) < 2:
        return None
    rows = np.array([result.rows for result in tall], dtype=float)
    seconds = np.array([result.seconds for result in tall], dtype=float)
    added = np.array([result.growth for result in tall], dtype=float) / MIB
    packed = np.array([packed_bytes(result.job) for result in tall]) / MIB
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(rows, seconds[0] * rows / rows[0], "-", color=GREY, linewidth=1, label="linear in rows")
    left.plot(rows, seconds, "o-", color=BLUE, label="fit")
    left.set_ylabel("seconds")
    left.set_title("Time")
    right.plot(rows, 8 * packed, "-.", color=GREY, label="the input, a byte per entry")
    right.plot(rows, 3 * packed, "--", color=GREY, label="three times the packed bits")
    right.plot(rows, packed, ":", color=GREY, label="the packed bits")
    right.plot(rows, added, "s-", color=ORANGE, label="what the fit adds")
    right.set_ylabel("MiB")
    right.set_title("Memory")
    for axes in (left, right):
        log_axis(axes.xaxis, axes.set_xscale)
        log_axis(axes.yaxis, axes.set_yscale)
        axes.set_xticks(rows, [short(n) for n in rows])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("generated rows of 100 Boolean columns")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle("k = 4, depth 5, one thread")
    return figure


def kernel(throughputs: list[Throughput]) -> Figure | None:
    """GB/s of kernel and bare loop by cache level, for the kernel that this machine takes."""
    if not throughputs:
        return None
    own = best(throughputs)
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.subplots()
    columns = sorted({t.columns for t in own})
    for (i, level), (j, n_columns) in product(enumerate(LEVELS), enumerate(columns)):
        here = {t.words: t for t in own if (t.level, t.columns) == (level, n_columns)}
        x = i + 0.18 * (j - (len(columns) - 1) / 2)
        bare = geometric_mean(t.bare for t in here.values())
        axes.plot(x, bare, "_", color=GREY, markersize=14, markeredgewidth=2)
        axes.plot(x, here["all"].counted, "o", color=BLUE)
        axes.plot(x, here["half"].counted, "^", color=ORANGE)
        top = max(bare, here["all"].counted)
        axes.annotate(str(n_columns), (x, top), (0, 8), textcoords="offset points", ha="center", size=7)
    for label, colour, marker in (
        ("bare loop (above: number of columns)", GREY, "_"),
        ("kernel, every word in the list", BLUE, "o"),
        ("kernel, half of the words in the list", ORANGE, "^"),
    ):
        axes.plot([], [], marker, color=colour, markersize=8, markeredgewidth=2, label=label)
    sizes = {t.level: binary_size(t.size) for t in own}
    axes.set_xticks(range(len(LEVELS)), [f"{level}\n({sizes[level]})" for level in LEVELS])
    axes.set_xlim(-0.5, len(LEVELS) - 0.5)
    log_axis(axes.yaxis, axes.set_yscale)
    axes.set_ylim(top=2 * axes.get_ylim()[1])  # room for the legend
    axes.set_ylabel("GB/s of matrix words, AND + popcount")
    axes.set_title(f"The counting kernel ({own[0].kernel}) by where the matrix lies")
    axes.legend(loc="upper right", frameon=False)
    return figure


def log_axis(axis: Any, set_scale: Any) -> None:
    """Logarithmic, with plain numbers at 1, 2 and 5."""
    set_scale("log")
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 300 else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def short(n: float) -> str:
    """Return a number of rows in thousands or millions."""
    return f"{n / 1e6:g} M" if n >= 1e6 else f"{n / 1e3:g} k"
