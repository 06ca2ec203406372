"""Random messy tables to learn from, and rows to ask about that sit on every edge of the tree that was learned."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, TypeVar
from unittest import mock

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from topktree import TopKTreeClassifier
from topktree._data import ranks
from topktree._data.table import BOOLEAN, CATEGORY

Estimator = TypeVar("Estimator", bound=Any)

FLOAT_MAX = float(np.finfo(np.float64).max)
FLOAT32_MAX = float(np.finfo(np.float32).max)

ODD_FLOATS = (
    *(0.0, -0.0, 0.1, math.nextafter(0.1, 1), 0.5, 1.0, 1 + 1e-9, 1 + 2e-9, 1.7e9, 1.7e9 + 1, 2.0**53, 2.0**60),
    *(5e-324, 2e-310, -2e-310, 1e-45, 1e-38, FLOAT32_MAX, math.nextafter(FLOAT32_MAX, math.inf), 1e39, -1e39, 1e300),
    *(FLOAT_MAX, -FLOAT_MAX, math.inf, -math.inf),
)
BIG_INTS = tuple(
    base + step
    for base in (2**53, -(2**53), 2**60, 2**62 + 2**38)
    for step in (-2, -1, 0, 1, 2, 3, 127, 128, 129, 2**9, 2**36, 2**36 + 1)
)
NANOSECONDS = tuple(1_700_000_000_000_000_000 + step for step in (0, 1, 128, 129, 255, 256, 300, 1000, 10**9))
INT64_EDGES = (-(2**63), -(2**63) + 1, -(2**63) + 1024, 2**63 - 1, 2**63 - 1024)
WORDS = ("red", "green", "blue", "dark blue", "x", "Yes", "no")
ODD_WORDS = (
    *("", " ", "a", "A", "a ", "it's", '"quoted"', "'", "''", "\\", "\\n", "line\nbreak", "tab\t", "a\r\nb", "\u2028"),
    *("None", "nan", "True", "1", "1.0", "0.5", "<=", "a and b", "a, b", "{}", "-> a", "; DROP TABLE t; --", "%s", "?"),
    *("é", "e\u0301", "日本語", "🌳", "&lt;", "</td>", "or missing", "\x07"),
)
ODD_NAMES = (*ODD_WORDS, "select", "x0", "class", "age", "income (€)", "a.b", "[a]", "`a`")

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@dataclass(frozen=True, eq=False)
class Case:
    """Training data."""

    X: pd.DataFrame
    y: Any  # labels, (n_rows,)
    sample_weight: np.ndarray | None = None
    parameters: dict[str, Any] = field(default_factory=dict)

    def fit(self, **more: Any) -> TopKTreeClassifier:
        return self.fitted(TopKTreeClassifier(**{**self.parameters, **more}))

    def fitted(self, estimator: Estimator) -> Estimator:
        """The estimator, fitted; features with three thresholds are ranked, or few of these small tables had any."""
        with mock.patch.object(ranks, "FEW_THRESHOLDS", 2):
            estimator.fit(self.X, self.y, self.sample_weight)
        return estimator

    def weights(self) -> np.ndarray:
        """What each row weighs."""
        return np.ones(len(self.X)) if self.sample_weight is None else self.sample_weight

    def __repr__(self) -> str:
        columns = {name: (str(self.X.iloc[:, i].dtype), list(self.X.iloc[:, i])) for i, name in enumerate(self.X)}
        weight = None if self.sample_weight is None else self.sample_weight.tolist()
        return f"Case(X={columns}, y={self.y!r}, sample_weight={weight}, parameters={self.parameters})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For Hypothesis, which else leaves out the types of the columns."""
        printer.text(repr(self))


# What a column is made from: values that it repeats, and the type that holds them.
floats = st.lists(
    st.sampled_from(ODD_FLOATS) | st.floats(allow_nan=False) | st.integers(-5, 5).map(float), min_size=2, max_size=8
)
tidy_floats = st.lists(st.integers(-300, 300).map(lambda i: i / 100), min_size=2, max_size=8)
small_ints = st.lists(st.integers(-5, 5) | st.integers(-(2**40), 2**40), min_size=2, max_size=8)
big_ints = st.lists(st.sampled_from(BIG_INTS) | st.sampled_from(NANOSECONDS), min_size=2, max_size=8)
all_ints = st.lists(st.sampled_from(INT64_EDGES) | st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=8)
booleans = st.lists(st.booleans(), min_size=2, max_size=8)
words = st.lists(st.sampled_from(WORDS), min_size=2, max_size=8)
odd_words = st.lists(st.sampled_from(ODD_WORDS) | text, min_size=2, max_size=8)
many_words = st.lists(st.sampled_from(WORDS), min_size=5, max_size=7, unique=True)  # enough for sets
mixtures = st.lists(
    st.sampled_from(ODD_WORDS)
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1.0, 2.0**53, 1e15, 2**53 + 1])
    | st.floats(-10, 10),
    min_size=2,
    max_size=8,
)

