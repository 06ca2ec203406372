"""Long NumPy work that Ctrl-C can end: it runs in a thread of its own while the main thread waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from sklearn import config_context, get_config

T = TypeVar("T")

# Values to be handled from which on a thread is worth its start: about 10 ms of work.
LARGE = 2_000_000


class Cancelled(Exception):
    """What the work ends with when nobody waits for it any more."""


class Interruptible:
    """Calls functions in a thread if there is much to do; `check` lets them end early after Ctrl-C."""

    def __init__(self, n_values: int) -> None:
        # Only the main thread gets to see Ctrl-C.
        self._in_thread = n_values >= LARGE and threading.current_thread() is threading.main_thread()
        self._cancelled = False

    def check(self) -> None:
        """Raise `Cancelled` after Ctrl-C."""
        if self._cancelled:
            raise Cancelled

    def call(self, function: Callable[..., T], *args: Any, **keywords: Any) -> T:
        """The function's result. NumPy looks at signals only between its calls; the main thread, waiting, at once."""
        if not self._in_thread:
            return function(*args, **keywords)
        results: list[T] = []
        errors: list[BaseException] = []
        config = get_config()  # scikit-learn has one per thread

        def work() -> None:
            try:
                with config_context(**config):
                    results.append(function(*args, **keywords))
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=work, name="topktree", daemon=True)
        thread.start()
        try:
            thread.join()
        except BaseException:
            self._cancelled = True
            raise
        if errors:
            raise errors[0]
        return results[0]
