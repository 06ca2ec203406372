"""The search in words and figures, the candidates at the root, and other tree sizes.

In: a fitted classifier and the cross-validation that chose it, if one did. Out: plain objects for JSON. The classifiers
are only read, never imported: the report is below them in the order of imports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._data.arrays import FloatArray
from .._data.features import one_line
from .._runtime import checks
from .._search.spec import halves_k
from .._tree import pruning
from .._tree.model_file import read_test
from .._tree.naming import Model

if TYPE_CHECKING:
    from .._classifier import TopKTreeClassifier
    from .._selection.classifier_cv import TopKTreeClassifierCV

STATUS = {
    "optimal": "The tree is optimal: no tree of this depth over these columns has a lower cost.",
    "refined": "The search and the local search after it ran to completion: no tree of this depth that splits nodes on "
    "their candidates costs less.",
    "complete": "The search ran to completion: no tree of this depth that splits nodes on their candidates costs less.",
    "time_limit": "The search stopped at the time limit: this is the best tree of a search with k = {reached}.",
    "greedy": "The search stopped before it had found a better tree than the greedy one.",
    "partial": "The search was still running: this is the best tree of a search with k = {reached}.",
}

PRUNED = "The tree was pruned after the search; what follows is about the search for the larger tree."


def is_pruned(classifier: TopKTreeClassifier) -> bool:
    """Return True if the classifier's tree is a part of the tree that the search found."""
    return hasattr(classifier, "pruned_alpha_")


def describe_search(classifier: TopKTreeClassifier, model: Model) -> dict[str, Any]:
    """Return what is known about the search; other parts are empty or None."""
    search = classifier.search_
    is_greedy = search.get("k_reached") == 0  # the greedy tree comes before a lookahead
    status = STATUS["greedy" if is_greedy else classifier.status_].format(reached=search.get("k_reached", "?"))
    if "lower_bound" in search and classifier.status_ in ("complete", "refined"):
        status = _within_budget(classifier)
    return {
        "words": [_method(classifier), *([PRUNED] if is_pruned(classifier) else []), status],
        "figures": _figures(classifier),
        "trace": [
            {"k": step["k"], "seconds": step["seconds"], "cost_text": number_text(step["cost"])}
            for step in search.get("trace", [])
        ],
        "root": _root(classifier, model),
    }


def _within_budget(classifier: TopKTreeClassifier) -> str:
    """Return how good a tree is that has at most so many leaves."""
    bound = classifier.search_["lower_bound"]
    if bound is None:
        return "The search ran to completion."
    trees = f"no tree with at most {classifier.max_leaf_nodes} leaves that it chooses from costs less"
    if bound > classifier.cost_:
        return f"The search ran to completion: {trees} than {number_text(bound)}. The local search found a better one."
    return f"The search ran to completion: {trees}" + (
        f" than {number_text(bound)}." if bound < classifier.cost_ else "."
    )


def _method(classifier: TopKTreeClassifier) -> str:
    parts = [_candidates(classifier)]
    if classifier.max_leaf_nodes is not None:
        parts.append(f"Leaf penalties and pruning keep the tree to at most {classifier.max_leaf_nodes} leaves.")
    if classifier.refine:
        parts.append("A local search then improves the tree.")
    return " ".join(parts)


def _candidates(classifier: TopKTreeClassifier) -> str:
    widths = set(map(str, checks.k_per_level(classifier.k, max(classifier.max_depth, 1))))
    if widths == {"1"} and classifier.criterion != "lookahead":
        return "Every node is split on the column that scores best: the greedy tree."
    if widths == {"all"}:
        return "At every node all columns are tried, both sides of each are solved, and the cheapest tree is kept."
    k = checks.k_text(classifier.k)
    if classifier.criterion == "lookahead":
        return (
            f"Every split is judged by the greedy tree that follows it; the {k} with the cheapest ones are tried, and "
            "the cheapest tree is kept."
        )
    tried = f"the {k} columns that score best are tried"
    if len(widths) > 1:
        tried = f"the columns that score best are tried, by level from the root {k} of them"
    elif halves_k(classifier.k, classifier.max_leaf_nodes, classifier.max_depth):
        tried = f"the columns that score best are tried, {k} of them at the root and fewer below"
    solved = "both sides of each are solved, and the cheapest tree is kept"
    return f"At every node {tried}, {solved}. A greedy tree tries one."


def _figures(classifier: TopKTreeClassifier) -> list[tuple[str, str]]:
    search = classifier.search_
    figures = [
        ("k", checks.k_text(classifier.k)),
        ("maximum depth", str(classifier.max_depth)),
        ("criterion", str(classifier.criterion) if isinstance(classifier.criterion, str) else "a function"),
    ]
    if not is_pruned(classifier):
        figures.append(("training cost", number_text(classifier.cost_)))
        figures.append(("training errors", f"{classifier.train_errors_:,}"))
    counters = {"nodes": "nodes examined", "pruned": "candidates abandoned", "cache_hits": "cache hits"}
    for key, name in counters.items():
        if isinstance(search.get(key), int):  # a file may say anything
            figures.append((name, f"{search[key]:,}"))
    if isinstance(search.get("seconds"), float):
        figures.append(("seconds", f"{search['seconds']:.3g}"))
    return [*figures, ("threads", str(search.get("n_threads", "?"))), ("status", classifier.status_)]


