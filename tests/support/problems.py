"""Random small problems, and the engine and the reference called in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from support import oracle

from topktree._core import kernels, pack_flags
from topktree._search import engine
from topktree._search.objective import Objective, make_objective

STATISTICS = {"seconds", "nodes", "pruned", "cache_hits", "cache_bytes", "k_reached", "n_threads", "kernel", "trace"}
STATISTICS |= {"root"}

CRITERIA = ("entropy", "gini", "sqrt", "gain_ratio")


def label(parameters: object) -> str:
    """A name for a test with these parameters, the same in every process: functions lose their address."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(parameters))


@dataclass(frozen=True)
class Problem:
    columns: np.ndarray  # (n, d) bool
    classes: np.ndarray  # (n,) int32
    objective: Objective

    def reference(self) -> oracle.Solution:
        return oracle.solve(self.columns, self.classes, self.objective)

    def root_costs(self) -> dict[int, int]:
        """By column: the cost of the best tree below each candidate of the root, in their order."""
        weights = self.objective.class_weight[self.classes]
        if self.objective.row_weight is not None:
            weights = weights * self.objective.row_weight
        by_class = np.zeros((len(weights), self.objective.n_classes), dtype=np.int64)
        by_class[np.arange(len(weights)), self.classes] = weights
        if self.objective.depth == 0 or np.count_nonzero(by_class.sum(axis=0)) < 2:
            return {}
        unit = oracle.fixed_point(int(weights.sum()))
        return {
            int(column): sum(
                oracle._best(self.columns[rows], by_class[rows], 1, self.objective, unit).cost
                for rows in (~self.columns[:, column], self.columns[:, column])
            )
            for column in oracle.candidates(self.columns, by_class, 0, self.objective, unit)
        }

    def engine(self, **options: Any) -> engine.Solution:
        return solve(self.columns, self.classes, self.objective, **options)


def solve(
    columns: np.ndarray, classes: np.ndarray, objective: Objective, packed: bool = True, **options: Any
) -> engine.Solution:
    rows: Any = np.ascontiguousarray(columns).view(np.uint8)
    if packed:
        rows = pack_flags(rows)
    options = {
        "threads_after": 0.0,
        "task_cycles": 0.0,
    } | options  # or most searches would end before there are threads
    return engine.solve(rows, columns.shape[1], classes, objective, engine.SearchOptions(**options))


def make_problem(
    columns: np.ndarray,
    classes: np.ndarray,
    *,
    k: tuple[int, ...] = (2, 2, 2),
    criterion: str | Callable[..., Any] = "entropy",
    min_samples_leaf: int = 1,
    min_weight_fraction_leaf: float = 0.0,
    leaf_penalty: float | str = 0.0,
    class_weight: np.ndarray | str | None = None,
    sample_weight: np.ndarray | None = None,
    distinct_splits: bool = False,
    lookahead: int = 0,
    second_reading: np.ndarray | None = None,
) -> Problem:
    objective = make_objective(
        classes,
        int(classes.max()) + 1,
        k=k,
        criterion=criterion,
        min_samples_leaf=min_samples_leaf,
        min_weight_fraction_leaf=min_weight_fraction_leaf,
        leaf_penalty=leaf_penalty,
        class_weight=class_weight,
        sample_weight=sample_weight,
        distinct_splits=distinct_splits,
        lookahead=lookahead,
        second_reading=second_reading,
    )
    return Problem(columns, classes, objective)


def random_readings(rng: np.random.Generator, columns: np.ndarray) -> np.ndarray | None:
    """Make some columns the second reading of the one before, which differs in the same rows; in place."""
    if rng.random() < 0.5:
        return None
    offsets = np.zeros(columns.shape[1], dtype=np.int32)
    missing = rng.random(len(columns)) < rng.choice([0.0, 0.1, 0.4])
    for j in range(0, columns.shape[1] - 1, 2):
        if rng.random() < 0.6:
            offsets[j] = 1
            columns[:, j + 1] = columns[:, j] ^ missing
    return offsets


def assert_same_tree(solution: engine.Solution, expected: oracle.Solution) -> None:
    assert solution.cost == expected.cost
    np.testing.assert_array_equal(solution.column, expected.column)
    np.testing.assert_array_equal(solution.false_child, expected.false_child)
    np.testing.assert_array_equal(solution.true_child, expected.true_child)


def assert_identical(solution: engine.Solution, expected: engine.Solution) -> None:
    """The same tree, with the same numbers at every node."""
    assert solution.cost == expected.cost
    for name in ("column", "false_child", "true_child", "n_rows", "class_weight"):
        np.testing.assert_array_equal(getattr(solution, name), getattr(expected, name), err_msg=name)


