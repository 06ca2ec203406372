"""The plan of the measurements: the searches of each section, for the quick and for the full profile.

In: a profile. Out: tasks, in the order in which they are run.
The one idea: contestants that are compared with each other, the cell of a table, take turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from ...matrices import CATEGORICAL, NUMERICAL
from ...peers import CONTREE, GOSDT, GREEDY, OURS, STREED, TOP_K
from ...splits import FICO
from ...study import Row, Settings

KEYS = ("section", "dataset", "input", "solver", "k", "depth", "threads", "penalty", "cap", "round")
# EXACT: raw, topktree with every midpoint; NORMAL: the same of generated numbers that are all distinct.
BOOLEAN, RAW, EXACT, GENERATED, NORMAL = "boolean", "raw", "exact", "generated", "normal"

# The sections in the order in which they are run: their input, and the peers that topktree meets.
SECTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "greedy": (BOOLEAN, (GREEDY,)),
    "raw": (RAW, (GREEDY,)),
    "fico": (EXACT, ()),
    "threads": (BOOLEAN, ()),
    "scale": (GENERATED, ()),
    "topk": (BOOLEAN, (TOP_K,)),
    "optimal": (BOOLEAN, (STREED,)),
    "penalty": (BOOLEAN, (GOSDT, STREED)),
    "contree": (EXACT, (CONTREE,)),
}
BRIEF = ("greedy", "raw", "threads")  # sections with fits of milliseconds
ROUNDS = 3  # in the other sections
GREEDY_KS = ("1", "8", "16")
PENALTY = 0.005  # of a leaf, as a share of the rows: gosdt needs one

DATASETS = CATEGORICAL + NUMERICAL
SMALL = ("tic-tac-toe", "kr-vs-kp", "nursery", "spambase")
DEEP = ("connect-4", "letter-recognition", "hiv-1-protease", "ml-prove", "taiwanese-bankruptcy")
WIDE = "2000x50000"  # rows x columns, as all generated sizes

Search = tuple[str, str, int]  # dataset, k, depth


@dataclass(frozen=True)
class Profile:
    """The extent of the measurements: rounds, caps and searches."""

    name: str
    brief_rounds: int
    cap: float  # seconds
    fico_cap: float
    searches: Mapping[str, Sequence[Search]]  # by section


def searches(datasets: Iterable[str], ks: Iterable[str], depths: Iterable[int]) -> list[Search]:
    """Return all combinations."""
    return list(product(datasets, ks, depths))


LONG_SEARCHES = [("telescope", "all", 4), ("credit-card", "all", 4), ("dry-bean", "16", 6)]
IN_BOTH = {
    "greedy": searches(DATASETS, ["1"], [5]),  # and the other GREEDY_KS
    "raw": searches(NUMERICAL, ["1"], [5]),
    "fico": searches([FICO], ["16"], [5, 6]),
}

QUICK = Profile(
    name="quick",
    brief_rounds=3,
    cap=15.0,
    fico_cap=15.0,
    searches=IN_BOTH
    | {
        "threads": [*LONG_SEARCHES, *searches(("hayes-roth", "car", "kr-vs-kp", "avila"), ["8"], [3, 5])],
        "scale": searches(("100000x100", "300000x100", "1000000x100", WIDE), ["4"], [5]),
        "topk": [(name, k, depth) for name in (*SMALL, "telescope") for k, depth in (("4", 4), ("8", 5), ("16", 4))],
        "optimal": [*searches(SMALL, ["all"], [3, 4]), *searches(["telescope", "dry-bean", FICO], ["all"], [3])],
        "penalty": searches(("tic-tac-toe", "car", "kr-vs-kp", "spambase"), ["all"], [3]),
        "contree": searches(["occupancy-estimation", "telescope", FICO], ["all"], [2]),
    },
)

FULL = Profile(
    name="full",
    brief_rounds=7,
    cap=300.0,
    fico_cap=600.0,
    searches=IN_BOTH
    | {
        "threads": [
            *LONG_SEARCHES,
            *searches(("avila", "electrical-grid-stability"), ["all"], [4]),
            *searches(DEEP, ["16"], [6]),
            (FICO, "all", 3),
            *searches(DATASETS, ["4"], [3]),
            *searches(DATASETS, ["8"], [4]),
        ],
        "scale": searches(("100000x100", "300000x100", "1000000x100", "3000000x100", "10000000x100", WIDE), ["4"], [5]),
        "topk": searches(DATASETS, ["4", "8", "16"], [4, 5, 6]),
        "optimal": searches(DATASETS, ["all"], [3, 4, 5]),
        "penalty": searches(DATASETS, ["all"], [3, 4]),
        "contree": searches(NUMERICAL, ["all"], [2, 3, 4]),
    },
)


def tasks(profile: Profile, settings: Settings) -> list[Row]:
    """Return every measurement; every other round goes backwards."""
    found: list[Row] = []
    for section in SECTIONS:
        for search in profile.searches[section]:
            if settings.datasets is None or search[0] in settings.datasets:
                cell = contestants(section, search, profile)
                for turn in range(profile.brief_rounds if section in BRIEF else ROUNDS):
                    found += [task | {"round": turn} for task in cell[:: -1 if turn % 2 else 1]]
    return found


def contestants(section: str, search: Search, profile: Profile) -> list[Row]:
    """Return the tasks of a cell, topktree's first; a peer other than pytrees-rs has no k."""
    dataset, k, depth = search
    data, peers = SECTIONS[section]
    ours = {
        "section": section,
        "dataset": dataset,
        "input": data,
        "solver": OURS,
        "k": k,
        "depth": depth,
        "threads": 1,
        "penalty": PENALTY if section == "penalty" else 0.0,
        "cap": profile.fico_cap if dataset == FICO else profile.cap,
    }
    if section == "threads":
        return [ours | {"threads": 2}, ours]
    wider = [ours | {"k": k} for k in GREEDY_KS[1:]] if section == "greedy" else []
    return [ours, *wider, *(ours | {"solver": peer, "k": k if peer == TOP_K else ""} for peer in peers)]
