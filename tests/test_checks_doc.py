"""`docs/checks.md` names every check there is, with its severity, and every bound."""

import re
from pathlib import Path

import pytest

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.assets.specs import build_check_specs
from raptor_assets.assets.versions import code_versions
from raptor_core.evaluation.golden import GOLDEN_RETRIEVAL
from raptor_core.quality.document_text import document_text, unread_rows
from raptor_core.quality.registry import (
    CLUSTER_CHECKS,
    LAYER_CHECKS,
    STORE_CHECKS,
    TREE_CHECKS,
    VECTOR_CHECKS,
)
from raptor_core.quality.sizes import chunk_length
from raptor_core.quality.stored import embedding
from raptor_core.settings import CheckSettings, Settings

TEXT = (Path(__file__).parent.parent / "docs" / "checks.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| (error|warn) \|", re.MULTILINE)
ON_SOURCE, ON_DOCUMENTS, ON_CHUNKS, ON_CLUSTERS, ON_LAYERS, *OTHERS = (
    ROW.findall(part) for part in TEXT.split("\n## On ")[1:]
)
ON_FINDINGS, ON_VECTORS, ON_TREE = OTHERS


def pairs(checks):
    return [(check.name, check.severity) for check in checks]


def test_the_checks_of_the_source_and_its_documents_are_listed():
    assert pairs([unread_rows]) == ON_SOURCE
    assert pairs([document_text]) == ON_DOCUMENTS


def test_the_chunks_check_is_listed():
    assert pairs([chunk_length]) == ON_CHUNKS


def test_the_layers_checks_are_listed_in_their_order():
    assert pairs(LAYER_CHECKS) == ON_LAYERS
    assert pairs(CLUSTER_CHECKS) == ON_CLUSTERS
    assert pairs((embedding, *VECTOR_CHECKS)) == ON_VECTORS


def test_the_trees_checks_are_listed_in_their_order():
    assert pairs((*TREE_CHECKS, *STORE_CHECKS, GOLDEN_RETRIEVAL)) == ON_TREE


def test_the_listed_checks_are_those_that_dagster_is_given():
    settings = Settings(checks=CheckSettings(golden="questions.jsonl"))
    specs = build_check_specs(settings, CHAIN_NAMES)
    listed = {
        CHAIN_NAMES.documents: ON_DOCUMENTS,
        CHAIN_NAMES.chunks: ON_CHUNKS,
        CHAIN_NAMES.clusters(1): ON_CLUSTERS,
        CHAIN_NAMES.summaries(1): ON_LAYERS,
        CHAIN_NAMES.findings(1): ON_FINDINGS,
        CHAIN_NAMES.embeddings(1): ON_VECTORS,
        CHAIN_NAMES.tree: ON_TREE,
    }
    for asset, on_asset in listed.items():
        found = {(s.name, bool(s.blocking)) for s in specs if s.asset_key == asset.key}
        assert found == {(name, severity == "error") for name, severity in on_asset}


def test_a_changed_bound_makes_no_layer_stale():
    changed = CheckSettings(max_injected=0.5, max_drift=2, golden="q.jsonl", near_duplicate=0.7)
    assert code_versions(Settings(checks=changed), {}) == code_versions(Settings(), {})


@pytest.mark.parametrize("name", CheckSettings.model_fields)
def test_every_setting_is_named_and_its_default_is_true(name):
    found = re.findall(rf"`(?:checks\.)?{name}` ?(\d[\d.]*\d|\d)?", TEXT)
    assert found or f"\n{name} = " in TEXT
    default = getattr(CheckSettings(), name)
    assert {float(value) for value in found if value} <= {default}
