"""The specification itself: criteria by the book, and the rules of the definition one by one, on trees made by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracle, plain_oracle
from support.problems import CRITERIA, make_problem, random_classes, random_columns
from support.profiles import examples

some = examples(2)


def entropy(counts):
    n = sum(counts)
    return -sum(c / n * math.log2(c / n) for c in counts if c)


def gini(counts):
    return 1 - sum((c / sum(counts)) ** 2 for c in counts)


def root(counts):
    return sum(math.sqrt(c / sum(counts) * (1 - c / sum(counts))) for c in counts)


def by_the_book(criterion, left, right):
    """The score of a split as a textbook has it: the weighted decrease of impurity."""
    n, whole = sum(left) + sum(right), [a + b for a, b in zip(left, right, strict=True)]
    impurity = {"gini": gini, "sqrt": root}.get(criterion, entropy)
    gain = impurity(whole) - sum(left) / n * impurity(left) - sum(right) / n * impurity(right)
    return gain / entropy([sum(left), sum(right)]) if criterion == "gain_ratio" else gain


@some
@given(
    st.integers(2, 5).flatmap(
        lambda n_classes: st.lists(
            st.tuples(*[st.lists(st.integers(0, 50), min_size=n_classes, max_size=n_classes).filter(any)] * 2),
            min_size=1,
            max_size=5,
        )
    ),
    st.sampled_from(CRITERIA),
)
def test_criteria_by_the_book(splits, criterion):
    left, right = (np.array([split[side] for split in splits]) for side in (0, 1))
    objective = make_problem(np.zeros((2, 1), dtype=bool), np.array([0, 1]), criterion=criterion).objective
    for one_left, one_right in zip(left, right, strict=True):
        total = int(one_left.sum() + one_right.sum())
        unit = oracle.fixed_point(total)
        (score,) = oracle.column_scores(one_left[None], one_right[None], objective, unit)
        scale = 2.0**oracle.RATIO_BITS if criterion == "gain_ratio" else unit * total / 2**oracle.ROUND_BITS
        expected = by_the_book(criterion, one_left.tolist(), one_right.tolist())
        # Fixed point of 2**-30 or so; the ratio divides by a split entropy that may be small.
        assert score / scale == pytest.approx(max(expected, 0), abs=1e-6 if criterion == "gain_ratio" else 1e-8)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_sides_and_classes_may_be_swapped_without_a_bit_of_difference(criterion):
    rng = np.random.default_rng(0)
    objective = make_problem(np.zeros((2, 1), dtype=bool), np.array([0, 1]), criterion=criterion).objective
    left, right = rng.integers(0, 1000, (2, 500, 4))
    unit = oracle.fixed_point(int((left + right).sum(axis=1).max()))
    scores = oracle.column_scores(left, right, objective, unit)
    np.testing.assert_array_equal(scores, oracle.column_scores(right, left, objective, unit))
    order = [2, 0, 3, 1]
    np.testing.assert_array_equal(scores, oracle.column_scores(left[:, order], right[:, order], objective, unit))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 100, 2**20 + 1, 2**51])
def test_logarithm(n):
    unit = oracle.fixed_point(n)
    (answer,) = oracle.xlog2x(np.array([n]), unit)
    assert answer / unit / n == pytest.approx(math.log2(n), abs=1e-10)


def test_ratios_of_one_tie():
    """Columns that leave every class on one side have the ratio 1, however many rows are on each side."""
    objective = make_problem(np.zeros((2, 1), dtype=bool), np.array([0, 1]), criterion="gain_ratio").objective
    rng = np.random.default_rng(0)
    for _ in range(300):
        totals = rng.integers(1, 10 ** rng.integers(1, 9), rng.integers(2, 6))
        is_right = rng.random((8, len(totals))) < 0.5
        is_right[:, 0], is_right[:, 1] = False, True
        unit = oracle.fixed_point(int(totals.sum()) * int(rng.integers(1, 100)))
        scores = oracle.column_scores(totals * ~is_right, totals * is_right, objective, unit)
        assert set(scores.tolist()) == {2**oracle.RATIO_BITS}


def random_rules(rng, n_rows, n_columns):
    """Parameters of a problem that the definition in `plain_oracle` covers."""
    depth = int(rng.integers(1, 4))
    return {
        "k": (n_columns,) * depth if rng.random() < 0.2 else tuple(rng.integers(1, 4, depth).tolist()),
        "criterion": str(rng.choice(CRITERIA)),
        "min_samples_leaf": int(rng.choice([1, 1, 1, 2, 5])),
        "leaf_penalty": float(rng.choice([0.0, 0.0, 0.01, 0.1])),
        "class_weight": "balanced" if rng.random() < 0.2 else None,
        "sample_weight": rng.integers(1, 6, n_rows) if rng.random() < 0.3 else None,
    }


def plain_columns(tree):
    """The columns of a tree of `plain_oracle` in preorder."""
    return [tree[1] if len(tree) > 1 else -1, *(column for side in tree[2:] for column in plain_columns(side))]


@pytest.mark.parametrize("seed", range(600))
def test_the_definition_in_exact_arithmetic(seed):
    """Engine and NumPy reference against a program that shares no code with them and rounds nothing."""
    rng = np.random.default_rng(seed)
    n, d, n_classes = int(rng.integers(2, 40)), int(rng.integers(1, 7)), int(rng.integers(2, 5))
    columns = random_columns(rng, n, d) if rng.random() < 0.5 else rng.random((n, d)) < rng.choice([0.2, 0.5])
    classes = rng.integers(n_classes, size=n).astype(np.int32)
    if rng.random() < 0.5:
        classes = random_classes(rng, columns, n_classes)
    parameters = random_rules(rng, n, d)
    problem = make_problem(columns, classes, **parameters)
    objective = problem.objective
    weights = objective.class_weight[classes] * (1 if objective.row_weight is None else objective.row_weight)
    rows = [
        (tuple(row), int(c), int(weight)) for row, c, weight in zip(columns.tolist(), classes, weights, strict=True)
    ]
    rules = plain_oracle.Rules(
        parameters["k"],
        parameters["criterion"],
        objective.n_classes,
        parameters["min_samples_leaf"],
        int(objective.cost_scale),
        int(objective.leaf_penalty),
    )
    expected = plain_oracle.best(rows, rules)
    for solution in (problem.engine(), problem.reference()):
        assert solution.cost == expected[0]
        assert solution.column.tolist() == plain_columns(expected)


def solve(rows, **parameters):
    """The tree of rows written as (columns, class): ("01", 1)."""
    columns = np.array([[bit == "1" for bit in bits] for bits, _ in rows])
    classes = np.array([c for _, c in rows], dtype=np.int32)
    problem = make_problem(columns, classes, **parameters)
    solution = problem.reference()
    engine = problem.engine()
    assert engine.column.tolist() == solution.column.tolist()
    return solution


def test_a_split_that_does_not_pay_is_not_made():
    rows = [("0", 0)] * 3 + [("0", 1)] + [("1", 0)] * 2 + [("1", 1)]
    solution = solve(rows)
    assert solution.column.tolist() == [-1]
    assert solution.cost == 2


def test_equal_columns_go_to_the_lower_index():
    rows = [("0001", 0), ("0110", 1), ("1001", 0), ("0110", 1)]
    for k in (1, 2, 4):
        assert solve(rows, k=(k,)).column.tolist() == [1, -1, -1]


def test_the_better_score_goes_first_at_equal_cost():
    # Both columns leave one error of six rows. The pure side has three rows with column 0, one with column 1.
    rows = [("00", 0), ("00", 0), ("00", 0), ("10", 0), ("11", 1), ("10", 1)]
    columns = np.array([[bit == "1" for bit in bits] for bits, _ in rows])
    for k in (1, 2):
        solution = solve(rows, k=(k,))
        assert solution.cost == 1
        assert solution.column[0] == 0
    swapped = make_problem(columns[:, ::-1], np.array([c for _, c in rows], dtype=np.int32), k=(2,)).reference()
    assert swapped.column[0] == 1


def test_xor_needs_a_second_candidate():
    rows = [("001", 0), ("011", 1), ("101", 1), ("110", 0)]
    greedy = solve(rows, k=(1, 1))
    assert greedy.column[0] == 2
    assert greedy.cost == 1
    best = solve(rows, k=(2, 1))
    assert best.cost == 0
    assert best.column.tolist() == [0, 1, -1, -1, 1, -1, -1]


def test_k_per_level_counts_from_the_root():
    rows = [("001", 0), ("011", 1), ("101", 1), ("110", 0)]
    assert solve(rows, k=(1, 3)).cost == 1
    assert solve(rows, k=(3, 1)).cost == 0


def test_false_side_first():
    rows = [("0", 0), ("1", 1)]
    solution = solve(rows, k=(1,))
    assert (solution.column.tolist(), solution.false_child.tolist(), solution.true_child.tolist()) == (
        [0, -1, -1],
        [1, -1, -1],
        [2, -1, -1],
    )


# Column 0 makes no error, with two rows on its true side; column 1 makes one, with three; a leaf makes two.
SMALL_SIDES = [("00", 0)] * 5 + [("01", 0)] + [("11", 1)] * 2


@pytest.mark.parametrize(("min_samples_leaf", "column"), [(1, 0), (2, 0), (3, 1), (4, -1)])
def test_leaves_have_enough_rows(min_samples_leaf, column):
    assert solve(SMALL_SIDES, k=(1,), min_samples_leaf=min_samples_leaf).column[0] == column
    weights = np.array([9.0, 1, 1, 1, 1, 1, 4, 5])
    assert solve(SMALL_SIDES, k=(1,), min_samples_leaf=min_samples_leaf, sample_weight=weights).column[0] == column


@pytest.mark.parametrize(("fraction", "column"), [(0.0, 0), (0.1, 0), (0.2, 1), (0.3, -1)])
def test_leaves_have_enough_weight(fraction, column):
    weights = np.array([2.0, 2, 2, 2, 1, 1, 1, 1])  # 2 of 12 on the true side of column 0, 3 of 12 on that of column 1
    solution = solve(SMALL_SIDES, k=(1,), min_weight_fraction_leaf=fraction, sample_weight=weights)
    assert solution.column[0] == column


@pytest.mark.parametrize(("leaf_penalty", "n_leaves"), [(0.0, 3), (0.05, 3), (0.15, 2), (0.5, 1), ("tie", 3)])
def test_leaves_cost_their_penalty(leaf_penalty, n_leaves):
    # The first split saves four errors of ten, the second one more.
    rows = [("00", 0)] * 5 + [("10", 1)] * 4 + [("11", 0)]
    solution = solve(rows, leaf_penalty=leaf_penalty)
    assert np.count_nonzero(solution.column == -1) == n_leaves


def test_ties_prefer_fewer_leaves():
    # Two errors at least. Column 1 scores best and then needs column 2 as well; column 2 alone does it.
    rows = [("001", 0), ("100", 1), ("101", 0), ("001", 1), ("000", 0), ("000", 1), ("111", 0)]
    plain = solve(rows, k=(2, 2))
    assert (plain.cost, plain.column.tolist()) == (2, [1, 2, -1, -1, -1])
    assert solve(rows, k=(2, 2), leaf_penalty="tie").column.tolist() == [2, -1, -1]


def test_weights_decide():
    rows = [("0", 0), ("0", 0), ("0", 1)]
    columns, classes = np.array([[False]] * 3), np.array([c for _, c in rows], dtype=np.int32)
    assert make_problem(columns, classes).reference().cost == 1
    heavy = make_problem(columns, classes, sample_weight=np.array([1.0, 1.0, 5.0]))
    assert heavy.reference().cost == heavy.engine().cost == 2
    balanced = make_problem(columns, classes, class_weight=np.array([1.0, 3.0]))
    assert balanced.reference().cost == balanced.engine().cost == 2
