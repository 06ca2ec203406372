"""ensembles.md: whether Top-k helps inside forests and boosting, with pictures.

In: the summaries of `ensembles` and `ensembles-tuned`. Out: the page. The one idea: no number on it is typed by hand,
and whether k helps is decided by a rule that the page states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from topktree_evidence.paired import LEVEL, Comparison, over_datasets
from topktree_evidence.studies.ensembles import equal as ensembles
from topktree_evidence.studies.ensembles import tuned as ensembles_tuned
from topktree_evidence.studies.ensembles.equal import ALL_SIZES, DEPTHS, KS, SIZES
from topktree_evidence.studies.ensembles.models import (
    ADABOOST,
    BOOSTING,
    FOREST,
    HIST,
    OURS,
    PEERS,
    RANDOM_FOREST,
    SQRT,
)
from topktree_evidence.studies.ensembles.pictures import (
    DATASETS,
    GAINS,
    LEAVES,
    NAMES,
    SMALL,
    TIMES,
    draw,
    draw_tuned,
    geometric_mean,
)
from topktree_evidence.studies.ensembles.setting import what_was_run
from topktree_evidence.studies.ensembles.summary import SUMMARY, TUNED_SUMMARY, summary, tuned_summary
from topktree_evidence.studies.ensembles.tuned_page import (
    FREE_TITLE,
    READABLE_TITLE,
    free,
    in_short_tuned,
    readable,
    what_was_tuned,
)
from topktree_evidence.studies.ensembles.words import answer, clearly, in_a_cell, said, verdict, with_two_classes
from topktree_evidence.study import Experiment, Row, its_dataset
from topktree_evidence.text import markdown, mean, numbers, only, points, values, where

FOLDER = "ensembles"
WIDE = max(KS)
LARGE = max(ALL_SIZES)

INTRODUCTION = f"""\
Top-k finds better trees than a greedy learner of the same depth. Are forests and boosting of such trees better as well?
The paper leaves that open. This page measures it with `TopKForestClassifier` and `TopKBoostingClassifier`: k = 1 is the
greedy learner, everything else is the same. Small ensembles matter most here: {SMALL[0]} trees of depth {SMALL[1]} can
still be read.