COLUMNS = {
    "float64": (floats, False),
    "float64 with NaN": (floats, True),
    "float32": (st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=8), True),
    "int64": (small_ints, False),
    "Int64": (small_ints, True),
    "big int64": (big_ints, False),
    "any int64": (all_ints, False),
    "uint8": (st.lists(st.integers(0, 255), min_size=2, max_size=8), False),
    "bool": (booleans, False),
    "boolean": (booleans, True),
    "object booleans": (booleans, True),
    "object numbers": (floats, True),
    "category": (odd_words, True),
    "category of numbers": (st.lists(st.integers(-3, 3) | st.sampled_from([0.5, 2.5]), min_size=2, max_size=8), True),
    "str": (odd_words, True),
    "object words": (odd_words, True),
    "object mixture": (mixtures, True),
    "category of many": (many_words, True),
}
TIDY_COLUMNS = {
    "float64": (tidy_floats, False),
    "float64 with NaN": (tidy_floats, True),
    "int64": (st.lists(st.integers(-50, 50), min_size=2, max_size=8), False),
    "bool": (booleans, False),
    "boolean": (booleans, True),
    "category": (words, True),
    "category of many": (many_words, True),
    "str": (words, False),
}
NUMERIC_COLUMNS = ("float64", "float32", "int64", "big int64", "any int64", "uint8", "bool")


def make_column(kind: str, values: list[Any]) -> pd.Series:
    """The values, None for missing, in the type that the kind names."""
    dtype = kind.split()[-1] if kind in ("big int64", "any int64") else kind.split()[0]
    if dtype in ("float64", "float32"):
        with np.errstate(over="ignore"):
            return pd.Series([np.nan if value is None else value for value in values], dtype=dtype)
    return pd.Series(values, dtype=dtype)


def make_labels(kind: str, codes: np.ndarray) -> Any:
    """Labels of one type for class indices."""
    if kind == "str":
        return np.array(["yes", "no", "it's", 'line\n"break"'])[codes]
    if kind == "object":
        return np.array(["b", "ä", "", "a longer one; really"], dtype=object)[codes]
    if kind == "series":
        return pd.Series(np.array(["b", "ä", "c", "d"])[codes], dtype="str")
    if kind == "int":
        return np.array([3, -1, 0, 10**12])[codes]
    if kind == "float":
        return np.array([1.0, 2.0, -3.0, 0.0])[codes]
    return codes % 2 == 0


LABELS = ("str", "object", "series", "int", "float", "bool")


@st.composite
def names_of_columns(draw: st.DrawFn, n: int) -> list[str]:
    """Names that databases which ignore case tell apart too."""
    chosen = st.sampled_from(ODD_NAMES) | text
    return draw(st.lists(chosen, min_size=n, max_size=n, unique_by=lambda name: name.lower()))


@st.composite
def parameters(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "k": draw(st.sampled_from([1, 2, 4, "all"])),
        "max_depth": draw(st.sampled_from([1, 2, 3, 4, 2, 3, 0])),
        "criterion": draw(st.sampled_from(["entropy", "gini", "sqrt", "gain_ratio"])),
        "leaf_penalty": draw(st.sampled_from([0.0, 0.0, 0.01, "tie"])),
        "max_thresholds": draw(st.sampled_from([None, None, 2, 32])),
    }


