"""Whether the installed package works: `python smoke.py`, with the interpreter of the environment it is installed in.

Imports it from that environment and nowhere else, fits a tree, saves, loads and reports it, runs the command line.
Needs no more than the package and its extra `cli`. A failure is a traceback.
"""

import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import topktree


def check_place():
    """Not the source tree's package: that one is not what users get."""
    place = Path(topktree.__file__).resolve()
    assert place.is_relative_to(Path(sys.prefix).resolve()), f"{place} is not in {sys.prefix}"
    assert (place.parent / "py.typed").is_file(), "py.typed, which tells type checkers of the types, is missing"
    assert topktree.__version__ == version("topktree"), topktree.__version__


def check_fit():
    X, y = topktree.datasets.load_monks(1, return_X_y=True)
    clf = topktree.TopKTreeClassifier(k="all", max_depth=3).fit(X, y)
    assert clf.status_ == "optimal", clf.status_
    with tempfile.TemporaryDirectory() as folder:
        clf.save(Path(folder) / "model.json")
        loaded = topktree.load(Path(folder) / "model.json")
        loaded.report(Path(folder) / "report.html", X, y)
        assert "</html>" in (Path(folder) / "report.html").read_text(encoding="utf-8")
    assert (loaded.predict(X) == clf.predict(X)).all()
    assert loaded.export_text() == clf.export_text()


def check_command_line():
    command = [sys.executable, "-m", "topktree", "--version"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert output.split()[-1] == topktree.__version__, output


if __name__ == "__main__":
    check_place()
    check_fit()
    check_command_line()
    print(f"topktree {topktree.__version__} works in {sys.prefix}")
