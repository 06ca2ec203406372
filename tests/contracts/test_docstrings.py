"""Docstrings of the package are sentences: none opens with a word that only half a sentence opens with."""

import ast

from support.paths import ROOT

HALF_SENTENCES = ("Of", "What", "Those", "Which", "Whether")


def docstrings():
    """Yield the place and the text of every docstring in src."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}", text


def test_docstrings_open_like_sentences():
    found = dict(docstrings())
    assert len(found) > 300
    half = [f"{place}: {text.splitlines()[0]}" for place, text in found.items() if text.split()[0] in HALF_SENTENCES]
    assert not half, f"{len(half)} docstrings open with half a sentence:\n" + "\n".join(half)
