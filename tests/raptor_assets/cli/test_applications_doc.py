"""docs/applications.md: every example runs, and every name it tells is there."""

import json
import os
import sys
from pathlib import Path

import pytest
from mcp import StdioServerParameters
from support.fenced import fenced, run_example
from support.stores import PROCESS_PATH

from raptor_assets.cli.app import COMMANDS

PAGE = "docs/applications.md"
EXAMPLES = fenced(PAGE)


@pytest.fixture
def folder(built, tmp_path, monkeypatch):
    """The working folder has a home, and the path a `raptor` that runs this code."""
    (tmp_path / ".raptor").symlink_to(built.home)
    command = tmp_path / "bin/raptor"
    command.parent.mkdir()
    code = "from raptor_assets.cli import main; main()"
    environ = f"PYTHONPATH={PROCESS_PATH} HF_HUB_OFFLINE=1"
    command.write_text(f'#!/bin/sh\n{environ} exec {sys.executable} -c "{code}" "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)


OVER_PIPES = 2
"""Example that starts `raptor mcp`; `test_mcp_over_pipes.py` speaks to it in `make test`."""
NUMBERS = [
    pytest.param(number, marks=pytest.mark.rare if number == OVER_PIPES else ())
    for number in range(len(EXAMPLES))
]


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("number", NUMBERS)
def test_an_example_runs_and_prints(number, capsys):
    run_example(EXAMPLES[number], f"example {number}")
    assert capsys.readouterr().out.strip()


def test_all_examples_are_looked_at():
    assert len(EXAMPLES) == 5


def test_the_clients_configuration_starts_our_command():
    (block,) = fenced(PAGE, "json")
    (server,) = json.loads(block)["mcpServers"].values()
    given = StdioServerParameters.model_validate(server)
    assert Path(given.command).name == "raptor"
    assert given.args[0] in COMMANDS
    assert given.args[1] == "--home"
