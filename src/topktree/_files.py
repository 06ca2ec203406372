"""Writing files: whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

PathLike = str | os.PathLike[str]


def write_whole(path: PathLike, text: str) -> None:
    """Write UTF-8 text. Whatever goes wrong, a file that was there before stays as it was."""
    target = Path(path)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
