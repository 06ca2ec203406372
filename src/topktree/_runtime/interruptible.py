"""Long work that Ctrl-C can end: it runs in threads while the main one waits, is told to stop, and not left at exit."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sklearn import config_context, get_config

T = TypeVar("T")

# Values to be handled from which on a thread is worth its start: about 10 ms of work.
LARGE = 2_000_000

# Seconds that Python, at its end, waits for threads that have been told to end.
PATIENCE = 10.0

_abandoned: list[threading.Thread] = []


class Cancelled(Exception):
    """What the work ends with when nobody waits for it any more."""


@dataclass
class Stop:
    """Tells work in other threads to end, and knows which threads are at it. In other processes it has no effect."""

    cancelled: bool = False
    at_work: list[threading.Thread] = field(default_factory=list)

    @contextmanager
    def working(self) -> Iterator[None]:
        """The current thread is at work."""
        self.at_work.append(threading.current_thread())
        try:
            yield
        finally:
            self.at_work.remove(threading.current_thread())

    def cancel(self) -> None:
        """Do not wait for them now, but when Python ends."""
        self.cancelled = True
        _abandoned.extend(self.at_work)


@atexit.register
def _wait_for_abandoned() -> None:
    """A thread that comes back from C++ when there is no Python any more aborts the process."""
    deadline = time.monotonic() + PATIENCE
    for thread in _abandoned:
        if thread is not threading.current_thread():
            thread.join(max(deadline - time.monotonic(), 0.0))


class Interruptible:
    """Calls functions in a thread if there is much to do; `check` lets them end early after Ctrl-C."""

    def __init__(self, n_values: int, stop: Stop | None = None) -> None:
        # Only the main thread gets to see Ctrl-C.
        self._in_thread = n_values >= LARGE and threading.current_thread() is threading.main_thread()
        self._stop = stop or Stop()

    def check(self) -> None:
        """Raise `Cancelled` after Ctrl-C."""
        if self._stop.cancelled:
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
                with config_context(**config), self._stop.working():
                    results.append(function(*args, **keywords))
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=work, name="topktree", daemon=True)
        thread.start()
        try:
            thread.join()
        except BaseException:
            self._stop.cancel()
            raise
        if errors:
            raise errors[0]
        return results[0]