def assert_describes(solution: engine.Solution, problem: Problem) -> None:
    """Walking the rows down the tree gives every number of the solution, and no rule of the objective is broken."""
    objective, classes = problem.objective, problem.classes
    weights = objective.class_weight[classes]
    if objective.row_weight is not None:
        weights = weights * objective.row_weight
    rows = {0: np.arange(len(classes))}
    levels = {0: 0}
    cost = 0
    for node, column in enumerate(solution.column):  # preorder: parents come first
        here, level = rows.pop(node), levels.pop(node)
        totals = np.zeros(objective.n_classes, dtype=np.int64)
        np.add.at(totals, classes[here], weights[here])
        assert solution.n_rows[node] == len(here)
        np.testing.assert_array_equal(solution.class_weight[node], totals)
        children = (int(solution.false_child[node]), int(solution.true_child[node]))
        if column == -1:
            assert children == (-1, -1)
            cost += int(totals.sum() - totals.max()) * objective.cost_scale + objective.leaf_penalty
            continue
        assert level < objective.depth
        assert node + 1 == children[0] < children[1]
        for side, child in enumerate(children):
            rows[child] = here[problem.columns[here, column] == side]
            levels[child] = level + 1
            assert len(rows[child]) >= objective.min_samples_leaf
            assert weights[rows[child]].sum() >= objective.min_weight_leaf
    assert not rows
    assert solution.cost == cost


