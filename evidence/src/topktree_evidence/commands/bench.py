"""The command `topktree bench`: how fast and how accurate Top-k is on this machine, in about a minute.

In: a folder of datasets, and whether to measure other solvers too. Out: on stdout a table, or JSON; on stderr progress.
"""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from topktree import __version__
from topktree._cli.commands import json_option, time_limit_option
from topktree._cli.messages import Mistake
from topktree.datasets.paper import VARIABLE

from .. import peers
from ..stopwatch import Stopwatch
from ..studies.speed.quick import (
    DEPTH,
    FROM_FILES,
    GREEDY,
    OURS,
    PEERS,
    Cell,
    Contestant,
    Problem,
    generated_problems,
    measure,
    paper_problems,
)
from ..study import FINISHED, TIMEOUT
from . import data_option

ANY_WIDTH = 10_000  # columns of what is no terminal
HEADINGS = ("dataset", "size", "tree", "errors", "leaves", "seconds", "ratio")


@click.command("bench", short_help="A quick measurement on this machine.")
@click.option("--peers", "with_peers", is_flag=True, help="Measure pytrees-rs and pystreed too, if installed.")
@data_option(help="Folder of <name>.csv.gz files, for some of the paper's datasets; else $TOPKTREE_DATA.")
@click.option(
    "--repeat", metavar="N", type=click.IntRange(1, 100), default=5, show_default=True, help="Turns of each tree."
)
@time_limit_option(default=10, show_default=True, help="For one fit; what takes longer is stopped.")
@json_option
def bench_command(with_peers: bool, data: str | None, repeat: int, time_limit: float, to_json: bool) -> None:
    """Measure Top-k trees on this machine against scikit-learn's greedy tree, in about a minute.

    All get the same Boolean columns and one thread and take turns; seconds are medians, errors are on the training
    rows, and the ratio is that of the seconds to scikit-learn's. Datasets are made by code; with a folder of files,
    some of the paper's are added.
    """
    folder = data or os.environ.get(VARIABLE) or None
    problems = [*generated_problems(), *(_from_folder(folder, "--data" if data else f"${VARIABLE}") if folder else [])]
    absent = [peer for peer in PEERS if with_peers and not peers.is_installed(peer.solver)]
    contestants = [GREEDY, *OURS, *(peer for peer in PEERS if with_peers and peer not in absent)]
    cells = _measure(problems, contestants, repeat, time_limit)
    if to_json:
        click.echo(json.dumps(_as_json(cells, absent, repeat, time_limit), indent=1, allow_nan=False))
    else:
        _print(cells, absent, repeat, time_limit)


def _from_folder(folder: str, origin: str) -> list[Problem]:
    try:
        found = paper_problems(folder)
    except (OSError, ValueError) as error:
        raise Mistake(f"{origin} {folder}: {error}") from None
    if not found:
        raise Mistake(f"{origin} {folder}: has none of {', '.join(f'{name}.csv.gz' for name in FROM_FILES)}")
    return found


def _measure(problems: list[Problem], contestants: list[Contestant], repeat: int, limit: float) -> list[Cell]:
    console = Console(stderr=True)
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    cells: list[Cell] = []
    with (
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress,
        Stopwatch() as stopwatch,
    ):
        task = progress.add_task("", total=len(problems) * len(contestants) * repeat)
        for problem in problems:

            def advance(contestant: Contestant, name: str = problem.name) -> None:
                progress.update(task, advance=1, description=f"{name}, {contestant.name}")

            cells += measure(problem, contestants, repeat, limit, stopwatch, advance)
    return cells


def _as_json(cells: list[Cell], absent: list[Contestant], repeat: int, limit: float) -> dict[str, Any]:
    return {
        "topktree": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "depth": DEPTH,
        "repeat": repeat,
        "time_limit": limit,
        "not_installed": [peer.solver for peer in absent],
        "results": [asdict(cell) for cell in cells],
    }


def _print(cells: list[Cell], absent: list[Contestant], repeat: int, limit: float) -> None:
    console = _console()
    turns = "one turn" if repeat == 1 else f"the median of {repeat} turns"
    console.print(f"Depth {DEPTH}, one thread, {turns}; size: rows x columns; k: of topktree; errors: of training;")
    console.print("ratio: of the seconds to scikit-learn's\n")
    console.print(_table(cells))
    if any(cell.status == TIMEOUT for cell in cells):
        console.print(f"\n-: stopped at the limit of {limit:g} seconds (--time-limit)")
    failed = [cell for cell in cells if cell.status not in (FINISHED, TIMEOUT)]
    for contestant, message in dict.fromkeys((cell.contestant, cell.message) for cell in failed):
        names = [cell.dataset for cell in failed if (cell.contestant, cell.message) == (contestant, message)]
        console.print(f"\n{contestant} failed on {', '.join(names)}: {message}")
    if absent:
        packages = " ".join(peer.solver for peer in absent)
        console.print(f"\nNot installed, so not measured: {packages}. To measure them: pip install {packages}")


def _console() -> Console:
    """Return stdout: bold only on a terminal, and as wide as the table elsewhere."""
    console = Console(highlight=False, emoji=False, markup=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = ANY_WIDTH
    return console


def _table(cells: list[Cell]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0, header_style="")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in ("dataset", "tree") else "right", no_wrap=True)
    before = ""
    for cell in cells:
        is_first, before = cell.dataset != before, cell.dataset
        size = f"{cell.rows:,} x {cell.columns:,}"
        table.add_row(
            *((cell.dataset, size) if is_first else ("", "")),
            cell.contestant.removeprefix("topktree "),
            *_numbers(cell),
        )
    return table


def _numbers(cell: Cell) -> list[str]:
    """Return errors, leaves, seconds and ratio."""
    if cell.status not in (FINISHED, TIMEOUT):
        return ["failed", "", "", ""]
    counts = ["-" if number is None else f"{number:,}" for number in (cell.errors, cell.leaves)]
    seconds = "-" if cell.seconds is None else f"{cell.seconds:.2g}" if cell.seconds < 0.1 else f"{cell.seconds:.2f}"
    return [*counts, seconds, "" if cell.ratio is None else f"{cell.ratio:.2g}"]
