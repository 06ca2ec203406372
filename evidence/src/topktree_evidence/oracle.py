"""The plain NumPy reference of Top-k, which is a part of the repository's tests and of no distribution.

In: nothing. Out: the module tests/support/oracle.py, loaded by its path. Two studies of the paper's theory need it.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from typing import Any

from .machine import REPOSITORY

PATH = REPOSITORY / "tests" / "support" / "oracle.py"
NAME = "topktree_oracle"


@cache
def oracle() -> Any:
    """Return the module; FileNotFoundError outside of the repository."""
    if not PATH.is_file():
        raise FileNotFoundError(f"this study needs topktree's repository: there is no {PATH}")
    spec = importlib.util.spec_from_file_location(NAME, PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
