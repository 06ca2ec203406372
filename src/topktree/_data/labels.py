"""The class labels and weights that come with a table's rows, validated.

In: the `y` and `sample_weight` of a user. Out: arrays with an entry per row.
"""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from .._runtime.checks import short
from .arrays import PART, FloatArray, IntArray
from .encoding import is_missing

# Labels that are sorted at a time, in a few milliseconds.
SORTED_PART = 2**14

# With this many rows or fewer, most labels may well be different.
FEW_ROWS = 20

_NEVER_MISSING = {str, bytes, bool, int}


def read_labels(y: Any, check: Callable[[], None] | None = None) -> NDArray[Any]:
    """Return `y` as a 1d array of class labels. `check` may end it early."""
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biu" and y.size > 0:
        return y  # nothing to check: scikit-learn's validation would take longer than a small fit
    check_mask("y", y)
    if y is None:
        raise ValueError("A classifier requires y to be passed, but the target y is None: pass a label for every row")
    if hasattr(y, "to_pylist"):  # a pyarrow array
        y = y.to_pylist()
    elif hasattr(y, "to_numpy"):
        y = y.to_numpy()
    if getattr(getattr(y, "dtype", None), "kind", "") == "T":
        y = y.astype(object)
    if isinstance(y, (list, tuple)) or getattr(y, "dtype", int) == np.dtype(object):
        for part in _parts(y, check, PART):
            missing = [] if set(map(type, part)) <= _NEVER_MISSING else [label for label in part if is_missing(label)]
            if missing:
                raise ValueError(
                    f"Input y contains NaN: y must have a class label in every row, got {short(missing[0])}"
                )
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    if labels.dtype != np.dtype(object):
        assert_all_finite(labels, input_name="y")
    is_whole = labels.dtype.kind == "f" and bool(np.all(labels == np.trunc(labels)))
    if labels.dtype.kind not in "biuSUO" and not is_whole:  # every array of these types is a classification target
        check_classification_targets(labels)
    return labels


def check_mask(name: str, values: Any) -> None:
    """Refuse masked entries, which NumPy would turn into values."""
    if np.ma.is_masked(values):
        raise ValueError(f"Input {name} contains NaN: {name} must have a value in every row, got a masked entry")


def warn_about_regression(classes: NDArray[Any], n_rows: int) -> None:
    """Warn about labels that are numbers, most of them different: they are probably the target of a regression."""
    if classes.dtype.kind in "iuf" and n_rows > FEW_ROWS and len(classes) > n_rows / 2:
        warnings.warn(
            f"y has {len(classes)} classes in {n_rows} rows, and all of them are numbers: it looks like the target of "
            "a regression. For a classifier, divide the numbers into a few ranges.",
            UserWarning,
            stacklevel=2,
        )


def number_labels(
    labels: NDArray[Any], n_rows: int, check: Callable[[], None] | None = None
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the distinct labels in order, and the index of each row's label among them. `check` may end it early."""
    if len(labels) != n_rows:
        check_consistent_length(np.empty(n_rows), labels)
    if (numbered := _number_small_integers(labels)) is not None:
        return numbered
    if labels.dtype.kind in "USO":
        return _number_objects(labels, check)
    classes, indices = np.unique(labels, return_inverse=True)
    return classes, indices.astype(np.int32)


def known_classes(labels: NDArray[Any], classes: NDArray[Any], n_rows: int) -> IntArray:
    """Return the index of each row's label among the classes of a fitted tree; their number for an unknown label."""
    if len(labels) != n_rows:
        raise ValueError(f"y must have a label for each of the {n_rows} rows of X, got {len(labels)}")
    distinct, indices = number_labels(labels, n_rows)
    number = {label: i for i, label in enumerate(classes.tolist())}
    known = np.array([number.get(label, len(classes)) for label in distinct.tolist()], dtype=np.int64)
    if np.all(known == len(classes)):  # the labels must be of another type
        raise ValueError(
            f"y must have labels that training had, such as {short(classes.tolist()[0])}, got none of them"
        )
    return known[indices]


def _number_small_integers(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]] | None:
    """Return what `number_labels` does, without sorting; None for integers too far apart and for other labels."""
    if labels.dtype.kind not in "biu" or labels.dtype == np.uint64:
        return None
    lowest, highest = int(labels.min()), int(labels.max())
    if highest - lowest > max(1024, len(labels) // 8):
        return None
    indices = np.empty(len(labels), dtype=np.int32)
    counts = np.zeros(highest - lowest + 1, dtype=np.int64)
    size = max(PART, len(counts))
    for start in range(0, len(labels), size):
        offsets = np.subtract(labels[start : start + size], lowest, dtype=np.int64)
        counts += np.bincount(offsets, minlength=len(counts))
        indices[start : start + size] = offsets
    (classes,) = counts.nonzero()
    if len(classes) < len(counts):
        indices = (np.cumsum(counts > 0, dtype=np.int32) - 1)[indices]
    return (classes + lowest).astype(labels.dtype), indices


def _number_objects(labels: NDArray[Any], check: Callable[[], None] | None) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return what `number_labels` does, by hashing: only the distinct labels are sorted, some at a time.

    NumPy would sort all labels in one call, which Ctrl-C has to wait for.
    """
    distinct: set[Any] = set()
    try:
        for part in _parts(labels, check, PART):
            distinct.update(part.tolist())
        runs = [sorted(part) for part in _parts(list(distinct), check, SORTED_PART)]
        ordered = runs[0] if len(runs) == 1 else list(heapq.merge(*runs))
    except TypeError as error:
        raise TypeError(f"y must have labels that can be sorted, so all of one type: {error}") from None
    number = {label: i for i, label in enumerate(ordered)}
    indices = [np.fromiter(map(number.__getitem__, part.tolist()), np.int32) for part in _parts(labels, check, PART)]
    return np.fromiter(ordered, labels.dtype, len(ordered)), np.concatenate(indices)


def _parts(labels: Any, check: Callable[[], None] | None, size: int) -> Iterator[Any]:
    """Yield some labels at a time, after a check whether anybody still waits for them."""
    for start in range(0, len(labels), size):
        if check is not None:
            check()
        yield labels[start : start + size]


def read_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray | None:
    """Return the weights of the rows as float64, some of them positive, or None if there are none."""
    if sample_weight is None:
        return None
    check_mask("sample_weight", sample_weight)
    weights = np.asarray(_check_sample_weight(sample_weight, np.empty((n_rows, 0)), dtype=np.float64))
    if np.any(weights < 0):
        raise ValueError(f"sample_weight must not be negative, got {weights.min()}")
    with np.errstate(over="ignore"):
        if not np.isfinite(weights.sum()):
            raise ValueError(f"sample_weight must have a finite sum, got weights up to {weights.max()}")
    if not weights.any():  # not every version of scikit-learn refuses them
        raise ValueError(f"sample_weight must be > 0 in some row, got {n_rows} rows of weight 0")
    return weights
