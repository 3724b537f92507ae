"""Examples: the demo of the README, and the package of examples/plugin."""

import subprocess
import sys
import tomllib

import pytest
from support.command import raptor
from support.fenced import ROOT

from raptor_core.settings import Settings
from raptor_core.settings.models import ComponentsSettings

PLUGIN = ROOT / "examples/plugin"
VALUES = tomllib.loads((PLUGIN / "raptor.toml").read_text())
NAMED = VALUES["components"]


def test_the_plugin_has_every_component_that_settings_can_name():
    assert set(NAMED) == set(ComponentsSettings.model_fields)
    settings = Settings.model_validate(VALUES)
    assert settings.components.model_dump() == NAMED
    assert settings.retrieval.reranker.factory.startswith("team_parts.")


def test_the_plugin_can_be_installed_with_each_of_its_packages():
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())
    folders = [path.parent.name for path in PLUGIN.glob("*/__init__.py")]
    assert project["tool"]["setuptools"]["packages"] == folders
    assert {name.partition(".")[0] for name in NAMED.values()} == set(folders)


@pytest.mark.slow
def test_a_plugin_on_the_path_builds_trees_and_answers(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(PLUGIN)
    home = ("--home", tmp_path / "home")
    document = ROOT / "examples/handbook/vault/operating-the-cold-store.md"
    assert raptor("init", document, *home).code == 0
    settings = tmp_path / "home/raptor.toml"
    settings.write_text(settings.read_text() + (PLUGIN / "raptor.toml").read_text())
    assert raptor("build", *home).code == 0
    asked = raptor("ask", "how is the cold store kept cold?", "--json", *home)
    assert asked.code == 0, asked
    assert asked.json["citations"]
    assert {name for name in sys.modules if name.startswith("team_parts.")} >= {
        name.partition(":")[0]
        for name in (*NAMED.values(), VALUES["retrieval"]["reranker"]["factory"])
    }


@pytest.mark.slow
@pytest.mark.rare
def test_the_demo_builds_trees_and_answers_three_kinds_of_questions(tmp_path):
    done = subprocess.run(
        [sys.executable, "examples/demo.py", "--home", tmp_path / "home"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "\nfailed: " not in done.stdout
    assert done.stdout.count("\ntree ") >= 2
    asked = [line for line in done.stdout.splitlines() if " question: " in line]
    assert [line.partition(" ")[0] for line in asked] == ["detail", "general", "general"]
    assert "fuel" in done.stdout.partition(asked[0])[2].partition(asked[1])[0]
