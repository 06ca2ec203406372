"""Datasets that are complete enumerations, made by a few lines of code: tic-tac-toe, monks and balance-scale.

In: nothing, or the number of the problem. Out: a `sklearn.utils.Bunch` like those of scikit-learn's own loaders, or the
pair `(data, target)`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from .._runtime.checks import short

Dataset = Any  # a Bunch, which has no type in scikit-learn, or the pair (data, target)
Board = tuple[str, ...]
Row = tuple[int, ...]

_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
_SQUARES = [f"{row}-{column}" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right")]

_MONKS_VALUES = (3, 3, 2, 3, 4, 2)
_MONKS_RULES: dict[int, tuple[str, Callable[[Row], bool]]] = {
    1: ("a1 = a2 or a5 = 1", lambda a: a[0] == a[1] or a[4] == 1),
    2: ("exactly two attributes have the value 1", lambda a: a.count(1) == 2),
    3: (
        "(a5 = 3 and a4 = 1) or (a5 is not 4 and a2 is not 3)",
        lambda a: (a[4] == 3 and a[3] == 1) or (a[4] != 4 and a[1] != 3),
    ),
}


def load_tic_tac_toe(*, return_X_y: bool = False) -> Dataset:
    """Return every end position of tic-tac-toe when x moves first; the class says whether x has won.

    Parameters
    ----------
    return_X_y : bool, default=False
        If true, return `(data, target)` instead of the Bunch.

    Returns
    -------
    Bunch or tuple
        `data`: (958, 9) object array of 'x', 'o' and 'b' (blank), the squares from top left to bottom right;
        `target`: (958,) array of 'positive' (626 rows) and 'negative'; `feature_names`, `target_names`, `DESCR`.
        The rows are in the order of the UCI file: x has won, o has won, drawn.

    Examples
    --------
    >>> from topktree import datasets
    >>> board = datasets.load_tic_tac_toe()
    >>> board.data.shape, board.feature_names[4], str(board.target[0])
    ((958, 9), 'middle-middle', 'positive')
    """
    boards = _end_positions()
    bunch = Bunch(
        data=np.array(boards, dtype=object),
        target=np.array(["positive" if _has_won(board, "x") else "negative" for board in boards]),
        feature_names=list(_SQUARES),
        target_names=["negative", "positive"],
        DESCR="Tic-tac-toe endgame: all 958 end positions reachable with x moving first. Class: has x won?",
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


def load_monks(problem: int, *, return_X_y: bool = False) -> Dataset:
    """Return all 432 robots of the monk's problems, labelled by the rule of one of the three, without noise.

    Parameters
    ----------
    problem : {1, 2, 3}
        1: `a1 = a2 or a5 = 1`; 2: exactly two attributes have the value 1;
        3: `(a5 = 3 and a4 = 1) or (a5 is not 4 and a2 is not 3)`.
    return_X_y : bool, default=False
        If true, return `(data, target)` instead of the Bunch.

    Returns
    -------
    Bunch or tuple
        `data`: (432, 6) int64 array of category codes from 1 (3, 3, 2, 3, 4 and 2 values);
        `target`: (432,) int64 array of 0 and 1; `feature_names`, `target_names`, `DESCR`.

    Examples
    --------
    >>> from topktree import datasets
    >>> X, y = datasets.load_monks(2, return_X_y=True)
    >>> X.shape, int(y.sum())
    ((432, 6), 142)
    """
    if problem not in _MONKS_RULES:
        raise ValueError(f"problem is {short(problem)}; allowed are 1, 2 and 3")
    text, rule = _MONKS_RULES[problem]
    robots = _grid(_MONKS_VALUES)
    bunch = Bunch(
        data=np.array(robots, dtype=np.int64),
        target=np.array([rule(robot) for robot in robots], dtype=np.int64),
        feature_names=[f"a{i + 1}" for i in range(len(_MONKS_VALUES))],
        target_names=["0", "1"],
        DESCR=f"Monk's problem {problem}: all 432 combinations of six attributes. Class 1: {text}.",
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


def load_balance_scale(*, return_X_y: bool = False) -> Dataset:
    """Return every setting of a balance scale with weights and distances from 1 to 5; the class says how it tips.

    Parameters
    ----------
    return_X_y : bool, default=False
        If true, return `(data, target)` instead of the Bunch.

    Returns
    -------
    Bunch or tuple
        `data`: (625, 4) int64 array of weight and distance on the left, then on the right;
        `target`: (625,) array of 'L' (288 rows), 'B' (balanced, 49) and 'R' (288);
        `feature_names`, `target_names`, `DESCR`.

    Examples
    --------
    >>> from topktree import datasets
    >>> X, y = datasets.load_balance_scale(return_X_y=True)
    >>> X[0].tolist(), str(y[0])
    ([1, 1, 1, 1], 'B')
    """
    data = np.array(_grid((5, 5, 5, 5)), dtype=np.int64)
    tip = np.sign(data[:, 0] * data[:, 1] - data[:, 2] * data[:, 3])
    bunch = Bunch(
        data=data,
        target=np.array(["R", "B", "L"])[tip + 1],
        feature_names=["left-weight", "left-distance", "right-weight", "right-distance"],
        target_names=["B", "L", "R"],
        DESCR="Balance scale: all 625 settings. Class: the side whose weight times distance is greater.",
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


def _end_positions() -> list[Board]:
    """Return the boards on which games end if x moves first, in the order of the UCI file.

    That is: x has won, o has won, drawn; then by square, x before o before blank.
    """
    ends = []
    for board in itertools.product("xob", repeat=9):
        lead = board.count("x") - board.count("o")
        if lead in (0, 1):
            last, other = "xo" if lead else "ox"
            if not _has_won(board, other) and (_has_won(board, last) or "b" not in board):
                ends.append(board)
    return sorted(ends, key=lambda board: (not _has_won(board, "x"), not _has_won(board, "o")))


def _has_won(board: Board, player: str) -> bool:
    return any(all(board[square] == player for square in line) for line in _LINES)


def _grid(sizes: tuple[int, ...]) -> list[Row]:
    """Return all combinations of values 1 to size, the last attribute changing fastest."""
    return list(itertools.product(*(range(1, size + 1) for size in sizes)))
