"""The plan of the measurements: the cells of each section, for the quick and for the full profile.

In: a profile. Out: Cells, each a few Jobs that are compared with each other and therefore take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from topktree_evidence.numbers import CATEGORICAL, NUMERICAL
from topktree_evidence.splits import FICO
from topktree_evidence.studies.speed.runs import BOOLEAN, EXACT, GENERATED, OURS, RAW, Job

DATASETS = CATEGORICAL + NUMERICAL
GREEDY_DEPTH = 5
GREEDY_KS = ("1", "8", "16")
PENALTY = 0.005  # of a leaf, where gosdt takes part: it needs one
SCALE_K, SCALE_DEPTH = "4", 5
WIDE = "2000x50000"

Search = tuple[str, str, int]  # dataset, k, depth


@dataclass(frozen=True)
class Profile:
    """How much is measured. Datasets and searches of topktree against a peer, of one thread against two, sizes."""

    name: str
    rounds: int
    greedy_rounds: int  # fits of milliseconds
    cap: float
    fico_cap: float
    topk: Sequence[Search]
    optimal: Sequence[Search]
    penalty: Sequence[Search]
    contree: Sequence[Search]
    fico_depths: Sequence[int]
    threads: Sequence[Search]
    sizes: Sequence[str]  # rows x columns
    kernel_samples: int


@dataclass(frozen=True)
class Cell:
    """Jobs of round 0; topktree's comes first."""

    jobs: tuple[Job, ...]
    rounds: int

    def all_jobs(self) -> Iterator[Job]:
        """Every round, in the order in which they are run: every other round backwards."""
        for turn in range(self.rounds):
            for job in self.jobs if turn % 2 == 0 else reversed(self.jobs):
                yield replace(job, round=turn)


def searches(datasets: Iterable[str], ks: Iterable[str], depths: Iterable[int]) -> list[Search]:
    """Return all combinations."""
    return list(product(datasets, ks, depths))


SMALL = ("tic-tac-toe", "kr-vs-kp", "nursery", "spambase")
DEEP = ("connect-4", "letter-recognition", "hiv-1-protease", "ml-prove", "taiwanese-bankruptcy")
LONG_SEARCHES = [("telescope", "all", 4), ("credit-card", "all", 4), ("dry-bean", "16", 6)]

QUICK = Profile(
    name="quick",
    rounds=3,
    greedy_rounds=3,
    cap=15.0,
    fico_cap=15.0,
    topk=[(name, k, d) for name in (*SMALL, "telescope") for k, d in (("4", 4), ("8", 5), ("16", 4))],
    optimal=[*searches(SMALL, ["all"], [3, 4]), *searches(["telescope", "dry-bean", FICO], ["all"], [3])],
    penalty=searches(("tic-tac-toe", "car", "kr-vs-kp", "spambase"), ["all"], [3]),
    contree=searches(["occupancy-estimation", "telescope", FICO], ["all"], [2]),
    fico_depths=(5, 6),
    threads=[*LONG_SEARCHES, *searches(("hayes-roth", "car", "kr-vs-kp", "avila"), ["8"], [3, 5])],
    sizes=("100000x100", "300000x100", "1000000x100", WIDE),
    kernel_samples=3,
)

FULL = Profile(
    name="full",
    rounds=3,
    greedy_rounds=7,
    cap=300.0,
    fico_cap=600.0,
    topk=searches(DATASETS, ["4", "8", "16"], [4, 5, 6]),
    optimal=searches(DATASETS, ["all"], [3, 4, 5]),
    penalty=searches(DATASETS, ["all"], [3, 4]),
    contree=searches(NUMERICAL, ["all"], [2, 3, 4]),
    fico_depths=(5, 6),
    threads=[
        *LONG_SEARCHES,
        *searches(("avila", "electrical-grid-stability"), ["all"], [4]),
        *searches(DEEP, ["16"], [6]),
        (FICO, "all", 3),
        *searches(DATASETS, ["4"], [3]),
        *searches(DATASETS, ["8"], [4]),
    ],
    sizes=("100000x100", "300000x100", "1000000x100", "3000000x100", "10000000x100", WIDE),
    kernel_samples=9,
)


