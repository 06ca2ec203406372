"""Verdicts: each rule on invented tables where it holds, holds in part, and does not."""

import numpy as np
import pandas as pd
import pytest
from topktree_evidence import pages
from topktree_evidence import text as texts
from topktree_evidence.studies import paper
from topktree_evidence.studies.paper import accuracy, accuracy_claims, fits, other_claims, page
from topktree_evidence.studies.paper.claims import all_answers
from topktree_evidence.studies.paper.verdicts import DOES_NOT, HOLDS, IN_PART, NOT_RUN, NoCases

from topktree import datasets


def cell(dataset="nursery", k=1, depth=3, test=0.8, train=0.9, gain=0.0, sd=0.01, columns="paper", **more):
    """A row of an accuracy table; without a test accuracy, one that was stopped."""
    finished = test is not None
    row = dict(dataset=dataset, columns=columns, k=k, depth=depth, criterion="entropy", noise=0.0, candidates="top")
    row |= dict(splits=10, finished=10 if finished else 9, stopped=0 if finished else 1, limit=5.0)
    row |= dict(train_mean=train, train_sd=sd, test_mean=test, test_sd=sd, gain_mean=gain if finished else None)
    row |= dict(gain_sd=sd, leaves=8.0, seconds=0.1 if finished else None)
    assert tuple(row) == fits.SUMMARY
    return row | more


def frames(tables):
    """Tables as the studies write them."""
    return {name: pd.DataFrame(rows) for name, rows in tables.items()}


def timed(dataset="nursery", k=2, depth=8, seconds=0.5, **more):
    row = dict(dataset=dataset, k=k, depth=depth, rows=10, columns=27, seconds=seconds, errors=1, leaves=2, nodes=3)
    return row | dict(status="finished", limit=60.0, message=None) | more


@pytest.mark.parametrize(
    ("gain", "sd", "splits", "clear"),
    [
        (0.05, 0.01, 10, True),
        (-0.05, 0.01, 10, True),
        (0.0071, 0.01, 10, False),  # 2.26 standard errors are 0.00715 at ten splits
        (0.0072, 0.01, 10, True),
        (0.05, 0.01, 2, False),  # 12.7 standard errors at two
        (0.1, 0.01, 2, True),
        (0.05, 0.0, 1, False),
        (None, None, 10, False),
    ],
)
def test_clear_is_outside_the_t_interval(gain, sd, splits, clear):
    assert texts.is_clear({"gain_mean": gain, "gain_sd": sd, "splits": splits}) is clear


@pytest.mark.parametrize(("right", "verdict"), [(10, HOLDS), (7, IN_PART), (2, DOES_NOT)])
def test_rises_with_k(right, verdict):
    rows = []
    for i, name in enumerate([*datasets.PAPER][:10]):
        gain = 0.02 if i < right else -0.02
        rows += [cell(name, 1), cell(name, 16, test=0.8 + gain, gain=gain)]
    text, found = accuracy_claims.rises_with_k(frames({"fig2": rows}))
    assert found == verdict
    assert f"ahead of Top-1 in {right}, clearly in {right}, equal in 0, behind in {10 - right}, clearly in" in text
    assert f"does not fall in {right} of 10 steps" in text
    assert f"{(0.04 * right - 0.2) * 10:+.1f} points" in text


def test_training_accuracy_must_never_fall():
    rows = [cell(k=k, train=train) for k, train in ((1, 0.8), (2, 0.8), (4, 0.9), ("all", 0.91))]
    assert accuracy_claims.training_accuracy(frames({"fig2": rows})) == ("3 of 3 steps from one k to the next", HOLDS)
    rows[2]["train_mean"] = 0.95
    assert accuracy_claims.training_accuracy(frames({"fig2": rows})) == ("2 of 3 steps from one k to the next", IN_PART)


def test_five_points():
    rows = [cell("car", 8, 4, gain=0.051), cell("nursery", 4, 5, gain=0.08), cell("avila", 2, gain=0.05)]
    text, verdict = accuracy_claims.five_points(frames({"fig2": rows}))
    assert verdict == HOLDS
    assert text.startswith(
        "2 cells (dataset x k x depth), on nursery and car; the largest is +8.0 points (nursery, k = 4,"
    )
    assert accuracy_claims.five_points(frames({"fig2": rows[2:]})) == ("no gain is", DOES_NOT)


