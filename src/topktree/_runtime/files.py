"""Write files completely or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PathLike = str | os.PathLike[str]


@contextmanager
def whole_file(path: PathLike) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces the file at the end unless an error is raised.

    The file keeps the permissions that it has. A path that is not a regular file, such as a pipe or a device, is
    written to directly. Errors name the path given.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        yield Path(path)
        return
    target = Path(os.path.realpath(path))  # a symbolic link stays a link
    partial = target.with_name(f"topktree-{os.urandom(8).hex()}.partial")  # nobody else writes to it
    try:
        yield partial
        if target.exists():
            shutil.copymode(target, partial)
        with open(partial, "rb+") as stream:
            os.fsync(stream.fileno())  # or a crash of the system could leave an empty file
        partial.replace(target)
    except OSError as error:
        if error.filename == str(partial):
            error.filename = os.fspath(path)
        raise
    finally:
        partial.unlink(missing_ok=True)


def write_whole(path: PathLike, text: str) -> None:
    """Write a file of UTF-8 text."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")
