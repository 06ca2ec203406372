"""Data to try trees on: `load` reads the datasets of the paper, the `load_...` functions make theirs without a file.

In: a name, or nothing. Out: a `sklearn.utils.Bunch`, or the pair `(data, target)`. The one idea: the public names are
all here; `paper` has what must be read, `generated` what code can make.
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