How it is judged: *clearly* on a dataset means p < {LEVEL} in a paired test over its splits (the corrected resampled
t-test of Nadeau and Bengio); datasets with one fixed split have no such test. *Helps* and *does harm* mean p < {LEVEL}
over the datasets (Wilcoxon's signed-rank test of their means). *Yes* is what helps in two thirds of the cells at least
and does harm in none, *no* what helps in none or does harm as often. Many cells are compared and no p-value is
corrected for that, so look at how many agree, not at one.

This page is written by `topktree reproduce ensembles` from [ensembles.csv](ensembles/ensembles.csv) and
[ensembles-tuned.csv](ensembles/ensembles-tuned.csv), a row per cell. Every run, with its split:
[ensembles-runs.csv.xz](ensembles/ensembles-runs.csv.xz) and
[ensembles-tuned-runs.csv.xz](ensembles/ensembles-tuned-runs.csv.xz); pandas reads both as they are.
"""


def write_page(out: Path, rows: Sequence[Row], tuned: Sequence[Row]) -> Path:
    """Write the page from the summaries, with the pictures in the folder's `ensembles`."""
    parts = ["# Top-k inside ensembles", INTRODUCTION]
    if any(row["gain"] is not None for row in rows):
        parts += ["## In short", in_short(rows, tuned)]
        parts += _section(out, "By trees and depth", (GAINS, "Gain over k = 1 against the number of trees"), grid(rows))
        parts += _section(out, "By dataset", (DATASETS, "Gain over k = 1 on every dataset"), by_dataset(rows))
        parts += _section(out, "What it costs", (TIMES, "Accuracy against CPU seconds"), costs(rows))
        parts += _section(out, "Against scikit-learn, trees and depth being equal", None, peers(rows))
        if tuned:
            picture = (LEAVES, "Accuracy against leaves of what was chosen")
            parts += _section(out, READABLE_TITLE, picture, readable(tuned))
            parts += _section(out, FREE_TITLE, None, free(tuned))
        parts += ["## What was run", what_was_run(rows), what_was_tuned(tuned)]
    else:
        parts.append("Not run yet: `topktree reproduce ensembles`.")
    path = out / "ensembles.md"
    path.write_text("\n\n".join(part.strip() for part in parts if part.strip()) + "\n", encoding="utf-8")
    return path


def _section(out: Path, title: str, picture: tuple[str, str] | None, text: str) -> list[str]:
    is_there = picture is not None and (out / FOLDER / f"{picture[0]}.png").is_file()
    shown = [f"![{picture[1]}]({FOLDER}/{picture[0]}.png)"] if picture is not None and is_there else []
    return [f"## {title}", *shown, text]


def in_short(rows: Sequence[Row], tuned: Sequence[Row]) -> str:
    """The answer: over all cells, for a small ensemble, for a large one; then against others."""
    lines = [f"* **{_title(method)}**: {_answer(rows, method)}" for method in OURS if where(rows, method=method)]
    pairs = ((FOREST, RANDOM_FOREST), (BOOSTING, ADABOOST), (BOOSTING, HIST))
    against = [
        f"{NAMES[method]} {said(compared)} against {NAMES[peer]}"
        for method, peer in pairs
        if (compared := over_datasets(_cell(rows, method, WIDE, *SMALL), peer)).n
    ]
    if against:
        lines.append(
            f"* **Against scikit-learn**, {SMALL[0]} trees of depth {SMALL[1]}, k = {WIDE}: {'; '.join(against)}."
        )
    return "\n".join([*lines, *in_short_tuned(tuned)])


def _title(method: str) -> str:
    return {FOREST: "Forests", SQRT: "Forests that draw features at every node", BOOSTING: "Boosting"}[method]


def _cell(rows: Sequence[Row], method: str, k: int, trees: int, depth: int) -> list[Row]:
    return where(rows, method=method, k=k, trees=trees, depth=depth)


def _answer(rows: Sequence[Row], method: str) -> str:
    """How often k helps, and the two sizes that are looked at closely."""
    directions = [
        compared.direction
        for depth in DEPTHS
        for trees in ALL_SIZES
        if (compared := over_datasets(_cell(rows, method, WIDE, trees, depth), "gain")).n
    ]
    helps, harms = directions.count(1), directions.count(-1)
    text = (
        f"{answer(directions)}. Of {len(directions)} cells (depth x trees) k = {WIDE} helps in {helps}, does harm in "
        f"{harms} and makes no clear difference in {len(directions) - helps - harms}."
    )
    for trees in (SMALL[0], LARGE):
        compared = over_datasets(_cell(rows, method, WIDE, trees, SMALL[1]), "gain")
        if compared.n:
            text += f" {trees} trees of depth {SMALL[1]}: it {verdict(compared)}, {said(compared)}"
            text += f", for {_times(_over_greedy(rows, method, WIDE, trees, SMALL[1]))} the CPU time."
    return text


def _over_greedy(rows: Sequence[Row], method: str, k: int, trees: int, depth: int) -> float:
    """CPU time over that of k = 1."""
    return _ratio(*(_cell(rows, method, value, trees, depth) for value in (k, min(KS))))


def _ratio(mine: Sequence[Row], others: Sequence[Row]) -> float:
    """CPU time over that of others, geometric mean over the datasets that have both."""
    both = tuple({row["dataset"] for row in mine if row["cpu"]} & {row["dataset"] for row in others if row["cpu"]})
    return geometric_mean(where(mine, dataset=both), "cpu") / geometric_mean(where(others, dataset=both), "cpu")


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:.0f} times"


def grid(rows: Sequence[Row]) -> str:
    """A table per method: depth by trees, and where k helps."""
    text = [
        f"Points of test accuracy of k = {WIDE} over k = 1, in the mean over the datasets; in brackets on how many it "
        "is clearly ahead and clearly behind (nothing where there is but one split). **Bold** where it helps or does "
        "harm. The number of datasets follows where some are missing; where fits are slow, some have fewer splits than "
        "others ([what was run](#what-was-run))."
    ]
    for method in OURS:
        cells = {
            (depth, trees): over_datasets(_cell(rows, method, WIDE, trees, depth), "gain")
            for depth in DEPTHS
            for trees in ALL_SIZES
        }
        most = max(compared.n for compared in cells.values())
        header = (f"{NAMES[method]}, {most} datasets", *(f"{_trees(trees)}" for trees in ALL_SIZES))
        body = [
            (f"depth {depth}", *(_shown(cells[depth, trees], most) for trees in ALL_SIZES))
            for depth in DEPTHS
            if any(cells[depth, trees].n for trees in ALL_SIZES)
        ]
        text.append(markdown(header, body))
    return "\n\n".join([*text, _on_training_rows(rows)])


