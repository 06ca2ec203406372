"""choosing-k.md: what cross-validation chooses and what it is worth, with pictures.

In: the summary of `choosing`. Out: the page, and its pictures. The one idea: no number on it is typed by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log
from pathlib import Path
from typing import Any

from topktree_evidence.splits import WITHOUT_ANSWER
from topktree_evidence.studies.choosing.pictures import GAINS, SIZES, draw
from topktree_evidence.studies.choosing.runs import (
    ALPHAS,
    DEPTHS,
    DISTINCT,
    FOLDS,
    KEYS,
    KS,
    PENALTY,
    RESULTS,
    SKLEARN,
    STREED,
    STREED_DEPTHS,
    TOPK,
    WITH_PENALTY,
    effort,
    is_hopeless,
    run,
    tasks,
)
from topktree_evidence.studies.choosing.summary import FIXED, SUMMARY, comparable, summary
from topktree_evidence.study import Experiment, Row, its_dataset
from topktree_evidence.text import (
    is_clear,
    limits,
    listed,
    markdown,
    mean,
    numbers,
    only,
    points,
    seconds,
    values,
    where,
)

OVERFITTING = ("taiwanese-bankruptcy", "credit-card", "electrical-grid-stability", WITHOUT_ANSWER)

INTRODUCTION = """\
```python
from topktree import TopKTreeClassifierCV

cv = TopKTreeClassifierCV(n_jobs=-1).fit(X, y)  # k in 1, 2, 4, 8, 16, depth in 2, ..., 6, five folds
cv.best_params_  # {'k': 4, 'max_depth': 5, 'leaf_penalty': 0.0}
cv.plot()  # what it was chosen from
print(cv.export_text())  # the tree, fitted to all rows with these parameters
```

More choices fit the training rows better, always; new rows only up to a point, and that point differs from one table to
the next. So k, the depth and, if asked for, the penalty per leaf are chosen by cross-validation. `rule="1se"`, the
default, takes the simplest candidate whose mean score is within one standard error of the best: fewest leaves, then
depth, then k. `rule="best"` takes the best. From the command line: `topktree choose data.csv --target income`.

For the smallest trees give it penalties to choose from, if you can wait a few times longer:
`TopKTreeClassifierCV(leaf_penalties=(0.0, 0.0005, 0.001, 0.002, 0.005))`.

This page is written by `topktree reproduce choosing` from [choosing/choosing.csv](choosing/choosing.csv).
"""


def write_page(out: Path, rows: Sequence[Row]) -> Path:
    """Write the page from the summary, with the pictures in the folder's `choosing`."""
    parts = ["# Choosing k", INTRODUCTION]
    if where(rows, method=TOPK, rule="1se") and where(rows, method=SKLEARN):
        parts += ["## In short", in_short(rows)]
        for title, picture, write in SECTIONS:
            parts.append(f"## {title}")
            if picture and (out / "choosing" / f"{picture[0]}.png").is_file():
                parts.append(f"![{picture[1]}](choosing/{picture[0]}.png)")
            parts.append(write(rows))
    else:
        parts.append("Not run yet: `topktree reproduce choosing`.")
    path = out / "choosing-k.md"
    path.write_text("\n\n".join(part.strip() for part in parts if part.strip()) + "\n", encoding="utf-8")
    return path


def in_short(rows: Sequence[Row]) -> str:
    """The goals, and what came out."""
    lines = []
    for method, rule, name in (
        (TOPK, "1se", 'Chosen by "1se"'),
        (TOPK, "best", 'Chosen by "best"'),
        (PENALTY, "1se", 'With leaf penalties in the grid, "1se"'),
        (DISTINCT, "1se", 'With distinct splits, "1se"'),
        (STREED, "best", "Pystreed, where it finishes"),
    ):
        if mine := where(rows, method=method, rule=rule):
            lines.append(
                f"* **{name}**, against the tuned scikit-learn tree: {_against(mine)}; {_leaves(mine)} "
                f"({_splits(mine)})."
            )
    return "\n".join(lines)


