"""Verdicts: each rule on invented tables where it holds, holds in part, and does not."""

import pytest

from topktree.experiments import claims, page_tables, tables
from topktree.experiments.claims import DOES_NOT, HOLDS, IN_PART
from topktree.experiments.page import write_page
from topktree.experiments.store import write_table


def cell(dataset="nursery", k=1, depth=3, test=0.8, train=0.9, gain=None, sd=0.01, columns="paper", **more):
    """A row of an accuracy table; without a test accuracy, one that was stopped."""
    finished = test is not None
    row = dict(dataset=dataset, columns=columns, k=k, depth=depth, criterion="entropy", noise=0.0, candidates="top")
    row |= dict(splits=10, finished=10 if finished else 9, stopped=0 if finished else 1, limit=5.0)
    row |= dict(train_mean=train, train_sd=sd, test_mean=test, test_sd=sd, gain_mean=gain, gain_sd=sd)
    row |= dict(leaves=8.0, seconds=0.1)
    return row | more


def timed(dataset="nursery", k=2, depth=8, seconds=0.5, **more):
    row = dict(dataset=dataset, k=k, depth=depth, rows=10, columns=27, seconds=seconds, errors=1, leaves=2, nodes=3)
    return row | dict(status="finished", limit=60.0, message=None) | more


@pytest.mark.parametrize(
    ("gain", "sd", "splits", "clear"),
    [
        (0.05, 0.01, 10, True),
        (-0.05, 0.01, 10, True),
        (0.005, 0.01, 10, False),
        (0.05, 0.0, 1, False),
        (None, None, 10, False),
    ],
)
def test_clear_is_two_standard_deviations_of_the_mean(gain, sd, splits, clear):
    assert tables.is_clear({"gain_mean": gain, "gain_sd": sd, "splits": splits}) is clear


@pytest.mark.parametrize(("right", "verdict"), [(10, HOLDS), (7, IN_PART), (2, DOES_NOT)])
def test_rises_with_k(right, verdict):
    names = [*claims.datasets.PAPER][:10]
    rows = []
    for i, name in enumerate(names):
        gain = 0.02 if i < right else -0.02
        rows += [cell(name, 1, test=0.8, gain=0.0), cell(name, 16, test=0.8 + gain, gain=gain)]
    text, found = claims.rises_with_k({"fig2": rows})
    assert found == verdict
    assert f"beats Top-1 in {right} of 10 cells" in text
    assert f"clearly worse in {10 - right}" in text
    assert f"does not fall in {right} of 10 steps" in text
    assert f"{(0.04 * right - 0.2) * 10:+.1f} points" in text


def test_training_accuracy_must_never_fall():
    rows = [cell(k=k, train=train) for k, train in ((1, 0.8), (2, 0.8), (4, 0.9), ("all", 0.91))]
    assert claims.training_accuracy({"fig2": rows}) == ("3 of 3 steps from one k to the next", HOLDS)
    rows[2]["train_mean"] = 0.95
    assert claims.training_accuracy({"fig2": rows}) == ("2 of 3 steps from one k to the next", IN_PART)


def test_five_points():
    rows = [cell("car", 8, 4, gain=0.051), cell("nursery", 4, 5, gain=0.08), cell("avila", 2, gain=0.05)]
    text, verdict = claims.five_points({"fig2": rows})
    assert verdict == HOLDS
    assert text == "2 cells on 2 datasets (nursery, car); the largest is +8.0 points (nursery, k = 4, depth 5)"
    assert claims.five_points({"fig2": rows[2:]})[1] == DOES_NOT


@pytest.mark.parametrize(("gap", "verdict"), [(0.005, HOLDS), (-0.005, HOLDS), (0.03, IN_PART), (-0.03, IN_PART)])
def test_close_to_optimal(gap, verdict):
    rows = [cell(k=k, depth=depth, test=0.9 + gap) for k in (8, 16) for depth in (2, 3)]
    rows += [cell(k="all", depth=depth, test=0.9) for depth in (2, 3)] + [cell(k="all", depth=4, test=None)]
    text, found = claims.close_to_optimal({"fig2": rows})
    assert found == verdict
    assert f"Top-8 is {100 * gap:+.1f} points" in text
    assert "mean of 2 cells" in text


