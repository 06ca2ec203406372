"""Pages from templates: the prose is in templates/, the numbers and tables come from the studies.

In: the name of a template and what it shows. Out: a Markdown file. The one idea: no number on a page is typed by hand.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from . import text

FILTERS = ("listed", "commas", "limits", "points", "signed", "seconds")
ENVIRONMENT = Environment(
    loader=PackageLoader("topktree_evidence"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
ENVIRONMENT.filters |= {name: getattr(text, name) for name in FILTERS}


def render(template: str, **shown: Any) -> str:
    """Return the text of a template; several empty lines become one."""
    text = ENVIRONMENT.get_template(f"{template}.md").render(shown)
    return re.sub(r"\n\s*\n", "\n\n", text).strip() + "\n"


def write(path: Path, template: str, **shown: Any) -> None:
    """Write a page; `picture(file, text)` in its template shows a picture that is there."""

    def picture(file: str, alt: str) -> str:
        return f"![{alt}]({file})" if (path.parent / file).is_file() else ""

    path.write_text(render(template, picture=picture, **shown), encoding="utf-8")
