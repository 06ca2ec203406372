"""The command `topktree`, also as `python -m topktree`."""

import io
import sys


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        from ._cli.main import main as command
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.stderr.write(f"The command line needs {error.name}: pip install 'topktree[cli]'\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a letter that the terminal has not is no reason to fail
    command(prog_name="topktree")


if __name__ == "__main__":
    main()
