"""Output to streams that are not UTF-8: exact for programs, or an error; for people, letters may be replaced."""

import csv
import io
import json
import os
import subprocess
import sys

import pandas as pd
import pytest

from topktree import TopKTreeClassifier


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("encodings")
    frame = pd.DataFrame({"größe": ["klein", "groß", "大"] * 10, "y": ["ja", "nein", "да"] * 10})
    frame.to_csv(path / "t.csv", index=False, encoding="utf-8")
    TopKTreeClassifier(max_depth=2).fit(frame[["größe"]], frame["y"]).save(path / "m.json")
    return path


def run(folder, encoding, *arguments):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    command = [sys.executable, "-m", "topktree", *map(str, arguments)]
    environment |= {"PYTHONIOENCODING": encoding} if encoding else {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    environment |= {} if encoding else {"PYTHONUTF8": "0"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)


ENCODINGS = ["ascii", "cp1252", None]  # None: as LC_ALL=C has it


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("form", ["sql", "dot", "rules"])
def test_programs_get_all_letters_or_an_error(folder, encoding, form):
    result = run(folder, encoding, "show", "m.json", "--format", form)
    assert (result.returncode, result.stdout) == (2, b"")
    message = result.stderr.decode("ascii")
    assert message.startswith("Error: standard output cannot hold ")
    assert message.count("\n") == 1
    assert f"its encoding is {encoding or 'ascii'}: " in message
    assert "-o FILE" in message
    assert "PYTHONIOENCODING=utf-8" in message
    run(folder, encoding, "show", "m.json", "--format", form, "-o", "out.txt")
    exact = run(folder, "utf-8", "show", "m.json", "--format", form)
    assert exact.returncode == 0
    assert (folder / "out.txt").read_bytes() == exact.stdout
    assert "да" in exact.stdout.decode()


def test_programs_get_letters_that_look_like_styles(tmp_path):
    clf = TopKTreeClassifier(max_depth=1).fit(pd.DataFrame({"v": ["\x1b[1mbold", "plain"] * 10}), [0, 1] * 10)
    clf.save(tmp_path / "m.json")
    assert run(tmp_path, "utf-8", "show", "m.json", "--format", "sql").stdout.decode() == clf.export_sql() + "\n"


@pytest.mark.skipif(sys.platform == "win32", reason="the shell is another")
def test_standard_output_that_is_closed(folder):
    command = f"{sys.executable} -m topktree show m.json --format sql >&-"
    result = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (2, "Error: standard output is closed: -o FILE writes to a file\n")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_json_and_tables_are_exact_everywhere(folder, encoding):
    shown = run(folder, encoding, "show", "m.json", "--format", "json")
    assert "大" in json.loads(shown.stdout.decode("ascii"))["features"][0]["categories"]
    fitted = run(folder, encoding, "fit", "t.csv", "--target", "y", "--json")
    assert json.loads(fitted.stdout.decode("ascii"))["classes"] == ["ja", "nein", "да"]
    predicted = run(folder, encoding, "predict", "m.json", "t.csv", "--keep", "--rule")
    rows = list(csv.DictReader(io.StringIO(predicted.stdout.decode("utf-8"))))
    assert [row["größe"] for row in rows[:3]] == ["klein", "groß", "大"]
    assert rows[2]["rule"].endswith("大")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "m.json"],
        ["fit", "t.csv", "--target", "y"],
        ["choose", "t.csv", "--target", "y", "--ks", "1", "--depths", "1,2", "--cv", "2"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_people_get_question_marks(folder, encoding, arguments):
    result = run(folder, encoding, *arguments)
    assert result.returncode == 0, result.stderr
    text = result.stdout.decode(encoding or "ascii")
    assert "gr??e" in text if encoding != "cp1252" else "größe" in text
    assert "= ?" in text
