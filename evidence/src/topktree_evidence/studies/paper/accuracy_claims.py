"""Claims about accuracy: Figures 2 and 4, thresholds, label noise, random candidates.

In: the tables of the studies. Out: for each claim a text and a verdict.
"""

from __future__ import annotations

from itertools import pairwise

import pandas as pd

from topktree import datasets

from ...pictures import ALL
from ...splits import DEFAULT_COLUMNS, PAPER_COLUMNS
from ...text import Tables, clear, is_clear, listed, mean, points, signed, where
from .accuracy import APPENDIX
from .fits import RANDOM, TOP
from .verdicts import CASE, DOES_NOT, HOLDS, IN_PART, Answer, ahead, behind, finished, graded, lead, paper_cells, some

OVERFITTING = ("taiwanese-bankruptcy", "credit-card", "electrical-grid-stability")
SPLICE = "molecular-biology-splice"
CLOSE = 0.01  # one point


def training_accuracy(found: Tables) -> Answer:
    """Check that training accuracy is never lower with a larger k."""
    steps = _steps(finished(found["fig2"]), "train_mean")
    right = sum(wide >= narrow - 1e-9 for narrow, wide in steps)
    return graded(right, len(steps), f"{right:,} of {len(steps):,} steps from one k to the next")


def rises_with_k(found: Tables) -> Answer:
    """Compare test accuracy step by step, and Top-16 with Top-1."""
    cells = paper_cells(found)
    rows = where(cells, k=16, depth=(2, 3, 4, 5, 6))
    up, down = ahead(rows), behind(rows)
    steps = _steps(cells[cells["k"] != ALL], "test_mean")
    rising = sum(wide >= narrow for narrow, wide in steps)
    return graded(
        len(up),
        len(rows),
        f"of {len(rows)} cells (dataset x depth 2 to 6) Top-16 is ahead of Top-1 in {len(up)}, clearly in "
        f"{len(clear(up))}, equal in {len(rows) - len(up) - len(down)}, behind in {len(down)}, clearly in "
        f"{len(clear(down))}; mean gain {signed(mean(rows['gain_mean']))} points. From one k to the "
        f"next it does not fall in {rising:,} of {len(steps):,} steps",
        0.8,
    )


def five_points(found: Tables) -> Answer:
    """Look for gains over five points."""
    cells = some(paper_cells(found))
    large = cells[cells["gain_mean"] > 0.05].sort_values("gain_mean", ascending=False, kind="stable")
    if not len(large):
        return "no gain is", DOES_NOT
    top = large.iloc[0]
    return (
        f"{len(large)} cells (dataset x k x depth), on {listed(large['dataset'].unique())}; the largest is "
        f"{signed(top['gain_mean'])} points ({top['dataset']}, k = {top['k']}, depth {top['depth']})",
        HOLDS,
    )


def close_to_optimal(found: Tables) -> Answer:
    """Compare Top-8 and Top-16 with all columns."""
    cells = paper_cells(found)
    text, close, total = [], 0, 0
    for k in (8, 16):
        gaps = some(_to_optimal(where(cells, k=k), cells))
        near = int((gaps.abs() <= CLOSE).sum())
        close, total = close + near, total + len(gaps)
        text.append(
            f"Top-{k} is within one point of the optimal tree in {near} of {len(gaps)} cells, "
            f"{points(mean(gaps.abs()))} points away in the mean"
        )
    nursery = _to_optimal(where(cells, k=16, dataset="nursery"), cells)
    if len(nursery):
        worst = signed(max(nursery, key=abs))
        text.append(f"on nursery Top-16 is {worst} points away at worst, over {len(nursery)} depths")
    return graded(close, total, "; ".join(text), 0.8)


def overfitting(found: Tables) -> Answer:
    """Count the datasets on which greedy is not beaten."""
    text, not_beaten = [], 0
    for name in OVERFITTING:
        rows = where(paper_cells(found), dataset=name)
        rows = rows[rows["k"] != 1]
        if len(rows):
            up, down = clear(ahead(rows)), clear(behind(rows))
            not_beaten += len(up) <= len(rows) / 10
            text.append(
                f"{name}: k > 1 is clearly ahead in {len(up)} and clearly behind in {len(down)} of "
                f"{len(rows)} cells, mean {signed(mean(rows['gain_mean']))}"
            )
    return graded(not_beaten, len(text), "; ".join(text), 1.0, 0.3)


def greedy_overfits(found: Tables) -> Answer:
    """Compare Top-1 at depth 3 with its deepest tree."""
    text, falling = [], 0
    for name in OVERFITTING:
        line = where(paper_cells(found), dataset=name, k=1).set_index("depth")["test_mean"]
        if 3 in line.index and line.index.max() > 3:
            deepest = line.index.max()
            falling += bool(line[deepest] < line[3] - 0.001)
            text.append(f"{name}: {points(line[3])} at depth 3, {points(line[deepest])} at depth {deepest}")
    return graded(falling, len(text), "; ".join(text), 1.0, 0.3)


