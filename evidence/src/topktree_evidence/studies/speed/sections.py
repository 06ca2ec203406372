"""The sections of the report: a table each, a summary, and what comparing the errors found.

In: results by job, throughputs of the kernels. Out: Sections of Markdown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from topktree_evidence.studies.speed import kernels
from topktree_evidence.studies.speed.kernels import Throughput
from topktree_evidence.studies.speed.plans import GREEDY_KS, WIDE
from topktree_evidence.studies.speed.results import Duel, Ratio, Result, duels
from topktree_evidence.studies.speed.runs import OURS, Job
from topktree_evidence.studies.speed.tables import (
    MIB,
    binary_size,
    duration,
    errors,
    megabytes,
    seconds,
    summary,
    table,
    times,
)
from topktree_evidence.studies.speed.verdicts import Findings

Found = dict[Job, Result]
ERRORS_AND_MEMORY = ["errors", "peer's errors", "MiB", "peer's MiB"]


@dataclass
class Section:
    """One part of the report."""

    title: str
    lines: list[str]
    findings: Findings = field(default_factory=Findings)
    plot: str = ""  # its picture, if it has one


def greedy(found: Found) -> Section:
    """Compare k = 1, 8 and 16 with scikit-learn on the same matrix."""
    findings, rows = Findings(), []
    findings.failures(result for job, result in found.items() if job.section == "greedy")
    header = ["dataset", "rows", "columns", "scikit-learn"]
    header += [text for k in GREEDY_KS for text in (f"k = {k}", "ratio")]
    header += ["errors: sklearn", *(f"k = {k}" for k in GREEDY_KS), "MiB: sklearn", f"k = {GREEDY_KS[-1]}"]
    for duel in duels(found, "greedy", "scikit-learn"):
        ours = [result for k in GREEDY_KS if (result := found.get(replace(duel.job, k=k)))]
        if duel.job.k == GREEDY_KS[0] and len(ours) == len(GREEDY_KS):
            rows.append(greedy_row(duel, ours))
            findings.check_greedy(duel)
            for narrow, wide in pairwise(ours):
                findings.check_wider(narrow, wide)
    lines = [*table(header, rows), "", *(f"k = {k}: {summary(greedy_ratios(found, k))}.  " for k in GREEDY_KS)]
    return Section("scikit-learn, entropy, depth 5, the same Boolean matrix", lines, findings, "greedy")


def greedy_row(duel: Duel, ours: list[Result]) -> list[str]:
    """scikit-learn, and topktree with each k."""
    timed = [text for result in ours for text in (seconds(result), times(Duel(result, duel.peer).ratio))]
    counted = [errors(duel.peer), *map(errors, ours), megabytes(duel.peer), megabytes(ours[-1])]
    return [*named(duel, with_search=False), seconds(duel.peer), *timed, *counted]


def greedy_ratios(found: Found, k: str) -> list[Ratio]:
    """How many times faster than scikit-learn, by dataset."""
    return [duel.ratio for duel in duels(found, "greedy", "scikit-learn") if duel.job.k == k and duel.ratio]


def raw(found: Found) -> Section:
    """Compare k = 1 with scikit-learn on raw numbers."""
    cells = duels(found, "raw", "scikit-learn")
    header = ["dataset", "rows", "features", "topktree", "scikit-learn", "ratio", *ERRORS_AND_MEMORY]
    return versus("scikit-learn on raw numbers, k = 1, depth 5, binarising included", header, cells, with_search=False)


def topk(found: Found) -> Section:
    """Compare with pytrees-rs."""
    cells = duels(found, "topk", "pytrees-rs")
    header = ["dataset", "rows", "columns", "k", "depth", "topktree", "pytrees-rs", "ratio", *ERRORS_AND_MEMORY]
    section = versus("pytrees-rs: DL8.5 under its Top-k rule, the same k and depth", header, cells)
    for duel in cells:
        section.findings.check_topk(duel)
    section.plot = "peers"
    return section


def optimal(found: Found) -> Section:
    """Compare with pystreed."""
    return proven(found, "optimal", "pystreed", 'pystreed: optimal trees, k = "all"', "columns")


def proven(found: Found, name: str, peer: str, title: str, width: str) -> Section:
    """Optimal trees, where both must have the same errors; `width`: what the data has columns of."""
    cells = duels(found, name, peer)
    header = ["dataset", "rows", width, "k", "depth", "topktree", peer, "ratio", *ERRORS_AND_MEMORY]
    section = versus(title, header, cells)
    for duel in cells:
        section.findings.check_optimal(duel)
    return section


def contree(found: Found) -> Section:
    """Compare with pycontree."""
    title = 'pycontree: optimal trees on raw numbers, k = "all", every midpoint a threshold'
    return proven(found, "contree", "pycontree", title, "features")


def penalty(found: Found) -> Section:
    """Two peers, and trees that differ in leaves as well as in errors."""
    header = ["dataset", "rows", "columns", "k", "depth", "topktree", "gosdt", "ratio", "pystreed", "ratio"]
    header += ["errors + leaves", "gosdt's", "pystreed's", "MiB", "gosdt's", "pystreed's"]
    findings, rows = Findings(), []
    findings.failures(result for job, result in found.items() if job.section == "penalty")
    pairs = list(zip(duels(found, "penalty", "gosdt"), duels(found, "penalty", "pystreed"), strict=True))
    for against_gosdt, against_pystreed in pairs:
        gosdt, pystreed, ours = against_gosdt.peer, against_pystreed.peer, against_gosdt.ours
        findings.check_optimal(against_gosdt)
        findings.check_optimal(against_pystreed)
        row = [*named(against_pystreed), seconds(ours)]
        for duel in (against_gosdt, against_pystreed):
            row += [seconds(duel.peer), times(duel.ratio)]
        trees = [f"{errors(result)} + {result.leaves or '-'}" for result in (ours, gosdt, pystreed)]
        rows.append([*row, *trees, *map(megabytes, (ours, gosdt, pystreed))])
    lines = [*table(header, rows), ""]
    for peer in ("gosdt", "pystreed"):
        lines.append(f"{peer}: {summary(ratios_of(duels(found, 'penalty', peer)))}.  ")
    share = pairs[0][0].job.penalty if pairs else 0.0
    return Section(f"gosdt and pystreed: optimal trees, a leaf costs {100 * share:g} % of the rows", lines, findings)


def fico(found: Found) -> Section:
    """Show k = 16 on FICO."""
    header = ["rows", "features", "k", "depth", "topktree", "errors", "MiB"]
    rows, findings = [], Findings()
    for job, result in found.items():
        if job.section == "fico":
            size = [text_of(result.rows), text_of(result.columns)]
            rows.append([*size, job.k, str(job.depth), seconds(result), errors(result), megabytes(result)])
            findings.failures([result])
    return Section("FICO, 1,000 rows, every midpoint a threshold", table(header, rows), findings)


def threads(found: Found) -> Section:
    """Compare two threads with one."""
    cells = thread_duels(found)
    header = ["dataset", "rows", "columns", "k", "depth", "two threads", "one thread", "ratio"]
    header += ["cores", "on one", "errors", "on one"]
    findings, rows = Findings(), []
    for duel in cells:
        findings.failures([duel.ours, duel.peer])
        findings.check_equal(duel)
        row = [*named(duel), seconds(duel.ours), seconds(duel.peer), times(duel.ratio)]
        cores = ["-" if result.cores is None else f"{result.cores:.2f}" for result in (duel.ours, duel.peer)]
        rows.append([*row, *cores, errors(duel.ours), errors(duel.peer)])
    note = "Cores: processor seconds by seconds. Two threads of a long search have less than 2 if the machine is busy."
    return Section("Two threads against one", [*table(header, rows), "", note], findings)


def thread_duels(found: Found) -> list[Duel]:
    """Two threads as ours, one as the peer; the longest search first."""
    two = [result for job, result in found.items() if job.section == "threads" and job.threads == 2]
    pairs = [Duel(result, found[one]) for result in two if (one := replace(result.job, threads=1)) in found]
    return sorted(pairs, key=lambda duel: -(duel.peer.seconds or 0.0))


def scale(found: Found) -> Section:
    """Show time and memory by rows."""
    header = ["rows", "columns", "seconds", "per row", "MiB: input", "packed bits", "the fit adds", "by packed bits"]
    rows, findings = [], Findings()
    for job, result in found.items():
        if job.section != "scale":
            continue
        findings.failures([result])
        n_rows, n_columns = map(int, job.dataset.split("x"))
        per_row = duration(result.seconds / n_rows) if result.seconds else "-"
        cells = [f"{n_rows:,}", f"{n_columns:,}", seconds(result), per_row]
        cells += [f"{n_rows * n_columns / MIB:.0f}", f"{packed_bytes(job) / MIB:.1f}"]
        added = result.growth
        rows.append([*cells, *(["-", "-"] if added is None else [f"{added / MIB:.1f}", f"{growth(result):.2f}x"])])
    return Section("Scale: generated rows, k = 4, depth 5", table(header, rows), findings, "scale")


def packed_bytes(job: Job) -> float:
    """Return the size of the generated matrix, a bit for each entry."""
    n_rows, n_columns = map(int, job.dataset.split("x"))
    return n_rows * n_columns / 8


def growth(result: Result) -> float:
    """Return what the fit adds to the memory in use, as a multiple of the packed bits."""
    return (result.growth or 0) / packed_bytes(result.job)


def by_rows(found: Found) -> list[Result]:
    """Return the results of scale that finished, without the wide one, the smallest first."""
    tall = [r for job, r in found.items() if job.section == "scale" and job.dataset != WIDE and r.finished]
    return sorted(tall, key=lambda result: result.rows or 0)


def kernel(throughputs: Sequence[Throughput]) -> Section:
    """Return a line per kernel and level: the range over columns and word lists."""
    header = ["kernel", "level", "matrix", "GB/s", "bare loop", "share in %"]
    rows = []
    for name in dict.fromkeys(t.kernel for t in throughputs):
        for level in kernels.LEVELS:
            own = [t for t in throughputs if (t.kernel, t.level) == (name, level)]
            rates = [span([t.counted for t in own], ".3g"), span([t.bare for t in own], ".3g")]
            rows.append([name, level, binary_size(own[0].size), *rates, span([100 * t.share for t in own], ".0f")])
    title = "The counting kernels against bare loops of AND and popcount; 96 to 256 columns, all or half of the words"
    return Section(title, table(header, rows), plot="kernel")


def span(values: Sequence[float], digits: str) -> str:
    """Return the range of values."""
    return f"{min(values):{digits}} to {max(values):{digits}}"


def versus(title: str, header: list[str], cells: Sequence[Duel], with_search: bool = True) -> Section:
    """Return the table of one peer, and its ratios summed up."""
    findings = Findings()
    rows = []
    for duel in cells:
        findings.failures([duel.ours, duel.peer])
        row = [*named(duel, with_search), seconds(duel.ours), seconds(duel.peer), times(duel.ratio)]
        rows.append([*row, errors(duel.ours), errors(duel.peer), megabytes(duel.ours), megabytes(duel.peer)])
    return Section(title, [*table(header, rows), "", f"All cells: {summary(ratios_of(cells))}."], findings)


def named(duel: Duel, with_search: bool = True) -> list[str]:
    """Return the columns of a table that say which cell this is."""
    search = [duel.job.k, str(duel.job.depth)] if with_search else []
    return [duel.job.dataset, *map(text_of, duel.size), *search]


def ratios_of(cells: Iterable[Duel]) -> list[Ratio]:
    """Return the ratios of the cells that have one."""
    return [duel.ratio for duel in cells if duel.ratio]


def text_of(value: int | None) -> str:
    """Return a number, or a dash."""
    return "-" if value is None else str(value)


SECTIONS: dict[str, Callable[[Found], Section]] = {
    "greedy": greedy,
    "raw": raw,
    "topk": topk,
    "optimal": optimal,
    "penalty": penalty,
    "contree": contree,
    "fico": fico,
    "threads": threads,
    "scale": scale,
}


def sections(found: Found, throughputs: Sequence[Throughput]) -> list[Section]:
    """Return the sections that have rows."""
    there = {job.section for job in found if job.solver == OURS}
    made = [make(found) for name, make in SECTIONS.items() if name in there]
    return [*made, kernel(throughputs)] if throughputs else made