def random_columns(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Columns full of trouble: copies, complements, constants, nested thresholds, and rows that are equal."""
    columns = rng.random((n, d)) < rng.choice([0.1, 0.5, 0.9], size=d)
    for j in range(1, d):
        other = int(rng.integers(j))
        kind = rng.integers(8)
        if kind == 0:
            columns[:, j] = columns[:, other]
        elif kind == 1:
            columns[:, j] = ~columns[:, other]
        elif kind == 2:
            columns[:, j] = bool(rng.integers(2))
        elif kind == 3:
            columns[:, j] = columns[:, other] & (rng.random(n) < 0.7)
    if rng.integers(3) == 0:
        columns = columns[rng.integers(max(1, n // 3), size=n)]
    return columns


def random_classes(rng: np.random.Generator, columns: np.ndarray, n_classes: int) -> np.ndarray:
    """Labels that follow some of the columns, with noise."""
    n, d = columns.shape
    signal = columns[:, rng.integers(d, size=3)] @ np.array([1, 2, 3])
    noise = rng.integers(n_classes, size=n)
    return np.where(rng.random(n) < 0.3, noise, signal % n_classes).astype(np.int32)


def user_criterion(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Misclassification error: many ties, and not symmetric in the sides once they are weighted."""
    score: np.ndarray = left.max(axis=1) + 2 * right.max(axis=1)
    return score


@st.composite
def problems(
    draw: st.DrawFn,
    max_rows: int = 40,
    max_columns: int = 9,
    max_depth: int = 3,
    criteria: Sequence[str | Callable[..., Any]] = (*CRITERIA, user_criterion),
) -> Problem:
    """A problem of any kind that the engine takes, small enough for the reference."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, max_rows)), draw(st.integers(1, max_columns))
    columns = random_columns(rng, n, d)
    n_classes = draw(st.sampled_from([2, 2, 2, 3, 5, 40]))
    depth = draw(st.integers(0, max_depth))
    k_form = draw(st.sampled_from(["int", "int", "all", "levels"]))
    k = (draw(st.integers(1, 4)),) * depth
    if k_form == "all":
        k = (d,) * depth
    elif k_form == "levels":
        k = tuple(draw(st.integers(1, d)) for _ in range(depth))
    weight_form = draw(st.sampled_from([None, None, "integers", "large", "reals"]))
    sample_weight = {
        None: None,
        "integers": rng.integers(1, 9, n).astype(float),
        "large": rng.integers(1, 2**30, n).astype(float),
        "reals": rng.random(n) + 0.01,
    }[weight_form]
    second_reading = random_readings(rng, columns)
    classes = random_classes(rng, columns, n_classes)
    class_form = draw(st.sampled_from([None, None, "balanced", "integers", "reals"]))
    n_seen = int(classes.max()) + 1
    class_weight = {
        None: None,
        "balanced": "balanced",
        "integers": rng.integers(1, 4, n_seen).astype(float),
        "reals": rng.random(n_seen) + 0.1,
    }[class_form]
    penalties: list[float | str] = [0.0, 0.0, 0.001, 0.05, 1 / 3, "tie"]
    return make_problem(
        columns,
        classes,
        k=k,
        criterion=draw(st.sampled_from(criteria)),
        min_samples_leaf=draw(st.sampled_from([1, 1, 2, 5])),
        min_weight_fraction_leaf=draw(st.sampled_from([0.0, 0.0, 0.0, 0.1])),
        leaf_penalty=draw(st.sampled_from(penalties)),
        class_weight=class_weight,
        sample_weight=sample_weight,
        distinct_splits=draw(st.booleans()),
        lookahead=draw(st.sampled_from([0, 0, 0, 2, 3, d])),
        second_reading=second_reading,
    )


def hard_problem(seed: int) -> Problem:
    """Noise, copies of columns and few rows per leaf: the search goes on to the end, and many trees tie."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 150)), int(rng.integers(6, 15))
    columns = rng.random((n, d)) < rng.choice([0.3, 0.5, 0.5, 0.7], size=d)
    if rng.random() < 0.3:
        columns[:, -2:] = columns[:, :2] ^ [False, True]
    second_reading = random_readings(rng, columns)
    n_classes = int(rng.choice([2, 2, 3]))
    classes = rng.integers(n_classes, size=n).astype(np.int32)
    depth = int(rng.integers(3, 6))
    k = rng.integers(2, {3: 13, 4: 9, 5: 6}[depth], size=depth).tolist()
    weights = [None, None, None, rng.integers(1, 3, n).astype(float), rng.integers(1, 2**20, n).astype(float)]
    penalties: list[float | str] = [0.0, 0.0, 1 / n, 0.002, "tie"]
    return make_problem(
        columns,
        classes,
        k=tuple(k) if rng.random() < 0.3 else (k[0],) * depth,
        criterion=CRITERIA[rng.integers(4)],
        min_samples_leaf=int(rng.choice([1, 1, 1, 4])),
        leaf_penalty=penalties[rng.integers(5)],
        class_weight="balanced" if rng.random() < 0.2 else None,
        sample_weight=weights[rng.integers(5)],
        distinct_splits=bool(rng.integers(2)),
        lookahead=int(rng.choice([0, 0, 3, 8, d])),
        second_reading=second_reading,
    )


def random_parameters(rng: np.random.Generator, classes: np.ndarray) -> dict[str, Any]:
    """Parameters of `make_problem` other than k: weights of every kind, penalties, least rows in a leaf."""
    n, n_classes = len(classes), int(classes.max()) + 1
    sample_weights = [
        None,
        None,
        None,
        rng.integers(1, 6, n).astype(float),
        rng.random(n) + 0.01,
        rng.integers(1, 2**20, n).astype(float),
    ]
    class_weights = [None, None, "balanced", rng.integers(1, 4, n_classes).astype(float)]
    penalties: list[float | str] = [0.0, 0.0, 1 / n, 0.002, "tie"]
    return {
        "criterion": CRITERIA[rng.choice([0, 0, 0, 1, 2, 3])],
        "min_samples_leaf": int(rng.choice([1, 1, 1, 3, 100])),
        "leaf_penalty": penalties[rng.integers(len(penalties))],
        "class_weight": class_weights[rng.integers(len(class_weights))],
        "sample_weight": sample_weights[rng.integers(len(sample_weights))],
        "distinct_splits": bool(rng.integers(2)),
        "lookahead": int(rng.choice([0, 0, 0, 4, 20, 1000])),
    }


def large_columns(rng: np.random.Generator, kind: str) -> tuple[np.ndarray, int]:
    """Columns of many rows, and the most candidates per node that a search without bounds has time for at depth 3."""
    if kind == "few distinct rows":
        n = int(rng.integers(5_000, 150_000))
        return rng.random((2**6, 8))[rng.integers(2**6, size=n)] < 0.5, 8
    if kind == "equal rows":  # a third is left when they are merged, enough for that to be done
        n = int(rng.integers(100_000, 150_000))
        return np.hstack([rng.random((n, 12)) < 0.5, np.zeros((n, 2), dtype=bool)]), 14
    if kind == "more bytes than the cache":
        n, d = int(rng.integers(90_000, 120_000)), int(rng.integers(100, 130))
        columns = rng.integers(2, size=(n, d), dtype=np.uint8).view(bool)
        columns[:, :40] = rng.integers(41, size=n)[:, None] <= np.arange(40)
        columns[:, 40:45] = columns[:, 10:15] ^ [False, True, False, True, False]
        return columns, 12
    n, d = int(rng.integers(5_000, 30_000)), int(rng.integers(12, 30))  # clusters
    return random_columns(rng, n, d), 16


LARGE_KINDS = ("few distinct rows", "equal rows", "more bytes than the cache", "clusters")


def large_problem(kind: str, seed: int) -> Problem:
    """So many rows that the search arranges them, counts them in blocks and does without keys for them."""
    rng = np.random.default_rng(seed)
    columns, widest = large_columns(rng, kind)
    n_classes = int(rng.integers(2, 5))
    classes = random_classes(rng, columns, n_classes)
    if rng.random() < 0.5:
        noise = rng.integers(n_classes, size=len(classes)).astype(np.int32)
        classes = np.where(rng.random(len(classes)) < 0.7, noise, classes)
    depth = int(rng.integers(2, 5))
    k = int(rng.integers(2, 7)) if depth == 4 else widest  # 6**3 and 12**2 nodes are a long search
    if rng.random() < 0.3:
        k = 6 if depth == 4 else columns.shape[1] if depth == 2 else max(2, widest // 2)
    return make_problem(columns, classes, k=(k,) * depth, **random_parameters(rng, classes))


def optimal_columns(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Thresholds of features, categories, copies, complements and noise."""
    parts: list[np.ndarray] = []
    while sum(part.shape[1] for part in parts) < d:
        width = int(rng.integers(3, 16))
        kind = rng.integers(4)
        if kind == 0:
            parts.append(rng.integers(width + 1, size=n)[:, None] <= np.arange(width))
        elif kind == 1:
            parts.append(rng.integers(width + 1, size=n)[:, None] == np.arange(width))
        elif kind == 2 and parts:
            part = parts[rng.integers(len(parts))]
            parts.append(part ^ (rng.random(part.shape[1]) < 0.5))
        else:
            parts.append(random_columns(rng, n, width))
    return np.hstack(parts)[:, :d]


def optimal_problem(seed: int, max_rows: int, depth: int) -> Problem:
    """All columns are candidates, at least 50: the search looks for shallower trees first. Some levels are narrower."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(max_rows // 4, max_rows + 1)), int(rng.integers(50, 70 if depth < 4 else 52))
    columns = optimal_columns(rng, n, d)
    classes = random_classes(rng, columns, int(rng.integers(2, 4)))
    if rng.random() < 0.5:
        classes = rng.integers(2, size=n).astype(np.int32)
    k = np.full(depth, d)
    if rng.random() < 0.3:
        k[rng.integers(depth)] = rng.integers(1, 10)
    parameters = random_parameters(rng, classes)
    if rng.random() < 0.8:
        parameters["min_samples_leaf"] = 1  # else there are no bounds from one split to another
    return make_problem(columns, classes, k=tuple(k.tolist()), **parameters)


def without_lookahead(problem: Problem) -> Problem:
    return replace(problem, objective=replace(problem.objective, lookahead=0))


hard_problems = st.integers(0, 2**32 - 1).map(hard_problem)  # every choice is as likely as it says: none is shrunk

switches = st.fixed_dictionaries(
    {
        "use_cache": st.booleans(),
        "use_bounds": st.booleans(),
        "threads": st.sampled_from([1, 1, 2, 3]),
        "kernel": st.sampled_from(kernels()),
        "cache_bytes": st.sampled_from([0, 10_000, 40_000, 2**30]),
        "time_limit": st.sampled_from([None, None, 3600.0]),
        "arrange": st.sampled_from(["never", "if_it_pays", "always"]),
        "max_fingerprinted_rows": st.sampled_from([0, 2**16]),
        "large_node_bytes": st.sampled_from([0, 2**20]),
        "draw_first_columns": st.sampled_from([0, 300]),
        "shallow_first_columns": st.sampled_from([0, 50]),
        "few_thresholds": st.sampled_from([0, 127]),
        "task_cycles": st.sampled_from([0, 100_000]),
        "packed": st.booleans(),
    }
)


def cancelling(places: np.ndarray) -> np.ndarray:
    """Return the indices of some of the places, 129 or more, whose public fingerprints cancel.

    The public fingerprint of place i is splitmix64(2 i) and splitmix64(2 i + 1), 128 bits: what identified a row or a
    part of a column before fingerprints were salted. Gaussian elimination finds some with an XOR of zero.
    """
    pivots: dict[int, tuple[int, int]] = {}
    for i, place in enumerate(places.tolist()):
        value, members = oracle.splitmix64(2 * place) << 64 | oracle.splitmix64(2 * place + 1), 1 << i
        while value and value.bit_length() in pivots:
            pivot = pivots[value.bit_length()]
            value, members = value ^ pivot[0], members ^ pivot[1]
        if not value:
            return np.array([j for j in range(i + 1) if members >> j & 1])
        pivots[value.bit_length()] = value, members
    raise ValueError("need 129 places or more")
