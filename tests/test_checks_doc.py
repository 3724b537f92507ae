"""Tests that `docs/checks.md` names each check with its severity."""

import re
from typing import get_args

from support.fenced import ROOT

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.assets.specs import build_check_specs
from raptor_assets.assets.versions import code_versions
from raptor_core.checks.document_text import unread_rows
from raptor_core.settings import CheckSettings, RunsSettings, Settings, preset
from raptor_core.settings.checks import CheckName
from raptor_core.settings.models import ServingSettings

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
