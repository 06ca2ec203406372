"""The theorems, the lemma and the running time claim: numbers of small cases, against brute force and the reference."""

import itertools
import math
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from topktree_evidence.oracle import oracle
from topktree_evidence.studies.paper import frontier, lemma, running_time, theorem2, theorem3
from topktree_evidence.study import Settings

from topktree.hard import parity, tribes_function, tribes_majority, tribes_size

MODULES = [theorem2, theorem3, frontier, lemma, running_time]
NAMES = [module.__name__.rpartition(".")[2] for module in MODULES]


def make_rows(module, tasks):
    return [task | module.run(task, Settings()) for task in tasks]


@pytest.mark.parametrize("module", MODULES, ids=NAMES)
def test_tasks_are_plain_and_differ(module):
    tasks = module.tasks(Settings())
    assert all(tuple(task) == module.KEYS for task in tasks)
    assert all(type(value) in (int, float, str) for task in tasks for value in task.values())
    assert len({tuple(task.values()) for task in tasks}) == len(tasks)
    assert 0 < len(module.tasks(Settings(max_depth=5))) <= len(tasks)
    pickle.dumps(module.run)


@pytest.mark.parametrize(
    ("module", "column"), [(theorem2, "depth"), (theorem3, "h"), (lemma, "depth"), (running_time, "depth")]
)
def test_max_depth_leaves_out_deeper_runs(module, column):
    kept = module.tasks(Settings(max_depth=4))
    assert kept == [task for task in module.tasks(Settings()) if task[column] <= 4]


@pytest.mark.parametrize("module", MODULES, ids=NAMES)
def test_rows_tables_and_pictures(module, monkeypatch):
    monkeypatch.setattr(frontier, "LIMIT", 10**4)
    tasks = module.tasks(Settings())[:3]
    rows = make_rows(module, tasks)
    assert all(tuple(row) == module.KEYS + module.RESULTS for row in rows)
    assert all(type(value) in (int, float, str) for row in rows for value in row.values())
    assert rows == make_rows(module, tasks)
    lines = module.lines(pd.DataFrame(rows))
    assert len(lines) > 0
    assert len({len(line) for line in lines}) == 1
    if hasattr(module, "draw"):
        pytest.importorskip("matplotlib")
        (figure,) = module.draw(pd.DataFrame(rows)).values()
        figure.canvas.draw()
        assert figure.axes[0].lines


# Theorem 2


def theorem2_case(h, K, eps, criteria=theorem2.CRITERIA):
    keys = theorem2.KEYS
    return make_rows(
        theorem2,
        [
            dict(zip(keys, (theorem2.EXACT, h, K, eps, criterion, k, depth), strict=True))
            for criterion in criteria
            for k in range(1, K + 1)
            for depth in range(1, h + K)
        ],
    )


@pytest.mark.parametrize(("h", "K", "eps"), [(2, 3, 0.1), (3, 4, 0.05), (4, 5, 0.1), (2, 5, 0.15)])
def test_both_inequalities_hold_at_every_depth(h, K, eps):
    for row in theorem2_case(h, K, eps):
        if row["depth"] < h + K - row["k"]:
            assert row["accuracy"] <= 0.5 + eps
        else:
            assert row["accuracy"] == pytest.approx(1 - eps / 2, rel=1e-12)
            assert row["leaves"] >= 2**h
        assert row["holds"] == 1


def test_accuracies_for_h_4_and_K_5():
    table = {(row["k"], row["depth"]): row["accuracy"] for row in theorem2_case(4, 5, 0.1, ["entropy"])}
    for k in range(1, 6):
        expected = [0.5125, 0.5125, *[0.51875] * (6 - k), *[0.95] * k]
        assert [table[k, depth] for depth in range(1, 9)] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("criterion", theorem2.CRITERIA)
def test_the_engine_agrees_with_the_reference(criterion):
    distribution = parity(3, 3, 0.1)
    X, y, weight = distribution.exact()
    whole = np.rint(weight * distribution.denominator).astype(np.int64)
    problem = lemma.Problem(X, y.astype(np.int32), whole)
    for row in theorem2_case(3, 3, 0.1, [criterion]):
        if (row["k"], row["depth"]) == (3, 5):
            continue  # 6**5 steps
        objective = replace(problem.objective(row["k"], row["depth"]), criterion=criterion)
        cost = oracle().solve(X, problem.classes, objective).cost
        assert row["accuracy"] == pytest.approx(1 - cost / distribution.denominator, rel=1e-12)


def test_parity_of_one_feature_is_found_at_once():
    row = theorem2_case(1, 3, 0.1, ["entropy"])[0]
    assert (row["k"], row["depth"], row["accuracy"], row["holds"]) == (1, 1, pytest.approx(0.95), 0)


