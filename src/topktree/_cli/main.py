"""The command `topktree`: a group of commands whose work is imported when they run.

In: arguments. Out: an exit code: 0; 2 for a mistake that the user can correct, reported in one line on stderr; 1 for
Ctrl-C, a closed pipe and runs that failed. The one idea: `--help` and shell completion need only the declarations in
commands.py and the names of installed plug-ins, so they import neither NumPy nor scikit-learn.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import click

from .commands import choose_command, completion_command, fit_command, predict_command, show_command
from .messages import Mistake, say

# Other distributions add commands by entry points of this group: the name of the command, and a click command.
PLUGINS = "topktree.commands"
EVIDENCE = {  # the commands of topktree-evidence and their lines in --help
    "reproduce": "Reproduce the figures and theorems of the paper.",
    "bench": "Measure speed and accuracy on this machine.",
}


class Commands(click.Group):
    """A group that knows plug-ins by their names only, and that reports every error in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the package's own commands in the order of their declaration, then the plug-ins."""
        return list(dict.fromkeys([*self.commands, *_plugins()]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; for a plug-in a placeholder with its line of help, which needs no import."""
        command = super().get_command(ctx, cmd_name)
        if command is None and cmd_name in _plugins():
            return click.Command(cmd_name, short_help=EVIDENCE.get(cmd_name, "A command of another package."))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is to run, a plug-in imported, and its arguments."""
        name = args[0]
        if name not in self.commands:
            if name in _plugins():
                return name, _plugins()[name].load(), args[1:]
            if name in EVIDENCE and not ctx.resilient_parsing:  # no errors during shell completion
                package = "topktree-evidence, which is not installed"
                raise Mistake(f"{name} is a command of {package}: pip install ./evidence in a checkout of topktree")
        return super().resolve_command(ctx, args)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Make the context of the group itself."""
        with _errors_in_one_line():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with _errors_in_one_line():
            return super().invoke(ctx)


def _plugins() -> dict[str, EntryPoint]:
    return {entry_point.name: entry_point for entry_point in entry_points(group=PLUGINS)}


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:  # click would print lines of usage before it
        command = error.ctx.command_path if error.ctx else "topktree"
        message = error.format_message()
        raise Mistake(f"{message}{'' if message.endswith(('.', '?')) else '.'} Try '{command} --help'.") from None
    except OSError as error:
        if error.errno == errno.EPIPE:  # click ends quietly when nobody reads the output any more
            raise
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  flushing the rest of the output would fail again
        where = f" {error.filename}" if error.filename else ""
        raise Mistake(f"cannot write{where}: {error.strerror or error}") from None
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise Mistake("tables need pandas: pip install 'topktree[cli]'") from None
    except MemoryError as error:
        raise Mistake(f"out of memory: {error}".rstrip(": ")) from None
    except KeyboardInterrupt:
        say("Interrupted.")
        sys.exit(1)


@click.group(
    cls=Commands,
    commands=[fit_command, predict_command, show_command, choose_command, completion_command],
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(package_name="topktree")
def main() -> None:
    """Accurate decision trees small enough for a person to read."""