def test_stopped_cells_and_variants_count_for_nothing():
    rows = [cell(k=16, gain=0.01), cell(k=16, depth=4, test=None), cell("dry-bean-repaired", 16, gain=0.3)]
    assert "1 of 1 cells" in claims.rises_with_k({"fig2": rows})[0]
    assert claims.five_points({"fig2": rows})[1] == DOES_NOT


@pytest.mark.parametrize(("gain", "verdict"), [(-0.01, HOLDS), (0.001, HOLDS), (0.02, DOES_NOT)])
def test_where_greedy_is_not_beaten(gain, verdict):
    rows = [cell(name, k, gain=gain) for name in claims.OVERFITTING for k in (2, 4, 16)]
    assert claims.overfitting({"fig2": rows})[1] == verdict


@pytest.mark.parametrize(("deeper", "verdict"), [(0.79, HOLDS), (0.83, DOES_NOT)])
def test_greedy_overfits(deeper, verdict):
    rows = [cell(name, 1, d, test=t) for name in claims.OVERFITTING for d, t in ((2, 0.7), (3, 0.8), (4, deeper))]
    assert claims.greedy_overfits({"fig2": rows})[1] == verdict


def test_some_k_beats_greedy_on_the_other_sets_of_the_appendix():
    rows = [cell("car", 1, 2, gain=0.0), cell("car", 4, 2, gain=-0.01), cell("car", 8, 2, gain=0.01)]
    rows += [cell("molecular-biology-splice", 4, 7, gain=-0.01), cell("nursery", 4, 2, gain=-0.01)]
    assert claims.other_appendix({"fig2": rows}) == ("1 of 1 cells (depth 2 on, splice to 6)", HOLDS)
    rows.append(cell("monks-1", 4, 3, gain=0.0))
    text, verdict = claims.other_appendix({"fig2": rows})
    assert (text.split("; ")[1], verdict) == ("not monks-1 at depth 3", IN_PART)


def test_plateau():
    def line(name, accuracies):
        return [cell(name, k, 3, test=test, train=0.9 + k / 100) for k, test in enumerate(accuracies, 1)]

    rows = [
        *line("car", (0.7, 0.8, 0.8)),
        *line("hayes-roth", (0.6, 0.7, 0.7)),
        *line("tic-tac-toe", (0.7, 0.73, 0.71)),
    ]
    text, verdict = claims.plateau({"fig4": rows})
    assert verdict == HOLDS
    assert "tic-tac-toe: test 70.0 at k = 1, best 73.0 at k = 2, 71.0 at k = 3; training never falls" in text
    rows[2]["test_mean"] = 0.75
    assert claims.plateau({"fig4": rows})[1] == IN_PART


def test_times():
    rows = [timed(name, seconds=s) for name, s in (("car", 0.1), ("nursery", 0.9), ("connect-4", 30.0))]
    assert claims.depth_eight_in_a_second({"fig6": rows})[1] == IN_PART
    assert "connect-4 with 30 s" in claims.depth_eight_in_a_second({"fig6": rows})[0]
    rows = [timed(name, k, 5, s) for name, k, s in (("car", 4, 0.1), ("car", 8, 19.0), ("nursery", 8, 21.0))]
    assert claims.depth_five_in_twenty({"fig6": rows})[1] == HOLDS
    assert "2 of 3" in claims.depth_five_in_twenty({"fig6": rows})[0]
    rows = [timed("occupancy-estimation", k, d, s) for k in (4, 8) for d, s in ((5, 1.0), (6, 2.0), (7, 0.5))]
    assert claims.occupancy({"fig6": rows})[1] == HOLDS
    assert "k = 4: 2 s at depth 6, 0.5 s at depth 7" in claims.occupancy({"fig6": rows})[0]


def test_column_counts():
    rows = [timed("nursery", columns=27), timed("car", columns=21)]
    assert claims.column_counts({"fig6": rows}) == ("2 of 2 datasets", HOLDS)
    rows[1]["columns"] = 22
    assert claims.column_counts({"fig6": rows}) == ("1 of 2 datasets; not car", IN_PART)