def _on_training_rows(rows: Sequence[Row]) -> str:
    """How much of a gain is there before new rows come."""
    parts = []
    for trees in (SMALL[0], LARGE):
        gains = []
        for method in OURS:
            mine, greedy = (_cell(rows, method, k, trees, SMALL[1]) for k in (WIDE, min(KS)))
            found = [row["difference"] for row in _differences(mine, greedy, "train_mean")]
            gains += [f"{NAMES[method]} {points(mean(found), signed=True)}"] if found else []
        parts += [f"with {trees} trees {'; '.join(gains)}"] if gains else []
    return f"On the training rows, at depth {SMALL[1]}, k = {WIDE} over k = 1, in points: {'. '.join(parts)}."


def _trees(n: int) -> str:
    return "1 tree" if n == 1 else f"{n} trees"


def _shown(compared: Comparison, most: int) -> str:
    text = in_a_cell(compared)
    return f"{text} on {compared.n}" if 0 < compared.n < most else text


def by_dataset(rows: Sequence[Row]) -> str:
    """Small ensembles: a line per dataset, and the names where it is clear."""
    trees, depth = SMALL
    header = ("dataset", "splits", *(column for method in OURS for column in (NAMES[method], "gain")))
    body = []
    for name in values(where(rows, trees=trees, depth=depth), "dataset"):
        found = [only(_cell(rows, method, WIDE, trees, depth), dataset=name) for method in OURS]
        if any(row is not None and row["gain"] is not None for row in found):
            splits = max(row["splits"] for row in found if row is not None)
            body.append([name, splits, *(column for row in found for column in _accuracy_and_gain(row))])
    text = [
        f"Test accuracy in percent of {trees} trees of depth {depth} with k = {WIDE}, and points over k = 1; **bold** "
        "where that is clear.",
        markdown(header, body),
    ]
    for method in OURS:
        compared = over_datasets(_cell(rows, method, WIDE, trees, depth), "gain")
        if compared.tested:
            text.append(f"{_title(method)}: {clearly(compared)}.")
    return "\n\n".join(text)


def _accuracy_and_gain(row: Row | None) -> tuple[str, str]:
    if row is None or row["test_mean"] is None:
        return "", ""
    gain = points(row["gain"], signed=True)
    is_clear = row["gain_p"] is not None and row["gain_p"] < LEVEL
    return points(row["test_mean"]), f"**{gain}**" if is_clear else gain


def costs(rows: Sequence[Row]) -> str:
    """CPU time of each k, and what else could be had for it."""
    trees = max(SIZES[min(SIZES)])
    header = (f"{trees} trees", *(f"depth {depth}" for depth in DEPTHS))
    body = []
    for method in OURS:
        for k in KS[1:]:
            cells = [_cell(rows, method, k, trees, depth) for depth in DEPTHS]
            ratios = [
                f"{_over_greedy(rows, method, k, trees, depth):.1f}" if any(numbers(cell, "gain")) else ""
                for depth, cell in zip(DEPTHS, cells, strict=True)
            ]
            body.append((f"{NAMES[method]}, k = {k}", *ratios))
    text = [
        "CPU time of a fit over that of k = 1, the geometric mean over the datasets; making the table ready, which all "
        "have in common, included.",
        markdown(header, body),
        _instead(rows),
    ]
    return "\n\n".join(text)