@pytest.mark.parametrize(
    ("gaps", "verdict"),
    [((0.005, -0.005), HOLDS), ((0.03, -0.03), DOES_NOT), ((0.005, -0.03), IN_PART)],
)
def test_close_to_optimal(gaps, verdict):
    rows = [cell(k=k, depth=2 + i, test=0.9 + gap) for k in (8, 16) for i, gap in enumerate(gaps)]
    rows += [cell(k="all", depth=depth, test=0.9) for depth in (2, 3)] + [cell(k="all", depth=4, test=None)]
    # hayes-roth has 15 columns: Top-16 is the optimal tree there, which says nothing
    rows += [cell("hayes-roth", 16, test=0.7), cell("hayes-roth", "all", test=0.7)]
    text, found = accuracy_claims.close_to_optimal(frames({"fig2": rows}))
    assert found == verdict
    near = sum(abs(gap) < 0.01 for gap in gaps)
    assert text.count(f"within one point of the optimal tree in {near} of 2 cells") == 2


def test_stopped_cells_and_variants_count_for_nothing():
    rows = [cell(k=16, gain=0.01), cell(k=16, depth=4, test=None), cell("dry-bean-repaired", 16, gain=0.3)]
    assert "of 1 cells" in accuracy_claims.rises_with_k(frames({"fig2": rows}))[0]
    assert accuracy_claims.five_points(frames({"fig2": rows}))[1] == DOES_NOT
    with pytest.raises(NoCases):
        accuracy_claims.rises_with_k(frames({"fig2": rows[1:]}))


@pytest.mark.parametrize(("gain", "verdict"), [(-0.01, HOLDS), (0.001, HOLDS), (0.02, DOES_NOT)])
def test_where_greedy_is_not_beaten(gain, verdict):
    rows = [cell(name, k, gain=gain) for name in accuracy_claims.OVERFITTING for k in (2, 4, 16)]
    assert accuracy_claims.overfitting(frames({"fig2": rows}))[1] == verdict


@pytest.mark.parametrize(("deepest", "verdict"), [(0.79, HOLDS), (0.8, DOES_NOT), (0.83, DOES_NOT)])
def test_greedy_overfits(deepest, verdict):
    depths = ((2, 0.7), (3, 0.8), (4, 0.81), (5, deepest))
    rows = [cell(name, 1, depth, test=test) for name in accuracy_claims.OVERFITTING for depth, test in depths]
    assert accuracy_claims.greedy_overfits(frames({"fig2": rows}))[1] == verdict


def test_some_k_beats_greedy_on_the_other_sets_of_the_appendix():
    rows = [cell("car", 1, 2), cell("car", 4, 2, gain=-0.01), cell("car", 8, 2, gain=0.01)]
    rows += [cell("molecular-biology-splice", 4, 7, gain=-0.01), cell("nursery", 4, 2, gain=-0.01)]
    text, verdict = accuracy_claims.other_appendix(frames({"fig2": rows}))
    assert (text.split(" (")[0], verdict) == ("1 of 1 cells", HOLDS)
    rows.append(cell("monks-1", 4, 3, gain=0.0))
    text, verdict = accuracy_claims.other_appendix(frames({"fig2": rows}))
    assert (text.split("; ")[1], verdict) == ("not monks-1 at depth 3", IN_PART)


def fig4_runs(name, wrong):
    """Runs of ten splits: test errors of 100 rows for each k."""
    key = dict(columns="paper", depth=3, criterion="entropy", noise=0.0, candidates="top")
    result = dict(train_rows=100, test_rows=100, leaves=4, nodes=5, seconds=0.1, status="finished", limit=5.0)
    return [
        dict(dataset=name, k=k, seed=seed, train_errors=20 - k, test_errors=errors + seed % 3) | key | result
        for k, errors in enumerate(wrong, 1)
        for seed in range(42, 52)
    ]


def test_plateau():
    runs = [
        *fig4_runs("car", (30, 20, 20)),
        *fig4_runs("hayes-roth", (40, 30, 30)),
        *fig4_runs("tic-tac-toe", (30, 27, 29)),
    ]
    summary = accuracy.summarise_fig4(pd.DataFrame(runs))
    best = next(row for row in summary.to_dict("records") if row["dataset"] == "tic-tac-toe" and row["k"] == 2)
    assert (best["last_mean"], best["last_sd"]) == (pytest.approx(0.02), pytest.approx(0.0, abs=1e-6))
    text, verdict = accuracy_claims.plateau(frames({"fig4": summary}))
    assert verdict == HOLDS
    assert "tic-tac-toe: test 69.1 at k = 1, best 72.1 at k = 2, 70.1 at k = 3, a fall that is clear;" in text
    for run in runs:
        if run["dataset"] == "car" and run["k"] == 3:
            run["test_errors"] += 4
    assert accuracy_claims.plateau(frames({"fig4": accuracy.summarise_fig4(pd.DataFrame(runs))}))[1] == IN_PART
    runs[0]["status"] = "timeout"
    text, _ = accuracy_claims.plateau(frames({"fig4": accuracy.summarise_fig4(pd.DataFrame(runs))}))
    assert "car" not in text


