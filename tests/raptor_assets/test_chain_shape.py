"""Keys, order, versions and batches of the chain."""

import ctypes
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.assets.versions import (
    TreeVersion,
    code_versions,
    tree_code_version,
)
from raptor_assets.chain.context import (
    BATCH_CHARS,
    BATCH_PARTITIONS,
    BATCH_TREES,
    PartitionSize,
    release_memory,
    split_into_batches,
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
    depends = CHAIN_NAMES.parents_by_asset(max_layers)
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
    assert tree_code_version(Settings(), {}) == tree_code_version(
        Settings.model_validate(settings), {}
    )


def test_a_published_version_depends_on_inputs_contents_and_findings():
    one, two = (Manifest(n, n, (1,), 9, {}, "end", "f", "") for n in ("one", "two"))
    inputs = TreeVersion.of("p", "d" * 32, "b" * 32)
    assert TreeVersion.parse(inputs.text) == inputs
    found = inputs.with_content_of([one, two])
    assert found.text.startswith(inputs.text)
    assert found == inputs.with_content_of([two, one])
    assert found != inputs.with_content_of([one, replace(two, build_id="x")])


CHARS = st.integers(0, BATCH_CHARS * 2) | st.integers(0, 40_000)
TREES = st.integers(0, BATCH_TREES * 2) | st.integers(0, 30)
SIZES = st.lists(st.builds(PartitionSize, TREES, CHARS), max_size=300).map(
    lambda sizes: {str(at): size for at, size in enumerate(sizes)}
)


def total(names, sizes):
    return sum((sizes[name] for name in names), PartitionSize())


@given(SIZES)
def test_each_partition_comes_once_in_order_and_bounds_hold(sizes):
    found = list(split_into_batches(sizes, sizes))
    assert [name for batch in found for name in batch] == list(sizes)
    for batch in found:
        assert 1 <= len(batch) <= BATCH_PARTITIONS
        held = total(batch, sizes)
        assert len(batch) == 1 or (held.n_chars <= BATCH_CHARS and held.n_trees <= BATCH_TREES)


@given(SIZES)
def test_no_batch_is_closed_that_had_room_for_the_next(sizes):
    for batch, following in pairwise(split_into_batches(sizes, sizes)):
        wanted = total([*batch, following[0]], sizes)
        assert (
            len(batch) == BATCH_PARTITIONS
            or wanted.n_chars > BATCH_CHARS
            or wanted.n_trees > BATCH_TREES
        )


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_memory_that_a_batch_freed_is_given_back():
    if sys.platform != "linux":
        release_memory()
        return
    library = ctypes.CDLL(None)
    library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    blocks = [library.malloc(2_000) for _ in range(40_000)]
    for block in blocks:
        ctypes.memset(block, 1, 2_000)
    for block in blocks[:-1]:  # the last one keeps the heap from shrinking by itself
        library.free(block)
    kept = resident_bytes()
    release_memory()
    library.free(blocks[-1])
    assert kept - resident_bytes() > 50_000_000
