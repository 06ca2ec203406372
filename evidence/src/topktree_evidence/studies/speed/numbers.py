"""Raw numbers, every midpoint a threshold: optimal trees against pycontree, greedy ones against scikit-learn, memory.

In: the numerical datasets of the paper and of Quant-BnB, and generated numbers. Out: a row per run, and the section
of benchmarks.md on raw numbers, from templates/numbers.md.
The one idea: the contestants are stopped at the same limit, which is the user's, so it is not among the keys of a run.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from ... import pages
from ...matrices import RAW, load
from ...peers import CONTREE, GREEDY, OURS
from ...splits import FICO
from ...stopwatch import Stopwatch
from ...study import FINISHED, Row, Settings, Study, Task
from ...text import geometric_mean, where
from . import measuring, plans
from .findings import WRONG, findings
from .results import EXACTLY, busy, duels, readable, results, summary, table, times

KEYS = ("section", "dataset", "solver", "k", "depth", "threads", "round")
OPTIMAL, LIMITED, GREEDILY, SCALE = "optimal", "limited", "greedy-numbers", "scale"
DATASETS = (*RAW, FICO)
CAP, SECONDS = 300.0, 30.0  # of a fit; of a search that returns its best tree by then
DEPTHS, LIMITED_DEPTHS, GREEDY_DEPTH = (2, 3, 4), (4, 5), 5
KS = ("1", "8")
SIZE = "1000000x20"
ROUNDS = 3
ORDER = ((SCALE, 5), (GREEDILY, 5), (OPTIMAL, 2), (OPTIMAL, 3), (LIMITED, 4), (LIMITED, 5), (OPTIMAL, 4))

Contestant = tuple[str, str, int]  # solver, k, threads

OPTIMAL_CONTESTANTS: tuple[Contestant, ...] = ((OURS, "all", 1), (CONTREE, "", 1))
GREEDY_CONTESTANTS: tuple[Contestant, ...] = (*((OURS, k, 1) for k in KS), (GREEDY, "", 1))
SCALE_CONTESTANTS: tuple[Contestant, ...] = ((OURS, "1", 1), (OURS, "1", 2), (GREEDY, "", 1))


def plan(settings: Settings) -> list[Task]:
    """Plan every measurement; contestants take turns, every other round goes backwards."""
    cells = [(OPTIMAL, name, depth, OPTIMAL_CONTESTANTS) for name in DATASETS for depth in settings.up_to(DEPTHS)]
    cells += [(LIMITED, name, d, OPTIMAL_CONTESTANTS) for name in DATASETS for d in settings.up_to(LIMITED_DEPTHS)]
    cells += [(GREEDILY, name, d, GREEDY_CONTESTANTS) for name in DATASETS for d in settings.up_to([GREEDY_DEPTH])]
    cells += [(SCALE, SIZE, d, SCALE_CONTESTANTS) for d in settings.up_to([GREEDY_DEPTH])]
    return [
        dict(zip(KEYS, (section, name, *contestant[:2], depth, contestant[2], turn), strict=True))
        for section, name, depth, contestants in cells
        if settings.datasets is None or name in settings.datasets
        for turn in range(ROUNDS)
        for contestant in contestants[:: -1 if turn % 2 else 1]
    ]


def measure(task: Task, settings: Settings, stopwatch: Stopwatch) -> Row:
    """Measure; a search that is asked for its best tree after SECONDS is finished if it returns one by then."""
    is_limited, limit = task["section"] == LIMITED, settings.time_limit or CAP
    more = {
        "input": plans.NORMAL if task["section"] == SCALE else plans.EXACT,
        "penalty": 0.0,
        "cap": min(SECONDS, limit) if is_limited else limit,
        "anytime": is_limited,
    }
    found = measuring.measure({**task, **more}, settings, stopwatch)
    is_whole = is_limited and limit >= SECONDS and found.get("errors") is not None
    return found | {"status": FINISHED} if is_whole else found


def is_hopeless(task: Task, stopped: Task) -> bool:
    """Return True for an optimal tree deeper than one that the same contestant did not find within the limit."""
    is_alike = all(task[name] == stopped[name] for name in ("section", "dataset", "solver"))
    return is_alike and task["section"] == OPTIMAL and stopped["depth"] <= task["depth"]


def read(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the results, with the columns that other benchmarks have as keys."""
    planned = pd.DataFrame(plan(Settings()))
    runs = planned.merge(readable(runs), on=list(KEYS))  # in the order of the plan
    caps = runs["limit"].where(runs["section"] != LIMITED, runs["limit"].clip(upper=SECONDS))
    cap = runs.assign(cap=caps).groupby([name for name in KEYS if name != "round"])["cap"].transform("max")
    return results(runs.assign(input=plans.EXACT, penalty=0.0, cap=cap))