def _splits(mine: Sequence[Row]) -> str:
    most = max(numbers(mine, "splits"))
    return f"{most:g} splits" if most > 1 else "one split"


def _against(mine: Sequence[Row]) -> str:
    compared = [row for row in mine if row["gain_mean"] is not None]
    ahead = [row for row in compared if row["gain_mean"] > 0]
    behind = [row for row in compared if row["gain_mean"] < 0]
    worse = [row["dataset"] for row in behind if is_clear(row)]
    return (
        f"{points(mean(numbers(compared, 'gain_mean')), signed=True)} points in the mean, ahead on {len(ahead)} of "
        f"{len(compared)} datasets (clearly on {sum(map(is_clear, ahead))}), behind on {len(behind)} (clearly on "
        f"{listed(worse) if worse else 'none'})"
    )


def _leaves(mine: Sequence[Row]) -> str:
    """Leaves against those of scikit-learn's trees on the same splits, over the datasets."""
    pairs = [(row["leaves"], row["peer_leaves"]) for row in mine if row["peer_leaves"] is not None]
    ratio = exp(mean([log(ours / other) for ours, other in pairs]))
    ours, other = (mean([pair[i] for pair in pairs]) for i in (0, 1))
    return f"{ours:.1f} leaves against {other:.1f} in the mean, {ratio:.2f} times as many in the geometric mean"


def peers(rows: Sequence[Row]) -> str:
    """A line per dataset."""
    header = ("dataset", "splits", "scikit-learn", "1se", "gain", "best", "gain", "pystreed", "gain")
    body = []
    for name in values(rows, "dataset"):
        found = [
            only(rows, dataset=name, method=method, rule=rule)
            for method, rule in ((SKLEARN, "best"), (TOPK, "1se"), (TOPK, "best"), (STREED, "best"))
        ]
        if found[0] is not None and found[1] is not None:
            line: list[Any] = [name, found[1]["splits"], _accuracy(found[0])]
            for row in found[1:]:
                line += [_accuracy(row), _gain(row)]
            body.append(line)
    text = (
        "Test accuracy in percent, leaves in brackets; gains in points over scikit-learn's tree on the same splits, "
        "**bold** where the 95 % interval (Student's t) excludes 0. The splits of a dataset overlap, so that is a "
        "little generous; where there is one split only, nothing is bold.\n\n"
    )
    return text + markdown(header, body) + "\n\n" + _times(rows)


def _accuracy(row: Row | None) -> str:
    return "" if row is None else f"{points(row['test_mean'])} ({row['leaves']:.0f})"


def _gain(row: Row | None, name: str = "gain") -> str:
    if row is None or row[f"{name}_mean"] is None:
        return ""
    text = points(row[f"{name}_mean"], signed=True)
    return f"**{text}**" if is_clear(row, name) else text


def _times(rows: Sequence[Row]) -> str:
    ours = where(rows, method=TOPK, rule="1se")
    parts = [
        f"the whole choice took {seconds(min(numbers(ours, 'seconds')))} to {seconds(max(numbers(ours, 'seconds')))}"
    ]
    for method, name in ((SKLEARN, "scikit-learn's"), (STREED, "pystreed's, where it finished,")):
        if theirs := numbers(where(rows, method=method), "seconds"):
            parts.append(f"{name} {seconds(min(theirs))} to {seconds(max(theirs))}")
    return f"On one thread, {'; '.join(parts)} (medians over the splits)."


