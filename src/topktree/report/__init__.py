"""The report: a fitted tree as one interactive HTML file that needs nothing else.

In: a fitted classifier and test rows. Out: a file. The one idea: data never becomes markup. It travels as JSON in a
block that browsers do not run, the page's script inserts it as text, and the page's own policy lets no other script
run. README.md beside this file is for its maintainers.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from .._runtime.files import PathLike, write_whole
from .._tree.naming import Model
from .._tree.text import export_text
from .summary import summarise

if TYPE_CHECKING:
    from .._classifier import TopKTreeClassifier
    from .._selection.classifier_cv import TopKTreeClassifierCV

# In this order they are one script: each uses functions of those before it when it is called, not when it is read.
SCRIPTS = ("dom", "charts", "layout", "view", "details", "tree", "row", "rules", "data", "search", "model", "main")


def write_report(
    path: PathLike,
    classifier: TopKTreeClassifier,
    model: Model,
    test: tuple[ArrayLike | None, ArrayLike | None, ArrayLike | None],
    *,
    title: str | None,
    max_rows: int,
    cv: TopKTreeClassifierCV | None,
) -> None:
    """Write the page.

    `model` is the classifier's tree under the names to show, `test` the X, y and weights of test rows as the user gave
    them, `cv` what chose the tree.
    """
    summary = summarise(classifier, model, *test, title=title, max_rows=max_rows, cv=cv)
    write_whole(path, _make_page(summary, export_text(model)))


def _make_page(summary: dict[str, Any], text: str) -> str:
    """Return the page. `text` is the tree for readers without scripts."""
    folder = files(__package__) / "page"
    script = "\n" + "\n".join((folder / f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    style = "\n" + (folder / "page.css").read_text("utf-8")
    parts = {
        "policy": f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'",
        "version": html.escape(version("topktree")),
        "title": html.escape(summary["title"]),
        "text": html.escape(text),
        "content": _json(summary),
        "style": style,
        "script": script,
    }
    page = (folder / "page.html").read_text("utf-8")
    return "".join(parts.get(piece, piece) for piece in page.replace("}", "{").split("{"))


def _json(content: dict[str, Any]) -> str:
    """Return JSON without the characters that could end the block that it stands in."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _hash(text: str) -> str:
    """Return the name that a Content-Security-Policy has for a script or a style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
