"""What the classifier's parameters may be. Every message names the parameter, the value and what is allowed."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn.utils

from .._search.objective import CRITERIA

MAX_DEPTH = 999
HOW_TO_SEARCH = ("time_limit", "memory_limit", "n_jobs", "verbose")  # all others say what is looked for
NARROW = 16  # at most, for `is_narrow`


def is_int(value: Any) -> bool:
    """An integer that is not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def is_number(value: Any) -> bool:
    """A finite real number that is not a bool and that a float can hold."""
    if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_max_depth(max_depth: Any) -> None:
    """An int that the search can follow."""
    if not is_int(max_depth) or not 0 <= max_depth <= MAX_DEPTH:
        raise ValueError(f"max_depth must be an int in [0, {MAX_DEPTH}], got {max_depth!r}")


def check_int(name: str, value: Any, minimum: int, *, or_none: bool = False) -> None:
    """An int >= minimum, or None if allowed."""
    if value is None and or_none:
        return
    if not is_int(value) or value < minimum:
        raise ValueError(f"{name} must be an int >= {minimum}{' or None' if or_none else ''}, got {value!r}")


def check_k(k: Any, max_depth: int) -> None:
    """An int >= 1, "all", or a sequence of these with an entry for each of the `max_depth` levels."""
    allowed = 'an int >= 1, "all", or a sequence of these with one entry per level'
    if isinstance(k, str) or is_int(k):
        if k != "all" and (isinstance(k, str) or k < 1):
            raise ValueError(f"k must be {allowed}, got {k!r}")
        return
    if not isinstance(k, (Sequence, np.ndarray)) or np.ndim(np.asarray(k, dtype=object)) != 1:
        raise ValueError(f"k must be {allowed}, got {k!r}")
    for entry in k:
        if not (entry == "all" if isinstance(entry, str) else is_int(entry) and entry >= 1):
            raise ValueError(f"k must be {allowed}, got {k!r}")
    if len(k) < max_depth:
        raise ValueError(f"k must have one entry per level, at least max_depth={max_depth} of them, got {k!r}")


def check_bool(name: str, value: Any) -> None:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def check_choice(name: str, value: Any, allowed: Sequence[str]) -> None:
    """One of the names."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def check_criterion(criterion: Any) -> None:
    """One of the names, or a callable."""
    if not callable(criterion) and not (isinstance(criterion, str) and criterion in CRITERIA):
        names = ", ".join(f'"{name}"' for name in CRITERIA)
        raise ValueError(f"criterion must be one of {names}, or a callable, got {criterion!r}")


def check_min_weight_fraction_leaf(fraction: Any) -> None:
    """A number in [0, 0.5]."""
    if not is_number(fraction) or not 0 <= fraction <= 0.5:
        raise ValueError(f"min_weight_fraction_leaf must be a number in [0, 0.5], got {fraction!r}")


def check_leaf_penalty(leaf_penalty: Any) -> None:
    """A fraction of the training weight, or "tie"."""
    if (
        leaf_penalty != "tie"
        if isinstance(leaf_penalty, str)
        else not (is_number(leaf_penalty) and 0 <= leaf_penalty <= 1)
    ):
        raise ValueError(f'leaf_penalty must be a number in [0, 1] or "tie", got {leaf_penalty!r}')


def check_class_weight(class_weight: Any) -> None:
    """None, "balanced" or a dict of non-negative numbers."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, dict):
        raise ValueError(f'class_weight must be None, "balanced" or a dict of class to weight, got {class_weight!r}')
    for label, weight in class_weight.items():
        if not is_number(weight) or weight < 0:
            raise ValueError(f"class_weight must have finite weights >= 0, got {weight!r} for class {label!r}")


def check_epsilon(epsilon: Any) -> None:
    """A share of the best cost."""
    if not is_number(epsilon) or epsilon < 0:
        raise ValueError(f"epsilon must be a finite number >= 0, got {epsilon!r}")


def check_time_limit(time_limit: Any) -> None:
    """Seconds, or None."""
    if time_limit is not None and not (is_number(time_limit) and time_limit > 0):
        raise ValueError(f"time_limit must be a number of seconds > 0 or None, got {time_limit!r}")


