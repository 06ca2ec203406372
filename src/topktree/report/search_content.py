"""What the search did, in words and figures; the choices at the root; other sizes of tree.

In: a fitted classifier, and the cross-validation that chose it, if one did. Out: plain objects for JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._data.arrays import FloatArray
from .._runtime import checks
from .._selection.rule import ONE_SE, best_of, usable_folds
from .._tree import pruning
from .._tree.export import Model, literal, one_line

if TYPE_CHECKING:
    from .._classifier import TopKTreeClassifier
    from .._selection.classifier_cv import TopKTreeClassifierCV

STATUS = {
    "optimal": "Every tree over these columns was considered: none of this depth makes a lower cost.",
    "complete": "The search finished: no tree of this depth that splits every node on one of these has a lower cost.",
    "time_limit": "The time limit came first: this is the best tree of a search with k = {reached}.",
    "partial": "The search was still going on: this is the best tree of a search with k = {reached}.",
}

PRUNED = "Splits of the tree that was found have been taken back since (pruning); the search was for that tree."


def describe_search(classifier: TopKTreeClassifier, model: Model) -> dict[str, Any]:
    """What there is to tell; a part that is not known is left out or None."""
    search = classifier.search_
    status = STATUS[classifier.status_].format(reached=search.get("k_reached", "?"))
    return {
        "words": [_how(classifier), *([PRUNED] if is_pruned(classifier) else []), status],
        "figures": [[name, text] for name, text in _figures(classifier)],
        "trace": [
            {"k": step["k"], "seconds": step["seconds"], "cost_text": number_text(step["cost"])}
            for step in search.get("trace", [])
        ],
        "root": _root(classifier, model),
    }


def _how(classifier: TopKTreeClassifier) -> str:
    widths = set(map(str, checks.k_per_level(classifier.k, max(classifier.max_depth, 1))))
    if widths == {"1"}:
        return "Every node is split on the column that scores best: the greedy tree."
    if widths == {"all"}:
        return "At every node all columns are tried, both sides of each are solved, and the cheapest tree is kept."
    k = checks.k_text(classifier.k)
    tried = f"the {k} columns that score best are tried"
    if len(widths) > 1:
        tried = f"the columns that score best are tried, by level from the root {k} of them"
    solved = "both sides of each are solved, and the cheapest tree is kept"
    return f"At every node {tried}, {solved}. A greedy learner tries one."


def is_pruned(classifier: TopKTreeClassifier) -> bool:
    """Whether its tree is a part of the one that the search found."""
    return hasattr(classifier, "pruned_alpha_")


def _figures(classifier: TopKTreeClassifier) -> list[tuple[str, str]]:
    search = classifier.search_
    found = [
        ("k", checks.k_text(classifier.k)),
        ("greatest depth", str(classifier.max_depth)),
        ("criterion", str(classifier.criterion) if isinstance(classifier.criterion, str) else "a function"),
    ]
    if not is_pruned(classifier):
        found += [
            ("training cost", number_text(classifier.cost_)),
            ("training errors", f"{classifier.train_errors_:,}"),
        ]
    for key, name in (
        ("nodes", "nodes examined"),
        ("pruned", "candidates cut off"),
        ("cache_hits", "found in the cache"),
    ):
        if isinstance(search.get(key), int):  # a file may say anything
            found.append((name, f"{search[key]:,}"))
    if isinstance(search.get("seconds"), float):
        found.append(("seconds", f"{search['seconds']:.3g}"))
    found.append(("threads", str(search.get("n_threads", "?"))))
    found.append(("status", classifier.status_))
    return found


def _root(classifier: TopKTreeClassifier, model: Model) -> dict[str, Any] | None:
    """The choices at the root, those that score best first."""
    choices = classifier.search_.get("root") or []
    if not choices or is_pruned(classifier):
        return None
    shown = [
        {
            "rank": choice["rank"],
            "literal": one_line(literal(model, choice["feature"], choice["test"], choice["value"])),
            "score": choice["score"] or 0.0,
            "score_text": "" if choice["score"] is None else f"{choice['score']:.4g}",
            "cost": choice["cost"],
            "cost_text": number_text(choice["cost"]),
            "exact": choice["exact"],
            "chosen": choice["chosen"],
        }
        for choice in choices
    ]
    n = classifier.search_.get("n_root", len(choices))
    return {
        "choices": shown,
        "words": _root_words(shown, n),
        "unit": "errors" if classifier.leaf_penalty in (0, "tie") and model.counts_are_rows() else "cost",
        "score_name": classifier.criterion if isinstance(classifier.criterion, str) else "score",
        "more": f"{n - len(shown):,} more choices with lower scores are not listed." if n > len(shown) else "",
    }


def _root_words(choices: list[dict[str, Any]], n: int) -> str:
    chosen = next((choice for choice in choices if choice["chosen"]), None)
    considered = f"{n:,} first questions were considered" if n > 1 else "One first question was considered"
    if chosen is None:
        return f"{considered}; none is better than a single leaf."
    if n == 1:
        return f"{considered}: the one that scores best."
    if chosen["rank"] == 1:
        return f"{considered}. The one that scores best also leads to the best tree."
    return (
        f"{considered}. A greedy learner would ask “{choices[0]['literal']}?”, which scores best; the best tree starts "
        f"with “{chosen['literal']}?”, number {chosen['rank']} by score."
    )


def describe_pruning(model: Model, seen: FloatArray | None) -> list[dict[str, Any]]:
    """Every subtree of minimal cost-complexity pruning, largest first: leaves, and the shares that are right.

    `seen` (node_count, n_classes or one more): rows of each class, of other data, at each node.
    """
    sequence = pruning.pruning_sequence(model.tree)
    n_leaves = sequence.leaf_sums(np.ones(model.tree.node_count, dtype=np.int64))
    train = 1 - sequence.leaf_sums(pruning.node_errors(model.tree)) / model.tree.value[0].sum()
    test = [None] * len(n_leaves)
    if seen is not None:
        right = seen[np.arange(model.tree.node_count), np.argmax(model.tree.value, axis=1)]
        test = (sequence.leaf_sums(right) / seen[0].sum()).tolist()
    return [
        {"leaves": int(n), "train": float(share), "test": other, "whole": int(n) == model.tree.n_leaves}
        for n, share, other in zip(n_leaves, train, test, strict=True)
    ]


def describe_grid(cv: TopKTreeClassifierCV) -> dict[str, Any]:
    """The scores of cross-validation: a line for every k, and every penalty if there are several."""
    results = cv.cv_results_
    several = len(set(map(str, results["param_leaf_penalty"]))) > 1
    top = best_of(results)
    lines: dict[str, list[dict[str, Any]]] = {}
    for i, params in enumerate(results["params"]):
        name = f"k = {checks.k_text(params['k'])}" + (f", penalty {params['leaf_penalty']}" if several else "")
        points = lines.setdefault(name, [])
        if np.isfinite(results["mean_test_score"][i]):
            points.append(
                {
                    "depth": int(params["max_depth"]),
                    "score": float(results["mean_test_score"][i]),
                    "se": float(results["se_test_score"][i]),
                    "leaves": float(results["mean_n_leaves"][i]),
                    "chosen": i == cv.best_index_,
                    "best": i == top,
                }
            )
    return {
        "scoring": cv.scorer_.name,
        "percent": cv.scorer_.is_share,
        "words": _grid_words(cv),
        "lines": [{"name": name, "points": points} for name, points in lines.items() if points],
    }


def _grid_words(cv: TopKTreeClassifierCV) -> str:
    results = cv.cv_results_
    rule = (
        "the simplest tree within one standard error of the best was chosen"
        if cv.rule == ONE_SE
        else "the best was chosen"
    )
    n_done = int(np.isfinite(results["mean_test_score"]).sum())
    late = "" if n_done == len(results["params"]) else f" Of {len(results['params'])} candidates {n_done} have a score."
    scores = np.column_stack([results[f"split{i}_test_score"] for i in range(cv.n_splits_)])
    n_folds = int(usable_folds(scores).sum())
    folds = f"{n_folds} {'fold' if n_folds == 1 else 'folds'}"
    return f"The score is {cv.scorer_.name} in {folds}, with standard errors; {rule}.{late}"


def number_text(value: float) -> str:
    """A cost: whole numbers whole."""
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.4f}"
