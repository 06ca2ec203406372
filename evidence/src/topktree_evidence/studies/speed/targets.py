"""The targets: what each asks for, what was reached, and whether that is enough.

In: results by job, throughputs of the kernels. Out: Targets, the table at the top of the report.
The one idea: a bound decides only where it can. ">40" does not miss a bar of 50, and does not meet it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topktree_evidence.studies.speed import kernels
from topktree_evidence.studies.speed.kernels import Throughput
from topktree_evidence.studies.speed.plans import FULL, SECTIONS, WIDE
from topktree_evidence.studies.speed.results import ABOUT, AT_LEAST, AT_MOST, Duel, Ratio, duels, mean
from topktree_evidence.studies.speed.sections import Found, by_rows, greedy_ratios, growth, ratios_of, thread_duels
from topktree_evidence.studies.speed.tables import duration

MET, MISSED, UNDECIDED = "met", "**missed**", "undecided"
LONG = 1.0  # seconds from which two threads must be faster


@dataclass(frozen=True)
class Target:
    """A line of the table."""

    text: str
    bar: str
    reached: str
    verdict: str
    cells: str  # how many of those that the full profile has


def targets(found: Found, throughputs: Sequence[Throughput]) -> list[Target]:
    """All of them, in order."""
    topk, optimal = duels(found, "topk", "pytrees-rs"), duels(found, "optimal", "pystreed")
    raw = duels(found, "raw", "scikit-learn")
    greedy = {k: [d for d in duels(found, "greedy", "scikit-learn") if d.job.k == k] for k in ("1", "8", "16")}
    return [
        in_the_mean("k = 8, depth 5, no slower than scikit-learn on the same matrix", greedy["8"], 1.0, "greedy"),
        not_longer(found, greedy["16"]),
        in_the_mean("k = 1 faster than scikit-learn on the same matrix", greedy["1"], 15.0, "greedy"),
        in_the_mean("k = 1 faster than scikit-learn on raw numbers", raw, 3.0, "raw"),
        in_the_mean("Top-k faster than pytrees-rs", topk, 250.0, "topk"),
        in_every_cell("Top-k faster than pytrees-rs, every cell", topk, 50.0, "topk"),
        in_the_mean("optimal trees faster than pystreed", optimal, 10.0, "optimal"),
        in_every_cell("optimal trees no slower than pystreed, every cell", optimal, 1.0, "optimal"),
        same_optima(optimal),
        fico(found, 5, 5.0),
        fico(found, 6, 60.0),
        *threads(found),
        *scale(found),
        kernel(list(throughputs)),
    ]


def decided(reached: Ratio, bar: float) -> str:
    """Tell whether a ratio of at least `bar` was reached."""
    if reached.value >= bar:
        return UNDECIDED if reached.bound in (AT_MOST, ABOUT) else MET
    return UNDECIDED if reached.bound in (AT_LEAST, ABOUT) else MISSED


def in_the_mean(text: str, cells: Sequence[Duel], bar: float, section: str) -> Target:
    """Return a bar for the geometric mean."""
    ratios = ratios_of(cells)
    if not ratios:
        return nothing(text, f"{bar:g}x", section)
    reached = mean(ratios)
    return Target(text, f"{bar:g}x", f"{reached}x", decided(reached, bar), coverage(len(ratios), section))


def not_longer(found: Found, cells: Sequence[Duel]) -> Target:
    """k = 16 may take ten times as long."""
    text, bar = "k = 16, depth 5, time as a multiple of scikit-learn's", 10.0
    ratios = greedy_ratios(found, "16")
    if not ratios:
        return nothing(text, f"under {bar:g}x", "greedy")
    reached = mean(ratios)
    verdict = decided(reached, 1 / bar)
    return Target(text, f"under {bar:g}x", f"{1 / reached.value:.2f}x", verdict, coverage(len(cells), "greedy"))


def in_every_cell(text: str, cells: Sequence[Duel], bar: float, section: str) -> Target:
    """Return a bar for the smallest ratio: open if both stopped at the cap, missed if topktree has no answer."""
    ratios = ratios_of(cells)
    if not ratios:
        return nothing(text, f"{bar:g}x", section)
    verdicts = {decided(ratio, bar) for ratio in ratios}
    both_capped = sum(duel.ours.capped and duel.peer.capped for duel in cells)
    if both_capped:
        verdicts.add(UNDECIDED)
    if any(duel.ours.seconds is None for duel in cells):
        verdicts.add(MISSED)
    below = sum(ratio.value < bar for ratio in ratios)
    smallest = min(ratios, key=lambda ratio: ratio.value)
    reached = f"smallest {smallest}x" + (f", {below} below" if below else "")
    reached += f", {both_capped} where both were stopped" if both_capped else ""
    verdict = next(verdict for verdict in (MISSED, UNDECIDED, MET) if verdict in verdicts)
    return Target(text, f"{bar:g}x", reached, verdict, coverage(len(cells), section))


def same_optima(cells: Sequence[Duel]) -> Target:
    """Where both proved an optimum it is the same one."""
    text, bar = "every optimum that both prove is the same", "all"
    both = [duel for duel in cells if duel.ours.finished and duel.peer.finished]
    if not both:
        return nothing(text, bar, "optimal")
    equal = sum(duel.ours.errors == duel.peer.errors for duel in both)
    verdict = MET if equal == len(both) else MISSED
    return Target(text, bar, f"{equal} of {len(both)}", verdict, coverage(len(both), "optimal"))


def fico(found: Found, depth: int, bar: float) -> Target:
    """Seconds on FICO."""
    text = f"FICO, every midpoint, k = 16, depth {depth}"
    at_depth = [result for job, result in found.items() if (job.section, job.depth) == ("fico", depth)]
    if not at_depth:
        return nothing(text, f"{bar:g} s", "fico")
    result = at_depth[0]
    reached = result.status if result.seconds is None else f"{'>' if result.capped else ''}{duration(result.seconds)}"
    met = result.finished and result.seconds is not None and result.seconds <= bar
    return Target(text, f"{bar:g} s", reached, MET if met else MISSED, "1 of 1")


def threads(found: Found) -> list[Target]:
    """Return the searches of a second and more, and those that are shorter."""
    cells = thread_duels(found)
    long = [duel for duel in cells if (duel.peer.seconds or 0.0) >= LONG]
    short = [duel for duel in cells if (duel.peer.seconds or 0.0) < LONG]
    return [
        in_the_mean("two threads faster than one, searches of 1 s and more", long, 1.7, "threads"),
        in_every_cell("two threads against one, shorter searches", short, 0.95, "threads"),
    ]


def scale(found: Found) -> list[Target]:
    """Time per row, memory, and many columns."""
    tall = by_rows(found)
    wide = [result for job, result in found.items() if job.section == "scale" and job.dataset == WIDE]
    texts = "time per row, most rows against fewest", "the fit adds to the memory, by packed bits, most rows"
    cells = coverage(len(tall) + len(wide), "scale")
    lines = []
    if len(tall) < 2 or tall[0].seconds is None or tall[-1].seconds is None:
        lines += [nothing(text, bar, "scale") for text, bar in zip(texts, ("1.2x", "3x"), strict=True)]
    else:
        per_row = [(result.seconds or 0.0) / (result.rows or 1) for result in tall]
        slower, most = per_row[-1] / per_row[0], f"{tall[-1].rows:,} rows"
        lines.append(Target(texts[0], "1.2x", f"{slower:.2f}x ({most})", MET if slower <= 1.2 else MISSED, cells))
        added = growth(tall[-1])
        lines.append(Target(texts[1], "3x", f"{added:.2f}x ({most})", MET if added <= 3 else MISSED, cells))
    text = "2,000 rows of 50,000 columns"
    if not wide:
        return [*lines, nothing(text, "works", "scale")]
    reached = wide[0].status if wide[0].seconds is None else duration(wide[0].seconds)
    return [*lines, Target(text, "works", reached, MET if wide[0].finished else MISSED, cells)]


def kernel(throughputs: list[Throughput]) -> Target:
    """Return the kernel that this machine takes, at every cache level."""
    text, bar = "counting kernel against a bare loop, every cache level", 0.6
    if not throughputs:
        return Target(text, f"{100 * bar:.0f} %", "not measured", UNDECIDED, "0")
    own = kernels.best(throughputs)
    smallest = min(own, key=lambda t: t.share)
    reached = f"smallest {100 * smallest.share:.0f} % ({own[0].kernel}, {smallest.level})"
    return Target(text, f"{100 * bar:.0f} %", reached, MET if smallest.share >= bar else MISSED, str(len(own)))


def nothing(text: str, bar: str, section: str) -> Target:
    """Return a target that was not measured."""
    return Target(text, bar, "not measured", UNDECIDED, coverage(0, section))


def coverage(measured: int, section: str) -> str:
    """Cells that went into it, of those that the full profile has; it does not know which searches will be long."""
    if section == "threads":
        return str(measured)
    return f"{measured} of {len(list(SECTIONS[section](FULL)))}"
