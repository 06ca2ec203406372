"""`load`: read the estimator of a model file, whichever kind it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ._classifier import TopKTreeClassifier, restore
from ._runtime.files import PathLike
from ._tree.model_file import FOREST, SavedModel, read_model

if TYPE_CHECKING:
    from .ensemble import TopKBoostingClassifier, TopKForestClassifier


def load(path: PathLike) -> TopKTreeClassifier | TopKForestClassifier | TopKBoostingClassifier:
    """Return the classifier, forest or boosting that `save` wrote. Nothing in the file is run as code.

    Examples
    --------
    >>> import topktree
    >>> X, y = topktree.datasets.load_monks(1, return_X_y=True)
    >>> topktree.TopKTreeClassifier(max_depth=3).fit(X, y).save("model.json")
    >>> topktree.load("model.json").get_n_leaves()
    7
    """
    saved = read_model(path)
    try:
        if isinstance(saved, SavedModel):
            return restore(saved)
        if saved.kind == FOREST:
            from .ensemble.forest import restore_forest

            return restore_forest(saved)
        from .ensemble.boosting import restore_boosting

        return restore_boosting(saved)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)} is not a model that this version can read: {error}") from None