def _instead(rows: Sequence[Row]) -> str:
    """A larger k against greedy trees that are more, or deeper."""
    trees, depth = SMALL
    text = [
        f"What else could be had: {trees} trees of depth {depth} with k = {WIDE} against greedy ones that are more or "
        "have another level (means of the datasets; there is no test on each of them):"
    ]
    for method in OURS:
        mine = _cell(rows, method, WIDE, trees, depth)
        for other_trees, other_depth in ((2 * trees, depth), (trees, depth + 1)):
            greedy = _cell(rows, method, min(KS), other_trees, other_depth)
            compared = over_datasets(list(_differences(mine, greedy)), "difference")
            if compared.n:
                text.append(
                    f"* {NAMES[method]}, {other_trees} greedy trees of depth {other_depth}: k = {WIDE} is "
                    f"{_direction(compared)}, {points(compared.mean, signed=True)} points, ahead on {compared.ahead} "
                    f"of {compared.n} datasets."
                )
    return "\n".join([text[0], "", *text[1:]])


def _direction(compared: Comparison) -> str:
    return {1: "better", 0: "about as good", -1: "worse"}[compared.direction]


def _differences(mine: Sequence[Row], others: Sequence[Row], name: str = "test_mean") -> Iterator[Row]:
    """Of means on the same datasets."""
    for row in mine:
        other = only(others, dataset=row["dataset"])
        if other is not None and None not in (row[name], other[name]):
            yield {"dataset": row["dataset"], "difference": row[name] - other[name], "difference_p": None}


def peers(rows: Sequence[Row]) -> str:
    """Ours, with the smallest and the largest k, against each of scikit-learn's."""
    text = [
        "Points of test accuracy over scikit-learn's model of as many trees and the same depth; in brackets on how "
        "many datasets that is clearly ahead and clearly behind; **bold** where it is so over the datasets. "
        "HistGradientBoosting has a tree per class in every round, and counts as one tree here.",
    ]
    for trees, depth in (SMALL, (10, 6), (LARGE, SMALL[1]), (LARGE, 6)):
        found = {
            (method, k): [over_datasets(_cell(rows, method, k, trees, depth), peer) for peer in PEERS]
            for method in OURS
            for k in (min(KS), WIDE)
        }
        most = max(compared.n for cells in found.values() for compared in cells)
        if most:
            header = (f"{trees} trees, depth {depth}, {most} datasets", *(NAMES[peer] for peer in PEERS))
            body = [
                (f"{NAMES[method]}, k = {k}", *(_shown(compared, most) for compared in cells))
                for (method, k), cells in found.items()
            ]
            text.append(markdown(header, body))
            text.append(with_two_classes(_cell(rows, BOOSTING, WIDE, trees, depth)))
    text += [
        "CPU time over that of scikit-learn's model, geometric means over the datasets; below 1 ours is faster. "
        "Columns for categories, which all but HistGradientBoosting need, are made before and not counted.",
        *(_times_of_peers(rows, trees, SMALL[1]) for trees in (SMALL[0], LARGE)),
    ]
    return "\n\n".join(part for part in text if part)


def _times_of_peers(rows: Sequence[Row], trees: int, depth: int) -> str:
    others = [_cell(rows, peer, 0, trees, depth) for peer in PEERS]
    header = (f"{trees} trees, depth {depth}", *(NAMES[peer] for peer in PEERS))
    body = [
        (f"{NAMES[method]}, k = {k}", *(f"{_ratio(mine, other):.2g}" for other in others))
        for method in OURS
        for k in (min(KS), WIDE)
        if any(numbers(mine := _cell(rows, method, k, trees, depth), "cpu"))
    ]
    return markdown(header, body) if body and all(others) else ""


EXPERIMENT = Experiment(
    "ensembles",
    ensembles.KEYS,
    ensembles.RESULTS,
    ensembles.tasks,
    run=ensembles.run,
    effort=ensembles.effort,
    is_hopeless=ensembles.is_hopeless,
    needs=its_dataset,
    summarise=summary,
    summary=SUMMARY,
    pictures=draw,
    drawn=(GAINS, DATASETS, TIMES),
    folder=FOLDER,
    is_long=True,
)
TUNED = Experiment(
    "ensembles-tuned",
    ensembles_tuned.KEYS,
    ensembles_tuned.RESULTS,
    ensembles_tuned.tasks,
    run=ensembles_tuned.run,
    effort=ensembles_tuned.effort,
    needs=its_dataset,
    summarise=tuned_summary,
    summary=TUNED_SUMMARY,
    pictures=draw_tuned,
    drawn=(LEAVES,),
    folder=FOLDER,
    is_long=True,
)
