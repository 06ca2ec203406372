"""The command `topktree`, also as `python -m topktree`."""

import io
import sys


def main() -> None:
    """Run the command line, or say that it needs click."""
    try:
        from ._cli.main import main as command
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.stderr.write("The command line needs click: pip install 'topktree[cli]'\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # print ? for letters that the terminal does not have
    command(prog_name="topktree")


if __name__ == "__main__":
    main()
