"""topktree against pytrees-rs (Top-k), pystreed (optimal trees) and scikit-learn (greedy trees), on one thread.

In: a folder of <name>.csv.gz datasets. Out: tables of seconds, ratios and training errors, on stdout and, with --out,
in a Markdown file. The one idea: the same Boolean matrix for everybody, contestants taking turns, medians.
A bar missed is reported and no failure. Exit code 1: training errors are wrong. 2: data or a package is missing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from importlib import util
from pathlib import Path

from contestants import Contestant
from matrices import DataMissing, Stored, load, store
from measure import ENOUGH, Result, apart, together
from report import report
from tables import errors, mean, ratio, seconds, summary, table
from verdicts import Cell, Section, check_greedy, check_optimal, check_topk, verdict

SEARCHED = ("tic-tac-toe", "kr-vs-kp", "nursery", "spambase", "telescope")
LARGE = ("telescope", "credit-card", "letter-recognition", "connect-4", "sensorless-drive-diagnosis")
PACKAGES = {"topktree": "topktree", "pytrees-rs": "pytrees", "pystreed": "pystreed", "scikit-learn": "sklearn"}

TOPK_BAR = 100.0  # times faster than pytrees-rs, in the geometric mean
GREEDY_BAR = 10.0  # times faster than scikit-learn, on every dataset of 15,000 rows or more
GREEDY_DEPTH = 5
NOTABLE = 0.2  # seconds: a second summary leaves out the cells where the peer needs less; no bar depends on it


@dataclass(frozen=True)
class Plan:
    """What to run; --quick takes a smaller one."""

    ks: tuple[int, ...] = (4, 8, 16)
    topk_depths: tuple[int, ...] = (4, 5)
    optimal_depths: tuple[int, ...] = (3, 4)
    rounds: int = 3
    greedy_rounds: int = 15
    cap: float = 120.0

    def conditions(self) -> str:
        """How the numbers are taken, for the reader of the report."""
        return (
            "Seconds of `fit` alone, from the same Boolean matrix (the columns of the paper's authors) to the fitted"
            f" tree, one thread. Medians; contestants take turns, {self.rounds} each, {self.greedy_rounds} against"
            f" scikit-learn; a fit of {ENOUGH:g} s or more is not repeated. Ratio: the peer's seconds divided by"
            f" topktree's. `>`: the peer was stopped at {self.cap:g} s, so its time and the ratio are lower bounds;"
            " `<=`: the errors of the best tree it had by then."
        )


QUICK = Plan(ks=(8,), rounds=1, greedy_rounds=5, cap=15.0)


def against_pytrees(data: dict[str, Stored], plan: Plan) -> Section:
    """Top-k search of the same k and depth."""
    section = Section("pytrees-rs (DL8.5 under its Top-k rule), the same k and depth")
    cells = []
    for name in SEARCHED:
        for depth in plan.topk_depths:
            for k in plan.ks:
                pair = [Contestant("topktree", depth, k), Contestant("pytrees-rs", depth, k)]
                key = (name, str(depth), str(k))
                cells.append(cell_of(data[name], pair, plan, f"{name}, depth {depth}, k = {k}", key))
                check_topk(section, cells[-1])
    show_cells(section, ("dataset", "depth", "k"), "pytrees-rs", cells)
    ratios = [r for cell in cells if (r := ratio(cell.ours, cell.peer))]
    reached = bool(ratios) and mean(ratios).value >= TOPK_BAR
    add_bar(section, f"at least {TOPK_BAR:g}x in the geometric mean of all cells", verdict(cells, reached))
    return section


def against_pystreed(data: dict[str, Stored], plan: Plan) -> Section:
    """The optimal tree of the same depth."""
    section = Section('pystreed (optimal trees) against k = "all"')
    cells = []
    for name in SEARCHED:
        for depth in plan.optimal_depths:
            pair = [Contestant("topktree", depth, "all"), Contestant("pystreed", depth)]
            cells.append(cell_of(data[name], pair, plan, f"{name}, depth {depth}, k = all", (name, str(depth))))
            check_optimal(section, cells[-1])
    show_cells(section, ("dataset", "depth"), "pystreed", cells)
    ratios = [r for cell in cells if (r := ratio(cell.ours, cell.peer))]
    add_bar(section, "faster on every cell", verdict(cells, bool(ratios) and min(r.value for r in ratios) > 1))
    return section


def against_sklearn(data: dict[str, Stored], plan: Plan) -> Section:
    """The greedy tree of the same depth."""
    section = Section(f"scikit-learn (entropy, depth {GREEDY_DEPTH}) against k = 1 and k = 8, 15,000 rows and more")
    contestants = [
        Contestant("scikit-learn", GREEDY_DEPTH),
        Contestant("scikit-learn, float32", GREEDY_DEPTH),
        Contestant("topktree", GREEDY_DEPTH, 1),
    ]
    wider = Contestant("topktree", GREEDY_DEPTH, 8)  # apart: it takes far longer, and turns in one process add up
    results = {}
    for name in LARGE:
        results[name] = together(data[name], contestants, plan.greedy_rounds, plan.cap)
        results[name] += apart(data[name], [wider], plan.rounds, plan.cap)
        peer, _, greedy, top8 = results[name]
        progress(f"scikit-learn: {name}: {seconds(peer)} s, k = 1 {seconds(greedy)} s, k = 8 {seconds(top8)} s")
        check_greedy(section, name, peer, greedy, top8)
    show_greedy(section, data, results)
    ratios = [ratio(greedy, peer) for peer, _, greedy, _ in results.values()]
    reached = all(r is not None and r.value >= GREEDY_BAR for r in ratios)
    add_bar(section, f"k = 1 at least {GREEDY_BAR:g}x faster on every dataset", verdict([], reached))
    return section


def cell_of(data: Stored, pair: list[Contestant], plan: Plan, where: str, key: tuple[str, ...]) -> Cell:
    """Measure topktree and a peer, in this order in the pair."""
    ours, peer = apart(data, pair, plan.rounds, plan.cap)
    progress(f"{pair[1].solver}: {where}: {seconds(peer)} s, topktree {seconds(ours)} s")
    return Cell(where, key, ours, peer)


def show_cells(section: Section, key: tuple[str, ...], peer: str, cells: list[Cell]) -> None:
    """The table of a search peer, and its ratios summed up."""
    header = [*key, "topktree s", f"{peer} s", "ratio", "topktree errors", f"{peer} errors"]
    rows, ratios, notable = [], [], []
    for cell in cells:
        r = ratio(cell.ours, cell.peer)
        times = [seconds(cell.ours), seconds(cell.peer), str(r or "-")]
        rows.append([*cell.key, *times, errors(cell.ours), errors(cell.peer)])
        if r:
            ratios.append(r)
            notable += [r] if (cell.peer.seconds or 0) >= NOTABLE else []
    section.lines += [*table(header, rows), "", f"All cells: {summary(ratios)}."]
    section.lines.append(f"Cells where {peer} needs {NOTABLE:g} s or more: {summary(notable)}.")


def show_greedy(section: Section, data: dict[str, Stored], results: dict[str, list[Result]]) -> None:
    """The table of scikit-learn, and its ratios summed up."""
    header = ["dataset", "rows", "columns", "sklearn s", "float32 s", "k=1 s", "ratio", "to float32", "k=8 s", "ratio"]
    header += ["sklearn errors", "k=1 errors", "k=8 errors"]
    rows, ratios = [], []
    for name, (peer, float32, greedy, top8) in results.items():
        k1, k1_float32, k8 = ratio(greedy, peer), ratio(greedy, float32), ratio(top8, peer)
        ratios.append((k1, k1_float32, k8))
        row = [name, str(data[name].rows), str(data[name].columns), seconds(peer), seconds(float32)]
        row += [seconds(greedy), str(k1 or "-"), str(k1_float32 or "-"), seconds(top8), str(k8 or "-")]
        rows.append([*row, errors(peer), errors(greedy), errors(top8)])
    k1s, k1_float32s, k8s = ([r for r in of if r] for of in zip(*ratios, strict=True))
    section.lines += [*table(header, rows), "", f"k = 1: {summary(k1s)}."]
    section.lines.append(f"k = 1, scikit-learn given float32 by columns, not timed: {summary(k1_float32s)}.")
    section.lines.append(f"k = 8: {summary(k8s)}.")


def add_bar(section: Section, bar: str, outcome: str) -> None:
    section.lines += ["", f"Bar, {bar}: **{outcome}**."]


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    beside = Path(__file__).resolve().parent.parent.parent / "shared" / "datasets"
    data = Path(os.environ.get("TOPKTREE_DATA") or beside)
    parser = argparse.ArgumentParser(description="topktree against pytrees-rs, pystreed and scikit-learn")
    parser.add_argument("--data", type=Path, default=data, help="folder of <name>.csv.gz files, else $TOPKTREE_DATA")
    parser.add_argument("--quick", action="store_true", help=f"k = 8, one turn, a cap of {QUICK.cap:g} s: 2 minutes")
    parser.add_argument("--out", type=Path, help="also write the report to this Markdown file")
    return parser.parse_args()


def obstacle(data: Path) -> str | None:
    """Why the benchmark cannot run, if it cannot."""
    missing = [package for package, module in PACKAGES.items() if util.find_spec(module) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (peers: pip install -r benchmarks/requirements.txt)"
    if not data.is_dir():
        return f"no folder {data}: set --data or $TOPKTREE_DATA to the folder of <name>.csv.gz files"
    return None


def main() -> int:
    args = arguments()
    if problem := obstacle(args.data):
        progress(f"peers.py: {problem}")
        return 2
    plan = QUICK if args.quick else Plan()
    with tempfile.TemporaryDirectory() as folder:
        try:
            data = {name: store(name, *load(name, args.data), Path(folder)) for name in {*SEARCHED, *LARGE}}
        except DataMissing as missing:
            progress(f"peers.py: {missing}")
            return 2
        sections = [compare(data, plan) for compare in (against_pytrees, against_pystreed, against_sklearn)]
    text = report(sections, plan.conditions(), PACKAGES)
    print(text, end="")
    if args.out:
        args.out.write_text(text)
    return 1 if any(section.wrong for section in sections) else 0


if __name__ == "__main__":
    sys.exit(main())
