"""The line that `verbose=1` shows while a search, a grid of fits or an ensemble runs."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import Self, TextIO

SECONDS_BETWEEN = 0.2
MANY_NODES = 10**7  # a search of fewer nodes is likely to be short


class _Line:
    """A line of `stream` that is rewritten a few times a second."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._last = 0.0
        self._width = 0

    def show(self, seconds: float, text: str, always: bool = False) -> None:
        """Write the line, unless it was written a moment ago."""
        if not always and seconds - self._last < SECONDS_BETWEEN:
            return
        self._last = seconds
        line = f"topktree: {seconds:.1f} s, {text}"
        if self._stream.isatty():  # a wrapped line could not be overwritten
            line = line[: shutil.get_terminal_size().columns - 1]
        self._stream.write(f"\r{line:<{self._width}}")
        self._stream.flush()
        self._width = len(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the line if one was written."""
        if self._width:
            self._stream.write("\n")
            self._stream.flush()


class CountLine(_Line):
    """The line of work in parts: how many are done, and how long the others may take. Written if `verbose` is true.

    `work` is that of all parts together, in a unit of the caller's; without it, no time is estimated.
    """

    def __init__(self, n_parts: int, what: str, verbose: bool, work: float = 0.0) -> None:
        super().__init__()
        self._n_parts, self._what, self._verbose, self._work = n_parts, what, verbose, work
        self._n_done, self._work_done, self._start = 0, 0.0, time.monotonic()

    def __call__(self, more: str = "", work: float = 0.0) -> None:
        """Count one more part and its work."""
        self._n_done += 1
        self._work_done += work
        if self._verbose:
            seconds = time.monotonic() - self._start
            left = ""
            if self._work_done > 0 and self._n_done < self._n_parts:
                left = f", about {seconds * max(self._work / self._work_done - 1, 0):.2g} s left"
            text = f"{self._n_done} of {self._n_parts} {self._what}{left}{more}"
            self.show(seconds, text, always=self._n_done == self._n_parts)


class ProgressLine(_Line):
    """The line of one search, as a progress callback of the engine. It begins with the most nodes there may be."""

    def __init__(
        self, user_cost: Callable[[int], float], most_nodes: float | None = None, stream: TextIO | None = None
    ) -> None:
        super().__init__(stream)
        self._user_cost, self._most_nodes = user_cost, most_nodes

    def __enter__(self) -> Self:
        if self._most_nodes is not None and self._most_nodes > MANY_NODES:
            self.show(0.0, f"at most {self._most_nodes:.2g} nodes", always=True)
        return self

    def __call__(self, seconds: float, k: int, nodes: int, cost: int) -> None:
        """Show the state of the search; `cost` is -1 until there is a tree."""
        best = "none yet" if cost < 0 else f"{self._user_cost(cost):g}"
        most = "" if self._most_nodes is None else f" of at most {self._most_nodes:.2g}"
        self.show(seconds, f"k = {k}, {nodes:,}{most} nodes, best cost {best}")