def fixed(rows: Sequence[Row]) -> str:
    """Mean accuracy and leaves over the datasets, for each k and depth that all of them finished."""
    names, done = comparable(rows)
    left_out = [name for name in values(rows, "dataset") if name not in names]
    rows = where(rows, dataset=tuple(names))
    header = ("", *(f"depth {depth}" for depth in DEPTHS))
    body = []
    for k in KS:
        line = [f"k = {k}"]
        for depth in DEPTHS:
            of_cell = where(rows, method=TOPK, rule=FIXED, k=k, depth=depth)
            line.append(_over_datasets(of_cell) if (k, depth) in done else "")
        body.append(line)
    chosen = [
        f"{name} {_over_datasets(where(rows, method=method, rule=rule))}"
        for method, rule, name in ((TOPK, "1se", '"1se"'), (TOPK, "best", '"best"'), (SKLEARN, "best", "scikit-learn"))
    ]
    text = (
        f"Test accuracy, and leaves in brackets, in the mean over {len(names)} datasets; empty where the limit came "
        f"first on one of them. Left out, since it came first at smaller depths too: {listed(left_out) or 'none'}. "
        "Single fits of every k and depth, as far as they finished, are in [paper.md](paper.md#thresholds). "
        f"Chosen on each split of each dataset: {', '.join(chosen)}.\n\n"
    )
    return text + markdown(header, body)


def _over_datasets(rows: Sequence[Row]) -> str:
    return f"{points(mean(numbers(rows, 'test_mean')))} ({mean(numbers(rows, 'leaves')):.1f})"


def overfitting(rows: Sequence[Row]) -> str:
    """The sets on which the paper sees more choices do harm."""
    header = ("dataset", "depth", *(f"k = {k}" for k in KS), '"1se"', "scikit-learn")
    body = []
    for name in OVERFITTING:
        for depth in DEPTHS[-3:]:
            line: list[Any] = [name, depth]
            line += [_accuracy(only(rows, dataset=name, method=TOPK, rule=FIXED, k=k, depth=depth)) for k in KS]
            for method, rule in ((TOPK, "1se"), (SKLEARN, "best")):
                line.append(_accuracy(only(rows, dataset=name, method=method, rule=rule)))
            body.append(line)
    return "Here the paper sees k > 1 fall behind the greedy tree at larger depths.\n\n" + markdown(header, body)


def distinct(rows: Sequence[Row]) -> str:
    """With distinct splits and without, everything else being equal."""
    header = ("k", "depth", "gain, points", "better", "clearly", "worse", "clearly")
    body = []
    for k in KS[1:]:
        for depth in DEPTHS[1:]:
            cells = where(rows, method=DISTINCT, rule=FIXED, k=k, depth=depth)
            compared = [row for row in cells if row["plain_mean"] is not None]
            if compared:
                body.append((k, depth, points(mean(numbers(compared, "plain_mean")), signed=True), *_counts(compared)))
    parts = [f"{name}: {_plain(where(rows, method=DISTINCT, rule=rule))}" for rule, name in _RULE_NAMES]
    text = (
        "`distinct_splits=True` against `False`, the same k and depth, on the same splits: the mean over the "
        "datasets that have both, and on how many of them it is better and worse (clearly: the 95 % interval "
        "excludes 0).\n\n"
    )
    return text + markdown(header, body) + "\n\nOf the trees chosen, " + "; ".join(parts) + "."


def penalties(rows: Sequence[Row]) -> str:
    """With leaf penalties in the grid and without."""
    mine = where(rows, method=PENALTY)
    if not mine:
        return "Not run."
    ks, depths, values_ = (_list(WITH_PENALTY[name]) for name in ("ks", "max_depths", "leaf_penalties"))
    text = f"The grid above and, beside it, leaf penalties {values_} for k in {ks} and depth in {depths}: "
    parts = [f"{name}: {_plain(where(rows, method=PENALTY, rule=rule))}" for rule, name in _RULE_NAMES]
    header = ("dataset", "splits", "without", '"1se"', "difference", '"best"', "difference")
    body = []
    for name in values(mine, "dataset"):
        one_se, best = (only(mine, dataset=name, rule=rule) for rule in ("1se", "best"))
        if one_se is not None:
            line = [name, one_se["splits"], _without(one_se)]
            body.append([*line, _accuracy(one_se), _gain(one_se, "plain"), _accuracy(best), _gain(best, "plain")])
    note = (
        'Accuracy and leaves; "without" is "1se" without penalties, differences are to the same rule without them.\n\n'
    )
    return text + "; ".join(parts) + f".\n\n{note}" + markdown(header, body)


