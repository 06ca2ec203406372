"""Every script of examples/ and docs/pictures runs, in a folder and a process of its own, without a warning."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "examples").glob("plot_*.py"))
# What a script needs beside this package and its own extras.
NEEDS = {"plot_handover": ("shap", "skl2onnx", "onnxruntime")}


def run(script, folder, *arguments):
    return subprocess.run(
        [sys.executable, "-W", "error", script, *arguments],
        cwd=folder,
        env=os.environ | {"MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_all_of_the_gallery_is_found():
    assert len(SCRIPTS) >= 6
    others = {path.name for path in (ROOT / "examples").glob("*.py")} - {script.name for script in SCRIPTS}
    assert others == {"demo.py"}  # `make docs` runs those of the gallery only


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_runs(script, tmp_path):
    for package in NEEDS.get(script.stem, ()):
        if find_spec(package) is None:
            pytest.skip(f"needs {package}")
    done = run(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_picture_of_near_optimal_trees_is_drawn(tmp_path):
    done = run(ROOT / "docs" / "pictures" / "near_optimal.py", tmp_path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"near-optimal.png"}


def test_the_picture_is_drawn_and_shows_the_gap(tmp_path, monkeypatch):
    done = run(ROOT / "docs" / "pictures" / "parity.py", tmp_path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"parity.png", "parity.svg"}
    monkeypatch.syspath_prepend(ROOT / "docs" / "pictures")
    import parity

    assert [round(parity.fit(k)[1], 6) for k in parity.TITLES] == [0.55, 0.95]
