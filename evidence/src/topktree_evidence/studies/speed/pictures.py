"""The pictures of the page, each as PNG and SVG.

In: the results and the throughputs of the kernels. Out: docs/benchmarks/<profile>-<name>.{png,svg}.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ...peers import GREEDY, STREED, TOP_K
from ...pictures import COLOURS, new_figure
from ...text import geometric_mean, where
from .kernels import best, counting
from .plans import GREEDY_KS
from .results import AT_LEAST, AT_MOST, EXACTLY, MIB, binary_size, duels, tall

BLUE, ORANGE, GREEN = COLOURS[:3]
GREY = "#777777"
BOUNDS = {
    EXACTLY: ("o", "measured"),
    AT_MOST: ("<", "at most: topktree stopped at the cap"),
    AT_LEAST: (">", "at least: peer stopped at the cap"),
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


def draw(found: pd.DataFrame, throughputs: pd.DataFrame, prefix: Path) -> None:
    """Save every picture that there is data for."""
    with mpl.rc_context(STYLE):
        figures = {
            "greedy": greedy(found),
            "peers": peers(found),
            "scale": scale(found),
            "kernel": kernel(throughputs),
        }
        for name, figure in figures.items():
            if figure:
                for kind, more in (("png", {"Software": None}), ("svg", {"Date": None})):
                    figure.savefig(f"{prefix}-{name}.{kind}", dpi=150, metadata=more)


def greedy(found: pd.DataFrame) -> Any:
    """Draw the time of topktree by dataset, scikit-learn's being 1; the slowest at k = 8 first."""
    pairs = duels(found, "greedy", GREEDY)
    pairs = pairs[pairs["ratio"].notna() & pairs["finished"]]
    if not len(pairs):
        return None
    times = (1 / pairs.set_index(["dataset", "k"])["ratio"]).unstack("k")
    times = times.reindex(index=pairs["dataset"].unique(), columns=GREEDY_KS)
    times = times.loc[times["8"].fillna(1.0).sort_values(ascending=False, kind="stable").index]
    figure, ((axes,),) = new_figure(8, 1.6 + 0.27 * len(times))
    for k, colour, marker in zip(GREEDY_KS, (BLUE, ORANGE, GREEN), "os^", strict=True):
        points = times[k].dropna()
        center = geometric_mean(points)
        label = f"k = {k} (geometric mean {center:.2g})"
        axes.plot(points, times.index.get_indexer(points.index), marker, color=colour, label=label)
        axes.axvline(center, color=colour, linestyle=":", linewidth=1)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(range(len(times)), times.index)
    axes.set_ylim(-0.7, len(times) - 0.3)
    log_axis(axes.xaxis, axes.set_xscale)
    axes.set_xlabel("time of topktree / time of scikit-learn (left of 1: topktree is faster)")
    axes.set_title("One fit at depth 5 from the same Boolean matrix")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def peers(found: pd.DataFrame) -> Any:
    """Draw speed-ups over the two peers that search alike, a row of points per k and depth."""
    pairs = pd.concat([duels(found, section, peer) for section, peer in (("topk", TOP_K), ("optimal", STREED))])
    pairs = pairs.dropna(subset="ratio")
    if not len(pairs):
        return None
    pairs = pairs.assign(width=pairs["k"].map(len)).sort_values(["width", "k", "depth", "ratio"], kind="stable")
    groups = dict(list(pairs.groupby(["solver_peer", "k", "depth"], sort=False)))
    figure, ((axes,),) = new_figure(8, 1.6 + 0.42 * len(groups))
    names = []
    for i, ((peer, k, depth), own) in enumerate(groups.items()):
        names.append(f"{peer}, k = {k}, depth {depth}" if peer == TOP_K else f"{peer}, depth {depth}")
        colour = BLUE if peer == TOP_K else ORANGE
        for j, row in enumerate(own.itertuples()):
            shift = 0.3 * ((j * 0.618) % 1 - 0.5)  # apart, so that points do not hide each other
            face = colour if row.bound == EXACTLY else "white"
            axes.plot(row.ratio, i + shift, BOUNDS[row.bound][0], mfc=face, mec=colour, markersize=6)
        center = geometric_mean(own["ratio"])
        axes.plot([center, center], [i - 0.32, i + 0.32], color="black", linewidth=2)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    log_axis(axes.xaxis, axes.set_xscale)
    axes.set_xlabel("times faster than the peer")
    axes.set_title("The same search by a peer\n(one point per dataset, the bar is the geometric mean)")
    for bound, (marker, meaning) in BOUNDS.items():
        if bound in set(pairs["bound"]):
            axes.plot([], [], marker, mec=GREY, mfc=GREY if bound == EXACTLY else "white", label=meaning)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def scale(found: pd.DataFrame) -> Any:
    """Draw seconds and memory by rows."""
    own = tall(found)
    if len(own) < 2:
        return None
    rows, seconds = own["rows"].to_numpy(float), own["seconds"].to_numpy()
    packed, added = own["packed"].to_numpy() / MIB, own["growth"].to_numpy() / MIB
    figure, ((left, right),) = new_figure(9, 4.6, columns=2)
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


def kernel(throughputs: pd.DataFrame) -> Any:
    """Draw GB/s of the counting kernel and a bare loop by cache level, for the instructions that this machine takes."""
    if not len(throughputs):
        return None
    own = best(counting(throughputs))
    levels, columns = own.groupby("level", sort=False)["bytes"].first(), sorted(own["columns"].unique())
    figure, ((axes,),) = new_figure(8, 4.2)
    for (i, level), (j, n_columns) in product(enumerate(levels.index), enumerate(columns)):
        here = where(own, level=level, columns=n_columns).set_index("words")
        every, half = here["gb_s"][["all", "half"]]
        x = i + 0.18 * (j - (len(columns) - 1) / 2)
        bare = geometric_mean(here["bare_gb_s"])
        axes.plot(x, bare, "_", color=GREY, markersize=14, markeredgewidth=2)
        axes.plot(x, every, "o", color=BLUE)
        axes.plot(x, half, "^", color=ORANGE)
        axes.annotate(str(n_columns), (x, max(bare, every)), (0, 8), textcoords="offset points", ha="center", size=7)
    for label, colour, marker in (
        ("bare loop (above: number of columns)", GREY, "_"),
        ("kernel, every word in the list", BLUE, "o"),
        ("kernel, half of the words in the list", ORANGE, "^"),
    ):
        axes.plot([], [], marker, color=colour, markersize=8, markeredgewidth=2, label=label)
    axes.set_xticks(range(len(levels)), [f"{level}\n({binary_size(size)})" for level, size in levels.items()])
    axes.set_xlim(-0.5, len(levels) - 0.5)
    log_axis(axes.yaxis, axes.set_yscale)
    axes.set_ylim(top=2 * axes.get_ylim()[1])  # room for the legend
    axes.set_ylabel("GB/s of matrix words, AND + popcount")
    axes.set_title(f"The counting kernel ({own['isa'].iloc[0]}) by where the matrix lies")
    axes.legend(loc="upper right", frameon=False)
    return figure


def log_axis(axis: Any, set_scale: Any) -> None:
    """Make an axis logarithmic, with plain numbers at 1, 2 and 5."""
    set_scale("log")
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 300 else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def short(n: float) -> str:
    """Return a number of rows in thousands or millions."""
    return f"{n / 1e6:g} M" if n >= 1e6 else f"{n / 1e3:g} k"
