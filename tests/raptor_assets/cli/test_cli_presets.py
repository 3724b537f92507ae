"""Presets as they are used: by their own names, from `raptor init` to an answer's context."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.command import raptor
from support.openai_server import FakeOpenAI
from support.tiny_models import build_tiny_model, put_into_hub_cache

pytestmark = [pytest.mark.slow, pytest.mark.rare]

PAPERS_MODEL = "sentence-transformers/multi-qa-mpnet-base-cos-v1"
LIBRARY = Path(find_spec("llama_index.core").origin).parent
VOCABULARY = LIBRARY / "_static/tiktoken_cache"
"""The real one, which that library ships."""

HANDBOOK = Path(__file__).parents[3] / "examples" / "handbook"
COMMAND = """
import json, sys
from raptor_assets.cli import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as end:
        if end.code:
            raise
"""
"""Commands in one process: to import the models' libraries takes longest."""


def python(code, *arguments, environ):
    """A process of its own: the hub's variables are read once in a process."""
    run = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **environ},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return build_tiny_model(tmp_path_factory.mktemp("tiny"))


def test_the_papers_preset_builds_and_answers_with_the_papers_models_by_name(model, tmp_path):
    home, source = tmp_path / "home", max(HANDBOOK.rglob("*.md"))
    with FakeOpenAI() as server:
        environ = {
            **put_into_hub_cache(model, tmp_path / "hub", PAPERS_MODEL),
            "TIKTOKEN_CACHE_DIR": str(VOCABULARY),
            "RAPTOR_SUMMARIZER__BASE_URL": server.base_url,
            "OPENAI_API_KEY": "a-key",
        }
        raptor("init", source, "--preset", "paper", "--home", home)
        commands = [["build"], ["query", "who keeps the gauge?"]]
        output = python(
            COMMAND, json.dumps(commands), environ={**environ, "RAPTOR_HOME": str(home)}
        )
    _, built, found = output.partition("1 built")
    assert built
    assert source.stem in found
    assert {body["model"] for body in server.bodies} == {"gpt-3.5-turbo"}