def other_appendix(found: Tables) -> Answer:
    """Check that some k > 1 beats k = 1 on the other sets of the appendix."""
    cells = paper_cells(found)
    cells = where(cells, dataset=[name for name in APPENDIX if name not in OVERFITTING])
    cells = cells[(cells["depth"] > 1) & (cells["k"] != 1) & ((cells["dataset"] != SPLICE) | (cells["depth"] <= 6))]
    best = cells.groupby(CASE, sort=False)["gain_mean"].max()
    failing = [f"{name} at depth {depth}" for name, depth in best[best <= 0].index]
    text = f"{len(best) - len(failing)} of {len(best)} cells (dataset x depth from 2 on, splice to 6)"
    return graded(len(best) - len(failing), len(best), text + (f"; not {listed(failing)}" if failing else ""))


def plateau(found: Tables) -> Answer:
    """Judge Figure 4: training accuracy rises, test accuracy falls on one dataset only."""
    text, right = [], 0
    for name, rows in found["fig4"].groupby("dataset", sort=False):
        if rows["test_mean"].isna().any():
            continue
        rows = rows.sort_values("k")
        best, first, last = rows.loc[rows["test_mean"].idxmax()], rows.iloc[0], rows.iloc[-1]
        rising = all(a <= b + 1e-9 for a, b in pairwise(rows["train_mean"]))
        falls = best["last_mean"] > 0 and is_clear(best, "last")
        right += rising and falls == (name == "tic-tac-toe")
        text.append(
            f"{name}: test {points(first['test_mean'])} at k = 1, best {points(best['test_mean'])} at k = "
            f"{best['k']}, {points(last['test_mean'])} at k = {last['k']}, a fall that is "
            f"{'clear' if falls else 'not clear'}; training {'never falls' if rising else 'falls'}"
        )
    return graded(right, len(text), "; ".join(text), 1.0, 0.3)


def thresholds_matter(found: Tables) -> Answer:
    """Compare our columns at k = 1 with the paper's at k = 16, on numbers."""
    numerical = [name for name, record in datasets.PAPER.items() if record.kind == "numerical"]
    rows = where(finished(found["fig2"]), dataset=numerical, depth=(3, 4, 5, 6))
    cases = [(PAPER_COLUMNS, 1), (PAPER_COLUMNS, 16), (DEFAULT_COLUMNS, 1)]
    cells = rows.pivot(index=CASE, columns=["columns", "k"], values="test_mean").reindex(columns=cases)
    base, wide, ours = (some(cells.dropna())[case] for case in cases)
    both = pd.DataFrame({"k": wide - base, "columns": ours - base})
    more = int((both["columns"] > both["k"]).sum())
    wins = (mean(both["columns"]) > mean(both["k"])) + (more > len(both) / 2)
    return (
        f"numerical datasets, depths 3 to 6, {len(both)} cells: from k = 1 to 16 {signed(mean(both['k']))} points, "
        f"from the paper's columns to ours at k = 1 {signed(mean(both['columns']))}; columns matter more in {more}",
        (DOES_NOT, IN_PART, HOLDS)[wins],
    )


def noise(found: Tables) -> Answer:
    """Follow the gains of Top-k as labels are flipped, where all shares of flipped labels can be compared."""
    rows = finished(found["noise"])
    text, rises, falls = [], 0, 0
    for k in (4, 16):
        gains = where(rows, k=k).pivot(index=CASE, columns="noise", values="gain_mean")
        gains = some(gains.reindex(columns=sorted(set(rows["noise"]))).dropna())
        up, down = (int((sign * (gains.iloc[:, -1] - gains.iloc[:, 0]) > 0).sum()) for sign in (1, -1))
        rises, falls = rises + (up > 2 * down), falls + (down > 2 * up)
        told = ", ".join(f"{signed(mean(gains[share]))} at {share:.0%}" for share in gains)
        text.append(
            f"Top-{k} over Top-1: {told} flipped, in the mean of {len(gains)} cells; from the first to the last the "
            f"gain grows in {up} and shrinks in {down}"
        )
    return "; ".join(text), HOLDS if rises == 2 else DOES_NOT if rises == 0 else IN_PART


def random_k(found: Tables) -> Answer:
    """Compare Top-3 with Random-3."""
    cells = finished(found["random-k"])
    cells = where(cells[cells["depth"] > 1], k=3)
    top = where(cells, candidates=TOP).set_index(CASE)["test_mean"].rename("top")
    rows = where(cells, candidates=RANDOM).join(top, on=CASE, how="inner")
    right, upset = int((rows["top"] >= rows["test_mean"]).sum()), len(ahead(rows))
    text, verdict = graded(
        right,
        len(rows),
        f"Top-3 is at least as good as Random-3 in {right} of {len(rows)} cells (dataset x depth from 2 on); "
        f"Random-3 is ahead of Top-1 in {upset} and behind it in {len(behind(rows))}",
        0.8,
    )
    return text, verdict if upset or verdict == DOES_NOT else IN_PART


def _steps(table: pd.DataFrame, name: str) -> list[tuple[float, float]]:
    """Return pairs of values of cells that differ in k only, one k and the next."""
    table = table.assign(width=[2**31 if k == ALL else k for k in table["k"]]).sort_values("width", kind="stable")
    return [pair for _, line in table.groupby(["dataset", "columns", "depth"]) for pair in pairwise(line[name])]


def _to_optimal(rows: pd.DataFrame, cells: pd.DataFrame) -> pd.Series:
    """Return test accuracies less those of the optimal trees; not where k is all columns anyway."""
    width = rows["dataset"].map({name: record.paper_columns for name, record in datasets.PAPER.items()})
    return lead(rows[rows["k"].astype(float) < width.astype(float)], where(cells, k=ALL))
