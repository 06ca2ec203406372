"""Model files for the commands that use a fitted tree.

In: a path, or "-" for standard input. Out: the classifier; or a mistake in one line.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .._classifier import TopKTreeClassifier
from .._loading import load
from ..ensemble import TopKBoostingClassifier, TopKForestClassifier
from .messages import Mistake
from .table_files import STDIN, file_title, read_stdin

Model = TopKTreeClassifier | TopKForestClassifier | TopKBoostingClassifier


def read_model_file(path: str) -> Model:
    """The classifier in a file."""
    if path != STDIN:
        return _load(path)
    with tempfile.TemporaryDirectory(prefix="topktree-") as folder:
        copy = Path(folder, file_title(STDIN))
        copy.write_bytes(read_stdin())
        try:
            return _load(str(copy))
        except Mistake as mistake:
            raise Mistake(mistake.message.replace(f"{folder}{os.sep}", "")) from None


def _load(path: str) -> Model:
    try:
        return load(path)
    except OSError as error:
        raise Mistake(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise Mistake(str(error)) from None
