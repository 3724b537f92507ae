"""docs/applications.md and docs/chat.md: every example runs, and every name in them exists."""

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from mcp import StdioServerParameters
from support.fenced import fenced, run_example
from support.serving import KEY, served_here
from support.stores import PROCESS_PATH
from support.streams import StreamingModel

from raptor_assets.cli.app import COMMANDS
from raptor_assets.serving.http import make_app
from raptor_assets.serving.identity import ServerKeys
from raptor_core import HomeRetriever
from raptor_core.settings import Settings

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


STARTING = (0, 2)
"""Examples that start `raptor`; `test_mcp_over_pipes.py` speaks to it in `make test`."""
NUMBERS = [
    pytest.param(number, marks=pytest.mark.rare if number in STARTING else ())
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


CHAT = "docs/chat.md"
CHAT_EXAMPLES = fenced(CHAT)
ADDRESS = "http://127.0.0.1:8700"


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_an_example_of_the_chat_page_runs_against_a_server(number, built, monkeypatch, capsys):
    _, link = fenced(CHAT, "toml")
    with StreamingModel("The door ", "stood open [1].") as model:
        monkeypatch.setenv("RAPTOR_READER__BASE_URL", model.base_url)
        template = tomllib.loads(link)["source"]["link"]
        monkeypatch.setenv("RAPTOR_SOURCE__LINK", template)
        with served_here(make_app(HomeRetriever(built.home), ServerKeys(KEY))) as address:
            code = CHAT_EXAMPLES[number].replace(ADDRESS, address)
            code = code.replace('"..."', repr(KEY)).replace("Bearer ...", f"Bearer {KEY}")
            run_example(code, f"example {number}")
    printed = capsys.readouterr().out
    assert (".md" if number == 1 else "stood") in printed


def test_settings_of_the_chat_page_are_valid():
    assert len(CHAT_EXAMPLES) == 3
    for block in fenced(CHAT, "toml"):
        Settings.model_validate(tomllib.loads(block))
    ((model,),) = map(yaml.safe_load, fenced(CHAT, "yaml"))
    assert (model["model_name"], model["api_base"]) == (Settings().store.corpus, f"{ADDRESS}/v1")
