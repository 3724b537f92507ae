"""Keys, order and versions of the chain."""

from dataclasses import replace

import pytest

from raptor_assets import keys
from raptor_assets.steps import build_steps
from raptor_assets.versions import (
    audited_version,
    build_version,
    clusters_version,
    code_versions,
    documents_version,
    inputs_version,
    published_version,
)
from raptor_core.documents.base import Document
from raptor_core.nodes import End
from raptor_core.settings import Settings
from raptor_core.store.base import Manifest
from raptor_core.tree.cluster import Clustering


def changed_by(**settings):
    """Assets whose code version a setting changes, as text."""
    plain = code_versions(Settings(), {})
    other = code_versions(Settings.model_validate(settings), {})
    return {key.to_user_string() for key in plain if plain[key] != other[key]}


def all_of(name):
    return {key.to_user_string() for key in keys.chain_keys(5) if key.path[-1] == name}


@pytest.mark.parametrize("max_layers", [1, 5, 12])
def test_every_asset_comes_after_what_it_is_made_from(max_layers):
    chain = keys.chain_keys(max_layers)
    depends = keys.dependencies(max_layers)
    assert set(depends) == set(chain)
    for at, key in enumerate(chain):
        assert set(depends[key]) <= set(chain[:at])
    assert [step.key for step in build_steps(max_layers)] == list(chain)


def test_a_setting_makes_exactly_its_dependents_stale():
    assert changed_by(clustering={"threshold": 0.2}) == all_of("clusters") | {"tree"}
    assert changed_by(tree={"top_nodes": 11}) == all_of("clusters") | {"tree"}
    assert changed_by(summarizer={"ratio": 0.2}) == all_of("summaries") | {"tree"}
    assert changed_by(chunking={"max_tokens": 80}) == {"chunks", "tree"}
    assert changed_by(store={"corpus": "other"}) == {"tree"}
    assert changed_by(embedder={"kind": "sentence-transformers", "model": "m"}) == (
        {"chunks", "tree"} | all_of("embeddings") | all_of("summaries")
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"embedder": {"batch_size": 4, "threads": 1}},
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


def test_a_documents_version_depends_on_content_and_tree_not_on_order():
    a, b = Document("a", "text"), Document("b", "text")
    assert documents_version({"t": (a, b)}) == documents_version({"t": (b, a)})
    assert documents_version({"t": (a, b)}) != documents_version({"t": (a,), "u": (b,)})
    assert documents_version({"t": (a,)}) != documents_version({"t": (Document("a", "texts"),)})


def test_a_published_version_depends_on_inputs_contents_and_findings():
    one, two = (Manifest(n, n, (1,), 9, {}, "end", "f", "") for n in ("one", "two"))
    inputs = inputs_version("p", "d" * 32, "b" * 32)
    found = published_version(inputs, [one, two])
    assert found.startswith(inputs)
    assert found == published_version(inputs, [two, one])
    assert found != published_version(inputs, [one, replace(two, quarantined=("x",))])
    assert audited_version(found, ["one"]) != audited_version(found, ["two"])


def test_clusters_that_ended_have_a_version_of_their_own():
    ended = Clustering("t", 0, (), End(0, "1 nodes"))
    assert clusters_version([ended]) != clusters_version([Clustering("t", 0, (("a", "b"),))])
