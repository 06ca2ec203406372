"""What a fitted tree can do: predict, explain itself, become something else.

In: an estimator with `tree_`, `features_` and `classes_`. Out: predictions, texts, scikit-learn's own tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from ._data.arrays import FloatArray, IntArray
from ._data.features import encode
from ._data.table import read_table
from ._fitted_classifier import FittedClassifier
from ._runtime.files import PathLike
from ._search.objective import ScoreFunction
from ._tree.dot import export_dot
from ._tree.naming import Model, make_model
from ._tree.sql import export_sql
from ._tree.text import export_rules, export_text
from ._tree.to_sklearn import to_sklearn
from ._tree.tree import Tree
from ._tree.tree_dict import export_dict
from .report import Rows, write_report

if TYPE_CHECKING:
    from ._classifier import TopKTreeClassifier
    from ._selection.classifier_cv import TopKTreeClassifierCV


class FittedTree(FittedClassifier):
    """Base of the classifiers that are one tree."""

    tree_: Tree
    criterion: str | ScoreFunction

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The heaviest class of each row's leaf; ties go to the first class.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> clf.predict(X[:2])
        array([0, 0])
        """
        check_is_fitted(self)
        leaf_class = self.classes_[np.argmax(self.tree_.value, axis=1)]
        return np.asarray(leaf_class[self.apply(X)])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class shares of the training weight in each row's leaf.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> clf.predict_proba(X[60:62]).round(2)
        array([[0.  , 0.91, 0.09],
               [0.  , 0.91, 0.09]])
        """
        check_is_fitted(self)
        return np.asarray(self.tree_.shares()[self.apply(X)])

    def apply(self, X: ArrayLike) -> IntArray:
        """Index of the leaf that each row ends up in.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> clf.apply(X[[0, 60, 120]])
        array([1, 3, 4])
        """
        check_is_fitted(self)
        return self.tree_.apply(encode(read_table(self, X, reset=False), self.features_))

    def decision_path(self, X: ArrayLike) -> scipy.sparse.csr_matrix:
        """CSR matrix (n, node_count): 1 where a row passes through a node.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> clf.decision_path(X[[0, 60, 120]]).toarray()
        array([[1, 1, 0, 0, 0],
               [1, 0, 1, 1, 0],
               [1, 0, 1, 0, 1]])
        """
        check_is_fitted(self)
        return scipy.sparse.csr_matrix(self.tree_.ancestors().astype(np.int64))[self.apply(X)]

    def get_depth(self) -> int:
        """Splits on the longest path.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> clf.get_depth()
        2
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> clf.get_n_leaves()
        3
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    def to_sklearn(self) -> DecisionTreeClassifier | Pipeline:
        """A fitted scikit-learn object with the same predictions and probabilities for every input.

        A `DecisionTreeClassifier` if all features are numbers or booleans without missing values, and of a size that
        scikit-learn's float32 can tell apart; else a `Pipeline` whose last step is one.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> model = clf.to_sklearn()
        >>> model
        DecisionTreeClassifier(criterion='entropy', max_depth=2, random_state=0)
        >>> bool((model.predict(X) == clf.predict(X)).all())
        True
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return to_sklearn(self.tree_, self.features_, self.classes_, str(self.criterion), names)

    def export_text(self, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None) -> str:
        """The tree as indented text, with confidence and counts in the leaves.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> print(clf.export_text(class_names=["setosa", "versicolor", "virginica"]))
        |--- x2 <= 2.45
        |   |--- class: setosa (100.0% of 50 rows; setosa 50)
        |--- x2 > 2.45
        |   |--- x3 <= 1.75
        |   |   |--- class: versicolor (90.7% of 54 rows; versicolor 49, virginica 5)
        |   |--- x3 > 1.75
        |   |   |--- class: virginica (97.8% of 46 rows; versicolor 1, virginica 45)
        """
        return export_text(self._model(feature_names, class_names))

    def export_rules(self, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None) -> str:
        """One line per leaf: conditions, class, confidence and counts.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> print(clf.export_rules(feature_names=["sepal length", "sepal width", "petal length", "petal width"]))
        petal length <= 2.45 -> 0 (100.0% of 50 rows; 0 50)
        petal length > 2.45 and petal width <= 1.75 -> 1 (90.7% of 54 rows; 1 49, 2 5)
        petal length > 2.45 and petal width > 1.75 -> 2 (97.8% of 46 rows; 1 1, 2 45)
        """
        return export_rules(self._model(feature_names, class_names))

    def export_dot(self, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None) -> str:
        """The tree in the language of Graphviz.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> clf.export_dot().splitlines()[0]
        'digraph Tree {'
        """
        return export_dot(self._model(feature_names, class_names))

    def export_sql(self, table: str | Sequence[str] | None = None, feature_names: ArrayLike | None = None) -> str:
        """`SELECT CASE ... END AS prediction FROM table`; without a table, the CASE expression alone.

        NULL is a missing value. A table in a schema is given as a sequence of names.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> print(clf.export_sql("flowers"))
        SELECT CASE
          WHEN "x2" <= 2.450000166893005
            THEN 0 /* 100.0% of 50 rows; 0 50 */
          WHEN ("x2" > 2.450000166893005 OR "x2" IS NULL) AND "x3" <= 1.7500000596046448
            THEN 1 /* 90.7% of 54 rows; 1 49, 2 5 */
          WHEN ("x2" > 2.450000166893005 OR "x2" IS NULL) AND ("x3" > 1.7500000596046448 OR "x3" IS NULL)
            THEN 2 /* 97.8% of 46 rows; 1 1, 2 45 */
        END AS prediction
        FROM "flowers"
        """
        return export_sql(self._model(feature_names, None), table)

    def export_dict(self) -> dict[str, Any]:
        """Features, classes and nodes as plain Python objects.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> root = clf.export_dict()["nodes"][0]
        >>> root["feature"], root["test"], root["rows"]
        ('x2', '<=', 150)
        """
        return export_dict(self._model(None, None))

    def report(
        self,
        path: PathLike,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        title: str | None = None,
        max_rows: int = 100,
        feature_names: ArrayLike | None = None,
        class_names: ArrayLike | None = None,
    ) -> None:
        """Write a page about the tree: one HTML file to click through, which needs no network.

        It shows the tree, its rules, how right it is on the training data and on the rows of `X_test` and `y_test`, by
        their `sample_weight` if it is given, and what the search did, of a choice by
        cross-validation also what it was made from; a reader can type a row's values and follow it to
        its leaf. The first `max_rows` rows of `X_test` are in the file, as far as the tree looks at them, to be
        followed as well: 0 keeps them out. The same fitted classifier and rows always give the same file.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.model_selection import train_test_split
        >>> from topktree import TopKTreeClassifier
        >>> X_train, X_test, y_train, y_test = train_test_split(*load_iris(return_X_y=True), random_state=0)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X_train, y_train)
        >>> clf.report("report.html", X_test, y_test, title="Iris")
        """
        model = self._model(feature_names, class_names)
        classifier, cv = self._searched()
        rows = Rows(X_test, y_test, sample_weight)
        write_report(path, classifier, model, rows, title=title, max_rows=max_rows, cv=cv)

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the total decrease of weighted impurity.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> clf.feature_importances_.round(2)
        array([0.  , 0.  , 0.67, 0.33])
        """
        check_is_fitted(self)
        return self.tree_.feature_importances(self.n_features_in_)

    def _searched(self) -> tuple[TopKTreeClassifier, TopKTreeClassifierCV | None]:
        """The classifier whose search found the tree, and the cross-validation that chose it, if one did."""
        raise NotImplementedError

    def _model(self, feature_names: ArrayLike | None, class_names: ArrayLike | None) -> Model:
        check_is_fitted(self)
        return make_model(self.tree_, self.features_, self.classes_, feature_names, class_names)
