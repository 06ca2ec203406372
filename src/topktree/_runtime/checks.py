"""Checks of parameters, and the forms that they take.

Every error names the parameter, its value and what is allowed.
"""

from __future__ import annotations

import math
import numbers
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn.utils

MAX_DEPTH = 999  # as deep as the search can go
NARROW = 16  # the largest `k` for which finding the cost below every candidate of the root takes little more time
MOST_LETTERS = 200  # of a value in a message

_repr = reprlib.Repr()
_repr.maxlist = _repr.maxtuple = _repr.maxset = _repr.maxfrozenset = _repr.maxdict = 20
_repr.maxstring = _repr.maxlong = _repr.maxother = MOST_LETTERS


def short(value: Any) -> str:
    """Return the text of a user's value for a message, with ... in place of what would be too long."""
    try:
        text = _repr.repr(value)
    except Exception:  # in a repr of the user's, or for an integer of more digits than Python prints
        return f"an object of type {type(value).__name__}"
    return shorten(text)


def shorten(text: str) -> str:
    """Return a text for a message, with ... in place of the middle if it would be too long."""
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 43]}...{text[-40:]}"


def is_int(value: Any) -> bool:
    """Tell whether a value is an integer and not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite real number, not a bool, that a float can hold."""
    if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_int(name: str, value: Any, low: int, high: float = math.inf, *, or_none: bool = False) -> None:
    """Require an int from `low` to `high`, or None if that is allowed."""
    if value is None and or_none:
        return
    if not is_int(value) or not low <= value <= high:
        allowed = f"an int >= {low}" if math.isinf(high) else f"an int in [{low}, {high}]"
        raise ValueError(f"{name} must be {allowed}{' or None' if or_none else ''}, got {short(value)}")


def check_number(name: str, value: Any, low: float, high: float, more: str = "") -> None:
    """Require a number in [low, high]; `more` names what else is allowed."""
    if not is_number(value) or not low <= value <= high:
        raise ValueError(f"{name} must be a number in [{low}, {high}]{more and ' ' + more}, got {short(value)}")


def check_positive(name: str, value: Any) -> None:
    """Require a finite number > 0."""
    if not is_number(value) or value <= 0:
        raise ValueError(f"{name} must be a number > 0, got {short(value)}")


def check_bool(name: str, value: Any) -> None:
    """Require True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {short(value)}")


def check_choice(name: str, value: Any, allowed: Sequence[str], more: str = "") -> None:
    """Require one of the names; `more` says what else is allowed."""
    if not isinstance(value, str) or value not in allowed:
        names = ", ".join(map(repr, allowed))
        raise ValueError(f"{name} must be one of {names}{more and ', ' + more}, got {short(value)}")


def check_k(k: Any, max_depth: int) -> None:
    """Require an int >= 1, "all", or a sequence of these with an entry for each of the `max_depth` levels."""
    allowed = 'an int >= 1, "all", or a sequence of these with one entry per level'

    def is_good(entry: Any) -> bool:
        return entry == "all" if isinstance(entry, str) else is_int(entry) and entry >= 1

    if is_good(k):
        return
    is_list = isinstance(k, (Sequence, np.ndarray)) and np.ndim(np.asarray(k, dtype=object)) == 1
    if not is_list or not all(map(is_good, k)):
        raise ValueError(f"k must be {allowed}, got {short(k)}")
    if len(k) < max_depth:
        raise ValueError(f"k must have one entry per level, at least max_depth={max_depth} of them, got {short(k)}")


def check_leaf_penalty(leaf_penalty: Any) -> None:
    """Require a fraction of the training weight, or "tie"."""
    if not isinstance(leaf_penalty, str) or leaf_penalty != "tie":
        check_number("leaf_penalty", leaf_penalty, 0, 1, 'or "tie"')


def check_class_weight(class_weight: Any) -> None:
    """Require None, "balanced" or a dict of non-negative numbers."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, dict):
        raise ValueError(
            f'class_weight must be None, "balanced" or a dict of class to weight, got {short(class_weight)}'
        )
    for label, weight in class_weight.items():
        if not is_number(weight) or weight < 0:
            raise ValueError(
                f"class_weight must have finite weights >= 0, got {short(weight)} for class {short(label)}"
            )