def section(runs: pd.DataFrame) -> tuple[str, list[str]]:
    """Return the section of the page, and training errors that cannot be right."""
    found = read(runs)
    tried = runs.dropna(subset="machine")  # not those that a run stopped at the limit made hopeless
    optimal, limited = duels(found, OPTIMAL, CONTREE), duels(found, LIMITED, CONTREE)
    greedy, scale = duels(found, GREEDILY, GREEDY), where(found, section=SCALE)
    optimal = optimal[optimal["finished"] | optimal["finished_peer"]]
    checked = {name: findings(name, where(found, section=name), ()) for name in (LIMITED, GREEDILY, SCALE)}
    checked[OPTIMAL] = findings(OPTIMAL, where(found, section=OPTIMAL), optimal.itertuples())
    text = pages.render(
        "numbers",
        machines=sorted(set(tried["machine"])),
        engines=sorted(set(where(tried, solver=OURS)["engine"])),
        peers=sorted({f"{run.solver} {run.version}" for run in tried.itertuples() if run.solver != OURS}),
        limits=tried,
        seconds=f"{SECONDS:g}",
        busy=busy(tried),
        greedy_depth=GREEDY_DEPTH,
        optimal=optimal_table(optimal),
        by_depth={depth: verdict(own) for depth in DEPTHS if len(own := where(optimal, depth=depth))},
        unsolved=unsolved(duels(found, OPTIMAL, CONTREE)),
        limited=limited_table(limited),
        better={depth: tally(own) for depth in LIMITED_DEPTHS if len(own := where(limited, depth=depth))},
        greedy=greedy_table(greedy),
        by_k={k: verdict(where(greedy, k=k)) for k in KS},
        same=(where(greedy, k="1")["errors"] == where(greedy, k="1")["errors_peer"]).sum(),
        n_greedy=len(where(greedy, k="1")),
        scale=scale_table(found) if len(scale) else "",
        size="{} rows of {} numbers".format(*(f"{int(n):,}" for n in SIZE.split("x"))),
        lacking=lacking(runs),
        findings={kind: [s for own in checked.values() for s in own[kind]] for kind in checked[OPTIMAL]},
    )
    return text, [sentence for own in checked.values() for sentence in own[WRONG]]


def verdict(pairs: pd.DataFrame) -> dict[str, Any]:
    """Return the summary of the ratios, and the cells in which topktree is slower."""
    slower = pairs[pairs["ratio"] < 1].sort_values("ratio")
    cells = [f"{row.dataset} ({row.times})" for row in slower.itertuples()]
    both = pairs[pairs["finished"] & pairs["finished_peer"]]
    equal = (both["errors"] == both["errors_peer"]).sum()
    used = times(geometric_mean(both["used_peer"] / both["used"])) if len(both) else "-"
    return {"summary": summary(pairs), "used": used, "slower": cells, "both": len(both), "equal": equal}


def unsolved(pairs: pd.DataFrame) -> list[str]:
    """Return the cells that neither contestant finished."""
    neither = pairs[~pairs["finished"] & ~pairs["finished_peer"]]
    return [f"{row.dataset} at depth {row.depth}" for row in neither.itertuples()]


