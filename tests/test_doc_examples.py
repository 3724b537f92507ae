"""Examples of the pages run, their settings are valid, and docs/checks.md names each check."""

import re
import tomllib
from typing import get_args

import pytest
from support.fenced import ROOT, fenced, run_example
from support.openai_server import FakeOpenAI

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.assets.specs import build_check_specs
from raptor_assets.assets.versions import code_versions
from raptor_core.checks.document_text import unread_rows
from raptor_core.documents.base import Document
from raptor_core.settings import CheckSettings, RunsSettings, Settings, preset
from raptor_core.settings.checks import CheckName
from raptor_core.settings.models import ServingSettings
from raptor_core.tree.build import build_tree
from raptor_core.tree.components import Components

API = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs/api").glob("*.md"))
EXAMPLES = {
    f"{page}, {number}": code
    for page in ("README.md", "CONTRIBUTING.md", "docs/extending.md", *API)
    for number, code in enumerate(fenced(page), 1)
}
WHOLE_HANDBOOK = ("README.md, 1", "docs/api/evaluation.md, 1")
"""Examples that build a tree of the handbook, as ``test_determinism`` does."""
SETTINGS = {
    f"{path.name}, {number}": code
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if path.name != "settings.md"  # the site fills it in
    for number, code in enumerate(fenced(path, "toml"), 1)
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.rare if name in WHOLE_HANDBOOK else ())
        for name in EXAMPLES
    ],
)
def test_an_example_runs_and_prints(name, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    run_example(EXAMPLES[name], name)
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_a_page_are_valid(name):
    Settings.model_validate(tomllib.loads(SETTINGS[name]))


@pytest.mark.parametrize(
    "name", [name for name, code in SETTINGS.items() if "[embedder]" in code and "openai" in code]
)
def test_an_endpoint_of_a_page_embeds_as_it_stands(name, monkeypatch):
    values = tomllib.loads(SETTINGS[name])
    embedder = values["embedder"]
    monkeypatch.setenv(embedder.get("api_key_env", "OPENAI_API_KEY"), "a key")
    monkeypatch.setattr("tiktoken.get_encoding", None)  # it would need the network
    with FakeOpenAI(n_dims=1536) as server:
        given = {part: values[part] for part in ("embedder", "tokens") if part in values}
        settings = Settings.model_validate(
            given | {"embedder": {**embedder, "base_url": server.base_url}}
        )
        tree = build_tree(
            [Document("a.md", "The lamp burns. " * 60)], components=Components(settings)
        )
    assert tree.n_nodes > 1


TEXT = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| (error|warn) \|", re.MULTILINE)
ON_SOURCE, *ON_ASSETS = (ROW.findall(part) for part in TEXT.split("\n## On ")[1:])


def test_the_page_lists_the_checks_of_each_asset_with_their_severities():
    assert [(unread_rows.name, unread_rows.severity)] == ON_SOURCE
    checks, runs = CheckSettings(golden="questions.jsonl"), RunsSettings(publish="when_approved")
    settings = Settings(checks=checks, runs=runs, serving=ServingSettings(questions=True))
    specs = build_check_specs(settings, CHAIN_NAMES)
    assets = (
        CHAIN_NAMES.documents,
        CHAIN_NAMES.chunks,
        CHAIN_NAMES.clusters(1),
        CHAIN_NAMES.summaries(1),
        CHAIN_NAMES.findings(1),
        CHAIN_NAMES.embeddings(1),
        CHAIN_NAMES.tree,
    )
    for asset, rows in zip(assets, ON_ASSETS, strict=True):
        checks = [(s.name, bool(s.blocking)) for s in specs if s.asset_key == asset.key]
        listed = [(name, severity == "error") for name, severity in rows]
        assert sorted(checks) == sorted(listed), asset


def test_the_settings_know_every_check_by_name():
    assert {*get_args(CheckName)} == {name for rows in (ON_SOURCE, *ON_ASSETS) for name, _ in rows}


def test_the_quiet_checks_are_all_that_block_and_few_others():
    listed = {name: severity for rows in (ON_SOURCE, *ON_ASSETS) for name, severity in rows}
    quiet = listed.keys() - preset("quiet").checks.severity.keys()
    blocking = {name for name, severity in listed.items() if severity == "error"}
    assert blocking < quiet
    assert len(quiet - blocking) == 5


def test_a_changed_bound_makes_no_layer_stale():
    changed = CheckSettings(max_unsupported=0.5, golden="q.jsonl")
    assert code_versions(Settings(checks=changed), {}) == code_versions(Settings(), {})