def test_gains_below_the_resolution_of_scores_tie():
    rows = theorem2_case(3, 4, 0.00001, ["entropy"])
    assert {row["accuracy"] for row in rows if row["depth"] >= 3} == {0.999995}


def test_a_sample_shows_it_too():
    tasks = [task for task in theorem2.tasks(Settings()) if task["source"] == theorem2.SAMPLED]
    assert len(tasks) == 40
    rows = make_rows(theorem2, [task for task in tasks if task["depth"] in (8 - task["k"], 9 - task["k"])])
    assert [row["holds"] for row in rows] == [1] * 10
    assert [row["accuracy"] for row in rows if row["depth"] == 9 - row["k"]] == pytest.approx([0.95] * 5)


# Theorem 3


@pytest.mark.parametrize(
    ("h", "K", "eps"), [(1, 2, 0.1), (4, 3, 0.2), (5, 6, 0.1), (6, 5, 0.3), (9, 4, 0.05), (7, 7, 0.4)]
)
def test_covariances_by_enumeration(h, K, eps):
    X, y, weight = tribes_majority(h, K, eps).exact()
    found = weight @ (X * y[:, None]) - (weight @ X) * (weight @ y)
    width, count = tribes_size(h)
    used = width * count
    np.testing.assert_allclose(found[:used], frontier.tribes_covariance(h, eps), rtol=1e-9)
    np.testing.assert_allclose(found[used:h], 0, atol=1e-12)
    np.testing.assert_allclose(found[h:], frontier.majority_covariance(K, eps), rtol=1e-9)


def test_tribes_mean_by_enumeration():
    for h in range(1, 13):
        points = np.array(list(itertools.product((False, True), repeat=h)))
        assert frontier.tribes_mean(h) == pytest.approx(tribes_function(points).mean())


def test_tribes_are_balanced_only_where_the_width_has_grown():
    # The paper's Fact: 1/2 + o(1). It swings between 1/2 and more than 3/4, at every width.
    for width in range(8, 21):
        last = frontier.last_of_width(width, round(width * 2**width * math.log(2)) + width, 10**8)
        assert tribes_size(last)[0] == width
        assert tribes_size(last + 1)[0] == width + 1
        assert frontier.tribes_mean(last) > 0.76
        assert frontier.tribes_mean(last + 1) == pytest.approx(0.5, abs=0.001)


