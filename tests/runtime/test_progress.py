"""The line of progress, with a stream that remembers."""

import io
import time

from topktree._runtime.progress import CountLine, ProgressLine


def test_shows_the_state():
    stream = io.StringIO()
    line = ProgressLine(lambda cost: cost / 2, 2.5e9, stream)
    line(1.25, 4, 1234567, 7)
    assert stream.getvalue() == "\rtopktree: 1.2 s, k = 4, 1,234,567 of at most 2.5e+09 nodes, best cost 3.5"
    line.close()
    assert stream.getvalue().endswith("3.5\n")


def test_says_when_there_is_no_tree_yet():
    stream = io.StringIO()
    ProgressLine(float, 100, stream)(1.0, 1, 0, -1)
    assert "best cost none yet" in stream.getvalue()


def test_shows_a_few_states_a_second_only():
    stream = io.StringIO()
    line = ProgressLine(float, 100, stream)
    for step in range(100):  # one second
        line(step / 100, 1, step, -1)
    assert 4 <= stream.getvalue().count("\r") <= 5


def test_a_short_search_shows_nothing():
    stream = io.StringIO()
    with ProgressLine(float, 100, stream) as line:
        line(0.01, 1, 10, 5)
    assert stream.getvalue() == ""


def test_a_long_search_says_so_before_it_starts():
    stream = io.StringIO()
    with ProgressLine(float, 3.2e12, stream):
        assert stream.getvalue() == "\rtopktree: 0.0 s, at most 3.2e+12 nodes"


def test_what_is_left_is_estimated_by_the_work(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    line = CountLine(3, "fits", True, 12.0)
    for work, text in (
        (1.0, "1 of 3 fits, about 22 s left; a"),
        (5.0, "2 of 3 fits, about 4 s left; a"),
        (6.0, "3 of 3 fits; a"),
    ):
        now[0] += 2
        line("; a", work)
        assert capsys.readouterr().err.rstrip().endswith(f" s, {text}")


def test_writes_to_stderr(capsys):
    line = ProgressLine(float, 100)
    line(1.0, 2, 3, 4)
    line.close()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_a_line_fits_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    stream = io.StringIO()
    stream.isatty = lambda: True
    ProgressLine(float, 100, stream)(1.0, 2, 3_000_000, 4)
    assert stream.getvalue() == "\rtopktree: 1.0 s, k = 2, 3,000"
