"""How many thresholds a numeric feature needs: topktree's rules against scikit-learn's greedy tree on raw numbers.

In: the runs of `thresholds_runs`, kept in a CSV file. Out: beside it a Markdown file of tables and conclusions, a
function of that file alone. Delete the CSV file to measure anew: after a change of the code, the versions or the
machine. Exit code 2: data is missing.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

from threadpoolctl import threadpool_limits

from topktree import Binarizer
from topktree_evidence.machine import processor, version
from topktree_evidence.studies.speed.tables import listed, table
from topktree_evidence.studies.thresholds.runs import (
    CLOSE,
    DATASETS,
    DEFAULT,
    DEPTHS,
    EXACT,
    EXACT_BYTES,
    EXACT_DEPTH,
    GUESS,
    KS,
    MAX_THRESHOLDS,
    RULES,
    SEEDS,
    SKIPPED,
    SKLEARN,
    TIME_LIMIT,
    TIMED_OUT,
    Job,
    Outcome,
    Results,
    depths_of,
    measure,
    progress,
)


def runs(results: Results, dataset: str, rule: str, k: int) -> Iterator[tuple[Job, Outcome]]:
    """All splits and depths of one contestant, without the skipped ones."""
    for job, outcome in results.items():
        if (job.dataset, job.rule, job.k) == (dataset, rule, k) and outcome.status != SKIPPED:
            yield job, outcome


def gap(results: Results, dataset: str, rule: str, k: int, what: str, depths: Sequence[int] = DEPTHS) -> float | None:
    """Points above scikit-learn: the mean over the splits and depths that were run; None: skipped."""
    points = []
    for job, outcome in runs(results, dataset, rule, k):
        if job.depth in depths:
            base = results[Job(dataset, job.seed, job.depth, SKLEARN, 1)]
            points.append(100 * (getattr(outcome, what) - getattr(base, what)))
    return round(mean(points), 6) if points else None  # rounded, so that equal is zero


def gaps(
    results: Results, rule: str, k: int, what: str = "test", depths: Sequence[int] = DEPTHS, sets: Sequence[str] = ()
) -> dict[str, float]:
    """`gap` by dataset, of those (or of `sets`) that the rule was run on."""
    found = {name: gap(results, name, rule, k, what, depths) for name in sets or datasets_of(results)}
    return {name: points for name, points in found.items() if points is not None}


def datasets_of(results: Results) -> list[str]:
    return list(dict.fromkeys(job.dataset for job in results))


def points_text(points: float | None) -> str:
    return "-" if points is None else f"{round(points, 2) + 0.0:+.2f}"  # no "-0.00"


def heading(k: int) -> list[str]:
    """The columns of a table of rules."""
    names = {DEFAULT: f"{DEFAULT} (default)"}
    if depths_of(EXACT, k) != DEPTHS:
        names[EXACT] = f"exact, depth {DEPTHS[0]}-{EXACT_DEPTH}"
    return [names.get(rule, rule) for rule in RULES]


def accuracy_tables(results: Results, what: str) -> list[str]:
    """Per dataset, a table for each k."""
    lines = []
    for k in KS:
        rows = []
        for name in datasets_of(results):
            base = mean(100 * getattr(o, what) for _, o in runs(results, name, SKLEARN, 1))
            cells = [points_text(gap(results, name, rule, k, what)) for rule in RULES]
            cut = [any(o.status == TIMED_OUT for _, o in runs(results, name, rule, k)) for rule in RULES]
            cells = [cell + " t" * is_cut for cell, is_cut in zip(cells, cut, strict=True)]
            rows.append([name, f"{base:.2f} %", *cells])
        rows.append(["mean", "", *(mean_text(results, rule, k, what) for rule in RULES)])
        if common := with_exact(results):
            label = f"mean of the {len(common)} with exact"
            rows.append([label, "", *(mean_text(results, rule, k, what, sets=common) for rule in RULES)])
        lines += [f"### k = {k}", "", *table(["dataset", "scikit-learn", *heading(k)], rows), ""]
    return lines[:-1]


def mean_text(results: Results, rule: str, k: int, what: str = "test", **where: Any) -> str:
    found = gaps(results, rule, k, what, **where)
    return points_text(mean(found.values()) if found else None)


def with_exact(results: Results) -> list[str]:
    """The datasets on which "exact" was run, unless these are all."""
    found = list(gaps(results, EXACT, 1))
    return [] if len(found) == len(datasets_of(results)) else found


def depth_tables(results: Results) -> list[str]:
    """Mean test accuracy by depth, a table for each k."""
    lines = []
    common = with_exact(results)
    for k in KS:
        rows = []
        for depth in DEPTHS:
            sets = {str(depth): datasets_of(results)} | ({f"{depth}, the {len(common)}": common} if common else {})
            for label, names in sets.items():
                cells = (mean_text(results, rule, k, depths=(depth,), sets=names) for rule in RULES)
                rows.append([label, *cells])
        lines += [f"### k = {k}", "", *table(["depth", *heading(k)], rows), ""]
    return lines[:-1]


def seconds_of(results: Results, dataset: str, rule: str, k: int) -> float | None:
    """The median over splits and depths; None: skipped."""
    found = [outcome.seconds for _, outcome in runs(results, dataset, rule, k)]
    return median(found) if found else None


def seconds_tables(results: Results) -> list[str]:
    """Per dataset, a table for each k."""
    lines = []
    for k in KS:
        contestants = [(SKLEARN, 1), *((rule, k) for rule in RULES)]
        found = {name: [seconds_of(results, name, *who) for who in contestants] for name in datasets_of(results)}
        whole = [[s for s in column if s is not None] for column in zip(*found.values(), strict=True)]
        found["median"] = [median(column) if column else None for column in whole]
        rows = [[name, *("-" if s is None else f"{s:.3g}" for s in cells)] for name, cells in found.items()]
        lines += [f"### k = {k}", "", *table(["dataset", "scikit-learn", *heading(k)], rows), ""]
    return lines[:-1]


def columns_table(results: Results) -> list[str]:
    """The number of Boolean columns; it does not depend on k."""
    rows = []
    for name in datasets_of(results):
        counts = [[o.columns for j, o in results.items() if (j.dataset, j.rule) == (name, rule)] for rule in RULES]
        rows.append([name, *(f"{median(count):,.0f}" for count in counts)])
    return table(["dataset", *heading(1)], rows)


def conclusions(results: Results) -> list[str]:
    """What the numbers say, as points of a list."""
    found = [about_default(results, k) for k in KS]
    found += [about_best(results, k, what) for k in KS for what in ("test", "train")]
    found += [about_rule(results, rule, k) for rule in (EXACT, GUESS) for k in KS]
    return [*found, about_seconds(results), *about_limits(results)]


def about_default(results: Results, k: int) -> str:
    points = gaps(results, DEFAULT, k)
    average, low, high = mean(points.values()), min(points, key=points.__getitem__), max(points, key=points.__getitem__)
    above = sum(p > 0 for p in points.values())
    below = [f"{name} ({points_text(p)})" for name, p in points.items() if p < 0]
    return (
        f"The default, {DEFAULT} thresholds, at k = {k} is {with_error(list(points.values()))} points from"
        f" scikit-learn's raw greedy tree on test rows, in the mean over {len(points)} datasets: {compared(average)}."
        f" Worst is {low} ({points_text(points[low])}), best {high} ({points_text(points[high])}). It is above"
        f" scikit-learn on **{above} of {len(points)}** datasets; below on: {', '.join(below) or 'none'}."
    )


def compared(average: float) -> str:
    if abs(average) <= CLOSE:
        return f"**within {CLOSE:g} points**"
    return f"**more than {CLOSE:g} points {'better' if average > 0 else 'worse'}**"


def with_error(points: Sequence[float]) -> str:
    """The mean over datasets and its standard error."""
    error = f" (standard error {stdev(points) / len(points) ** 0.5:.2f})" if len(points) > 1 else ""
    return points_text(mean(points)) + error


def about_best(results: Results, k: int, what: str) -> str:
    """Which number of thresholds has the best accuracy."""
    found = {rule: gaps(results, rule, k, what) for rule in MAX_THRESHOLDS if rule != EXACT}
    best, following, *_ = sorted(found, key=lambda rule: -mean(found[rule].values()))
    rows = "test rows" if what == "test" else "training rows"
    text = f"On {rows} at k = {k}, {best} thresholds have the best mean ({points_text(mean(found[best].values()))})"
    if best == DEFAULT:
        return f"{text}: the default. Next is {following} ({points_text(mean(found[following].values()))})."
    differences = [found[best][name] - found[DEFAULT][name] for name in found[best]]
    return f"{text}, {with_error(differences)} points from the default's."


def about_rule(results: Results, rule: str, k: int) -> str:
    """A rule against the default, on the same datasets, splits and depths."""
    depths = depths_of(rule, k)
    differences = {}
    for what in ("test", "train"):
        ours = gaps(results, rule, k, what, depths)
        default = gaps(results, DEFAULT, k, what, depths)
        differences[what] = [points - default[name] for name, points in ours.items()]
    if not differences["test"]:
        return f'"{rule}" at k = {k} was run on no dataset.'
    above = sum(difference > 0 for difference in differences["test"])
    return (
        f'"{rule}" at k = {k} is {with_error(differences["test"])} points from the default on test rows, in the mean'
        f" over {len(differences['test'])} datasets at depths {depths[0]} to {depths[-1]}, and above it on {above}; on"
        f" training rows {with_error(differences['train'])}."
    )


def about_seconds(results: Results) -> str:
    """Multiples of scikit-learn's seconds."""
    parts = []
    for rule, k in [(rule, k) for rule in (DEFAULT, GUESS) for k in KS]:
        pairs = [(seconds_of(results, n, rule, k), seconds_of(results, n, SKLEARN, 1)) for n in datasets_of(results)]
        ratios = [ours / base for ours, base in pairs if ours and base]
        words = f"{DEFAULT} thresholds" if rule == DEFAULT else f'"{rule}"'
        parts.append(f"{words} at k = {k}: {median(ratios):.2g} ({min(ratios):.2g} to {max(ratios):.2g})")
    return f"Seconds as a multiple of scikit-learn's, median and range over the datasets: {'; '.join(parts)}."


