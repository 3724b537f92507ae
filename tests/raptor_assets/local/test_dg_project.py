"""Definitions: a component in a project of dg's own, and the code location of a home."""

import json
import os
import runpy
import subprocess
import sys

import dagster as dg
import pytest
from jsonschema import Draft202012Validator
from support.fenced import ROOT, fenced
from support.stores import PROCESS_PATH
from test_architecture import HEAVY

from raptor_assets import RaptorCorpusComponent
from raptor_assets.assets.names import CHAIN_NAMES, corpus_partitions
from raptor_assets.home.folder import Home
from raptor_assets.local.code_location import build_definitions
from raptor_core.errors import SettingsError
from raptor_core.settings import Settings

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


def run_dg(root, *commands):
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
    code, printed = run_dg(
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
    code, printed = run_dg(tmp_path, ["list", "defs"])
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


@pytest.fixture(scope="module")
def definitions(tmp_path_factory):
    return build_definitions(Settings(), Home(tmp_path_factory.mktemp("home")))


@pytest.mark.slow
def test_loading_imports_nothing_heavy_and_needs_no_home(tmp_path):
    imported = "sys, dagster_project.definitions, raptor_assets.chain.run"
    code = f"import {imported}; print(*{HEAVY!r} & sys.modules.keys())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"RAPTOR_HOME": str(tmp_path / "none"), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
@pytest.mark.rare
@pytest.mark.parametrize("is_root", [True, False])
def test_the_workspace_of_the_repository_loads_from_anywhere(is_root, tmp_path):
    command = ["-m", "dagster", "definitions", "validate", "-w", str(ROOT / "workspace.yaml")]
    environ = {**os.environ, "RAPTOR_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-P", *command],  # without the folder of the process on its path
        cwd=ROOT if is_root else tmp_path,
        env={name: value for name, value in environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_the_settings_file_of_the_home_is_used_and_a_wrong_setting_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("RAPTOR_HOME", str(tmp_path))
    (tmp_path / "raptor.toml").write_text("[tree]\nmax_layers = 2\n")
    defs = runpy.run_module("raptor_assets.local.definitions")["defs"]
    assert len(defs.resolve_all_asset_keys()) == len(CHAIN_NAMES.chain(2))
    (tmp_path / "raptor.toml").write_text("[chunking]\nmax_token = 10\n")
    expected = r"raptor\.toml: unknown setting chunking\.max_token; did you mean max_tokens\?"
    with pytest.raises(SettingsError, match=expected):
        runpy.run_module("raptor_assets.local.definitions")


def test_the_graph_has_every_asset_and_its_layers(definitions):
    graph = definitions.resolve_asset_graph()
    assert graph.get_all_asset_keys() == {asset.key for asset in CHAIN_NAMES.chain(5)}
    groups = {"documents": "source", "chunks": "layer_0", "tree": "published"}
    for asset, parents in CHAIN_NAMES.parents(5).items():
        node = graph.get(asset.key)
        assert node.parent_keys == {parent.key for parent in parents}
        assert node.partitions_def == corpus_partitions()
        assert node.group_name == groups.get(asset.kind, f"layer_{asset.layer}")
        assert node.code_version
        assert node.kinds
        assert node.description
        assert isinstance(node.metadata["dagster/column_schema"], dg.TableSchema)
