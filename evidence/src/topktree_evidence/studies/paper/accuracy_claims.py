"""Claims about accuracy: Figures 2 and 4, thresholds, label noise, random candidates.

In: the tables of the experiments. Out: for each claim a text and a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from topktree import datasets
from topktree_evidence.splits import DEFAULT_COLUMNS, PAPER_COLUMNS
from topktree_evidence.studies.paper.fig2 import APPENDIX
from topktree_evidence.studies.paper.fits import ALL, RANDOM, TOP
from topktree_evidence.studies.paper.verdicts import (
    DOES_NOT,
    HOLDS,
    IN_PART,
    Answer,
    Tables,
    ahead,
    behind,
    clear,
    finished,
    graded,
    paper_cells,
    some,
)
from topktree_evidence.study import Row
from topktree_evidence.text import is_clear, listed, mean, numbers, points, values, where

OVERFITTING = ("taiwanese-bankruptcy", "credit-card", "electrical-grid-stability")
SPLICE = "molecular-biology-splice"
CLOSE = 0.01  # one point


def training_accuracy(found: Tables) -> Answer:
    """Never lower with a larger k."""
    steps = _steps(finished(found["fig2"]))
    right = sum(wide["train_mean"] >= narrow["train_mean"] - 1e-9 for narrow, wide in steps)
    return graded(right, len(steps), f"{right:,} of {len(steps):,} steps from one k to the next")


def rises_with_k(found: Tables) -> Answer:
    """Test accuracy, step by step and Top-16 against Top-1."""
    cells = paper_cells(found)
    rows = where(cells, k=16, depth=(2, 3, 4, 5, 6))
    up, down = ahead(rows), behind(rows)
    steps = _steps([row for row in cells if row["k"] != ALL])
    rising = sum(wide["test_mean"] >= narrow["test_mean"] for narrow, wide in steps)
    return graded(
        len(up),
        len(rows),
        f"of {len(rows)} cells (dataset x depth 2 to 6) Top-16 is ahead of Top-1 in {len(up)}, clearly in "
        f"{len(clear(up))}, equal in {len(rows) - len(up) - len(down)}, behind in {len(down)}, clearly in "
        f"{len(clear(down))}; mean gain {points(mean(numbers(rows, 'gain_mean')), True)} points. From one k to the "
        f"next it does not fall in {rising:,} of {len(steps):,} steps",
        0.8,
    )


def five_points(found: Tables) -> Answer:
    """Gains over five points."""
    large = sorted((row for row in paper_cells(found) if row["gain_mean"] > 0.05), key=lambda row: -row["gain_mean"])
    if not large:
        return "no gain is", DOES_NOT
    top = large[0]
    return (
        f"{len(large)} cells (dataset x k x depth), on {listed(values(large, 'dataset'))}; the largest is "
        f"{points(top['gain_mean'], True)} points ({top['dataset']}, k = {top['k']}, depth {top['depth']})",
        HOLDS,
    )


def close_to_optimal(found: Tables) -> Answer:
    """Top-8 and Top-16 against all columns."""
    cells = paper_cells(found)
    text, close, total = [], 0, 0
    for k in (8, 16):
        gaps = some(_to_optimal(where(cells, k=k), cells))
        near = sum(abs(gap) <= CLOSE for gap in gaps)
        close, total = close + near, total + len(gaps)
        text.append(
            f"Top-{k} is within one point of the optimal tree in {near} of {len(gaps)} cells, "
            f"{points(mean([abs(gap) for gap in gaps]))} points away in the mean"
        )
    nursery = _to_optimal(where(cells, k=16, dataset="nursery"), cells)
    if nursery:
        worst = points(max(nursery, key=abs), True)
        text.append(f"on nursery Top-16 is {worst} points away at worst, over {len(nursery)} depths")
    return graded(close, total, "; ".join(text), 0.8)


def overfitting(found: Tables) -> Answer:
    """Where greedy is not beaten."""
    text, not_beaten = [], 0
    for name in OVERFITTING:
        rows = [row for row in where(paper_cells(found), dataset=name) if row["k"] != 1]
        if rows:
            up = clear(ahead(rows))
            not_beaten += len(up) <= len(rows) / 10
            text.append(
                f"{name}: k > 1 is clearly ahead in {len(up)} and clearly behind in {len(clear(behind(rows)))} of "
                f"{len(rows)} cells, mean {points(mean(numbers(rows, 'gain_mean')), True)}"
            )
    return graded(not_beaten, len(text), "; ".join(text), 1.0, 0.3)


def greedy_overfits(found: Tables) -> Answer:
    """Top-1 beyond depth 3."""
    text, falling = [], 0
    for name in OVERFITTING:
        line = sorted(where(paper_cells(found), dataset=name, k=1), key=lambda row: row["depth"])
        at_three = where(line, depth=3)
        if at_three and line[-1]["depth"] > 3:
            falling += line[-1]["test_mean"] < at_three[0]["test_mean"] - 0.001
            text.append(
                f"{name}: {points(at_three[0]['test_mean'])} at depth 3, {points(line[-1]['test_mean'])} at depth "
                f"{line[-1]['depth']}"
            )
    return graded(falling, len(text), "; ".join(text), 1.0, 0.3)


def other_appendix(found: Tables) -> Answer:
    """Some k > 1 beats k = 1 on the categorical sets of the appendix."""
    names = [name for name in APPENDIX if name not in OVERFITTING]
    cells = [row for row in paper_cells(found) if row["dataset"] in names and row["depth"] > 1 and row["k"] != 1]
    cells = [row for row in cells if row["dataset"] != SPLICE or row["depth"] <= 6]
    best: dict[str, float] = {}
    for row in cells:
        cell = f"{row['dataset']} at depth {row['depth']}"
        best[cell] = max(best.get(cell, -1.0), row["gain_mean"])
    failing = [cell for cell, gain in best.items() if gain <= 0]
    text = f"{len(best) - len(failing)} of {len(best)} cells (dataset x depth from 2 on, splice to 6)"
    return graded(len(best) - len(failing), len(best), text + (f"; not {listed(failing)}" if failing else ""))


def plateau(found: Tables) -> Answer:
    """Figure 4."""
    text, right = [], 0
    for name in values(found["fig4"], "dataset"):
        rows = sorted(where(found["fig4"], dataset=name), key=lambda row: row["k"])
        if any(row["test_mean"] is None for row in rows):
            continue
        best, last = max(rows, key=lambda row: row["test_mean"]), rows[-1]
        rising = all(a["train_mean"] <= b["train_mean"] + 1e-9 for a, b in pairwise(rows))
        falls = best["last_mean"] > 0 and is_clear(best, "last")
        right += rising and falls == (name == "tic-tac-toe")
        text.append(
            f"{name}: test {points(rows[0]['test_mean'])} at k = 1, best {points(best['test_mean'])} at k = "
            f"{best['k']}, {points(last['test_mean'])} at k = {last['k']}, a fall that is "
            f"{'clear' if falls else 'not clear'}; training {'never falls' if rising else 'falls'}"
        )
    return graded(right, len(text), "; ".join(text), 1.0, 0.3)


def thresholds_matter(found: Tables) -> Answer:
    """Our columns at k = 1 against the paper's at k = 16, on numbers."""
    rows = [row for row in finished(found["fig2"]) if datasets.PAPER[row["dataset"]].kind == "numerical"]
    by_k, by_columns = [], []
    for row in where(rows, columns=PAPER_COLUMNS, k=1, depth=(3, 4, 5, 6)):
        wide = where(rows, columns=PAPER_COLUMNS, k=16, depth=row["depth"], dataset=row["dataset"])
        ours = where(rows, columns=DEFAULT_COLUMNS, k=1, depth=row["depth"], dataset=row["dataset"])
        if wide and ours:
            by_k.append(wide[0]["test_mean"] - row["test_mean"])
            by_columns.append(ours[0]["test_mean"] - row["test_mean"])
    more = sum(c > k for c, k in zip(by_columns, some(by_k), strict=True))
    return (
        f"numerical datasets, depths 3 to 6, {len(by_k)} cells: from k = 1 to 16 {points(mean(by_k), True)} points, "
        f"from the paper's columns to ours at k = 1 {points(mean(by_columns), True)}; columns matter more in {more}",
        (DOES_NOT, IN_PART, HOLDS)[(mean(by_columns) > mean(by_k)) + (more > len(by_k) / 2)],
    )


