"""Definitions: a component in a project of dg's own, and the code location of a home."""

import os
import runpy
import subprocess
import sys

import dagster as dg
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox
from jsonschema import Draft202012Validator
from support.fenced import ROOT, fenced
from test_architecture import HEAVY

from raptor_assets import RaptorCorpusComponent
from raptor_assets.assets.names import CHAIN_NAMES, corpus_partitions
from raptor_assets.home.folder import Home
from raptor_assets.local.code_location import build_definitions
from raptor_core.errors import SettingsError
from raptor_core.settings import Settings


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::dagster.PreviewWarning")
def test_the_component_of_the_page_is_loaded_and_one_is_scaffolded(monkeypatch):
    (text,) = (block for block in fenced("docs/dagster.md", "yaml") if block.startswith("type:"))
    monkeypatch.setenv("SUMMARY_MODEL", "small")
    with create_defs_folder_sandbox() as sandbox:
        given = {"scaffold_params": {"name": "guides", "path": "guides"}}
        guides = sandbox.scaffold_component(RaptorCorpusComponent, "guides", **given)
        values = yaml.safe_load((guides / "defs.yaml").read_text())["attributes"]
        assert values["settings"] == {"source": {"paths": ["{{ context.project_root }}/guides"]}}
        assert values["home"] == "{{ context.project_root }}/.raptor/guides"
        handbook = sandbox.scaffold_component(RaptorCorpusComponent, "handbook")
        (handbook / "defs.yaml").write_text(text)
        with sandbox.build_all_defs() as defs:
            assert dg.AssetKey(["handbook", "tree"]) in defs.resolve_all_asset_keys()
            assert defs.resolve_sensor_def("guides_source_sensor")


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
def test_the_workspace_of_the_repository_loads_from_anywhere(tmp_path):
    command = ["-m", "dagster", "definitions", "validate", "-w", str(ROOT / "workspace.yaml")]
    environ = {**os.environ, "RAPTOR_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-P", *command],  # without the folder of the process on its path
        cwd=tmp_path,
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
    for asset, parents in CHAIN_NAMES.parents_by_asset(5).items():
        node = graph.get(asset.key)
        assert node.parent_keys == {parent.key for parent in parents}
        assert node.partitions_def == corpus_partitions()
        assert node.group_name == groups.get(asset.kind, f"layer_{asset.layer}")
        assert node.code_version
        assert node.kinds
        assert node.description
        assert isinstance(node.metadata["dagster/column_schema"], dg.TableSchema)