@pytest.mark.parametrize(("peer", "ours", "verdict"), [(300, 1407, HOLDS), (1407, 1407, IN_PART), (300, 300, IN_PART)])
def test_scaling(peer, ours, verdict):
    def row(solver, k, size, done):
        status = "finished" if size <= done else "timeout"
        more = dict(seconds=1.0, errors=1, leaves=2, limit=60.0, message=None)
        return dict(sweep="features", size=size, solver=solver, k=k, depth=5, penalty=0.001, status=status) | more

    rows = [row("pystreed", None, size, peer) for size in (10, 300, 1407)]
    rows += [row("topktree", 16, size, ours) for size in (10, 300, 1407)]
    text, found = claims.scales_with("features")({"fig3": rows})
    assert found == verdict
    assert f"pystreed to {peer} features within 60 s" in text
    if verdict == HOLDS:
        assert "Top-16: 1 s with all 1407" in text


def test_thresholds_matter():
    def line(paper, wide, ours):
        return [
            cell("avila", 1, test=paper),
            cell("avila", 16, test=wide),
            cell("avila", 1, test=ours, columns="default"),
        ]

    assert claims.thresholds_matter({"fig2": line(0.5, 0.6, 0.7)})[1] == HOLDS
    text, verdict = claims.thresholds_matter({"fig2": line(0.5, 0.6, 0.55)})
    assert verdict == DOES_NOT
    assert "1 cells: from k = 1 to 16 +10.0 points, from the paper's columns to ours at k = 1 +5.0" in text


@pytest.mark.parametrize(("gain", "verdict"), [(0.05, HOLDS), (0.01, DOES_NOT)])
def test_noise(gain, verdict):
    rows = [cell(k=k, noise=noise, gain=g) for k in (4, 16) for noise, g in ((0.0, 0.02), (0.4, gain))]
    text, found = claims.noise({"noise": rows})
    assert found == verdict
    assert f"Top-4 over Top-1: +2.0 at 0%, {100 * gain:+.1f} at 40%" in text


def test_random_k():
    rows = [cell(k=3, test=0.9, gain=0.1), cell(k=3, test=0.85, gain=0.05, candidates="random")]
    text, verdict = claims.random_k({"random-k": rows})
    assert verdict == HOLDS
    assert "in 1 of 1 cells (depth 2 on); Random-3 beats Top-1 in 1 and loses to it in 0" in text
    rows[1]["test_mean"] = 0.95
    assert claims.random_k({"random-k": rows})[1] == DOES_NOT


def test_theorems():
    row = dict(
        source="exact", h=4, K=5, eps=0.1, criterion="gini", k=1, depth=3, accuracy=0.51, bound="at most", holds=1
    )
    assert claims.theorem2({"theorem2": [row]})[1] == HOLDS
    assert claims.theorem2({"theorem2": [row, row | {"holds": 0}]})[1] == IN_PART
    text, verdict = claims.theorem2({"theorem2": [row, row | {"holds": 0, "h": 1}]})
    assert verdict == HOLDS
    assert "1 of 1 cells that break it: h = 1" in text
    bounds = dict(dataset="x", k=1, depth=1, claim=2, bottom_calls=2, bound=3, calls=3, subsets=1, nodes=1)
    assert claims.running_time({"running-time": [bounds]})[1] == HOLDS
    assert claims.running_time({"running-time": [bounds | {"calls": 4}]})[1] == DOES_NOT
    space = dict(dataset="x", k=1, depth=1, trees=128, equal=1)
    assert claims.lemma({"lemma": [space]}) == ("1 of 1 spaces, 128 trees enumerated", HOLDS)
    assert claims.lemma({"lemma": [space, space | {"equal": 0}]})[1] == IN_PART


def test_cost_of_the_runs(tmp_path):
    rows = [cell(k=1, gain=0.0), cell(k=16, test=None, seconds=None)]
    write_table(tmp_path / "paper" / "fig2.csv", rows)
    page = write_page(tmp_path).read_text()
    # ten fits of 0.1 s, one that was stopped after 5 s and would be after 60 s
    assert "| fig2 | 20 | 19 | 10 | 5 s | 6 s | 1 min |" in page
    assert "| fig4 | not run |" in page


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0012, "1.2 ms"), (0.05, "50 ms"), (0.5, "0.5 s"), (12.3, "12 s"), (1234.0, "1,234 s"), (None, "")],
)
def test_seconds(value, text):
    assert tables.seconds(value) == text


def test_numbers_stand_to_the_right():
    table = tables.markdown(("name", "gain", "k"), [("car", "+1.2 (3)", "8"), ("nursery", "", "all")])
    assert table.splitlines()[1] == "| --- | ---: | ---: |"
    assert page_tables.with_count([]) == ""
    assert page_tables.with_count([0.01, 0.02]) == "+1.5 (2)"
