"""The array types that the whole package shares."""

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

# Boolean columns of rows, (n_rows, ceil(n_columns / 64)): bit j % 64 of word j // 64 is column j.
PackedRows = NDArray[np.uint64]
# Packed rows; or bytes 0 and 1, (n_rows, n_columns), which may be the user's own array: never write to it.
Rows = PackedRows | NDArray[np.uint8]

# Rows copied at a time: a part of this size fits the first caches, and Ctrl-C takes effect after it.
PART = 2**15
