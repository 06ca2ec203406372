"""The report: a fitted tree as one interactive HTML file that needs nothing else.

In: the summary that `summarise` makes of a fitted classifier and test rows. Out: a file. The one idea: data never
becomes markup. It travels as JSON in a block that browsers do not run, the page's script inserts it as text, and the
page's own policy lets no other script run. README.md in this folder is for its maintainers.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from .._runtime.files import PathLike, write_whole
from .summary import summarise

__all__ = ["summarise", "write_report"]

# In this order they are one script: each uses functions of those before it when it is called, not when it is read.
SCRIPTS = ("dom", "charts", "layout", "view", "details", "tree", "row", "rules", "data", "search", "model", "main")


def write_report(path: PathLike, summary: dict[str, Any], text: str) -> None:
    """Write the page. `text` is the tree for readers without scripts."""
    folder = files(__package__) / "page"
    script = "\n" + "\n".join((folder / f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    style = "\n" + (folder / "page.css").read_text("utf-8")
    parts = {
        "policy": f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'",
        "version": html.escape(version("topktree")),
        "title": html.escape(summary["title"]),
        "text": html.escape(text),
        "contents": html.escape(summary["contents"]),
        "content": _json(summary),
        "style": style,
        "script": script,
    }
    page = (folder / "page.html").read_text("utf-8")
    write_whole(path, "".join(parts.get(piece, piece) for piece in page.replace("}", "{").split("{")))


def _json(content: dict[str, Any]) -> str:
    """Return JSON without the characters that could end the block that it stands in."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _hash(text: str) -> str:
    """Return the name that a Content-Security-Policy has for a script or a style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
