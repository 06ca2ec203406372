"""`topktree completion`: the lines that teach a shell to complete the command's arguments.

In: the name of a shell. Out: a script on stdout, click's own. Once the shell has run it, Tab completes commands,
options, files, and the names of columns where FILE is given before them.
"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", short_help="Lines that make a shell complete arguments.")
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the lines that make a shell complete the arguments of topktree.

    \b
    bash: eval "$(topktree completion bash)"           in ~/.bashrc
    zsh:  eval "$(topktree completion zsh)"            in ~/.zshrc
    fish: topktree completion fish > ~/.config/fish/completions/topktree.fish
    """  # noqa: D301  click knows the paragraphs to leave as they are by this character
    root = context.find_root()
    name = root.info_name or "topktree"
    variable = f"_{name}_COMPLETE".replace("-", "_").upper()
    found = get_completion_class(shell)
    assert found is not None  # click has all of SHELLS
    completer = found(root.command, {}, name, variable)
    click.echo(completer.source_template % completer.source_vars())  # source() would start a shell to ask its version
