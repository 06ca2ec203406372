"""Accurate decision trees small enough for a person to read: Top-k search over the best splits.

The public names are imported when they are first used, so that `import topktree` takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets, hard
    from ._classifier import TopKTreeClassifier
    from ._data.binarizer import Binarizer
    from ._data.features import Feature
    from ._loading import load
    from ._search.near_optimal import NearOptimalTrees
    from ._search.penalty_path import LeafPenaltyPath
    from ._selection.classifier_cv import TopKTreeClassifierCV
    from ._tree.tree import Tree
    from .ensemble import TopKBoostingClassifier, TopKForestClassifier

    __version__: str

__all__ = [  # noqa: RUF022  in the order of the reference page
    "TopKTreeClassifier",
    "TopKTreeClassifierCV",
    "TopKForestClassifier",
    "TopKBoostingClassifier",
    "Binarizer",
    "load",
    "datasets",
    "hard",
    "Tree",
    "Feature",
    "LeafPenaltyPath",
    "NearOptimalTrees",
    "__version__",
]

_MODULES = {
    "TopKTreeClassifier": "_classifier",
    "TopKTreeClassifierCV": "_selection.classifier_cv",
    "TopKForestClassifier": "ensemble",
    "TopKBoostingClassifier": "ensemble",
    "Binarizer": "_data.binarizer",
    "load": "_loading",
    "Tree": "_tree.tree",
    "Feature": "_data.features",
    "LeafPenaltyPath": "_search.penalty_path",
    "NearOptimalTrees": "_search.near_optimal",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("topktree")
    elif name in _MODULES:
        value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    elif name in __all__:  # a public module
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value  # later uses do not call this function
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