def lacking(runs: pd.DataFrame) -> list[str]:
    """Return the parts of the plan of which some contestants were not measured yet."""
    planned = where(pd.DataFrame(plan(Settings())), round=0).groupby(["section", "depth"], sort=False).size()
    made = where(runs, round=0).groupby(["section", "depth"]).size().reindex(planned.index, fill_value=0)
    short = [(part, made[part], n) for part, n in planned.items() if made[part] < n]
    return [f"{section} at depth {depth}: {done} of {n}" for (section, depth), done, n in short]


def optimal_table(pairs: pd.DataFrame) -> str:
    """Return a line per dataset and depth."""
    columns = ["dataset", "rows", "columns", "depth", "time", "time_peer", "times", "counted", "counted_peer"]
    columns += ["mib", "mib_peer"]
    headings = ["dataset", "rows", "features", "depth", OURS, CONTREE, "ratio", "errors", "peer's errors"]
    return table(pairs, columns, [*headings, "MiB", "peer's MiB"])


def limited_table(pairs: pd.DataFrame) -> str:
    """Return errors and seconds of what was found by the limit."""
    columns = ["dataset", "rows", "columns", "depth", "counted", "counted_peer", "time", "time_peer"]
    headings = ["dataset", "rows", "features", "depth", f"errors of {OURS}", f"of {CONTREE}", OURS, CONTREE]
    return table(pairs, columns, headings)


def tally(pairs: pd.DataFrame) -> dict[str, Any]:
    """Count the datasets on which either has fewer errors by the limit; no tree at all is worse than any."""
    ours, theirs = (pairs[name].fillna(float("inf")) for name in ("errors", "errors_peer"))
    behind = pairs[ours > theirs]
    return {"n": len(pairs), "fewer": (ours < theirs).sum(), "equal": (ours == theirs).sum(), "behind": behind}


def greedy_table(pairs: pd.DataFrame) -> str:
    """Return a line per dataset, with every k."""
    wide = where(pairs, k=KS[0])
    for k in KS:
        own = where(pairs, k=k)[["dataset", "time", "times", "counted"]].add_suffix(f"_{k}")
        wide = wide.merge(own, left_on="dataset", right_on=f"dataset_{k}")
    columns = ["dataset", "rows", "columns", "time_peer", *(f"{what}_{k}" for k in KS for what in ("time", "times"))]
    headings = ["dataset", "rows", "features", GREEDY, *(text for k in KS for text in (f"k = {k}", "ratio"))]
    columns += ["counted_peer", *(f"counted_{k}" for k in KS)]
    return table(wide, columns, [*headings, "errors: sklearn", *(f"k = {k}" for k in KS)])


def scale_table(found: pd.DataFrame) -> str:
    """Return the contestants on generated numbers: time, ratio to scikit-learn, memory that the fit adds."""
    own = where(found, section=SCALE)
    base = where(own, solver=GREEDY)["seconds"].median()
    names = [f"{row.solver}, {row.threads} thread{'s' * (row.threads > 1)}" for row in own.itertuples()]
    adds = own["growth"] / (own["rows"] * own["columns"] * 8)
    own = own.assign(
        contestant=names,
        ratio=[f"{times(base / s, EXACTLY)}x" for s in own["seconds"]],
        adds=[f"{a:.2f}x" for a in adds],
    )
    columns = ["contestant", "time", "ratio", "cores", "counted", "adds"]
    return table(
        own, columns, ["contestant", "time", f"ratio to {GREEDY}", "cores", "errors", "memory added, by input"]
    )


STUDY = Study(
    "speed-numbers",
    KEYS,
    measuring.RESULTS,
    plan,
    alone=measure,
    limit=CAP,
    optional=measuring.RESULTS,
    origin=measuring.ORIGIN,
    effort=lambda task: (ORDER.index((task["section"], task["depth"])),),
    is_hopeless=is_hopeless,
    is_current=measuring.is_current,
    is_repeated=measuring.is_repeated,
    needs=lambda task: None if task["section"] == SCALE else task["dataset"],
    load=load,
    folder="benchmarks",
    file="numbers",
    keeps_runs=True,
)
