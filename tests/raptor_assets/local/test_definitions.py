"""The code location: what it holds, what loading it costs, what a wrong setting looks like."""

import os
import runpy
import subprocess
import sys

import dagster as dg
import pytest
from support.fenced import ROOT
from test_architecture import HEAVY

from raptor_assets.assets.names import CHAIN_NAMES, corpus_partitions
from raptor_assets.home.folder import Home
from raptor_assets.local.code_location import build_definitions
from raptor_core.errors import SettingsError
from raptor_core.settings import Settings


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
