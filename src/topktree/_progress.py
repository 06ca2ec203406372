"""The line that `verbose=1` shows while a search runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO


class ProgressLine:
    """A callback for the engine: rewrites one line of `stream` a few times a second."""

    def __init__(
        self, user_cost: Callable[[int], float], stream: TextIO | None = None, seconds_between: float = 0.2
    ) -> None:
        self._user_cost = user_cost
        self._stream = stream or sys.stderr
        self._seconds_between = seconds_between
        self._last = 0.0
        self._shown = False

    def __call__(self, seconds: float, k: int, nodes: int, cost: int) -> None:
        """Show the state, unless it was shown a moment ago."""
        if seconds - self._last < self._seconds_between:
            return
        self._last = seconds
        best = "none yet" if cost < 0 else f"{self._user_cost(cost):g}"
        self._stream.write(f"\rtopktree: {seconds:.1f} s, k = {k}, {nodes:,} nodes, best cost {best}   ")
        self._stream.flush()
        self._shown = True

    def close(self) -> None:
        """End the line, if there is one."""
        if self._shown:
            self._stream.write("\n")
            self._stream.flush()
