"""A tree as SQL that gives the same predictions in a database.

In: a `Model`, and the table that the rows are in. Out: one CASE expression with a WHEN per leaf, or the SELECT around
it. The one idea: conditions say explicitly what happens to NULL, which is a missing value, so the order of the WHENs
does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._data.encoding import canonical
from .._data.features import LARGEST_EXACT_INT
from .._runtime.checks import short
from .naming import Model, one_line
from .text import Condition, leaf_conditions


def export_sql(model: Model, table: str | Sequence[str] | None = None) -> str:
    """Return the CASE expression, or with a table the SELECT that gives it as `prediction`.

    A table in a schema is given as a sequence of names. Confidence and counts are comments.
    """
    names = [feature.name for feature in model.features]
    used = {names[f] for f in model.tree.feature[~model.tree.is_leaf]}
    repeated = sorted(name for name in used if names.count(name) > 1)
    if repeated:
        raise ValueError(f"feature_names must be different for SQL, got {short(repeated[0])} more than once")
    lines = []
    for leaf, conditions in leaf_conditions(model):
        text = " AND ".join(_condition(condition, names) for condition in conditions) or "1 = 1"
        label = _value(model.labels[model.predicted(leaf)], names)
        lines.append(f"  WHEN {text}\n    THEN {label} {_comment(model.summary(leaf))}\n")
    expression = f"CASE\n{''.join(lines)}END"
    return expression if table is None else f"SELECT {expression} AS prediction\nFROM {_table(table)}"


def _table(table: Any) -> str:
    parts = [table] if isinstance(table, str) else table
    if not isinstance(parts, (list, tuple)) or not parts or not all(isinstance(part, str) and part for part in parts):
        raise ValueError(f"table must be a name, a sequence of names or None, got {short(table)}")
    return ".".join(_name(part) for part in parts)


def _condition(condition: Condition, names: Sequence[str]) -> str:
    """Return an expression that is true for the rows that satisfy the condition, NULL included where it may be."""
    name = _name(condition.name)
    if condition.missing:
        return f"{name} IS NULL"
    if condition.equals is not None:
        return f"{name} = {_value(condition.equals.value, names)}"
    parts = []
    if condition.above is not None:
        parts.append(f"{name} > {_threshold(condition.above.value)}")
    if condition.at_most is not None:
        parts.append(f"{name} <= {_threshold(condition.at_most.value)}")
    excluded = [_value(literal.value, names) for literal in condition.excluded_in_order()]
    if excluded:
        parts.append(f"{name} NOT IN ({', '.join(excluded)})" if len(excluded) > 1 else f"{name} <> {excluded[0]}")
    said = " AND ".join(parts)
    if condition.missing is None:
        return f"({said} OR {name} IS NULL)"
    return said or f"{name} IS NOT NULL"


def _threshold(threshold: float) -> str:
    if abs(threshold) < LARGEST_EXACT_INT or not -(2.0**63) <= threshold < 2.0**63:
        return repr(threshold)
    # Databases compare integers exactly, we compare float64: take the largest integer that rounds to the threshold.
    middle = (int(threshold) + int(np.nextafter(threshold, np.inf))) // 2
    return str(middle if float(middle) <= threshold else middle - 1)


def _value(value: Any, names: Sequence[str]) -> str:
    if isinstance(value, bool):
        if any(name.lower() in ("true", "false") for name in names):  # SQLite would read TRUE as that column
            return "(1 = 1)" if value else "(1 = 0)"
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        if not math.isfinite(value):
            raise ValueError(f"SQL must have finite numbers, got the label or category {short(value)}")
        return repr(value)
    return "'" + str(canonical(value)).replace("'", "''") + "'"


def _comment(text: str) -> str:
    return f"/* {one_line(text).replace('*/', '* /').replace('/*', '/ *')} */"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