def test_gains_are_taken_of_finished_greedy_runs_only():
    runs = fig4_runs("car", (30, 20))
    runs[0] |= {"status": "failed", "test_errors": None, "test_rows": None}
    greedy, wide = fits.summarise(pd.DataFrame(runs)).to_dict("records")
    assert np.isnan(greedy["test_mean"])
    assert wide["gain_mean"] == pytest.approx(0.1)


def test_times():
    rows = [timed(name, seconds=s) for name, s in (("car", 0.1), ("nursery", 0.9), ("connect-4", 30.0))]
    text, verdict = other_claims.depth_eight_in_a_second(frames({"fig6": rows}))
    assert (text, verdict) == ("2 of 3 runs; the slowest that finished is connect-4 with 30 s", IN_PART)
    stopped = dict(seconds=None, status="timeout")
    more = [*rows, timed("avila", **stopped), timed("car", **stopped)]
    text, verdict = other_claims.depth_eight_in_a_second(frames({"fig6": more}))
    assert (text.split(";")[0], verdict) == ("2 of 5 runs", DOES_NOT)
    rows = [timed(name, k, 5, s) for name, k, s in (("car", 4, 0.1), ("car", 8, 19.0), ("nursery", 8, 21.0))]
    rows.append(timed("avila", 8, 5, limit=10.0, **stopped))  # nobody knows whether it would take 20 s
    text, verdict = other_claims.depth_five_in_twenty(frames({"fig6": rows}))
    assert verdict == HOLDS
    assert text.startswith("2 of 3 runs")
    assert text.endswith("1 more were stopped before")
    with pytest.raises(NoCases):
        other_claims.depth_five_in_twenty(frames({"fig6": rows[3:]}))
    rows = [timed("occupancy-estimation", k, d, s) for k in (4, 8) for d, s in ((5, 1.0), (6, 2.0), (7, 0.5))]
    text, verdict = other_claims.occupancy(frames({"fig6": rows}))
    assert verdict == HOLDS
    assert "k = 4: at most 2 s at depth 6, 0.5 s at depth 7" in text


def test_column_counts():
    rows = [timed("nursery", columns=27), timed("car", columns=21)]
    assert other_claims.column_counts(frames({"fig6": rows})) == ("the same in 2 of 2 datasets", HOLDS)
    rows[1]["columns"] = 22
    assert other_claims.column_counts(frames({"fig6": rows})) == ("the same in 1 of 2 datasets; not car", IN_PART)


@pytest.mark.parametrize(
    ("peer", "ours", "limit", "verdict"),
    [(251, 1407, 600, HOLDS), (251, 1407, 60, IN_PART), (299, 1407, 600, DOES_NOT), (251, 299, 600, DOES_NOT)],
)
def test_scaling(peer, ours, limit, verdict):
    def row(solver, k, size, done):
        status = "finished" if size <= done else "timeout"
        more = dict(seconds=1.0, errors=1, leaves=2, limit=float(limit), message=None)
        return dict(sweep="features", size=size, solver=solver, k=k, depth=5, penalty=0.001, status=status) | more

    judge = other_claims.scales_with_features
    rows = [row("topktree", 16, size, ours) for size in (10, 251, 299, 1407)]
    with pytest.raises(NoCases):
        judge(frames({"fig3": rows}))  # no peer to compare with
    rows += [row("pystreed", None, size, peer) for size in (10, 251, 299, 1407)]
    text, found = judge(frames({"fig3": rows}))
    assert found == verdict
    assert f"pystreed comes to {peer} features within {limit} s" in text


def test_thresholds_matter():
    def line(paper, wide, ours):
        return [
            cell("avila", 1, test=paper),
            cell("avila", 16, test=wide),
            cell("avila", 1, test=ours, columns="default"),
        ]

    assert accuracy_claims.thresholds_matter(frames({"fig2": line(0.5, 0.6, 0.7)}))[1] == HOLDS
    text, verdict = accuracy_claims.thresholds_matter(frames({"fig2": line(0.5, 0.6, 0.55)}))
    assert verdict == DOES_NOT
    assert "1 cells: from k = 1 to 16 +10.0 points, from the paper's columns to ours at k = 1 +5.0" in text


@pytest.mark.parametrize(("gain", "verdict"), [(0.05, HOLDS), (0.01, DOES_NOT), (0.02, DOES_NOT)])
def test_noise(gain, verdict):
    rows = [cell(k=k, noise=noise, gain=g) for k in (4, 16) for noise, g in ((0.0, 0.02), (0.4, gain))]
    # what is missing at one share of noise is compared at none
    rows += [cell("car", k, gain=0.3) for k in (4, 16)] + [cell("car", k, noise=0.4, test=None) for k in (4, 16)]
    text, found = accuracy_claims.noise(frames({"noise": rows}))
    assert found == verdict
    assert f"Top-4 over Top-1: +2.0 at 0%, {100 * gain:+.1f} at 40% flipped, in the mean of 1 cells" in text


