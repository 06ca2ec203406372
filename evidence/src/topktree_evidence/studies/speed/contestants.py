"""The contestants: how each solver is set up and read.

In: a Job. Out: an unfitted estimator; of a fitted one, predictions, leaves, whether its search ended, its own claims.
The one idea: what is timed is `fit`, and the errors are counted from the predictions, the same way for everybody.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from topktree_evidence.studies.speed.matrices import Labels, Matrix
from topktree_evidence.studies.speed.ranks import last_rank
from topktree_evidence.studies.speed.runs import EXACT, OURS, Job

# A peer stops itself at the cap, where it can, to hand over the best tree it has.


class Contestant:
    """A solver with scikit-learn's interface whose search always ends."""

    package: str

    def make(self, job: Job) -> Any:
        """The estimator, not fitted."""
        raise NotImplementedError

    def predict(self, fitted: Any, X: Matrix) -> Matrix | None:
        """The classes; None if the search was stopped before there was a tree."""
        return np.asarray(fitted.predict(X))

    def is_finished(self, fitted: Any) -> bool:
        """Whether the search came to its end."""
        return True

    def claimed_errors(self, fitted: Any) -> int | None:
        """Training errors as the solver itself states them, if it does."""
        return None

    def leaves(self, fitted: Any) -> int | None:
        """Leaves of the tree."""
        return int(fitted.get_n_leaves())

    def widest(self, fitted: Any, X: Matrix, y: Labels) -> int | None:
        """Of a Top-k tree, the last rank among its columns."""
        return None


class TopKTree(Contestant):
    package = "topktree"

    def make(self, job: Job) -> Any:
        from topktree import TopKTreeClassifier

        # No time_limit: with one the search widens k step by step, which is another search.
        estimator = TopKTreeClassifier(
            k="all" if job.k == "all" else int(job.k),
            max_depth=job.depth,
            leaf_penalty=job.penalty,
            n_jobs=job.threads,
        )
        return estimator.set_params(max_thresholds=None) if job.input == EXACT else estimator

    def is_finished(self, fitted: Any) -> bool:
        return fitted.status_ in ("optimal", "complete")

    def claimed_errors(self, fitted: Any) -> int | None:
        return int(fitted.train_errors_)


class ScikitLearn(Contestant):
    package = "scikit-learn"

    def make(self, job: Job) -> Any:
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(criterion="entropy", max_depth=job.depth, random_state=0)


class PyTrees(Contestant):
    """DL8.5 restricted to Top-k."""

    package = "pytrees-rs"

    def make(self, job: Job) -> Any:
        from pytrees import DL85Classifier
        from pytrees.rules import TopKRule

        # Its budget b tries the b + 1 best columns of a node. First budget = last budget: one pass, exactly Top-k.
        # Its solver of depth-2 subtrees looks at every pair of columns, so with it the result would not be Top-k.
        budget = int(job.k) - 1
        return DL85Classifier(
            max_depth=job.depth,
            max_time=job.cap,
            heuristic="information_gain",
            fast_d2=False,
            topk=TopKRule(initial_value=budget, limit=budget),
        )

    def predict(self, fitted: Any, X: Matrix) -> Matrix | None:
        return None if fitted.tree_ is None else np.asarray(fitted.predict(X))

    def is_finished(self, fitted: Any) -> bool:
        return bool(fitted.status_ == "optimal")

    def claimed_errors(self, fitted: Any) -> int | None:
        return None if fitted.tree_ is None else int(fitted.train_error_)

    def leaves(self, fitted: Any) -> int | None:
        return None if fitted.tree_ is None else int(fitted.tree_.n_leaves)

    def widest(self, fitted: Any, X: Matrix, y: Labels) -> int | None:
        return None if fitted.tree_ is None else last_rank(fitted.tree_, X, y)


class PyStreed(Contestant):
    package = "pystreed"

    def make(self, job: Job) -> Any:
        from pystreed import STreeDClassifier

        if job.penalty:  # its penalty is one of splits, of which there is one less than leaves
            return STreeDClassifier(
                "cost-complex-accuracy", max_depth=job.depth, time_limit=job.cap, cost_complexity=job.penalty
            )
        return STreeDClassifier("accuracy", max_depth=job.depth, time_limit=job.cap)

    def predict(self, fitted: Any, X: Matrix) -> Matrix | None:
        return np.asarray(fitted.predict(X)) if fitted.is_fitted() else None

    def is_finished(self, fitted: Any) -> bool:
        return bool(fitted.is_fitted() and fitted.fit_result.is_optimal())

    def leaves(self, fitted: Any) -> int | None:
        return int(fitted.get_n_leaves()) if fitted.is_fitted() else None


class Gosdt(Contestant):
    package = "gosdt"

    def make(self, job: Job) -> Any:
        from gosdt import GOSDTClassifier

        return GOSDTClassifier(
            regularization=job.penalty, allow_small_reg=True, depth_budget=job.depth, time_limit=int(job.cap)
        )

    def predict(self, fitted: Any, X: Matrix) -> Matrix | None:
        # Its own predict calls scikit-learn with an argument that is no longer there.
        return np.asarray(fitted.trees_[0].predict(X)) if fitted.trees_ else None

    def is_finished(self, fitted: Any) -> bool:
        from gosdt import Status

        return bool(fitted.result_.status == Status.CONVERGED)

    def leaves(self, fitted: Any) -> int | None:
        return str(fitted.result_.model).count('"prediction"') or None


class PyConTree(Contestant):
    package = "pycontree"

    def make(self, job: Job) -> Any:
        from pycontree import ConTree

        return ConTree(max_depth=job.depth, time_limit=job.cap)

    def is_finished(self, fitted: Any) -> bool:
        return bool(fitted._config.is_within_time_limit())

    def leaves(self, fitted: Any) -> int | None:
        return int(fitted.get_num_leaf_nodes())


CONTESTANTS: dict[str, Contestant] = {
    OURS: TopKTree(),
    "scikit-learn": ScikitLearn(),
    "pytrees-rs": PyTrees(),
    "pystreed": PyStreed(),
    "gosdt": Gosdt(),
    "pycontree": PyConTree(),
}


def count_errors(who: Contestant, fitted: Any, X: Matrix, y: Labels) -> int | None:
    """Rows of the training data whose prediction is wrong; None: there is no tree."""
    predicted = who.predict(fitted, X)
    return None if predicted is None else int(np.count_nonzero(predicted != y))
