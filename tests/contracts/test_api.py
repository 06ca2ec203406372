"""The public interface is what api.txt says: a changed name, parameter or default is seen, and meant."""

import difflib
from importlib.util import find_spec

from support.api import API, describe_api

HOW = "\nIf this is meant, write it down: `python -m support.api` in tests/, and a line in CHANGELOG.md."


def test_the_public_interface_is_the_one_written_down():
    kept = API.read_text(encoding="utf-8").splitlines()
    if find_spec("distributed") is None:
        kept = [line for line in kept if not line.startswith("topktree.dask.")]
    difference = difflib.unified_diff(kept, describe_api(), "api.txt", "this code", lineterm="", n=0)
    assert kept == describe_api(), "the public interface has changed:\n" + "\n".join(difference) + HOW


def test_the_description_has_every_kind_of_name():
    described = describe_api()
    assert {
        "topktree.TopKTreeClassifier class",
        "topktree.TopKTreeClassifier parameter *",
        "topktree.TopKTreeClassifier parameter max_depth=5",
        "topktree.TopKTreeClassifier attribute cost_",
        "topktree.TopKTreeClassifier method predict(self, X)",
        "topktree.__version__ constant",
        "topktree.datasets.load_monks(problem, *, return_X_y=False)",
        "topktree.load(path)",
        "topktree.hard.parity(h, K, eps)",
        "topktree.datasets.PAPER constant",
    } <= set(described)
    assert len(set(described)) == len(described)
