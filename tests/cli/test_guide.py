"""The commands of docs/command-line.md print what the page says they print."""

import re
import shlex
from pathlib import Path

import pytest
from support.people import run

TEXT = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
BLOCKS = [text for kind, text in re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE) if not kind]
COMMANDS = [part.partition("\n")[::2] for block in BLOCKS for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
FIRST_LINES, OTHER_VALUES = "head -3 boards.csv | ", "tr x X | "


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the page's table and model are."""
    path = tmp_path_factory.mktemp("guide")
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        exec(code, {})
        arguments = shlex.split(COMMANDS[0][0])[1:]
        assert run(*arguments).exit_code == 0
    return path


@pytest.mark.parametrize(("command", "output"), [pair for pair in COMMANDS if pair[1]])
def test_output(folder, monkeypatch, command, output):
    monkeypatch.chdir(folder)
    lines = "".join(Path("boards.csv").read_text().splitlines(keepends=True)[:3])
    if OTHER_VALUES in command:
        lines = lines.replace("x", "X")
    result = run(*_arguments(command), input=lines if command.startswith(FIRST_LINES) else None)
    shown, is_cut = output.removesuffix("...\n"), output.endswith("...\n")
    found = _without_seconds(result.output)
    assert found.startswith(_without_seconds(shown)) if is_cut else found == _without_seconds(shown)


def _arguments(command):
    return shlex.split(command.removeprefix(FIRST_LINES).removeprefix(OTHER_VALUES))[1:]


def _without_seconds(text):
    return re.sub(r"\d+\.\d+ seconds", "- seconds", text)


def test_there_are_commands():
    assert len(COMMANDS) >= 8
    assert {_arguments(command)[0] for command, _ in COMMANDS} == {"fit", "predict", "show", "choose"}