def test_random_k():
    rows = [cell(k=3, test=0.9, gain=0.1), cell(k=3, test=0.85, gain=0.05, candidates="random")]
    text, verdict = accuracy_claims.random_k(frames({"random-k": rows}))
    assert verdict == HOLDS
    assert "in 1 of 1 cells" in text
    assert "ahead of Top-1 in 1 and behind it in 0" in text
    rows[1]["gain_mean"] = -0.05  # never ahead of Top-1
    assert accuracy_claims.random_k(frames({"random-k": rows}))[1] == IN_PART
    rows[1]["test_mean"] = 0.95
    assert accuracy_claims.random_k(frames({"random-k": rows}))[1] == DOES_NOT


def test_theorem2():
    row = dict(source="exact", h=4, K=5, eps=0.1, criterion="gini", k=1, depth=3, holds=1, status="finished")
    assert other_claims.theorem2(frames({"theorem2": [row]}))[1] == HOLDS
    assert other_claims.theorem2(frames({"theorem2": [row, row | {"holds": 0}]}))[1] == IN_PART
    text, verdict = other_claims.theorem2(frames({"theorem2": [row, row | {"holds": 0, "h": 1}]}))
    assert verdict == HOLDS
    assert "1 of 1 cells that break it: h = 1" in text


def test_theorem3():
    row = dict(h=5, K=6, eps=0.1, criterion="gini", k=6, succeeds=1, fails=0, status="finished")
    frontier = [
        dict(eps=0.1, rule=rule, first_h=first, status="finished")
        for rule, first in (("h + 1", 5436), ("h ln h", 131014), ("h^2 / (ln h)^2", 0))
    ]
    text, verdict = other_claims.theorem3(frames({"theorem3": [row, row | {"k": 1}], "theorem3-frontier": frontier}))
    assert verdict == IN_PART
    assert "at h = 131,014" in text  # h + 1 is less than the theorem's K
    assert "does in 0 of 1" in text
    assert (
        other_claims.theorem3(frames({"theorem3": [row | {"succeeds": 0}], "theorem3-frontier": frontier}))[1]
        == DOES_NOT
    )


def test_running_time_and_lemma():
    row = dict(
        dataset="x", k=1, depth=1, claim=2, bottom_calls=2, bound=3, calls=3, subsets=1, nodes=1, status="finished"
    )
    assert other_claims.running_time(frames({"running-time": [row]}))[1] == HOLDS
    assert other_claims.running_time(frames({"running-time": [row | {"calls": 4}]}))[1] == DOES_NOT
    assert other_claims.running_time(frames({"running-time": [row | {"bottom_calls": 3}]}))[1] == DOES_NOT
    space = dict(dataset="x", k=1, depth=1, trees=128, equal=1, status="finished")
    assert other_claims.lemma(frames({"lemma": [space]})) == ("1 of 1 search spaces, 128 trees enumerated", HOLDS)
    assert other_claims.lemma(frames({"lemma": [space, space | {"equal": 0}]}))[1] == IN_PART


def test_claims_without_tables_are_not_run():
    answers = all_answers({study.name: pd.DataFrame(columns=study.table_columns) for study in paper.STUDIES})
    assert set(answers.values()) == {("", NOT_RUN)}
    template, *_ = pages.ENVIRONMENT.loader.get_source(pages.ENVIRONMENT, "paper.md")
    assert all(f'"{judge}"' in template for judge in answers)


def test_what_was_run_and_what_it_cost(tmp_path):
    found = {study.name: pd.DataFrame(columns=study.table_columns) for study in paper.STUDIES}
    found["fig2"] = pd.DataFrame([cell(k=1), cell(k=16, test=None)])
    (path,), _ = page.write_pages(tmp_path, found)
    written = path.read_text()
    # ten fits of 0.1 s, one that was stopped after 5 s and would be after 60 s
    assert "| fig2 | 20 | 19 | 10 | 5 s | 6 s | 1 min |" in written
    assert "| fig4 | not run |" in written
    assert "1 of 22 datasets, 10 splits, 5 s for a fit" in written


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0012, "1.2 ms"), (0.05, "50 ms"), (0.5, "0.5 s"), (12.3, "12 s"), (1234.0, "1,234 s"), (None, "")],
)
def test_seconds(value, text):
    assert texts.seconds(value) == text


def test_numbers_stand_to_the_right():
    table = texts.markdown(("name", "gain", "k"), [("car", "", "8"), ("nursery", "**+1.2 (3)**", "all")])
    assert table.splitlines()[1] == "| --- | ---: | ---: |"
    assert page.with_count([]) == ""
    assert page.with_count([0.01, 0.02]) == "+1.5 (2)"
    assert texts.points(-0.0001, True) == "+0.0"