def check_time_limit(time_limit: Any) -> None:
    """Require a number of seconds, or None."""
    if time_limit is not None and not (is_number(time_limit) and time_limit > 0):
        raise ValueError(f"time_limit must be a number of seconds > 0 or None, got {short(time_limit)}")


def check_verbose(verbose: Any) -> None:
    """Require an int >= 0, or a bool."""
    check_int("verbose", int(verbose) if isinstance(verbose, bool) else verbose, 0)


def check_n_jobs(n_jobs: Any) -> None:
    """Require None or a non-zero int, as in joblib."""
    if n_jobs is not None and (not is_int(n_jobs) or n_jobs == 0):
        raise ValueError(f"n_jobs must be a non-zero int or None, got {short(n_jobs)}")


def check_random_state(random_state: Any) -> None:
    """Require a seed, or a random number generator that scikit-learn takes."""
    try:
        sklearn.utils.check_random_state(random_state)
    except ValueError:
        allowed = "an int in [0, 2**32 - 1], a RandomState or None"
        raise ValueError(f"random_state must be {allowed}, got {short(random_state)}") from None


def check_min_samples_leaf(value: Any) -> None:
    """Require an int >= 1, or a fraction between 0 and 1."""
    is_fraction = not is_int(value) and is_number(value) and 0 < value < 1
    if not is_fraction and (not is_int(value) or value < 1):
        raise ValueError(f"min_samples_leaf must be an int >= 1 or a fraction between 0 and 1, got {short(value)}")


def count_of(value: int | float, n_rows: int) -> int:
    """Return a number of rows; a fraction is rounded up, as in scikit-learn."""
    return int(value) if is_int(value) else math.ceil(value * n_rows)


def k_per_level(k: Any, depth: int) -> list[Any]:
    """Return `k` as a list with an entry per level."""
    return [k] * depth if isinstance(k, str) or is_int(k) else list(k)[:depth]


def candidates_per_level(k: Any, depth: int, n_columns: int) -> tuple[int, ...]:
    """Return `k` as one int per level; "all" is the number of columns."""
    every = max(n_columns, 1)
    return tuple(every if entry == "all" else min(int(entry), every) for entry in k_per_level(k, depth))


def k_text(k: Any) -> str:
    """Return `k` as people read it: `8`, `all`, `4, 2, 1`."""
    return str(k) if isinstance(k, str) or is_int(k) else ", ".join(map(str, k))


def is_narrow(k: Any) -> bool:
    """Tell whether finding the cost below every candidate of the root takes little more time."""
    return is_int(k) and k <= NARROW


def to_json(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return validated parameters in a form that JSON can hold. The user's functions and generators become None."""
    result = {name: _plain(value) for name, value in parameters.items()}
    if callable(parameters["criterion"]):
        result["criterion"] = None
    if callable(parameters.get("oob_score")):
        result["oob_score"] = True
    if not is_int(parameters.get("random_state", 0)):
        result["random_state"] = None
    if isinstance(parameters["class_weight"], dict):  # its keys may be of any type
        result["class_weight"] = [_plain(pair) for pair in parameters["class_weight"].items()]
    return result


def from_json(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that `to_json` was given."""
    result = dict(parameters)
    pairs = result.get("class_weight")
    if isinstance(pairs, list):
        if any(not isinstance(pair, list) or len(pair) != 2 or isinstance(pair[0], (list, dict)) for pair in pairs):
            raise ValueError(f'class_weight must be None, "balanced" or pairs of class and weight, got {short(pairs)}')
        result["class_weight"] = dict(pairs)
    return result


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # NumPy, pandas and the like
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(entry) for entry in value]
    if isinstance(value, numbers.Real) and not isinstance(value, (bool, int)):
        return float(value)
    return value
