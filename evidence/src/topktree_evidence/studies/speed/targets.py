"""The targets: what each asks for, what was reached, and whether that is enough.

In: the results and the throughputs of the kernels. Out: the table at the top of the page.
The one idea: a bound decides only where it can. ">40" does not miss a bar of 50, and does not meet it.
"""

from __future__ import annotations

import pandas as pd

from ...peers import GREEDY, STREED, TOP_K
from ...text import aligned, where
from . import kernels
from .plans import FULL, WIDE
from .results import ABOUT, AT_LEAST, AT_MOST, duels, mean_ratio, tall, times

MET, MISSED, UNDECIDED = "met", "**missed**", "undecided"
LONG = 1.0  # seconds from which two threads must be faster

Answer = tuple[str, str, int] | None  # what was reached, the verdict, the number of cells; None: not measured


def target_table(found: pd.DataFrame, throughputs: pd.DataFrame) -> str:
    """Return a line per target: its cells are those that were measured, of those that the full profile has."""
    topk, optimal, raw = duels(found, "topk", TOP_K), duels(found, "optimal", STREED), duels(found, "raw", GREEDY)
    greedy = {k: where(duels(found, "greedy", GREEDY), k=k) for k in ("1", "8", "16")}
    two_threads = duels(found, "threads")
    is_long = two_threads["seconds_peer"] >= LONG
    fico = where(found, section="fico")
    slower, adds, wide = scale(found)
    n = {section: len(searches) for section, searches in FULL.searches.items()}
    targets: list[tuple[str, str, Answer, int | None]] = [
        (
            "k = 8, depth 5, no slower than scikit-learn on the same matrix",
            "1x",
            in_the_mean(greedy["8"], 1.0),
            n["greedy"],
        ),
        (
            "k = 16, depth 5, time as a multiple of scikit-learn's",
            "under 10x",
            not_longer(greedy["16"], 10.0),
            n["greedy"],
        ),
        ("k = 1 faster than scikit-learn on the same matrix", "15x", in_the_mean(greedy["1"], 15.0), n["greedy"]),
        ("k = 1 faster than scikit-learn on raw numbers", "3x", in_the_mean(raw, 3.0), n["raw"]),
        ("Top-k faster than pytrees-rs", "250x", in_the_mean(topk, 250.0), n["topk"]),
        ("Top-k faster than pytrees-rs, every cell", "50x", in_every_cell(topk, 50.0), n["topk"]),
        ("optimal trees faster than pystreed", "10x", in_the_mean(optimal, 10.0), n["optimal"]),
        ("optimal trees no slower than pystreed, every cell", "1x", in_every_cell(optimal, 1.0), n["optimal"]),
        ("every optimum that both prove is the same", "all", same_optima(optimal), n["optimal"]),
        ("FICO, every midpoint, k = 16, depth 5", "5 s", in_seconds(where(fico, depth=5), 5.0), 1),
        ("FICO, every midpoint, k = 16, depth 6", "60 s", in_seconds(where(fico, depth=6), 60.0), 1),
        ("two threads faster than one, searches of 1 s and more", "1.7x", in_the_mean(two_threads[is_long], 1.7), None),
        ("two threads against one, shorter searches", "0.95x", in_every_cell(two_threads[~is_long], 0.95), None),
        ("time per row, most rows against fewest", "1.2x", slower, n["scale"]),
        ("the fit adds to the memory, by packed bits, most rows", "3x", adds, n["scale"]),
        ("2,000 rows of 50,000 columns", "works", wide, n["scale"]),
        ("counting kernel against a bare loop, every cache level", "60%", in_every_level(throughputs, 0.6), None),
        ("every kernel faster than the scalar one", "0.95x", in_every_kernel(throughputs, 0.95), None),
    ]
    lines = []
    for text, bar, answer, total in targets:
        reached, verdict, n_cells = answer or ("not measured", UNDECIDED, 0)
        lines.append([text, bar, reached, verdict, f"{n_cells} of {total}" if total else str(n_cells)])
    return aligned(["target", "bar", "reached", "verdict", "cells"], lines)


def decided(ratio: float, bound: str, bar: float) -> str:
    """Tell whether a ratio of at least `bar` was reached."""
    if ratio >= bar:
        return UNDECIDED if bound in (AT_MOST, ABOUT) else MET
    return UNDECIDED if bound in (AT_LEAST, ABOUT) else MISSED


