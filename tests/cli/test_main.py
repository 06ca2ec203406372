"""The group of commands: plug-ins of other packages, and constants that --help has without importing the library."""

import re
import subprocess
import sys

import numpy as np
import pytest
from support.people import assert_mistake, make_people, run

from topktree._cli import commands
from topktree._data.features import KINDS
from topktree._runtime.checks import MAX_DEPTH
from topktree._search.objective import CRITERIA, LOOKAHEAD
from topktree._selection.rule import RULES

PLUGIN = """
import click

@click.command()
@click.option("--to")
def hello(to):
    "Greet."
    if to is None:
        raise click.UsageError("nobody to greet")
    click.echo(f"hello {to}")
"""


@pytest.fixture
def plugged(tmp_path, monkeypatch):
    """A package beside this one with the commands hello and fit, of which the latter is taken."""
    info = tmp_path / "greetings-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greetings\nVersion: 1.0\n")
    points = "hello = greetings:hello\nfit = greetings:hello\n"
    (info / "entry_points.txt").write_text(f"[topktree.commands]\n{points}")
    (tmp_path / "greetings.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("greetings", None)


def test_a_plugin_is_listed_without_being_imported(plugged):
    lines = run("--help").stdout.split("Commands:\n")[1].splitlines()
    names = [line.split()[0] for line in lines]
    assert names[:5] == ["fit", "predict", "show", "choose", "completion"]
    assert "hello" in names[5:]
    environment = {"_TOPKTREE_COMPLETE": "bash_complete", "COMP_WORDS": "topktree h", "COMP_CWORD": "1"}
    assert run(env=environment).stdout == "plain,hello\n"
    assert "greetings" not in sys.modules


def test_a_plugin_runs_and_its_errors_are_one_line(plugged):
    assert run("hello", "--to", "you").stdout == "hello you\n"
    assert_mistake(run("hello"), "nobody to greet. Try 'topktree hello --help'.")
    assert "FILE" in run("fit", "--help").stdout  # our own
    environment = {"_TOPKTREE_COMPLETE": "bash_complete", "COMP_WORDS": "topktree hello --t", "COMP_CWORD": "2"}
    assert run(env=environment).stdout == "plain,--to\n"


@pytest.fixture
def without_plugins(monkeypatch):
    monkeypatch.setattr("topktree._cli.main.entry_points", lambda group: ())


@pytest.mark.parametrize("name", ["bench", "reproduce"])
def test_without_the_package_of_a_command(without_plugins, name):
    assert_mistake(run(name), f"{name} is a command of topktree-evidence, which is not installed: pip install")
    assert name not in run("--help").stdout
    words = {"COMP_WORDS": f"topktree {name} --o", "COMP_CWORD": "2"}
    assert run(env={"_TOPKTREE_COMPLETE": "bash_complete", **words}).exception is None


def test_constants_are_those_of_the_library():
    assert commands.KINDS == KINDS
    assert (*CRITERIA, LOOKAHEAD) == commands.CRITERIA
    assert set(commands.RULES) == set(RULES)
    assert commands.MAX_DEPTH == MAX_DEPTH


def test_without_click():
    code = "import sys; sys.modules['click'] = None; from topktree.__main__ import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "The command line needs click: pip install 'topktree[cli]'\n"


INTERRUPTED = """
import atexit, sys

interrupt = "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(0.1)"
moment = sys.argv[1]

class Finder:
    def find_spec(self, name, *others):
        if name == moment:
            exec(interrupt)  # Python ends with a signal after such code, as dataclasses run it, was interrupted

sys.meta_path.insert(0, Finder())
from topktree.__main__ import main

if moment == "exit":
    atexit.register(lambda: exec(interrupt))
sys.argv[1:] = ["completion", "bash"] if moment == "exit" else ["show", "model.json"]
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
@pytest.mark.parametrize(
    ("moment", "code", "said"), [("click", 1, ""), ("numpy", 1, "Interrupted.\n"), ("exit", 0, "")]
)
def test_ctrl_c_at_any_moment_ends_quietly(moment, code, said):
    result = subprocess.run([sys.executable, "-c", INTERRUPTED, moment], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (code, said)


def test_one_style_of_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = make_people(9000).assign(weight=1.5)
    people.to_csv("people.csv", index=False)
    new = people.assign(age=np.nan)
    new.to_csv("new.csv", index=False)
    weighted = ["people.csv", "--target", "income", "--weight", "weight"]
    outputs = [
        run("fit", *weighted, "--depth", 2, "--save", "m.json"),
        run("show", "m.json"),
        run("show", "m.json", "--format", "rules"),
        run("predict", "m.json", "new.csv", "-o", "out.csv"),
        run("choose", *weighted, "--ks", 1, "--depths", "1,2", "--cv", 2),
    ]
    text = "".join(result.output for result in outputs)
    assert [result.exit_code for result in outputs] == [0] * 5, text
    assert re.findall(r"\d{4,}", text) == []
    assert len(re.findall(r"\d,\d{3}\b", text)) > 20
    assert all(re.fullmatch(r"\d+\.\d%", share) for share in re.findall(r"[\d.,]+ ?%", text))
    assert all(re.fullmatch(r"\d+\.\d\d seconds", time) for time in re.findall(r"[\d.,]+ seconds", text))


def test_messages_are_not_endless(tmp_path):
    (tmp_path / "long.csv").write_text(f"{'n' * 100_000},b\n1,2\n")
    result = run("fit", tmp_path / "long.csv", "--target", "none")
    assert_mistake(result, "has no such column", " ... ")
    assert len(result.output) < 5_000
