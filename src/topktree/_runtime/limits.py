"""Limits: how long-running work is ended early, by Ctrl-C, a time limit, or an error elsewhere.

In: a time limit, or functions that take long. Out: callbacks and checks that end the work, and the words for how it
ended. The one idea: work that Python's main thread cannot interrupt runs in other threads, which look at a shared flag;
the main thread waits for them and stays free to receive Ctrl-C.
"""

from __future__ import annotations

import atexit
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from sklearn import config_context, get_config

from .checks import is_number

T = TypeVar("T")
Progress = Callable[[float, int, int, int], None]  # seconds, k, nodes, cost (-1: no tree yet)

# The words for how work ended: `status_` of a tree or an ensemble, and the status of a fit within a grid.
OPTIMAL = "optimal"  # the search ran to completion over all columns
COMPLETE = "complete"  # the search ran to completion
REFINED = "refined"  # the search and the local search after it ran to completion
TIME_LIMIT = "time_limit"
PARTIAL = "partial"  # a tree found by a search that is still running
FAILED = "failed"

# With this many values or more, work gets its own thread: it takes about 10 ms, much longer than starting a thread.
LARGE = 2_000_000

# At exit, Python waits this many seconds for threads that have been told to end.
EXIT_SECONDS = 10.0

# Choosing by cross-validation keeps this many times its longest fit for the final fit to all rows.
REFIT = 1.5

# A time limit that is used up. The engine takes 0 for "no limit".
NO_TIME = 1e-9

_abandoned: list[threading.Thread] = []


class Cancelled(Exception):
    """Nobody waits for this work any more."""


class OutOfTime(Exception):
    """The time limit has passed."""


@dataclass
class Stop:
    """A flag that tells work in other threads to end. It has no effect in other processes."""

    cancelled: bool = False
    at_work: list[threading.Thread] = field(default_factory=list)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Register the current thread as being at work."""
        self.at_work.append(threading.current_thread())
        try:
            yield
        finally:
            self.at_work.remove(threading.current_thread())

    def cancel(self) -> None:
        """Tell the threads to end. Do not wait for them now, but when Python exits."""
        self.cancelled = True
        _abandoned.extend(self.at_work)


@dataclass
class Limits(Stop):
    """The limits of one `fit`: Ctrl-C and a deadline.

    All fits in threads of this process share one object. Other processes get a copy with the time that is left.
    """

    deadline: float = math.inf  # on the clock of time.monotonic
    longest: float = 0.0  # seconds of the longest fit so far

    @classmethod
    def starting(cls, time_limit: Any) -> Self:
        """Return the limits of work that starts now. A limit that is not a number counts as none."""
        return cls(deadline=time.monotonic() + time_limit if is_number(time_limit) else math.inf)

    def __getstate__(self) -> dict[str, float]:
        # The monotonic clock of another machine starts at another moment, and threads cannot be sent.
        return {"left": self.deadline - time.monotonic(), "sent": time.time(), "longest": self.longest}

    def __setstate__(self, state: dict[str, float]) -> None:
        waited = max(time.time() - state["sent"], 0.0)  # the task may have been in a queue
        deadline = time.monotonic() + state["left"] - waited
        self.__dict__.update(vars(Limits(deadline=deadline, longest=state["longest"])))

    def seconds_left(self, part: float = 1.0) -> float | None:
        """Return a part of the seconds that are left, as a time limit for a search; None if there is no deadline."""
        if math.isinf(self.deadline):
            return None
        return max((self.deadline - time.monotonic()) * part, NO_TIME)

    @property
    def is_past(self) -> bool:
        """Tell whether the deadline has passed."""
        return time.monotonic() >= self.deadline

    def leaves_no_refit(self, seconds: float = 0.0) -> bool:
        """Tell whether a fit that has taken `seconds` must end now, to leave time for the final fit to all rows."""
        return time.monotonic() + REFIT * max(seconds, self.longest) > self.deadline

    def watch(self, must_finish: bool) -> Progress:
        """Return a callback for the engine: it ends a search after `cancel` and, unless it must finish, in time."""

        def look(seconds: float, k: int, nodes: int, cost: int) -> None:
            if self.cancelled:
                raise Cancelled
            if not must_finish and self.leaves_no_refit(seconds):
                raise OutOfTime

        return look


class Interruptible:
    """A runner of functions that puts them in a thread if there is much to do, so that Ctrl-C does not wait.

    The functions may call `check`, which ends them early after Ctrl-C.
    """

    def __init__(self, n_values: int, stop: Stop | None = None) -> None:
        # Only the main thread receives Ctrl-C.
        self._is_main = threading.current_thread() is threading.main_thread()
        self._n_values = n_values
        self._stop = stop or Stop()

    def expect(self, n_values: int) -> None:
        """Take into account that the functions to come have to process this many values."""
        self._n_values = max(self._n_values, n_values)

    def check(self) -> None:
        """Raise `Cancelled` after Ctrl-C."""
        if self._stop.cancelled:
            raise Cancelled

    def call(self, function: Callable[..., T], *args: Any, **keywords: Any) -> T:
        """Return the function's result. NumPy handles signals between calls only; a waiting main thread at once."""
        if not self._is_main or self._n_values < LARGE:
            return function(*args, **keywords)
        result: Future[T] = Future()
        config = get_config()  # scikit-learn keeps its configuration per thread

        def work() -> None:
            try:
                with config_context(**config), self._stop.working():
                    result.set_result(function(*args, **keywords))
            except BaseException as error:
                result.set_exception(error)

        thread = threading.Thread(target=work, name="topktree", daemon=True)
        thread.start()
        try:
            thread.join()
        except BaseException:
            self._stop.cancel()
            raise
        return result.result()


@contextmanager
def restored_on_error(estimator: Any) -> Iterator[None]:
    """Restore the estimator's attributes if anything goes wrong inside."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@atexit.register
def _wait_for_abandoned() -> None:
    """Wait for abandoned threads: one that returns from C++ after Python has ended would abort the process."""
    deadline = time.monotonic() + EXIT_SECONDS
    for thread in _abandoned:
        if thread is not threading.current_thread():
            thread.join(max(deadline - time.monotonic(), 0.0))