def in_the_mean(pairs: pd.DataFrame, bar: float) -> Answer:
    """Ask for a geometric mean."""
    own = pairs.dropna(subset="ratio")
    reached = mean_ratio(own)
    return (f"{times(*reached)}x", decided(*reached, bar), len(own)) if len(own) else None


def not_longer(pairs: pd.DataFrame, most: float) -> Answer:
    """Ask for a mean time of at most `most` times the peer's."""
    if not pairs["ratio"].notna().any():
        return None
    ratio, bound = mean_ratio(pairs)
    return f"{1 / ratio:.2f}x", decided(ratio, bound, 1 / most), len(pairs)


def in_every_cell(pairs: pd.DataFrame, bar: float) -> Answer:
    """Ask for a smallest ratio: open if both stopped at the cap, missed if topktree has no answer."""
    own = pairs.dropna(subset="ratio")
    if not len(own):
        return None
    verdicts = {decided(row.ratio, row.bound, bar) for row in own.itertuples()}
    both_capped = (pairs["capped"] & pairs["capped_peer"]).sum()
    if both_capped:
        verdicts.add(UNDECIDED)
    if pairs["seconds"].isna().any():
        verdicts.add(MISSED)
    below = (own["ratio"] < bar).sum()
    reached = f"smallest {own.loc[own['ratio'].idxmin(), 'times']}" + (f", {below} below" if below else "")
    reached += f", {both_capped} where both were stopped" if both_capped else ""
    return reached, next(verdict for verdict in (MISSED, UNDECIDED, MET) if verdict in verdicts), len(pairs)


def same_optima(pairs: pd.DataFrame) -> Answer:
    """Ask for equal errors where both proved an optimum."""
    both = pairs[pairs["finished"] & pairs["finished_peer"]]
    equal = (both["errors"] == both["errors_peer"]).sum()
    return (f"{equal} of {len(both)}", MET if equal == len(both) else MISSED, len(both)) if len(both) else None


def in_seconds(own: pd.DataFrame, most: float = float("inf"), n_cells: int = 1) -> Answer:
    """Ask for a search that finishes within `most` seconds."""
    if not len(own):
        return None
    row = own.iloc[0]
    is_met = row["finished"] and row["seconds"] <= most
    return row["time"].split(" ±")[0], MET if is_met else MISSED, n_cells


def scale(found: pd.DataFrame) -> tuple[Answer, Answer, Answer]:
    """Ask for time in proportion to the rows, memory in proportion to the packed bits, and a fit to many columns."""
    wide, own = where(found, section="scale", dataset=WIDE), tall(found)
    n_cells = len(own) + len(wide)
    if len(own) < 2:
        return None, None, in_seconds(wide, n_cells=n_cells)
    first, last = own.iloc[0], own.iloc[-1]
    slower, added = (last["seconds"] / last["rows"]) / (first["seconds"] / first["rows"]), last["by_packed"]
    return (
        (f"{slower:.2f}x ({last['rows']:,} rows)", MET if slower <= 1.2 else MISSED, n_cells),
        (f"{added:.2f}x ({last['rows']:,} rows)", MET if added <= 3 else MISSED, n_cells),
        in_seconds(wide, n_cells=n_cells),
    )


def in_every_level(throughputs: pd.DataFrame, bar: float) -> Answer:
    """Ask for a share of the bare loop's throughput, of the counting kernel that this machine takes."""
    if not len(throughputs):
        return None
    own = kernels.best(kernels.counting(throughputs))
    smallest = own.loc[own["share"].idxmin()]
    reached = f"smallest {100 * smallest['share']:.0f}% ({smallest['isa']}, {smallest['level']})"
    return reached, MET if smallest["share"] >= bar else MISSED, len(own)


def in_every_kernel(throughputs: pd.DataFrame, bar: float) -> Answer:
    """Ask for a multiple of the scalar kernel's throughput, of all kernels and instruction sets."""
    if not len(throughputs):
        return None
    own = throughputs[throughputs["isa"] != throughputs["isa"].iloc[0]]
    smallest = own.loc[own["faster"].idxmin()]
    reached = f"smallest {smallest['faster']:.2f}x ({smallest['isa']}, {smallest['kernel']})"
    return reached, MET if smallest["faster"] >= bar else MISSED, len(own)