def about_limits(results: Results) -> list[str]:
    """Runs that were skipped or cut short."""
    points = []
    cut = [job for job, outcome in results.items() if outcome.status == TIMED_OUT]
    where = dict.fromkeys(f"{job.dataset}, {job.rule}, k = {job.k}, depth {job.depth}" for job in cut)
    n_run = sum(outcome.status != SKIPPED for outcome in results.values())
    tally = f"{len(cut)} of {n_run} runs hit the limit of {TIME_LIMIT:g} s"
    points.append(f"{tally}: {'; '.join(where)}." if cut else f"{tally}.")
    skipped = dict.fromkeys(job.dataset for job, outcome in results.items() if outcome.status == SKIPPED)
    if skipped:
        points.append(f'"exact" was not run on {", ".join(skipped)}: too many columns.')
    return points


INTRODUCTION = f"""# How many thresholds?

topktree searches over yes/no questions, so a number such as an age first becomes questions `age <= 40.5`. Which
thresholds it may ask about matters twice. Too few may miss the place where the classes part. Too many make the search
slow, and may crowd it: the k best questions of a node become near copies of one another.

- **{RULES[0]} to {RULES[-3]}** (`max_thresholds`, default {DEFAULT}; "quantile" in `Binarizer`): half of a feature's
  thresholds at evenly spaced quantiles of the rows, half where the classes change, as a tree on that feature alone
  would cut.
- **exact** (`max_thresholds=None`): every midpoint between neighbouring values.
- **guess** (`Binarizer(strategy="guess")` before the tree): the thresholds that a small boosted ensemble uses, at most
  {Binarizer().max_thresholds} per feature.

The yardstick is scikit-learn's `DecisionTreeClassifier` (entropy, the same depth) on the raw numbers: a greedy tree
that may cut anywhere. k = 1 is topktree's greedy tree, so there only the thresholds differ, and how ties are broken;
k = {KS[-1]} tries the {KS[-1]} best columns at every node. The numbers are summed up [at the end](#conclusions).

This page and [thresholds.csv](thresholds.csv), a row per run, are made by

```
python benchmarks/thresholds.py
```

which goes on where the CSV file ends; delete that to measure anew.
"""


