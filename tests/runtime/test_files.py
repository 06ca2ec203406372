"""Files are whole or absent, whoever writes at the same time and whatever goes wrong."""

import os
import stat
import sys
import threading

import pytest

from topktree._runtime.files import whole_file, write_whole


def test_threads_that_write_one_file_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "model.json"
    texts = {letter * 100_000 for letter in "abcd"}
    write_whole(path, "a" * 100_000)
    errors, is_done = [], threading.Event()

    def write(text):
        try:
            for _ in range(50):
                write_whole(path, text)
        except OSError as error:
            errors.append(error)

    def read():
        while not is_done.is_set():
            if path.read_text() not in texts:
                errors.append(ValueError("half a file"))

    writers = [threading.Thread(target=write, args=(text,)) for text in texts]
    reader = threading.Thread(target=read)
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    is_done.set()
    reader.join()
    assert errors == []
    assert os.listdir(tmp_path) == ["model.json"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_file_as_it_was(tmp_path, error):
    path = tmp_path / "model.json"
    write_whole(path, "before")

    def write_half():
        with whole_file(path) as partial:
            partial.write_text("half")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["model.json"]


def test_errors_name_the_path_given(tmp_path):
    path = tmp_path / "nowhere" / "model.json"
    with pytest.raises(FileNotFoundError) as error:
        write_whole(path, "text")
    assert error.value.filename == str(path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_permissions_are_those_of_an_ordinary_file_or_stay(tmp_path):
    ordinary, path = tmp_path / "ordinary", tmp_path / "model.json"
    ordinary.touch()
    write_whole(path, "text")
    assert path.stat().st_mode == ordinary.stat().st_mode
    path.chmod(0o600)
    write_whole(path, "more")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("n" * 250 + ".json")
    write_whole(path, "text")
    assert path.read_text() == "text"
