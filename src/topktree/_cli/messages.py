"""Messages of the command line: one-line errors and warnings on stderr, bold text on stdout, lists and counts in words.

In: texts. Out: lines on the terminal, or a `Mistake`, which the user reads as one line and which ends with exit code 2.
"""

from __future__ import annotations

import difflib
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

MOST_NAMES = 30  # in one message
MOST_LETTERS = 4000  # of one message


class Mistake(click.ClickException):
    """An error that the user can correct: one line on stderr and exit code 2."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(_one_line(message))

    def show(self, file: Any = None) -> None:
        """Print the line."""
        say(f"Error: {self.message}")


def _one_line(text: str) -> str:
    """Return the text without line breaks, and without its middle if it would fill a page."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_LETTERS else f"{line[: MOST_LETTERS // 2]} ... {line[-MOST_LETTERS // 2 :]}"


def say(text: str) -> None:
    """Print a line on stderr."""
    click.echo(text, file=sys.stderr, err=True)  # by itself, click would write UTF-8 to an ASCII terminal


def wants_style() -> bool | None:
    """Return False where NO_COLOR is set, True where FORCE_COLOR is, else None: bold on a terminal only."""
    if os.environ.get("NO_COLOR"):
        return False
    return True if os.environ.get("FORCE_COLOR") else None


def echo(text: str) -> None:
    """Print a line for people on stdout, with its styles where `wants_style` allows them, and ? for unknown letters."""
    click.echo(text, file=sys.stdout, color=wants_style())


def echo_exactly(text: str) -> None:
    """Print a line for programs on stdout; refuse letters that its encoding does not have."""
    if sys.stdout is None:
        raise Mistake("standard output is closed: -o FILE writes to a file")
    encoding = sys.stdout.encoding
    try:
        text.encode(encoding)
    except UnicodeEncodeError as error:
        ways = "-o FILE writes a file in UTF-8, and PYTHONIOENCODING=utf-8 makes standard output UTF-8"
        raise Mistake(
            f"standard output cannot hold {text[error.start]!r}, its encoding is {encoding}: {ways}"
        ) from None
    click.echo(text, file=sys.stdout, color=True)  # otherwise click removes what looks like styles


@contextmanager
def estimator_messages(about: str = "") -> Iterator[None]:
    """Turn the estimator's errors into mistakes, and print its warnings at the end, after any line of progress.

    Both begin with the text `about`.
    """
    from sklearn.exceptions import FitFailedWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except (TypeError, ValueError) as error:
            raise Mistake(f"{about}{error}") from error
        finally:
            lines: list[str] = []
            for warning in caught:
                if issubclass(warning.category, UserWarning):
                    lines += str(warning.message).splitlines()  # of new values: a line per feature
                elif issubclass(warning.category, FitFailedWarning):
                    lines.append(str(warning.message))
            for line in dict.fromkeys(lines):
                say(f"Warning: {about}{_one_line(line)}")


def closest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that was probably meant, if one is close."""
    by_key = {candidate.strip().lower(): candidate for candidate in names}
    found = difflib.get_close_matches(name.strip().lower(), by_key, n=1)
    return by_key[found[0]] if found else None


def listed(names: Sequence[Any], most: int = MOST_NAMES) -> str:
    """Join names with commas; beyond `most` of them, say how many more there are."""
    more = len(names) - most
    return ", ".join(map(str, names[:most])) + (f" and {more:,} more" if more > 0 else "")


def counted(number: int, thing: str, things: str | None = None) -> str:
    """Return a count with its noun: `1 leaf`, `2,000 leaves`."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"
