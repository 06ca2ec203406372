"""The line that `verbose=1` shows while a search, a grid of fits or an ensemble runs."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import Self, TextIO

SECONDS_BETWEEN = 0.2


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
    """The line of work in parts: how many are done. Nothing is written unless `verbose` is true."""

    def __init__(self, n_parts: int, what: str, verbose: bool) -> None:
        super().__init__()
        self._n_parts, self._what, self._verbose = n_parts, what, verbose
        self._n_done, self._start = 0, time.monotonic()

    def __call__(self, more: str = "") -> None:
        """Count one more part."""
        self._n_done += 1
        if self._verbose:
            text = f"{self._n_done} of {self._n_parts} {self._what}{more}"
            self.show(time.monotonic() - self._start, text, always=self._n_done == self._n_parts)


class ProgressLine(_Line):
    """The line of one search, as a progress callback of the engine."""

    def __init__(self, user_cost: Callable[[int], float], stream: TextIO | None = None) -> None:
        super().__init__(stream)
        self._user_cost = user_cost

    def __call__(self, seconds: float, k: int, nodes: int, cost: int) -> None:
        """Show the state of the search; `cost` is -1 until there is a tree."""
        best = "none yet" if cost < 0 else f"{self._user_cost(cost):g}"
        self.show(seconds, f"k = {k}, {nodes:,} nodes, best cost {best}")
