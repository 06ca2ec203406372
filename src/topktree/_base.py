"""The base of all fitted classifiers: predict, explain the tree, turn it into something else.

In: a `FoundTree`. Out: a fitted estimator with predictions, texts, pictures, a report and scikit-learn's own tree.
`set_fitted` is the one place where an estimator of a single tree becomes fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy, deepcopy
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Bunch
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ._data.arrays import FloatArray, IntArray
from ._data.features import Feature, encode, warn_about_new_values
from ._data.labels import known_classes, read_labels, read_weights
from ._data.table import read_table
from ._runtime import checks
from ._runtime.files import PathLike
from ._search.fitter import FoundTree
from ._search.objective import ScoreFunction
from ._search.spec import check_parameters
from ._tree import pruning
from ._tree.dot import export_dot
from ._tree.model_file import export_dict, write_model
from ._tree.naming import Model, make_model
from ._tree.sql import export_sql
from ._tree.text import export_rules, export_text
from ._tree.tree import Tree

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline
    from sklearn.tree import DecisionTreeClassifier

    from ._classifier import TopKTreeClassifier
    from ._selection.classifier_cv import TopKTreeClassifierCV


class FittedClassifier(ClassifierMixin, BaseEstimator):
    """The base of trees and of ensembles of them."""

    features_: tuple[Feature, ...]
    classes_: NDArray[Any]
    n_features_in_: int
    _warns_of_new_values = True  # False where rows are held out in a fit: the user can do nothing about them

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        check_is_fitted(self)
        return len(self.classes_)

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return the natural logarithms of `predict_proba`; minus infinity for a class that a leaf does not have."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy. All labels that `fit` accepts are allowed, even those that scikit-learn's rejects."""
        return self._accuracy(self.predict(X), y, sample_weight)

    def _accuracy(self, predicted: NDArray[Any], y: ArrayLike, sample_weight: ArrayLike | None) -> float:
        labels = read_labels(y)
        check_consistent_length(predicted, labels)
        return float(np.average(predicted == labels, weights=read_weights(sample_weight, len(labels))))

    def _encode(self, X: ArrayLike) -> NDArray[Any]:
        """Return the table as numbers, as the trees read it; warn about values that training did not have."""
        check_is_fitted(self)
        encoded = encode(read_table(self, X, reset=False), self.features_)
        if self._warns_of_new_values:
            warn_about_new_values(self.features_, encoded, self._used_features())
        return encoded

    def _used_features(self) -> list[int]:
        """Return the features that some node tests."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class FittedTree(FittedClassifier):
    """The base of the classifiers that consist of one tree."""

    tree_: Tree
    cost_: int | float
    train_errors_: int | None
    status_: str
    search_: dict[str, Any]
    criterion: str | ScoreFunction

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the heaviest class of each row's leaf; ties go to the first class."""
        encoded = self._encode(X)
        return np.asarray(self.classes_[self.tree_.predict(encoded)])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the share of each class in the training weight of each row's leaf."""
        leaves = self.apply(X)
        return np.asarray(self.tree_.shares()[leaves])

    def apply(self, X: ArrayLike) -> IntArray:
        """Return the index of the leaf that each row ends up in."""
        encoded = self._encode(X)
        return self.tree_.apply(encoded)

    def decision_path(self, X: ArrayLike) -> scipy.sparse.csr_matrix:
        """Return a CSR matrix (n_rows, node_count) with 1 where a row passes through a node.

        Examples
        --------
        >>> clf.decision_path(X[[0, 60, 120]]).toarray()
        array([[1, 1, 0, 0, 0],
               [1, 0, 1, 1, 0],
               [1, 0, 1, 0, 1]])
        """
        leaves, leaf_of_row = np.unique(self.apply(X), return_inverse=True)
        paths = self.tree_.paths_to(leaves)
        nodes, ends = np.concatenate(paths), np.cumsum([0, *map(len, paths)])
        shape = len(leaves), self.tree_.node_count
        return scipy.sparse.csr_matrix((np.ones_like(nodes), nodes, ends), shape)[leaf_of_row]

    def get_depth(self) -> int:
        """Return the number of splits on the longest path."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> FloatArray:
        """The share of each feature in the total decrease of weighted impurity."""
        check_is_fitted(self)
        return self.tree_.feature_importances(self.n_features_in_)

    def to_sklearn(self) -> DecisionTreeClassifier | Pipeline:
        """Return a fitted scikit-learn object with the same predictions and probabilities.

        It is a `DecisionTreeClassifier` if all features are booleans or numbers that float32 can tell apart, without
        missing values; otherwise it is a `Pipeline` whose last step is one. scikit-learn rounds numbers to float32, so
        only a number that is within this rounding of a threshold may go the other way.

        Examples
        --------
        >>> model = clf.to_sklearn()
        >>> model
        DecisionTreeClassifier(criterion='entropy', max_depth=2, random_state=0)
        >>> bool((model.predict(X) == clf.predict(X)).all())
        True
        """
        from ._tree.to_sklearn import to_sklearn

        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        criterion = str(self._searched()[0].criterion)  # cross-validation may have chosen it
        return to_sklearn(self.tree_, self.features_, self.classes_, criterion, names)

    def _used_features(self) -> list[int]:
        return self.tree_.used_features()

    def export_text(self, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None) -> str:
        """Return the tree as indented text, with confidence and counts in the leaves."""
        return export_text(self._model(feature_names, class_names))

    def export_rules(self, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None) -> str:
        """Return one line per leaf: conditions, class, confidence and counts.

        Examples
        --------
        >>> print(clf.export_rules(feature_names=["sepal length", "sepal width", "petal length", "petal width"]))
        petal length <= 2 -> 0 (100.0% of 50 rows; 0 50)
        petal length > 2 and petal width <= 1.75 -> 1 (90.7% of 54 rows; 1 49, 2 5)
        petal length > 2 and petal width > 1.75 -> 2 (97.8% of 46 rows; 1 1, 2 45)
        """
        return export_rules(self._model(feature_names, class_names))

    def export_dot(self, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None) -> str:
        """Return the tree in the language of Graphviz."""
        return export_dot(self._model(feature_names, class_names))

    def export_sql(self, table: str | Sequence[str] | None = None, feature_names: ArrayLike | None = None) -> str:
        """Return `SELECT CASE ... END AS prediction FROM table`; without a table, the CASE expression alone.

        NULL is a missing value. A table in a schema is given as a sequence of names.

        Examples
        --------
        >>> print(clf.export_sql("flowers"))
        SELECT CASE
          WHEN "x2" <= 2
            THEN 0 /* 100.0% of 50 rows; 0 50 */
          WHEN ("x2" > 2 OR "x2" IS NULL) AND ("x3" <= 1.75 OR "x3" IS NULL)
            THEN 1 /* 90.7% of 54 rows; 1 49, 2 5 */
          WHEN ("x2" > 2 OR "x2" IS NULL) AND "x3" > 1.75
            THEN 2 /* 97.8% of 46 rows; 1 1, 2 45 */
        END AS prediction
        FROM "flowers"
        """
        return export_sql(self._model(feature_names, None), table)

    def export_dict(self) -> dict[str, Any]:
        """Return features, classes and nodes as plain Python objects.

        Examples
        --------
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
        max_rows: int = 0,
        feature_names: ArrayLike | None = None,
        class_names: ArrayLike | None = None,
    ) -> None:
        """Write an interactive page about the tree: one HTML file that needs no network.

        It shows the tree, its rules, its accuracy on the training data and on the rows of `X_test` and `y_test`
        (weighted by `sample_weight`, if given), what the search did, and the candidates that cross-validation
        chose from. A reader can type the values of a row and follow it to its leaf. No rows of data are in the file
        unless asked for: with `max_rows`, it contains the first rows of `X_test`, restricted to the features that the
        tree uses, so that they can be followed too. The page says what data it contains. The same fitted classifier
        and rows always give the same file.
        """
        from .report import summarise, write_report

        model = self._model(feature_names, class_names)
        classifier, cv = self._searched()
        summary = summarise(classifier, model, X_test, y_test, sample_weight, title=title, max_rows=max_rows, cv=cv)
        write_report(path, summary, export_text(model))

    def plot(
        self, ax: Any = None, *, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None
    ) -> Any:
        """Draw the tree with matplotlib, on `ax` or a new figure, and return the Axes.

        Examples
        --------
        >>> ax = clf.plot(class_names=["setosa", "versicolor", "virginica"])
        >>> ax.figure.savefig("tree.png")
        """
        from ._tree.plot import plot_tree

        return plot_tree(self._model(feature_names, class_names), ax)

    def plot_search(self, ax: Any = None) -> Any:
        """Draw how the cost fell as the search widened k, over the seconds it took, and return the Axes."""
        from ._tree.charts import plot_trace

        check_is_fitted(self)
        classifier, _ = self._searched()
        return plot_trace(classifier.search_.get("trace", []), classifier.status_, ax)

    def pruning_path(self) -> Bunch:
        """Return the subtrees that minimal cost-complexity pruning leaves, from the largest to the root alone.

        The arrays have an entry per subtree, as in scikit-learn's `cost_complexity_pruning_path`: `ccp_alphas`, the
        lowest penalty per leaf for which the subtree is the best one, as a fraction of the training weight, like
        `leaf_penalty`; `errors`, the fraction of the training weight that it misclassifies, where scikit-learn has
        impurities; and `n_leaves`. The first is the smallest subtree with the errors of the tree itself.

        Examples
        --------
        >>> path = clf.pruning_path()
        >>> path.n_leaves.tolist(), path.errors.round(3).tolist()
        ([3, 2, 1], [0.04, 0.333, 0.667])
        """
        check_is_fitted(self)
        return Bunch(**pruning.describe_sequence(self.tree_))

    def prune(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, rule: str = "best"
    ) -> TopKTreeClassifier:
        """Return a new classifier with the subtree on the `pruning_path` that does best on these rows.

        The rows should not be those of `fit`. The `rule` "best" takes the subtree with the lowest weight of
        errors, the smallest one in case of a tie; "1se" takes the smallest one whose error rate is within one standard
        error of that. Rows of a class that training did not have are errors of every subtree.

        The result has its own `cost_`, `train_errors_` and `pruned_alpha_`, and the `status_` and `search_` of the tree
        that was pruned. If splits were removed, `train_errors_` counts the rows that had weight in `fit`, and is None
        unless every row weighed 1: a tree only keeps the weights of the classes.

        Examples
        --------
        >>> from sklearn.model_selection import train_test_split
        >>> game = datasets.load_tic_tac_toe()
        >>> X_fit, X_prune, y_fit, y_prune = train_test_split(game.data, game.target, random_state=0)
        >>> large = TopKTreeClassifier(max_depth=6).fit(X_fit, y_fit)
        >>> large.get_n_leaves(), large.prune(X_prune, y_prune).get_n_leaves()
        (42, 28)
        """
        check_is_fitted(self)
        checks.check_choice("rule", rule, pruning.RULES)
        leaves = self.apply(X)
        weights = read_weights(sample_weight, len(leaves))
        if weights is None:
            weights = np.ones(len(leaves))
        classes = known_classes(read_labels(y), self.classes_, len(leaves))
        at_leaf = pruning.count_rows(self.tree_, leaves, classes, weights)
        tree, alpha = pruning.choose_subtree(self.tree_, at_leaf, weights, rule)
        classifier, _ = self._searched()
        found = replace(found_tree_of(classifier), record=deepcopy(self.search_), pruned_alpha=alpha)
        if tree.node_count < self.tree_.node_count:
            cost = pruning.pruned_cost(self.tree_, tree, self.cost_)
            errors = pruning.pruned_train_errors(self.tree_, tree, self.train_errors_)
            found = replace(found, tree=tree, cost=cost, train_errors=errors)
        return fitted_copy(classifier, found)

    def save(self, path: PathLike) -> None:
        """Write the fitted tree to a JSON file, which `topktree.load` reads as a `TopKTreeClassifier`.

        A custom criterion is not saved: set it again before you refit.
        """
        check_is_fitted(self)
        classifier, _ = self._searched()
        check_parameters(classifier, criterion_is_lost=classifier.criterion is None)
        content = {
            "topktree": version("topktree"),
            "parameters": checks.to_json(classifier.get_params()),
            **self.export_dict(),
            "has_feature_names": hasattr(self, "feature_names_in_"),
            **found_tree_of(classifier).for_file(),
        }
        write_model(path, content, self.classes_)

    def _searched(self) -> tuple[TopKTreeClassifier, TopKTreeClassifierCV | None]:
        """Return the classifier whose search found the tree, and the cross-validation that chose it, if one did."""
        raise NotImplementedError

    def _model(self, feature_names: ArrayLike | None, class_names: ArrayLike | None) -> Model:
        check_is_fitted(self)
        return make_model(self.tree_, self.features_, self.classes_, feature_names, class_names)


