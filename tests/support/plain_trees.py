"""Trees of tables at their real size, found by the search without cache, bounds, threads or sorted rows.

In tests/, `python -m support.plain_trees` writes contracts/plain_trees.json; `test_golden.py` beside it compares the
search as users run it. An entry changes only if the definition of the tree does.
"""

from __future__ import annotations

import functools
import json
from typing import Any

import numpy as np
from support.golden import fingerprint
from support.paths import REFERENCE, ROOT
from support.problems import make_problem

from topktree import datasets

KEPT = ROOT / "tests" / "contracts" / "plain_trees.json"

PLAIN: dict[str, Any] = {"use_cache": False, "use_bounds": False, "arrange": "never"}
ALL = 2**31 - 1

LOADED = {"tic-tac-toe": datasets.load_tic_tac_toe, "balance-scale": datasets.load_balance_scale}
GENERATED = ("noise", "thresholds", "many classes", "equal rows", *LOADED)
STORED = ("car", "kr-vs-kp", "nursery", "spambase", "dry-bean", "ml-prove", "hayes-roth")
# k per level, and what differs from the default.
RULES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "k=4 depth=6": ((4,) * 6, {}),
    "k=12 depth=5": ((12,) * 5, {}),
    "k=16,4,2 gini": ((16, 4, 2), {"criterion": "gini"}),
    "k=6 depth=4 gain ratio": ((6,) * 4, {"criterion": "gain_ratio"}),
    "k=6 depth=4 penalty": ((6,) * 4, {"leaf_penalty": 0.002}),
    "k=5 depth=4 distinct": ((5,) * 4, {"distinct_splits": True, "min_samples_leaf": 20}),
    "k=5 depth=4 balanced": ((5,) * 4, {"class_weight": "balanced", "criterion": "sqrt"}),
    "k=all depth=3": ((ALL,) * 3, {}),
    "k=all depth=4": ((ALL,) * 4, {}),
}


@functools.cache
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return Boolean columns and classes. Generated tables are the same on every machine and with every NumPy."""
    if name in STORED:
        with np.load(REFERENCE / f"{name}.npz") as arrays:
            X, y = arrays["X"], arrays["y"]
    elif name in LOADED:
        bunch = LOADED[name]()
        X = np.column_stack([column == value for column in bunch.data.T for value in np.unique(column)])
        y = bunch.target
    else:
        X, y = _generated(name)
    return X.astype(bool), np.unique(y, return_inverse=True)[1].astype(np.int32)


def _generated(name: str) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(GENERATED.index(name))  # its numbers never change
    if name == "noise":
        X = random.rand(20_000, 60) < 0.5
        return X, (X[:, 0] ^ X[:, 1] ^ (X[:, 2] & X[:, 3])) ^ (random.rand(len(X)) < 0.3)
    if name == "thresholds":
        values = random.randint(0, 1000, (12_000, 5))
        X = np.column_stack([column > edge for column in values.T for edge in range(80, 1000, 80)])
        parts = values[:, 0] + values[:, 1] > 1000, values[:, 2] > 700, random.rand(len(X)) < 0.1
        return X, np.sum(parts, axis=0)
    if name == "many classes":
        X = random.rand(6_000, 40) < random.rand(40)
        return X, (X[:, :5] @ (1 << np.arange(5)) + (random.rand(len(X)) < 0.2) * random.randint(0, 30, len(X))) % 30
    X = (random.rand(300, 30) < 0.4)[random.randint(0, 300, 70_000)]
    return X, (X[:, 0] & X[:, 1]) ^ X[:, 2] ^ (random.rand(len(X)) < 0.2)


def cases(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the tables and rules that are tried: all columns to depth 4 only where there are not too many."""
    return [
        (name, rule) for name in names for rule in RULES if rule != "k=all depth=4" or table(name)[0].shape[1] <= 60
    ]


def find(name: str, rule: str, **options: Any) -> dict[str, Any]:
    """Return what is kept of the tree."""
    k, parameters = RULES[rule]
    solution = make_problem(*table(name), k=k, **parameters).engine(**options)
    arrays: list[np.ndarray] = [
        solution.column,
        solution.false_child,
        solution.true_child,
        solution.n_rows,
        solution.class_weight,
    ]
    return {
        "tree": fingerprint(b"".join(array.astype("<i8").tobytes() for array in arrays)),
        "cost": solution.cost,
        "errors": solution.n_wrong,
    }


def main() -> None:
    """Write plain_trees.json anew."""
    found = {f"{name} {rule}": find(name, rule, **PLAIN) for name, rule in cases(GENERATED + STORED)}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(result)}" for name, result in found.items())
    KEPT.write_text("{\n" + lines + "\n}\n")
    print(f"{len(found)} trees in {KEPT}")


if __name__ == "__main__":
    main()
