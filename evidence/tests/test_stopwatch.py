"""Calls in a process of its own: what they return, how they end, and that nothing of them is left.

The functions called are those of the standard library: a worker can import nothing of this file.
"""

import functools
import multiprocessing
import operator
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from topktree_evidence.stopwatch import Outcome, Stopwatch, ctrl_c_ignored

pytestmark = pytest.mark.serial

LIMIT = 20.0
# A user's program: its worker's process id, then a call that does not end.
ENDLESS = """
import os, threading, time
from topktree_evidence.stopwatch import Stopwatch
with Stopwatch() as stopwatch:
    print(stopwatch.run(os.getpid, limit=20).value, flush=True)
    threading.Timer(0.2, print, ("asleep",), {"flush": True}).start()
    stopwatch.run(time.sleep, 60, limit=100)
"""


@pytest.fixture(scope="module")
def stopwatch():
    with Stopwatch(grace=0.2) as stopwatch:
        yield stopwatch


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def ends(pid, seconds=10.0):
    end = time.monotonic() + seconds
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_running(pid)


def test_returns_what_the_function_returns(stopwatch):
    assert stopwatch.run(divmod, 17, 5, limit=LIMIT) == Outcome("finished", "", (3, 2))


def test_the_process_is_another_one_and_is_kept(stopwatch):
    first, second = (stopwatch.run(os.getpid, limit=LIMIT).value for _ in range(2))
    assert first == second != os.getpid()


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (operator.truediv, (1, 0), "ZeroDivisionError: division by zero"),
        (sys.exit, (3,), "SystemExit: 3"),
        (operator.index, ("x",), "TypeError: 'str' object cannot be interpreted as an integer"),
    ],
)
def test_an_exception_is_told_and_the_process_kept(stopwatch, function, arguments, message):
    pid = stopwatch.run(os.getpid, limit=LIMIT).value
    assert stopwatch.run(function, *arguments, limit=LIMIT) == Outcome("failed", message)
    assert stopwatch.run(os.getpid, limit=LIMIT).value == pid


def test_a_result_that_cannot_be_sent_is_told(stopwatch):
    outcome = stopwatch.run(threading.Lock, limit=LIMIT)
    assert outcome.status == "failed"
    assert "cannot pickle" in outcome.message
    assert stopwatch.run(abs, -1, limit=LIMIT).value == 1


def test_a_function_that_cannot_be_sent_is_a_mistake_of_the_caller(stopwatch):
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        stopwatch.run(lambda: 1, limit=LIMIT)
    assert stopwatch.run(abs, -1, limit=LIMIT).value == 1


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (os._exit, (3,), "exit code 3"),
        (os._exit, (0,), "exit code 0"),
        (signal.raise_signal, (signal.SIGSEGV,), "killed by SIGSEGV"),
        (os.abort, (), "killed by SIGABRT"),
    ],
)
def test_after_a_crash_there_is_a_new_process(stopwatch, function, arguments, message):
    pid = stopwatch.run(os.getpid, limit=LIMIT).value
    assert stopwatch.run(function, *arguments, limit=LIMIT) == Outcome("failed", message)
    assert ends(pid)
    assert stopwatch.run(os.getpid, limit=LIMIT).value != pid


def test_after_a_timeout_there_is_a_new_process(stopwatch):
    pid = stopwatch.run(os.getpid, limit=LIMIT).value
    start = time.perf_counter()
    outcome = stopwatch.run(time.sleep, 60, limit=0.1)
    assert (outcome.status, outcome.message) == ("timeout", "stopped at the limit of 0.1 s")
    assert 0.3 <= time.perf_counter() - start < 5
    assert ends(pid)
    assert stopwatch.run(divmod, 17, 5, limit=LIMIT).value == (3, 2)


def test_within_the_grace_a_call_may_end(stopwatch):
    assert stopwatch.run(time.sleep, 0.1, limit=0.05).status == "finished"


def test_a_process_that_died_between_calls_is_replaced(stopwatch):
    pid = stopwatch.run(os.getpid, limit=LIMIT).value
    os.kill(pid, signal.SIGKILL)
    assert ends(pid)
    assert stopwatch.run(abs, -1, limit=LIMIT) == Outcome("finished", "", 1)


def test_what_is_printed_stays_away_from_the_terminal(stopwatch, capfd):
    assert stopwatch.run(os.write, 1, b"out\n", limit=LIMIT).value == 4
    assert stopwatch.run(os.write, 2, b"err\n", limit=LIMIT).value == 4
    assert stopwatch.run(print, "python", limit=LIMIT).status == "finished"
    assert capfd.readouterr() == ("", "")


def test_last_words_of_a_crash(stopwatch):
    stopwatch.run(os._exit, 1, limit=LIMIT)  # what was printed before is forgotten
    stopwatch.run(os.write, 2, b"first\nterminate called: std::bad_alloc\n", limit=LIMIT)
    message = "out of memory, killed by SIGABRT: terminate called: std::bad_alloc"
    assert stopwatch.run(os.abort, limit=LIMIT) == Outcome("failed", message)


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory is kept on Linux")
def test_out_of_memory():
    with Stopwatch(memory=4 * 2**30) as stopwatch:
        assert stopwatch.run(bytes, 2**33, limit=LIMIT) == Outcome("failed", "out of memory")
        assert stopwatch.run(abs, -1, limit=LIMIT).value == 1


def test_nothing_is_left():
    before = multiprocessing.active_children()
    with Stopwatch(grace=0.0) as stopwatch:
        folder = Path(stopwatch._folder.name)
        pids = [stopwatch.run(os.getpid, limit=LIMIT).value]
        assert folder.is_dir()
        stopwatch.run(time.sleep, 60, limit=0.05)
        pids.append(stopwatch.run(os.getpid, limit=LIMIT).value)
    assert all(map(ends, pids))
    assert not folder.exists()
    assert multiprocessing.active_children() == before
    stopwatch.close()  # once more does no harm


@pytest.fixture
def interrupts():
    """Ctrl-C is not ignored, as it is where a shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_ctrl_c_ends_the_call_and_the_process():
    with Stopwatch() as stopwatch:
        pid = stopwatch.run(os.getpid, limit=LIMIT).value
        # To the process as the terminal sends it, not to the thread: the main thread is waiting for the worker.
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            stopwatch.run(time.sleep, 60, limit=100)
        assert time.perf_counter() - start < 5
        assert ends(pid)
        assert stopwatch.run(functools.reduce, operator.mul, [2, 3, 7], limit=LIMIT).value == 42


def test_the_process_itself_does_not_mind_ctrl_c(stopwatch):
    pid = stopwatch.run(os.getpid, limit=LIMIT).value
    os.kill(pid, signal.SIGINT)
    assert stopwatch.run(os.getpid, limit=LIMIT).value == pid


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends with its call")
def test_dies_with_its_parent():
    with subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        assert parent.stdout.readline() == "asleep\n"
        assert is_running(pid)
        parent.kill()
    assert ends(pid)


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signal masks")
def test_ctrl_c_while_a_worker_starts_is_heard_afterwards():
    started = []

    def start():
        with ctrl_c_ignored():
            signal.raise_signal(signal.SIGINT)
            started.append(True)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            start()
    finally:
        signal.signal(signal.SIGINT, before)
    assert started