def _root(classifier: TopKTreeClassifier, model: Model) -> dict[str, Any] | None:
    """Return the candidates at the root, best score first."""
    choices = classifier.search_.get("root") or []
    if not choices or is_pruned(classifier):
        return None
    tests = [read_test(choice["feature"], choice, model.features) for choice in choices]
    shown = [
        {
            "rank": choice["rank"],
            "literal": one_line(model.name_test(test).yes),
            "score": choice["score"] or 0.0,
            "score_text": "" if choice["score"] is None else f"{choice['score']:.4g}",
            "cost": choice["cost"],
            "cost_text": number_text(choice["cost"]),
            "exact": choice["exact"],
            "chosen": choice["chosen"],
        }
        for choice, test in zip(choices, tests, strict=True)
    ]
    n = classifier.search_.get("n_root", len(choices))
    return {
        "choices": shown,
        "words": _root_words(classifier, shown, n),
        "unit": "errors" if classifier.leaf_penalty in (0, "tie") and model.counts_are_rows() else "cost",
        "score_name": classifier.criterion if isinstance(classifier.criterion, str) else "score",
        "more": f"{n - len(shown):,} more candidates with lower scores are not listed." if n > len(shown) else "",
    }


def _root_words(classifier: TopKTreeClassifier, choices: list[dict[str, Any]], n: int) -> str:
    chosen = next((choice for choice in choices if choice["chosen"]), None)
    tried = f"{n:,} candidates were tried" if n > 1 else "One candidate was tried"
    if chosen is None:
        return f"{tried}; none improves on a single leaf."
    if chosen["rank"] > n:
        return f"{tried}; the local search chose “{chosen['literal']}” instead."
    if n == 1:
        return f"{tried}: the one that scores best."
    if chosen["rank"] == 1:
        return f"{tried}. The one that scores best also gives the best tree."
    best = f"“{choices[0]['literal']}”"
    scores_best = f"A greedy tree would split on {best}, which scores best"
    if classifier.criterion == "lookahead":
        scores_best = f"The greedy tree that follows {best} costs least"
    chosen_rank = f"“{chosen['literal']}”, number {chosen['rank']} by score"
    return f"{tried}. {scores_best}; the best tree splits on {chosen_rank}."


def describe_pruning(model: Model, seen: FloatArray | None) -> list[dict[str, Any]]:
    """Return leaves and accuracy of every subtree of minimal cost-complexity pruning, largest first.

    `seen` (node_count, n_classes or one more): test rows of each class at each node.
    """
    sequence = pruning.pruning_sequence(model.tree)
    n_leaves = sequence.leaf_sums(np.ones(model.tree.node_count, dtype=np.int64))
    train = 1 - sequence.leaf_sums(pruning.node_errors(model.tree)) / model.tree.value[0].sum()
    test = [None] * len(n_leaves)
    if seen is not None:
        correct = seen[np.arange(model.tree.node_count), np.argmax(model.tree.value, axis=1)]
        test = (sequence.leaf_sums(correct) / seen[0].sum()).tolist()
    return [
        {"leaves": int(n), "train": float(share), "test": other, "whole": int(n) == model.tree.n_leaves}
        for n, share, other in zip(n_leaves, train, test, strict=True)
    ]


def describe_grid(cv: TopKTreeClassifierCV) -> dict[str, Any]:
    """Return the scores of cross-validation: a line for every k, and for every other parameter that varies."""
    results = cv.cv_results_
    varying = varying_parameters(results)
    lines: dict[str, list[dict[str, Any]]] = {}
    for i, params in enumerate(results["params"]):
        name = ", ".join([f"k = {checks.k_text(params['k'])}", *(name_value(name, params[name]) for name in varying)])
        if np.isfinite(results["mean_test_score"][i]):
            lines.setdefault(name, []).append(
                {
                    "depth": int(params["max_depth"]),
                    "score": float(results["mean_test_score"][i]),
                    "se": float(results["se_test_score"][i]),
                    "leaves": float(results["mean_n_leaves"][i]),
                    "chosen": i == cv.best_index_,
                    "best": int(results["rank_test_score"][i]) == 1,
                }
            )
    return {
        "scoring": cv.scorer_.name,
        "percent": cv.scorer_.is_share,
        "words": _grid_words(cv),
        "lines": [{"name": name, "points": points} for name, points in lines.items()],
    }


def varying_parameters(results: dict[str, Any]) -> list[str]:
    """Return the parameters, besides k and the depth, that have several values in a grid."""
    names = results["params"][0].keys() - {"k", "max_depth"}
    return [name for name in results["params"][0] if name in names and len(set(map(str, results[f"param_{name}"]))) > 1]


def name_value(name: str, value: Any) -> str:
    """Return a value of a grid's parameter in words."""
    if name == "refine":
        return "refined" if value else "not refined"
    if name == "max_leaf_nodes":
        return "any number of leaves" if value is None else f"at most {value} leaves"
    if name == "min_samples_leaf":
        share = f"{value:.3g} of all" if isinstance(value, float) else str(value)
        return f"at least {share} {'row' if value == 1 else 'rows'} per leaf"
    return f"{name.replace('_', ' ')} {value if isinstance(value, str) else format(value, 'g')}"


def _grid_words(cv: TopKTreeClassifierCV) -> str:
    results = cv.cv_results_
    chosen = "simplest tree within one standard error of the best" if cv.rule == "1se" else "best"
    n, n_done = len(results["params"]), int(np.isfinite(results["mean_test_score"]).sum())
    n_folds = sum(not np.isnan(results[f"split{i}_test_score"]).all() for i in range(cv.n_splits_))
    folds = f"{n_folds} {'fold' if n_folds == 1 else 'folds'}"
    late = "" if n_done == n else f" {n_done} of {n} candidates have a score."
    return f"The score is {cv.scorer_.name} over {folds}, with standard errors; the {chosen} was chosen.{late}"


def number_text(value: float) -> str:
    """Return a cost as text, whole numbers without decimals."""
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.4f}"
