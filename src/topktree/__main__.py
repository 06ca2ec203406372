"""The command `topktree`, also as `python -m topktree`."""

import io
import os
import signal
import sys
from contextlib import suppress


def main() -> None:
    """Run the command line. Ctrl-C ends it at any moment, with exit code 1."""
    try:
        _run()
    except (KeyboardInterrupt, SystemExit) as end:
        if not isinstance(end, KeyboardInterrupt) and not isinstance(end.__context__, KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the work is done
            raise
        # Leaving in the ordinary way would wait for abandoned threads, and after some interrupted imports Python would
        # end with another code.
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(1)


def _run() -> None:
    """Run the command line, or say that it needs click."""
    try:
        from ._cli.main import main as command
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.stderr.write("The command line needs click: pip install 'topktree[cli]'\n")
        sys.exit(2)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # print ? for letters that the terminal does not have
    command(prog_name="topktree")


if __name__ == "__main__":
    main()
