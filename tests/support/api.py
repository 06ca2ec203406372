"""The public interface as lines of text: names, parameters with their defaults, methods and documented attributes.

In tests/, `python -m support.api` writes contracts/api.txt; `test_api.py` beside it compares. Types are left out: they
are mypy's business, and their spelling may change.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from support.paths import ROOT
from support.public import is_property, members, public_objects

API = ROOT / "tests" / "contracts" / "api.txt"


def describe_api() -> list[str]:
    """Return one line for every public name, parameter of a class, attribute, property and method."""
    return [line for name, value in public_objects().items() for line in _describe(f"topktree.{name}", value)]


def _describe(name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield f"{name} class"
        yield from (f"{name} parameter {parameter}" for parameter in _parameters(value))
        yield from (f"{name} attribute {attribute}" for attribute in _documented_attributes(value))
        for member, static in sorted(members(value), key=lambda pair: pair[0]):
            if is_property(static):
                yield f"{name} property {member}"
            else:
                yield f"{name} method {member}({', '.join(_parameters(getattr(value, member)))})"
    elif callable(value):
        yield f"{name}({', '.join(_parameters(value))})"
    else:
        yield f"{name} constant"


def _parameters(function: Any) -> list[str]:
    """Return the parameters as a definition lists them, without their types; those after `*` are given by name only."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # exceptions and other classes whose constructor is written in C
        return []
    listed = [str(parameter.replace(annotation=parameter.empty)) for parameter in parameters]
    by_name_only = [parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters]
    if any(by_name_only):
        listed.insert(by_name_only.index(True), "*")
    return listed


def _documented_attributes(owner: type) -> list[str]:
    """Return the names in the section `Attributes` of a docstring; several may share a line."""
    section = re.compile(r"^Attributes\n-+\n(.*?)(?:\n\n\S[^\n]*\n-+\n|\Z)", re.DOTALL | re.MULTILINE)
    found = section.search(inspect.getdoc(owner) or "")
    lines = found[1].splitlines() if found else []
    names = [line.partition(" :")[0] for line in lines if re.match(r"\w", line)]
    return sorted(name.strip() for several in names for name in several.split(","))


if __name__ == "__main__":
    API.write_text("\n".join(describe_api()) + "\n", encoding="utf-8")
    print(f"{len(describe_api())} lines in {API}")
