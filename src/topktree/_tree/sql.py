"""A tree as SQL that gives the same predictions in a database.

In: a `Model`, and the table that the rows are in. Out: one CASE expression with a WHEN per leaf, or the SELECT around
it. The one idea: conditions say explicitly what happens to NULL, which is a missing value, and to categories that the
training data did not have, so the order of the WHENs does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._data.encoding import canonical
from .._data.features import LARGEST_EXACT_INT, one_line
from .._data.table import BOOLEAN, CATEGORY, NUMBER
from .._data.thresholds import format_number
from .._runtime.checks import short
from .conditions import Condition, leaf_conditions
from .naming import Model


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
        texts = [_condition(condition, names) for condition in conditions.values()]
        text = " AND ".join(text for text in texts if text) or "1 = 1"
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
    """Return an expression that is true for the values that the condition allows, NULL and new categories included."""
    feature, name = condition.feature, _name(condition.feature.name)
    takes_new = feature.kind == CATEGORY and condition.unseen
    if condition.missing and not takes_new and not condition.has_known_values():
        return f"{name} IS NULL"
    said = _range(condition, name) if feature.kind == NUMBER else _membership(condition, name, names)
    if said == "":
        return "" if condition.missing else f"{name} IS NOT NULL"
    return f"({said} OR {name} IS NULL)" if condition.missing else said


def _range(condition: Condition, name: str) -> str:
    parts = [] if condition.above is None else [f"{name} > {_threshold(condition.above)}"]
    parts += [] if condition.at_most is None else [f"{name} <= {_threshold(condition.at_most)}"]
    return " AND ".join(parts)


def _membership(condition: Condition, name: str, names: Sequence[str]) -> str:
    """Return what tells the allowed values apart from the others; empty if all are allowed."""
    feature, allowed = condition.feature, condition.allowed()
    values = (False, True) if feature.kind == BOOLEAN else feature.categories
    if feature.kind == CATEGORY and condition.unseen:
        listed, symbols = [code for code in range(len(values)) if code not in allowed], ("<>", "NOT IN")
        if not listed:
            return ""
    else:
        listed, symbols = allowed, ("=", "IN")
        if not listed:
            return "1 = 0"
    texts = [_value(values[code], names) for code in listed]
    return f"{name} {symbols[0]} {texts[0]}" if len(texts) == 1 else f"{name} {symbols[1]} ({', '.join(texts)})"


def _threshold(threshold: float) -> str:
    if abs(threshold) < LARGEST_EXACT_INT or not -(2.0**63) <= threshold < 2.0**63:
        return format_number(threshold)
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
    return _quoted(str(canonical(value)), "'")


def _comment(text: str) -> str:
    return f"/* {one_line(text).replace('*/', '* /').replace('/*', '/ *')} */"


def _name(name: str) -> str:
    return _quoted(name, '"')


def _quoted(text: str, quote: str) -> str:
    if "\0" in text:
        raise ValueError(f"SQL must have names and values without the character NUL, got {short(text)}")
    return quote + text.replace(quote, 2 * quote) + quote