@st.composite
def cases(
    draw: st.DrawFn,
    columns: dict[str, Any] = COLUMNS,
    labels: tuple[str, ...] = LABELS,
    weighted: bool = True,
    odd_names: bool = True,
) -> Case:
    """A table of one to four columns in which the label follows one or two of them, more or less."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.sampled_from([4, 12, 20, 30, 40]))
    kinds = [draw(st.sampled_from(list(columns))) for _ in range(draw(st.sampled_from([1, 2, 3, 4])))]
    n_followed = 2
    if "category of many" in columns and draw(st.sampled_from([False, False, True])):  # or trees rarely have sets
        kinds[0], n_followed = "category of many", 1
    names = draw(names_of_columns(len(kinds))) if odd_names else [f"f{i}" for i in range(len(kinds))]
    made, score = [], np.zeros(n_rows, dtype=np.int64)
    for i, kind in enumerate(kinds):
        values, may_be_missing = columns[kind]
        pool: list[Any] = draw(values)
        if may_be_missing and draw(st.booleans()):
            pool = [*pool, None]
        codes = rng.integers(len(pool), size=n_rows)
        made.append(make_column(kind, [pool[code] for code in codes]))
        if i < n_followed:
            score += codes % 3
    X = pd.concat(made, axis=1)
    X.columns = names
    label_kind = draw(st.sampled_from(labels))
    n_classes = 2 if label_kind == "bool" else draw(st.integers(2, 4))
    classes = np.where(rng.random(n_rows) < 0.1, rng.integers(n_classes, size=n_rows), score % n_classes)
    classes[:2] = (0, 1)
    weight = None
    if weighted and draw(st.booleans()):
        # A row that is left out may have the only word among the objects of its column.
        lightest = int(any(kind.startswith("object") for kind in kinds))
        weight = draw(st.sampled_from([rng.integers(lightest, 5, n_rows).astype(float), 0.1 + rng.random(n_rows)]))
        weight[:2] = np.maximum(weight[:2], 1.0)
    return Case(X, make_labels(label_kind, classes), weight, draw(parameters()))


def edges(clf: TopKTreeClassifier, feature: int) -> list[float]:
    """The thresholds of a feature, the float64 next to them, and the float32 around them."""
    tests_number = (clf.tree_.feature == feature) & (clf.tree_.category < 0) & np.isfinite(clf.tree_.threshold)
    found = []
    for threshold in np.unique(clf.tree_.threshold[tests_number]).tolist():
        found += [threshold, math.nextafter(threshold, math.inf), math.nextafter(threshold, -math.inf)]
        with np.errstate(over="ignore"):
            single = np.float32(threshold)
            found += [float(np.nextafter(single, np.float32(way))) for way in (-np.inf, np.inf)]
        found += [float(single)]
    return found


def queries(clf: TopKTreeClassifier, case: Case, seed: int = 0, n_rows: int = 3) -> pd.DataFrame:
    """The training rows, and each of a few of them with one value replaced, by all that a feature could meet."""
    rng = np.random.default_rng(seed)
    rows = [list(row) for row in zip(*(_plain_values(case.X.iloc[:, f]) for f in range(case.X.shape[1])), strict=True)]
    asked = [list(row) for row in rows]
    for f, feature in enumerate(clf.features_):
        for value in (*_values_to_meet(clf, f, feature.kind), None):
            for row in rng.integers(len(rows), size=n_rows):
                asked.append([value if i == f else old for i, old in enumerate(rows[row])])
    columns = [_query_column(feature, [row[f] for row in asked]) for f, feature in enumerate(clf.features_)]
    frame = pd.concat(columns, axis=1)
    frame.columns = case.X.columns
    return frame


def sql_rows(frame: pd.DataFrame) -> list[list[Any]]:
    """The rows as a database holds them: NULL for missing, 0 and 1 for booleans, integers as integers."""
    columns = [_plain_values(frame.iloc[:, f]) for f in range(frame.shape[1])]
    return [list(row) for row in zip(*columns, strict=True)]


def is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def _values_to_meet(clf: TopKTreeClassifier, f: int, kind: str) -> list[Any]:
    if kind == CATEGORY:
        return [*clf.features_[f].categories, "never seen", 'it\'s "new"\n', 12345, 0.125]
    if kind == BOOLEAN:
        return [True, False]
    near = edges(clf, f)
    whole = [round(value) + step for value in near if abs(value) < 2.0**63 for step in (-1, 0, 1)]
    whole += [middle for middle in _halfway_ints(near) if abs(middle) < 2**63]
    return [*near, *(value for value in whole if abs(value) < 2**63), 0.0, -1e300, 1e300, math.inf, -math.inf]


def _halfway_ints(values: list[float]) -> list[int]:
    """Integers beyond 2**53 about halfway between a float64 and the next, where rounding decides."""
    result = []
    for value in values:
        if 2.0**53 <= abs(value) < 2.0**63:
            low, high = int(value), int(math.nextafter(value, math.inf))
            result += [(low + high) // 2 + step for step in (-1, 0, 1)]
    return result


def _plain_values(column: pd.Series) -> list[Any]:
    return [None if is_missing(value) else getattr(value, "item", lambda value=value: value)() for value in column]


def _query_column(feature: Any, values: list[Any]) -> pd.Series:
    """float64 if that holds every number, else objects."""
    if feature.kind == CATEGORY or feature.kind == BOOLEAN:
        return pd.Series(values, dtype=object)
    if feature.has_extreme:
        return pd.Series(values, dtype=object)
    return pd.Series([math.nan if value is None else float(value) for value in values])