Estimator = TypeVar("Estimator", bound=FittedTree)


def set_fitted(estimator: Any, found: FoundTree) -> None:
    """Set every attribute that a fit sets, except those that reading the table has set."""
    estimator.classes_ = found.classes
    estimator.features_ = found.features
    estimator.tree_ = found.tree
    estimator.cost_ = found.cost
    estimator.train_errors_ = found.train_errors
    estimator.status_ = found.status
    estimator.search_ = found.record
    estimator.__dict__.pop("pruned_alpha_", None)  # an earlier fit may have set it
    if found.pruned_alpha is not None:
        estimator.pruned_alpha_ = found.pruned_alpha


def fitted_copy(estimator: Estimator, found: FoundTree, **parameters: Any) -> Estimator:
    """Return a copy of the estimator, fitted, with some parameters changed."""
    result = copy(estimator)
    result.__dict__.update(parameters)
    set_fitted(result, found)
    return result


def found_tree_of(estimator: Any) -> FoundTree:
    """Return the tree of a fitted estimator, and what is known about it."""
    return FoundTree(
        estimator.tree_,
        estimator.features_,
        estimator.classes_,
        estimator.cost_,
        estimator.train_errors_,
        estimator.status_,
        estimator.search_,
        pruned_alpha=getattr(estimator, "pruned_alpha_", None),
    )


def copy_names(source: Any, target: Any) -> None:
    """Copy the number and the names of the features, which reading the table has set."""
    target.n_features_in_ = source.n_features_in_
    if hasattr(source, "feature_names_in_"):
        target.feature_names_in_ = source.feature_names_in_