def noise(found: Tables) -> Answer:
    """Gains of Top-k as labels are flipped, where all shares of flipped labels can be compared."""
    rows = finished(found["noise"])
    shares = sorted(values(rows, "noise"))
    text, rises, falls = [], 0, 0
    for k in (4, 16):
        lines: dict[tuple[str, int], list[float]] = {}
        for row in sorted(where(rows, k=k), key=lambda row: row["noise"]):
            lines.setdefault((row["dataset"], row["depth"]), []).append(row["gain_mean"])
        gains = some([line for line in lines.values() if len(line) == len(shares)])
        means = [mean(column) for column in zip(*gains, strict=True)]
        up, down = sum(line[-1] > line[0] for line in gains), sum(line[-1] < line[0] for line in gains)
        rises, falls = rises + (up > 2 * down), falls + (down > 2 * up)
        told = ", ".join(f"{points(gain, True)} at {share:.0%}" for share, gain in zip(shares, means, strict=True))
        text.append(
            f"Top-{k} over Top-1: {told} flipped, in the mean of {len(gains)} cells; from the first to the last the "
            f"gain grows in {up} and shrinks in {down}"
        )
    return "; ".join(text), HOLDS if rises == 2 else DOES_NOT if rises == 0 else IN_PART


def random_k(found: Tables) -> Answer:
    """Top-3 against Random-3."""
    cells = [row for row in finished(found["random-k"]) if row["depth"] > 1 and row["k"] == 3]
    top = {(row["dataset"], row["depth"]): row["test_mean"] for row in where(cells, candidates=TOP)}
    rows = [row for row in where(cells, candidates=RANDOM) if (row["dataset"], row["depth"]) in top]
    right = sum(top[row["dataset"], row["depth"]] >= row["test_mean"] for row in rows)
    upset = len(ahead(rows))
    text, verdict = graded(
        right,
        len(rows),
        f"Top-3 is at least as good as Random-3 in {right} of {len(rows)} cells (dataset x depth from 2 on); "
        f"Random-3 is ahead of Top-1 in {upset} and behind it in {len(behind(rows))}",
        0.8,
    )
    return text, verdict if upset or verdict == DOES_NOT else IN_PART


def _steps(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Pairs of cells that differ in k only, one k and the next."""
    lines: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        lines.setdefault((row["dataset"], row["columns"], row["depth"]), []).append(row)
    pairs = []
    for line in lines.values():
        pairs += list(pairwise(sorted(line, key=lambda row: row["k"] if row["k"] != ALL else 2**31)))
    return pairs


def _to_optimal(rows: Sequence[Row], cells: Sequence[Row]) -> list[float]:
    """Test accuracies less those of the optimal trees; not where k is all columns anyway."""
    found = []
    for row in rows:
        best = where(cells, dataset=row["dataset"], depth=row["depth"], k=ALL)
        if best and row["k"] < (datasets.PAPER[row["dataset"]].paper_columns or 0):
            found.append(row["test_mean"] - best[0]["test_mean"])
    return found
