"""What the package, its release notes and its citation say of it is the same."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import metadata, version
from pathlib import Path

import pytest

import topktree

ROOT = Path(__file__).parents[2]
PAPER = "Harnessing the Power of Choices in Decision Tree Learning"


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def find(pattern, name):
    """The group of the first match in a file."""
    return re.search(pattern, read(name), re.MULTILINE)[1]


def versions():
    """Where a version is written down, or asked for; pyproject.toml is the one place it comes from."""
    return {
        "topktree.__version__": topktree.__version__,
        "metadata": version("topktree"),
        "CITATION.cff": find(r"^version: (\S+)$", "CITATION.cff"),
        "CHANGELOG.md": find(r"^## (\S+) \((?:unreleased|\d{4}-\d\d-\d\d)\)$", "CHANGELOG.md"),
    }


def test_one_version():
    expected = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    assert versions() == dict.fromkeys(versions(), expected)


def test_version_of_the_command_line():
    pytest.importorskip("click")
    command = [sys.executable, "-m", "topktree", "--version"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert output.split()[-1] == topktree.__version__


def test_types_are_shipped():
    package = Path(topktree.__file__).parent
    assert (package / "py.typed").is_file()
    assert (package / "_core.pyi").is_file()


def test_the_paper_is_named_alike():
    citation = read("CITATION.cff")
    assert f"title: {PAPER}\n" in citation
    assert f"*{PAPER}*" in read("README.md")
    [paper] = [url for url in metadata("topktree").get_all("Project-URL") if url.startswith("Paper, ")]
    address = paper.removeprefix("Paper, ")
    assert f"url: {address}\n" in citation
    assert f"({address})" in read("README.md")