def test_influence_of_majority():
    m = np.array([1, 2, 3, 4, 1997, 1998, 1999, 2000, 2001, 5000, 123457])
    exact = [math.comb(2 * (i // 2), i // 2) / 4 ** (i // 2) for i in m.tolist()]
    np.testing.assert_allclose(frontier.majority_influence(m.astype(float)), exact, rtol=1e-13)


@pytest.mark.parametrize("eps", [0.4, 0.3, 0.2])
@pytest.mark.parametrize("rule", frontier.RULES)
def test_frontier_by_trying_every_h(eps, rule, monkeypatch):
    limit = 3000
    monkeypatch.setattr(frontier, "LIMIT", limit)
    row = frontier.run({"eps": eps, "rule": rule}, Settings())
    ahead = {}
    for h in range(frontier.SMALLEST, limit + 1):
        K = int(frontier.RULES[rule](np.array([float(h)]))[0])
        ahead[h] = frontier.majority_covariance(K, eps) > frontier.tribes_covariance(h, eps)
    behind = [h for h in ahead if not ahead[h]]
    assert row["first_h"] == next((h for h in ahead if ahead[h]), 0)
    always_from = max(behind, default=frontier.SMALLEST - 1) + 1
    assert row["always_from"] == (always_from if always_from <= limit else 0)


def test_range_of_K_is_empty_below_the_first_h():
    def has_room(h):
        return h * math.log(h) <= (h / math.log(h)) ** 2

    assert has_room(frontier.SMALLEST)
    assert not any(has_room(h) for h in range(10, frontier.SMALLEST))


def test_top_K_succeeds_and_no_tree_beats_the_best_classifier():
    tasks = [task for task in theorem3.tasks(Settings()) if task["criterion"] == "entropy" and task["h"] <= 8]
    for row in make_rows(theorem3, tasks):
        assert row["leaf_accuracy"] <= row["accuracy"] <= row["bayes_accuracy"] + 1e-12
        if row["k"] == row["K"]:
            assert row["succeeds"] == 1


def test_the_monotone_hierarchy_in_small():
    # Majority's features rank first at the root: every further candidate helps, up to k = K, and the tree shrinks.
    rows = make_rows(
        theorem3, [task for task in theorem3.tasks(Settings(max_depth=8)) if (task["h"], task["K"]) == (8, 4)]
    )[:4]
    assert rows[0]["majority_covariance"] > rows[0]["tribes_covariance"]
    assert [round(row["accuracy"], 4) for row in rows] == [0.8232, 0.8344, 0.8479, 0.85]
    assert [row["leaves"] for row in rows] == [117, 95, 59, 31]
    assert rows[-1]["accuracy"] == pytest.approx(rows[-1]["bayes_accuracy"])


# The lemma


@pytest.mark.parametrize("dataset", lemma.DATASETS)
@pytest.mark.parametrize(("k", "depth"), [(8, 2), (2, 3), (3, 3)])
def test_the_engine_finds_the_best_tree_of_the_space(dataset, k, depth):
    row = lemma.run({"dataset": dataset, "k": k, "depth": depth}, Settings())
    assert row["equal"] == 1
    assert row["engine"] == row["best"] <= row["median"] <= row["worst"]


def test_number_of_trees():
    problem = lemma.load("balance-scale")
    for k, depth, trees in ((2, 3, 128), (3, 3, 2187), (4, 3, 16384), (2, 4, 32768)):
        nodes, leaves = lemma.search_space(problem, problem.objective(k, depth))
        assert (nodes.shape, leaves.shape) == ((trees, 2**depth - 1), (trees, 2**depth))


def test_trees_of_the_space_are_what_they_should_be():
    columns = np.array(list(itertools.product((False, True), repeat=3)))
    problem = lemma.Problem(columns, (columns[:, 0] ^ columns[:, 1]).astype(np.int32), np.ones(8, dtype=np.int64))
    nodes, leaves = lemma.search_space(problem, problem.objective(2, 2))
    # All scores tie: columns 0 and 1 at the root, then 1 (or 0) and 2.
    assert sorted(map(tuple, nodes.tolist())) == [
        (root, *below) for root, other in ((0, 1), (1, 0)) for below in itertools.product((other, 2), repeat=2)
    ]
    assert sorted(lemma.errors(problem, nodes, leaves).tolist()) == [0, 0, 2, 2, 2, 2, 4, 4]
    np.testing.assert_array_equal(
        lemma.predict(columns, np.array([[0, 1, 2]]), np.array([[10, 11, 12, 13]])), [[10, 10, 11, 11, 12, 13, 12, 13]]
    )


def test_weights_of_the_lemma_are_those_of_the_search():
    problem = lemma.load("parity")
    np.testing.assert_array_equal(problem.objective(2, 2).row_weight, problem.weight)


@pytest.mark.parametrize(
    ("name", "shape"), [("tic-tac-toe", (958, 27)), ("monks-1", (432, 17)), ("balance-scale", (625, 20))]
)
def test_datasets_have_the_columns_of_the_paper(name, shape):
    assert lemma.load(name).columns.shape == shape


# Running time


@pytest.mark.parametrize("dataset", running_time.DATASETS)
def test_the_claim_is_an_upper_bound(dataset):
    tasks = [
        task for task in running_time.tasks(Settings(max_depth=3)) if task["dataset"] == dataset and task["k"] <= 4
    ]
    for row in make_rows(running_time, tasks):
        assert row["bottom_calls"] <= row["claim"] == (2 * row["k"]) ** row["depth"]
        assert row["calls"] <= row["bound"] < 2 * row["claim"]
        assert running_time.is_within_bounds(row)


def test_the_bound_is_reached_on_random_rows():
    row = running_time.run({"dataset": running_time.RANDOM, "k": 4, "depth": 4}, Settings())
    assert row["bottom_calls"] == row["claim"] == 8**4
    assert row["calls"] == row["bound"] == 1 + 8 + 8**2 + 8**3 + 8**4
    assert row["nodes"] < 600


@pytest.mark.parametrize("dataset", ["monks-3", "parity", "tic-tac-toe"])
@pytest.mark.parametrize(("k", "depth"), [(2, 3), (4, 2), (1, 4)])
def test_calls_by_running_the_reference(dataset, k, depth, monkeypatch):
    problem = running_time.load(dataset)
    best = oracle()._best
    levels = []

    def counted(columns, class_weights, level, objective, unit):
        levels.append(level)
        return best(columns, class_weights, level, objective, unit)

    monkeypatch.setattr(oracle(), "_best", counted)
    objective = problem.objective(k, depth)
    oracle().solve(problem.columns, problem.classes, objective)
    bottom, calls, _ = running_time.count_calls(problem, objective)
    assert (bottom, calls) == (levels.count(depth), len(levels))
