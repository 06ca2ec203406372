"""The line of progress, with a stream that remembers."""

import io

from topktree._runtime.progress import ProgressLine


def test_shows_the_state():
    stream = io.StringIO()
    line = ProgressLine(lambda cost: cost / 2, stream)
    line(1.25, 4, 1234567, 7)
    assert stream.getvalue() == "\rtopktree: 1.2 s, k = 4, 1,234,567 nodes, best cost 3.5"
    line.close()
    assert stream.getvalue().endswith("3.5\n")


def test_says_when_there_is_no_tree_yet():
    stream = io.StringIO()
    ProgressLine(float, stream)(1.0, 1, 0, -1)
    assert "best cost none yet" in stream.getvalue()


def test_shows_a_few_states_a_second_only():
    stream = io.StringIO()
    line = ProgressLine(float, stream)
    for step in range(100):  # one second
        line(step / 100, 1, step, -1)
    assert 4 <= stream.getvalue().count("\r") <= 5


def test_a_short_search_shows_nothing():
    stream = io.StringIO()
    line = ProgressLine(float, stream)
    line(0.01, 1, 10, 5)
    line.close()
    assert stream.getvalue() == ""


def test_writes_to_stderr(capsys):
    line = ProgressLine(float)
    line(1.0, 2, 3, 4)
    line.close()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_a_line_fits_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    stream = io.StringIO()
    stream.isatty = lambda: True
    ProgressLine(float, stream)(1.0, 2, 3_000_000, 4)
    assert stream.getvalue() == "\rtopktree: 1.0 s, k = 2, 3,000"
