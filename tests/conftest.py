"""Fixtures for more than one file of tests."""

import signal
import threading
import time

import pytest
from support.profiles import load_profile

load_profile()


def pytest_collection_modifyitems(items):
    """What Ctrl-C ends is timed, and the signal is the whole process's."""
    for item in items:
        if "ctrl_c" in getattr(item, "fixturenames", ()):
            item.add_marker("serial")


@pytest.fixture
def ctrl_c():
    """A function that sends this process SIGINT in a moment, as Ctrl-C does; its list then has the time of that."""
    sent = []

    def send():
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.3, send)

    def start():
        timer.start()
        return sent

    # A shell that starts the tests in the background has SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield start
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # one that comes too late must not end the tests
    timer.cancel()
    timer.join()
    signal.signal(signal.SIGINT, before)