def check_verbose(verbose: Any) -> None:
    """An int >= 0, or a bool."""
    check_int("verbose", int(verbose) if isinstance(verbose, bool) else verbose, 0)


def check_n_jobs(n_jobs: Any) -> None:
    """None or a non-zero int, as joblib counts."""
    if n_jobs is not None and (not is_int(n_jobs) or n_jobs == 0):
        raise ValueError(f"n_jobs must be a non-zero int or None, got {n_jobs!r}")


def check_random_state(random_state: Any) -> None:
    """What scikit-learn makes a random number generator of."""
    try:
        sklearn.utils.check_random_state(random_state)
    except ValueError:
        allowed = "an int in [0, 2**32 - 1], a RandomState or None"
        raise ValueError(f"random_state must be {allowed}, got {random_state!r}") from None


def check_samples(name: str, value: Any, most: int | None = None) -> None:
    """An int >= 1, a fraction in (0, 1], or None; an int of at most `most` if that is known."""
    if is_int(value):
        good = value >= 1 and (most is None or value <= most)
    else:
        good = value is None or (is_number(value) and 0 < value <= 1)
    if not good:
        allowed = f"an int >= 1{'' if most is None else f' and at most {most}'}, a fraction in (0, 1] or None"
        raise ValueError(f"{name} must be {allowed}, got {value!r}")


def check_max_features(name: str, value: Any, n_features: int | None = None) -> None:
    """An int >= 1, a fraction, "sqrt", "log2" or None; at most the number of features if that is known."""
    most = "" if n_features is None else f" and at most the number of features, {n_features}"
    if isinstance(value, str):
        good = value in ("sqrt", "log2")
    elif is_int(value):
        good = value >= 1 and (n_features is None or value <= n_features)
    else:
        good = value is None or (is_number(value) and 0 < value <= 1)
    if not good:
        allowed = f'"sqrt", "log2", an int >= 1{most}, a fraction in (0, 1] or None'
        raise ValueError(f"{name} must be {allowed}, got {value!r}")


def check_positive(name: str, value: Any) -> None:
    """A finite number > 0."""
    if not is_number(value) or value <= 0:
        raise ValueError(f"{name} must be a number > 0, got {value!r}")


def k_per_level(k: Any, depth: int) -> list[Any]:
    """`k` as a list with an entry per level."""
    return [k] * depth if isinstance(k, str) or is_int(k) else list(k)[:depth]


def is_narrow(k: Any) -> bool:
    """Whether `k` is so small that to find the cost below all candidates of the root takes little more."""
    return is_int(k) and k <= NARROW


def k_text(k: Any) -> str:
    """`k` as people read it: `8`, `all`, `4, 2, 1`."""
    return str(k) if isinstance(k, str) or is_int(k) else ", ".join(map(str, k))


def candidates_per_level(k: Any, depth: int, n_columns: int) -> tuple[int, ...]:
    """`k` as one int per level; "all" is the number of columns."""
    every = max(n_columns, 1)
    return tuple(every if entry == "all" else min(int(entry), every) for entry in k_per_level(k, depth))


def to_json(parameters: dict[str, Any]) -> dict[str, Any]:
    """Checked parameters as JSON can hold them: a criterion of the user's own, or a generator, becomes None."""
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


def of_tree(parameters: dict[str, Any]) -> dict[str, Any]:
    """A copy, fit for being compared, of the parameters that say which tree is looked for."""
    plain = to_json(parameters) | {"criterion": parameters["criterion"]}
    return {name: value for name, value in plain.items() if name not in HOW_TO_SEARCH}


def from_json(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that `to_json` was given."""
    result = dict(parameters)
    pairs = result.get("class_weight")
    if isinstance(pairs, list):
        if any(not isinstance(pair, list) or len(pair) != 2 or isinstance(pair[0], (list, dict)) for pair in pairs):
            raise ValueError(f'class_weight must be None, "balanced" or pairs of class and weight, got {pairs!r}')
        result["class_weight"] = dict(pairs)
    return result


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # of NumPy, pandas and their like
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(entry) for entry in value]
    if isinstance(value, numbers.Real) and not isinstance(value, (bool, int)):
        return float(value)
    return value