def conditions(results: Results) -> list[str]:
    """How the numbers are taken."""
    versions = ", ".join(f"{package} {version(package)}" for package in ("topktree", "scikit-learn"))
    machine = f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    minutes = sum(outcome.seconds or 0 for outcome in results.values()) / 60
    return [
        f"{len(datasets_of(results))} numerical datasets; {len(SEEDS)} random splits, 80 % of the rows to train, seeds"
        f" {SEEDS[0]} to {SEEDS[-1]}; depths {DEPTHS[0]} to {DEPTHS[-1]}. electrical-grid-stability is without its"
        " column `stab`, which is the answer; ml-prove and avila are both their parts joined.",
        "",
        f"At k = {KS[-1]} a fit has {TIME_LIMIT:g} s; `t` marks numbers with fits that needed more, whose tree is the"
        f' best found by then. "exact" is left out where it needs more than {EXACT_BYTES / 1e6:g} MB of packed bits'
        f" (`-`), and at k = {KS[-1]} for trees deeper than {EXACT_DEPTH}, since every level multiplies its time.",
        "",
        f"{machine}; {versions}. Seconds are of one run each, on one thread, of a machine not kept free of other"
        f" work: good for orders of magnitude. All fits together took {minutes:.0f} minutes.",
    ]


def page(results: Results) -> str:
    """The Markdown file."""
    lines = [INTRODUCTION, *conditions(results)]
    lines += ["", "## Test accuracy", "", "Of scikit-learn's tree; the others as percentage points above or below it."]
    lines += ["Means over splits and depths.", "", *accuracy_tables(results, "test")]
    lines += ["", "## Training accuracy", "", "The same on the training rows.", "", *accuracy_tables(results, "train")]
    lines += ["", "## Seconds", "", "Of `fit`, binarising included: medians over splits and depths.", ""]
    lines += seconds_tables(results)
    lines += ["", "## Test accuracy by depth", "", "Percentage points above or below scikit-learn, means over datasets"]
    lines += ['and splits. "The n": of the n datasets that "exact" was run on.', "", *depth_tables(results)]
    lines += ["", "## Boolean columns", "", 'Medians over splits; those of "exact" before copies are dropped.', ""]
    lines += columns_table(results)
    lines += ["", "## Conclusions", *listed("Made from the numbers above:", conclusions(results))]
    return "\n".join(lines) + "\n"


def arguments() -> argparse.Namespace:
    root = Path(__file__).resolve().parent.parent
    data = Path(os.environ.get("TOPKTREE_DATA") or root.parent / "shared" / "datasets")
    parser = argparse.ArgumentParser(description="how many thresholds a numeric feature needs")
    parser.add_argument("--data", type=Path, default=data, help="folder of <name>.csv.gz files, else $TOPKTREE_DATA")
    parser.add_argument("--out", type=Path, default=root / "docs" / "thresholds.md", help="the CSV file is beside it")
    parser.add_argument("--only", nargs="+", choices=DATASETS, default=DATASETS, help="these datasets", metavar="NAME")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    if not args.data.is_dir():
        progress(f"thresholds.py: no folder {args.data}: set --data or $TOPKTREE_DATA to the folder of the datasets")
        return 2
    try:
        with threadpool_limits(1):  # the ensemble of "guess" would take every core
            results = measure(args.only, args.data, args.out.with_suffix(".csv"))
    except FileNotFoundError as missing:
        progress(f"thresholds.py: {missing}")
        return 2
    args.out.write_text(page(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