_RULE_NAMES = (("1se", 'by "1se"'), ("best", 'by "best"'))


def _without(row: Row) -> str:
    """The same way without penalties, on the same splits."""
    if row["plain_mean"] is None:
        return ""
    return f"{points(row['test_mean'] - row['plain_mean'])} ({row['plain_leaves']:.0f})"


def _plain(mine: Sequence[Row]) -> str:
    compared = [row for row in mine if row["plain_mean"] is not None]
    better, clearly, worse, clearly_worse = _counts(compared)
    before = mean(numbers(compared, "plain_leaves"))
    return (
        f"{points(mean(numbers(compared, 'plain_mean')), signed=True)} points, better on {better} of {len(compared)} "
        f"datasets (clearly on {clearly}), worse on {worse} (clearly on {clearly_worse}), "
        f"{mean(numbers(compared, 'leaves')):.1f} leaves instead of {before:.1f} in the mean"
    )


def _counts(rows: Sequence[Row]) -> tuple[int, int, int, int]:
    """Better, clearly so, worse, clearly so."""
    better, worse = ([row for row in rows if sign * row["plain_mean"] > 0] for sign in (1, -1))
    clearly = [sum(is_clear(row, "plain") for row in side) for side in (better, worse)]
    return len(better), clearly[0], len(worse), clearly[1]


def what_was_run(rows: Sequence[Row]) -> str:
    """The setting."""
    mine = where(rows, method=TOPK, rule="1se")
    cut = [row["dataset"] for row in mine if row["cells"] is not None and row["cells"] < len(KS) * len(DEPTHS)]
    splits = {name: max(numbers(where(rows, method=name), "splits"), default=0) for name in (TOPK, PENALTY, STREED)}
    lines = [
        f"{len(mine)} datasets, the paper's and variants of two of them, up to {splits[TOPK]} splits each (80 % "
        "training rows; avila and ml-prove have one, fixed; FICO 100 test rows). Tables as they are: categories or "
        f"numbers, thresholds from the training rows of each fold. All choose by {FOLDS} stratified folds of the "
        "training rows.",
        f"* **Top-k**: k in {_list(KS)}, depth in {_list(DEPTHS)}. A time limit of {limits(mine)} s covers the whole "
        f"choice: on {len(cut)} datasets it came before the largest candidates on some splits "
        f"({listed(cut) if cut else 'none'}).",
        f"* **scikit-learn**: `DecisionTreeClassifier`, depth as above, `ccp_alpha` in {_list(ALPHAS)}, by "
        "`GridSearchCV`; categories one-hot.",
        f"* **pystreed**: optimal trees of depth {' or, where that takes too long, '.join(map(str, STREED_DEPTHS))}; "
        f"half of that time for each; its own columns, its own tuning of the size (`hyper_tune`), up to "
        f"{splits[STREED]} splits.",
        f"* **Leaf penalties**: up to {splits[PENALTY]} splits.",
    ]
    return "\n".join([lines[0], "", *lines[1:]])


def _list(found: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in found)


Write = Callable[[Sequence[Row]], str]
SECTIONS: tuple[tuple[str, tuple[str, str] | None, Write], ...] = (
    ("Against other trees that are tuned", (GAINS, "Gain over scikit-learn's tuned tree on every dataset"), peers),
    ("Against a fixed k and depth", (SIZES, "Mean accuracy against mean leaves"), fixed),
    ("Where more choices do harm", None, overfitting),
    ("Leaf penalties", None, penalties),
    ("Distinct splits", None, distinct),
    ("What was run", None, what_was_run),
)


EXPERIMENT = Experiment(
    "choosing",
    KEYS,
    RESULTS,
    tasks,
    run=run,
    effort=effort,
    is_hopeless=is_hopeless,
    needs=its_dataset,
    summarise=summary,
    summary=SUMMARY,
    pictures=draw,
    drawn=(GAINS, SIZES),
    folder="choosing",
)
