"""Everything that users may call: the names in `__all__` of the public modules, and the members of the classes there.

In: the installed package. Out: names as users write them, without `topktree.`, and the objects behind them. The one
idea: what this package does not define itself, such as the methods of scikit-learn's base classes, is not listed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

MODULES = ("topktree", "topktree.datasets", "topktree.hard", "topktree.dask")


def public_objects() -> dict[str, Any]:
    """Return all public functions, classes and constants by name; those of `topktree.dask` if Dask is installed."""
    found = {}
    for path in MODULES:
        if path == "topktree.dask" and find_spec("distributed") is None:
            continue
        module = import_module(path)
        for name in public_names(module):
            value = getattr(module, name)
            if not inspect.ismodule(value):
                found[f"{path}.{name}".removeprefix("topktree.")] = value
    return found


def public_names(module: ModuleType) -> list[str]:
    """Return `__all__` of a module; without it, the functions and classes that it defines."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return sorted(name for name in own if not name.startswith("_") and callable(getattr(module, name)))


def members(owner: type) -> Iterator[tuple[str, Any]]:
    """Yield name and static value of the methods and properties that this package gives a class, base classes first."""
    names = dict.fromkeys(
        name
        for base in reversed(owner.__mro__)
        if base.__module__.partition(".")[0] == "topktree"
        for name in vars(base)
        if not name.startswith("_")
    )
    for name in names:
        value = inspect.getattr_static(owner, name)
        if is_property(value) or callable(getattr(value, "__func__", value)):
            yield name, value


def is_property(value: Any) -> bool:
    """Tell whether a static member of a class is read without parentheses."""
    return isinstance(value, property | functools.cached_property)
