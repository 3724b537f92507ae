"""A corpus in a project as ``create-dagster`` makes it: its settings, and the commands of dg."""

import json
import os
import subprocess
import sys

import pytest
from jsonschema import Draft202012Validator
from support.fenced import fenced
from support.stores import PROCESS_PATH

from raptor_assets import RaptorCorpusComponent

PYPROJECT = """\
[project]
name = "team"
version = "0.1.0"
[tool.dg]
directory_type = "project"
[tool.dg.project]
root_module = "team"
code_location_target_module = "team.definitions"
"""
DEFINITIONS = """\
from pathlib import Path

from dagster import definitions, load_from_defs_folder


@definitions
def defs():
    return load_from_defs_folder(path_within_project=Path(__file__).parent)
"""
IN_TURN = """\
import json, sys
from dagster_dg_cli.cli import cli
for words in json.loads(sys.argv[1]):
    cli(words, standalone_mode=False)
"""


@pytest.fixture
def defs(tmp_path):
    """The folder of the definitions of a new project, which stands in ``tmp_path``."""
    package = tmp_path / "src" / "team"
    (package / "defs").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "defs" / "__init__.py").touch()
    (package / "definitions.py").write_text(DEFINITIONS)
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    return package / "defs"


def dg(root, *commands):
    """Run commands of dg in the folder of a project, in one process; its exit code and output."""
    path = os.pathsep.join((str(root / "src"), PROCESS_PATH))
    environment = {
        "PYTHONPATH": path,
        "DAGSTER_DG_CLI_CONFIG": str(root / "none"),
        "COLUMNS": "200",
    }
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN, json.dumps(commands)],
        cwd=root,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.rare
def test_the_component_of_the_page_is_listed_checked_and_scaffolded(defs, tmp_path, monkeypatch):
    (text,) = (block for block in fenced("docs/dagster.md", "yaml") if block.startswith("type:"))
    handbook = defs / "handbook" / "defs.yaml"
    handbook.parent.mkdir()
    handbook.write_text(text)
    monkeypatch.setenv("SUMMARY_MODEL", "small")
    scaffold = ["scaffold", "defs", "raptor_assets.RaptorCorpusComponent", "guides"]
    code, printed = dg(
        tmp_path,
        ["list", "components"],
        [*scaffold, "--name", "guides", "--path", "guides"],
        ["check", "yaml"],
        ["list", "defs"],  # which loads them all
    )
    assert code == 0, printed
    components, _, listed = printed.partition("All component YAML validated")
    assert "raptor_assets.RaptorCorpusComponent" in components
    assert "handbook/tree" in listed
    assert "guides_source_sensor" in listed
    scaffolded = (defs / "guides" / "defs.yaml").read_text()
    assert "{{ context.project_root }}/guides" in scaffolded
    assert "{{ context.project_root }}/.raptor/guides" in scaffolded
    handbook.write_text(text.replace("paths:", "path:"))
    code, printed = dg(tmp_path, ["list", "defs"])
    assert code
    assert "unknown setting source.path; did you mean paths" in printed


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"chunkking": {"max_tokens": 80}}, "'chunkking' was unexpected"),
        ({"chunking": {"max_tokens": "many"}}, "'many' is not valid"),
        ({"prices": {"small": {"inputs": 1}}}, "'inputs' was unexpected"),
        ({"source": {"tables": [{"uri": "sqlite://"}]}}, "'uri'"),
        ({"chunking": {"max_tokens": "{{ env.TOKENS }}"}, "budget": {"usd": "none"}}, ""),
        ({"prices": {"small": {"input": "{{ env.PRICE }}"}}}, ""),
        ("handbook.toml", ""),
    ],
)
def test_the_schema_of_a_component_refuses_a_wrong_setting_and_takes_a_template(settings, reason):
    schema = RaptorCorpusComponent.get_model_cls().model_json_schema()
    errors = Draft202012Validator(schema).iter_errors({"name": "a", "settings": settings})
    assert [reason in error.message for error in errors] == ([True] if reason else [])