def job(section: str, dataset: str, data: str, solver: str, k: str, depth: int, profile: Profile) -> Job:
    """Return a job of one thread without penalty."""
    cap = profile.fico_cap if dataset == FICO else profile.cap
    return Job(section, dataset, data, solver, k, depth, threads=1, penalty=0.0, cap=cap, round=0)


def greedy(profile: Profile) -> Iterator[Cell]:
    """k = 1, 8 and 16 against scikit-learn on the same Boolean matrix."""
    for name in DATASETS:
        ours = [job("greedy", name, BOOLEAN, OURS, k, GREEDY_DEPTH, profile) for k in GREEDY_KS]
        peer = job("greedy", name, BOOLEAN, "scikit-learn", "", GREEDY_DEPTH, profile)
        yield Cell((*ours, peer), profile.greedy_rounds)


def raw(profile: Profile) -> Iterator[Cell]:
    """k = 1 against scikit-learn on raw numbers."""
    for name in NUMERICAL:
        ours = job("raw", name, RAW, OURS, "1", GREEDY_DEPTH, profile)
        yield Cell((ours, replace(ours, solver="scikit-learn", k="")), profile.greedy_rounds)


def topk(profile: Profile) -> Iterator[Cell]:
    """Return the same Top-k search by pytrees-rs."""
    for search in profile.topk:
        ours = job("topk", search[0], BOOLEAN, OURS, search[1], search[2], profile)
        yield Cell((ours, replace(ours, solver="pytrees-rs")), profile.rounds)


def optimal(profile: Profile) -> Iterator[Cell]:
    """Return the optimal tree by pystreed."""
    for search in profile.optimal:
        ours = job("optimal", search[0], BOOLEAN, OURS, search[1], search[2], profile)
        yield Cell((ours, replace(ours, solver="pystreed", k="")), profile.rounds)


def penalty(profile: Profile) -> Iterator[Cell]:
    """Return the optimal tree with a penalty for leaves, by gosdt and pystreed."""
    for search in profile.penalty:
        ours = replace(job("penalty", search[0], BOOLEAN, OURS, search[1], search[2], profile), penalty=PENALTY)
        peers = [replace(ours, solver=solver, k="") for solver in ("gosdt", "pystreed")]
        yield Cell((ours, *peers), profile.rounds)


def contree(profile: Profile) -> Iterator[Cell]:
    """Return the optimal tree on raw numbers, every midpoint a threshold, by pycontree."""
    for search in profile.contree:
        ours = job("contree", search[0], EXACT, OURS, search[1], search[2], profile)
        yield Cell((ours, replace(ours, solver="pycontree", k="")), profile.rounds)


def fico(profile: Profile) -> Iterator[Cell]:
    """k = 16 on FICO, every midpoint a threshold."""
    for depth in profile.fico_depths:
        yield Cell((job("fico", FICO, EXACT, OURS, "16", depth, profile),), profile.rounds)


def threads(profile: Profile) -> Iterator[Cell]:
    """Two threads against one."""
    for search in profile.threads:
        two = replace(job("threads", search[0], BOOLEAN, OURS, search[1], search[2], profile), threads=2)
        yield Cell((two, replace(two, threads=1)), profile.greedy_rounds)


def scale(profile: Profile) -> Iterator[Cell]:
    """Return jobs with generated rows, from few to many, and with many columns."""
    for size in profile.sizes:
        yield Cell((job("scale", size, GENERATED, OURS, SCALE_K, SCALE_DEPTH, profile),), profile.rounds)


SECTIONS: dict[str, Callable[[Profile], Iterator[Cell]]] = {
    "greedy": greedy,
    "raw": raw,
    "fico": fico,
    "threads": threads,
    "scale": scale,
    "topk": topk,
    "optimal": optimal,
    "penalty": penalty,
    "contree": contree,
}


def plan(profile: Profile) -> list[Cell]:
    """Every cell, in the order in which they are run."""
    return [cell for section in SECTIONS.values() for cell in section(profile)]
