"""What files of forests and of boosting have in common.

In: a fitted ensemble; or what a file holds, checked. Out: a file; or the trees in their place.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from .._classifier import restore_data
from .._runtime import checks
from .._runtime.files import PathLike
from .._tree.model_file import ENSEMBLE_FORMAT, SavedEnsemble, write_model
from .fitted_ensemble import FittedEnsemble


def save_ensemble(path: PathLike, ensemble: FittedEnsemble, kind: str, more: dict[str, Any]) -> None:
    """Write the file; of what `more` has as "trees" each gets its nodes and what its search said."""
    known = ensemble.export_dict()
    own = more.pop("trees", [{}] * len(ensemble.estimators_))
    content = {
        "kind": kind,
        "topktree": version("topktree"),
        "parameters": checks.to_json(ensemble.get_params(deep=False)),
        "features": known["features"],
        "classes": known["classes"],
        "has_feature_names": hasattr(ensemble, "feature_names_in_"),
        "status": ensemble.status_,
        **more,
        "trees": [
            {**mine, **tree._found(), "nodes": entry["nodes"]}
            for mine, tree, entry in zip(own, ensemble.estimators_, known["trees"], strict=True)
        ],
    }
    write_model(path, content, ensemble.classes_, ENSEMBLE_FORMAT)


def restore_trees(ensemble: FittedEnsemble, saved: SavedEnsemble) -> None:
    """What every ensemble has of a file."""
    restore_data(ensemble, saved)
    ensemble.status_ = saved.status
    ensemble.estimators_ = []
    for entry in saved.trees:
        tree = ensemble._template()
        restore_data(tree, saved)
        tree._restore_tree(entry)
        ensemble.estimators_.append(tree)
