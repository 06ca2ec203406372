"""The stopwatch: calls that may hang or crash, each stopped at its limit.

In: a picklable function, its arguments and a limit in seconds. Out: an Outcome.
The one idea: one worker process serves call after call, so that imports are paid once; only a call that is stopped or
crashes takes its worker with it, and the next call gets a new one.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

from .study import FAILED, FINISHED, NO_MEMORY, TIMEOUT

GRACE = 5.0  # seconds beyond the limit, for what a call does beside the fit
START = 120.0  # seconds for a new worker to import what the call needs; the clock of the limit starts after that
OUT_OF_MEMORY = ("bad_alloc", "MemoryError", "memory allocation of", "Cannot allocate memory")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call."""

    status: str  # FINISHED, TIMEOUT or FAILED
    message: str = ""  # why it failed or was stopped; of a failure for lack of memory it starts with NO_MEMORY
    value: Any = None  # what the function returned
    peak: int | None = None  # most bytes resident, of a call that was stopped


class Stopwatch:
    """A process that runs calls, one thread each; to be used in a `with` block.

    Parameters
    ----------
    grace : float, default=5.0
        Seconds beyond the limit before a call is killed.
    memory : int or None, default=None
        Bytes of address space that the worker may have; None: no limit.
    """

    def __init__(self, grace: float = GRACE, memory: int | None = None) -> None:
        self.grace = grace
        self.memory = memory
        self._folder = tempfile.TemporaryDirectory(prefix="topktree-")
        self._output = Path(self._folder.name, "output.txt")
        self._worker: tuple[BaseProcess, Connection[Any, Any]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker, whatever it is doing."""
        self.renew()
        self._folder.cleanup()

    def renew(self) -> None:
        """End the worker, so that the next call gets a new one."""
        if self._worker is not None:
            (process, pipe), self._worker = self._worker, None
            process.kill()
            process.join()
            process.close()
            pipe.close()

    def run(self, function: Callable[..., Any], *arguments: Any, limit: float) -> Outcome:
        """Call the function in the worker."""
        request = pickle.dumps((function, arguments))
        process, pipe = self._living_worker()
        not_started = Outcome(FAILED, f"not started after {START:g} s")
        at_the_limit = Outcome(TIMEOUT, f"stopped at the limit of {limit:g} s")
        try:
            pipe.send_bytes(request)
            for seconds, too_late in ((START, not_started), (limit + self.grace, at_the_limit)):
                if not pipe.poll(seconds):
                    peak = resident_bytes("VmHWM", process.pid)
                    self.renew()
                    return replace(too_late, peak=peak)
                answer: Outcome | None = pipe.recv()
                if answer is not None:
                    return answer
            raise AssertionError("a worker answers a call once")
        except (EOFError, OSError):
            process.join(self.grace)
            exit_code = process.exitcode
            self.renew()
            return Outcome(FAILED, self._last_words(exit_code))
        except BaseException:  # Ctrl-C: the answer to this call must not be taken for that to the next
            self.renew()
            raise

    def _living_worker(self) -> tuple[BaseProcess, Connection[Any, Any]]:
        if self._worker is not None and not self._worker[0].is_alive():
            self.renew()
        if self._worker is None:
            context = multiprocessing.get_context(_METHOD)
            context.set_forkserver_preload([__name__, "sklearn.tree"])  # a new worker then starts in milliseconds
            ours, theirs = context.Pipe()
            arguments = (theirs, str(self._output), self.memory)
            process: BaseProcess = context.Process(target=_serve, args=arguments, daemon=True)  # type: ignore[attr-defined]
            # Both hold for the fork server too, which is started with the first process.
            with ctrl_c_ignored(), patch.dict(os.environ, ONE_THREAD):
                process.start()
            theirs.close()
            self._worker = process, ours
        return self._worker

    def _last_words(self, exit_code: int | None) -> str:
        """Tell why the worker died, by its exit code and the last line it printed."""
        output = self._output.read_text(errors="replace") if self._output.exists() else ""
        end = f"exit code {exit_code}"
        if exit_code is not None and exit_code < 0:
            end = f"killed by {signal.Signals(-exit_code).name}"
        if any(phrase in output for phrase in OUT_OF_MEMORY):
            end = f"{NO_MEMORY}, {end}"
        last = output.strip().splitlines()[-1:]
        return ": ".join([end, *(line[:200] for line in last)])


@contextmanager
def ctrl_c_ignored() -> Iterator[None]:
    """Block Ctrl-C for the processes that are started here; ours arrives as soon as they are started."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def resident_bytes(field: str, pid: int | None = None) -> int | None:
    """Return a count of Linux about a process, VmRSS (resident now) or VmHWM (most so far), if there is one."""
    status = Path(f"/proc/{pid or 'self'}/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    found = [line.split()[1] for line in lines if line.startswith(f"{field}:")]
    return int(found[0]) * 1024 if found else None


def _serve(pipe: Connection[Any, Any], output: str, memory: int | None) -> None:
    """Answer call after call, until the pipe is closed."""
    _settle(output, memory)
    while True:
        try:
            request = pipe.recv_bytes()
        except EOFError:
            return
        try:
            function, arguments = pickle.loads(request)  # imports the function's module
            pipe.send(None)
            answer = Outcome(FINISHED, value=function(*arguments))
            pipe.send(answer)
        except MemoryError as error:
            pipe.send(Outcome(FAILED, f"{NO_MEMORY}: {error}".rstrip(": ")))
        except BaseException as error:  # sys.exit as well
            pipe.send(Outcome(FAILED, f"{type(error).__name__}: {error}".rstrip(": ")))


def _settle(output: str, memory: int | None) -> None:
    """Leave Ctrl-C to the parent, send what solvers print to a file, limit memory, and do not outlive the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
    parent = multiprocessing.parent_process()
    if sys.platform == "linux" and parent is not None:
        # The end of the request pipe is seen between calls only, and a thread that waits for the parent's end would
        # need the GIL, which some solvers keep. So the kernel is asked for SIGIO, which ends a process, when it comes.
        import fcntl

        fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, fcntl.fcntl(parent.sentinel, fcntl.F_GETFL) | os.O_ASYNC)
    if memory is not None and sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
