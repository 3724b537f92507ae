"""A build with parts of one's own, by the command."""

import json
import os
import subprocess
import sys

import pytest
from support.stores import PROCESS_PATH
from support.workshop import prose

pytestmark = [pytest.mark.slow, pytest.mark.rare]

SETTINGS = """
[components]
embedder = "support.hashing:HashingEmbedder"
summarizer = "team_parts:Titles"
"""

COMMAND = "from raptor_assets.cli import main; main()"

MODULE = """
from raptor_core import Summary


class Titles:
    fingerprint = "titles-{version}"

    def __init__(self, settings):
        self.settings = settings

    def summarize(self, requests):
        for request in requests:
            firsts = (text.partition(". ")[0].rstrip(".") + "." for text in request.texts)
            yield Summary(request.key, "{word}: " + " ".join(firsts))
"""


@pytest.fixture
def call(tmp_path):
    """The command in a process of its own, in a folder that Python knows, as a team would."""
    (tmp_path / "docs").mkdir()
    for seed, name in enumerate(("north", "south")):
        (tmp_path / "docs" / f"{name}.md").write_text(f"# {name}\n\n{prose(80, seed)}")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "raptor.toml").write_text(SETTINGS)

    def run(*arguments):
        printed = subprocess.run(
            [sys.executable, "-c", COMMAND, *arguments, "--home", "home", "--json"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{PROCESS_PATH}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert printed.returncode == 0, printed.stdout + printed.stderr
        return json.loads(printed.stdout)

    run.module = tmp_path / "team_parts.py"
    return run


def test_another_version_of_a_part_makes_its_summaries_anew_and_no_vector_of_a_chunk(call):
    call.module.write_text(MODULE.format(version=1, word="First"))
    first = call("build", "docs")
    assert first["n_summarized"] > 0
    assert call("build")["n_summarized"] == 0
    call.module.write_text(MODULE.format(version=2, word="Second"))
    planned = call("plan")["summaries"]["calls"]
    second = call("build")
    assert planned == second["n_summarized"] == first["n_summarized"]
    assert second["n_embedded"] == second["n_summarized"]
    texts = [node["text"] for node in call("query", "Second", "--layer", "1")["nodes"]]
    assert texts
    assert all(text.startswith("Second: ") for text in texts)
