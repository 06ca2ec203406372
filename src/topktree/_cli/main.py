"""The command line: thin, over the public API.

In: arguments. Out: files, words on the terminal, and an exit code: 0; 2 for what the user can put right, in one line on
stderr; 1 for Ctrl-C, for runs that failed, and where nobody reads on.
"""

from __future__ import annotations

from importlib.metadata import entry_points

import click

from .. import __version__
from .choose import choose_command
from .common import Commands
from .completion import completion_command
from .fit import fit_command
from .predict import predict_command
from .show import show_command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Accurate decision trees small enough for a person to read."""


for command in (
    fit_command,
    predict_command,
    show_command,
    choose_command,
    *(entry.load() for entry in entry_points(group="topktree.commands")),
    completion_command,
):
    main.add_command(command)
