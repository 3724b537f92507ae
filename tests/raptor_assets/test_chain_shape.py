"""Keys, order and versions of the chain."""

from dataclasses import replace

import pytest

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.assets.versions import (
    TreeVersion,
    build_version,
    code_versions,
)
from raptor_assets.chain.steps import build_steps
from raptor_core.settings import Settings
from raptor_core.store.base import Manifest


def changed_by(**settings):
    """Kinds of assets whose code version a setting changes."""
    plain = code_versions(Settings(), {})
    other = code_versions(Settings.model_validate(settings), {})
    return {kind for kind in plain if plain[kind] != other[kind]}


@pytest.mark.parametrize("max_layers", [1, 5, 12])
def test_every_asset_comes_after_what_it_is_made_from(max_layers):
    chain = CHAIN_NAMES.chain(max_layers)
    depends = CHAIN_NAMES.parents(max_layers)
    assert set(depends) == set(chain)
    for at, key in enumerate(chain):
        assert set(depends[key]) <= set(chain[:at])
    assert [step.asset for step in build_steps(chain)] == chain


def test_a_setting_makes_exactly_its_dependents_stale():
    assert changed_by(clustering={"threshold": 0.2}) == {"clusters", "tree"}
    assert changed_by(tree={"top_nodes": 11}) == {"clusters", "tree"}
    assert changed_by(summarizer={"ratio": 0.2}) == {"summaries", "tree"}
    assert changed_by(chunking={"max_tokens": 80}) == {"chunks", "tree"}
    assert changed_by(store={"corpus": "other"}) == {"tree"}
    assert changed_by(embedder={"kind": "sentence-transformers", "model": "m"}) == (
        {"chunks", "tree", "embeddings", "summaries"}
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"embedder": {"batch_size": 4}},
        {"summarizer": {"concurrency": 3, "max_retries": 1, "timeout_seconds": 3}},
        {"checks": {"max_children": 9}},
        {"retrieval": {"top_k": 3}},
        {"store": {"lock_seconds": 1}},
        {"source": {"paths": ["x"]}},
    ],
)
def test_settings_that_change_no_result_make_nothing_stale(settings):
    assert changed_by(**settings) == set()
    assert build_version(Settings(), {}) == build_version(Settings.model_validate(settings), {})


def test_a_published_version_depends_on_inputs_contents_and_findings():
    one, two = (Manifest(n, n, (1,), 9, {}, "end", "f", "") for n in ("one", "two"))
    inputs = TreeVersion.of("p", "d" * 32, "b" * 32)
    assert TreeVersion.parse(inputs.text) == inputs
    found = inputs.published_as([one, two])
    assert found.text.startswith(inputs.text)
    assert found == inputs.published_as([two, one])
    assert found != inputs.published_as([one, replace(two, build_id="x")])
