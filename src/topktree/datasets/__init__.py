"""Datasets to try trees on: `load` reads those of the paper, the other `load_...` functions need no file.

In: a name, or nothing. Out: a `sklearn.utils.Bunch`, or the pair `(data, target)`.
"""

from .generated import load_balance_scale, load_monks, load_tic_tac_toe
from .paper import EXTRA, PAPER, DataNotFound, PaperDataset, load

__all__ = [
    "EXTRA",
    "PAPER",
    "DataNotFound",
    "PaperDataset",
    "load",
    "load_balance_scale",
    "load_monks",
    "load_tic_tac_toe",
]
