"""What the commands share: mistakes, lines on stderr, options and files to write.

In: what the user typed. Out: checked values; or a `Mistake`, which is one line on stderr and exit code 2. The one idea:
click's own errors become such lines too, so that a user meets one kind of message.
"""

from __future__ import annotations

import difflib
import errno
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from sklearn.exceptions import FitFailedWarning

from .._runtime import checks

MOST_NAMES = 30  # in a message
ANY_WIDTH = 10_000  # of what is no terminal: its reader does the wrapping
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
NUMBERS_OR_ALL = 'whole numbers from 1 on, or "all"'


class Mistake(click.ClickException):
    """What the user can put right: one line on stderr, and exit code 2."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class FiniteRange(click.FloatRange):
    """A number in a range; click takes NaN for one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number that a text says."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class Commands(click.Group):
    """A group whose errors are one line each, whichever command they come from, and which Ctrl-C ends with a word."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """The context of the group itself."""
        with _one_line(), _said_if_it_cannot_write():
            return super().make_context(*arguments, **options)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they were added."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            with _one_line(), _said_if_it_cannot_write():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            say("Interrupted.")
            sys.exit(1)
        except MemoryError as error:
            raise Mistake(f"out of memory: {error}".rstrip(": ")) from None


@contextmanager
def _said_if_it_cannot_write() -> Iterator[None]:
    """A full disk is said in a line."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EPIPE:  # nobody reads on, which click takes care of
            raise
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  what it still holds would only fail once more
        where = f" {error.filename}" if error.filename else ""
        raise Mistake(f"cannot write{where}: {error.strerror or error}") from None


@contextmanager
def _one_line() -> Iterator[None]:
    """Click's usage errors without the lines of usage before them."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "topktree"
        message = error.format_message()
        raise Mistake(f"{message}{'' if message.endswith(('.', '?')) else '.'} Try '{command} --help'.") from None


def say(text: str) -> None:
    """A line on stderr."""
    click.echo(text, err=True)


def make_console() -> Console:
    """Stdout: bold only on a terminal, unless NO_COLOR is set; as wide as need be elsewhere."""
    console = Console(
        highlight=False,
        emoji=False,
        markup=False,
        soft_wrap=True,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )
    if not console.is_terminal:
        console.width = ANY_WIDTH
    return console


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Say the estimator's warnings in the end, when no line of progress is in the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            texts = [str(w.message) for w in caught if issubclass(w.category, (UserWarning, FitFailedWarning))]
            for text in dict.fromkeys(texts):
                say(f"Warning: {' '.join(text.split())}")


def closest(name: str, names: Iterable[str]) -> str | None:
    """The one that was probably meant."""
    by_key = {candidate.strip().lower(): candidate for candidate in names}
    found = difflib.get_close_matches(name.strip().lower(), by_key, n=1)
    return by_key[found[0]] if found else None


def listed(names: Sequence[Any], most: int = MOST_NAMES) -> str:
    """The names with commas between them, the first of them if they are many."""
    more = len(names) - most
    return ", ".join(map(str, names[:most])) + (f" and {more:,} more" if more > 0 else "")


def counted(number: int, thing: str, things: str | None = None) -> str:
    """`1 leaf`, `2,000 leaves`."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def list_of(number: Callable[[str], Any], word: str | None, check: Callable[[Any], None], allowed: str) -> Any:
    """A click callback for values separated by commas: numbers, or the one word that is allowed too."""

    def parse(context: click.Context, parameter: click.Parameter, text: str) -> tuple[Any, ...]:
        parts = [part.strip().lower() for part in text.split(",")]
        values: list[Any] = []
        for part in parts:
            try:
                values.append(part if part == word else number(part))
                check(values[-1])
            except ValueError:
                wrong = f", got {part!r}" if part else ""
                message = f"{parameter.opts[0]} {text}: must be {allowed}, separated by commas{wrong}"
                raise Mistake(message) from None
        return tuple(values)

    return parse


list_of_ks = list_of(int, "all", lambda k: checks.check_k(k, 0), NUMBERS_OR_ALL)


def check_jobs(context: click.Context, parameter: click.Parameter, value: int) -> int:
    """A click callback for --jobs."""
    if value == 0:
        raise Mistake("--jobs 0: must be 1 or more, or -1 for one per core")
    return value


def check_output(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """A click callback: a file that can probably be written. Better to hear it now than when all is computed."""
    if path is None:
        return None
    option = f"{parameter.opts[0]} {path}"
    if path.is_dir():
        raise Mistake(f"{option}: that is a folder")
    if not path.parent.is_dir():
        raise Mistake(f"{option}: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise Mistake(f"{option}: cannot be written, for want of permission")
    return path


def check_apart(outputs: dict[str, Path | None], inputs: dict[str, str | None]) -> None:
    """Refuse to write over what is read, or one file over another. Both by the name of their option or argument."""
    taken = {os.path.realpath(path): name for name, path in inputs.items() if path not in (None, "-")}
    for option, path in outputs.items():
        if path is None:
            continue
        real = os.path.realpath(path)
        if real in taken:
            raise Mistake(f"{option} {path}: that is the file of {taken[real]}")
        taken[real] = option


def report_title(target: str, title: str) -> str:
    """The heading of a report on the tree for a table: `income of people.csv`."""
    return f"{target} of {Path(title).name}"


def write_file(option: str, path: Path, write: Callable[[], Any]) -> None:
    """Call `write`, which writes the file; what the system says against it is a mistake."""
    try:
        write()
    except OSError as error:
        raise Mistake(f"{option} {path}: {error.strerror or error}") from None
    except (ImportError, ValueError) as error:  # a package that is not there; labels that no file can hold
        raise Mistake(f"{option} {path}: {error}") from None


def limit_option(help: str) -> Decorator:
    """--time-limit."""
    return click.option("--time-limit", metavar="SECONDS", type=FiniteRange(min=0, min_open=True), help=help)


def jobs_option(help: str) -> Decorator:
    """--jobs."""
    return click.option(
        "--jobs",
        "n_jobs",
        metavar="N",
        type=click.IntRange(min=-1),
        default=1,
        show_default=True,
        callback=check_jobs,
        help=help,
    )


def seed_option(help: str) -> Decorator:
    """--seed."""
    return click.option(
        "--seed",
        "random_state",
        metavar="N",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        help=help,
    )


def output_option(*names: str, help: str, callback: Any = check_output) -> Decorator:
    """A file to write."""
    return click.option(*names, metavar="FILE", type=click.Path(path_type=Path), callback=callback, help=help)


def json_option() -> Decorator:
    """--json."""
    return click.option("--json", "to_json", is_flag=True, help="Print JSON instead of text.")
