"""Builds that are kept when another one takes their place."""

from dataclasses import replace

import pytest
from support.stores import open_at
from support.transfers import make_tree, publish

from raptor_core.errors import ExportError, UnknownTreeError
from raptor_core.store.base import Where
from raptor_core.store.publishing import UNFINISHED
from raptor_core.transfer.kept import KeptBuilds, build_name, choose_build


@pytest.fixture(scope="module")
def store():
    """A store with a tree, which no test changes."""
    with open_at(None) as store:
        publish(store, make_tree("t"), "t")
        yield store


@pytest.fixture
def published(store, tmp_path):
    """A store with a tree, its manifest, and a folder of kept builds."""
    return store, store.manifests()[0], KeptBuilds(str(tmp_path / "versions"))


def test_a_kept_build_is_the_published_one_without_loss(published):
    store, manifest, kept = published
    name = kept.keep_published(store, replace(manifest, pin="worse"), {"n_added": 3})
    edition = kept.read("t", name, store.identity)
    assert edition.manifest == manifest
    assert list(edition.nodes) == store.nodes(Where(trees=("t",)))
    vectors = store.vectors(node.embedding_key for node in edition.nodes)
    assert {k: v.tobytes() for k, v in edition.vectors.items()} == {
        k: v.tobytes() for k, v in vectors.items()
    }
    (build,) = kept.builds("t")
    assert (build.id, build.manifest, build.notes) == (name, manifest, {"n_added": 3})
    assert kept.keep_published(store, manifest, {}) == name
    assert kept.builds("t")[0].notes == {"n_added": 3}


@pytest.mark.parametrize("broken", [{"inputs": UNFINISHED}, {"build_id": "of other nodes"}])
def test_a_build_that_is_incomplete_is_not_kept(published, broken):
    store, manifest, kept = published
    assert kept.keep_published(store, replace(manifest, **broken), {}) == ""
    assert kept.ids("t") == []


def test_a_build_with_a_document_that_is_gone_is_deleted(published):
    store, manifest, kept = published
    name = kept.keep_published(store, manifest, {})
    assert kept.delete_outdated("t", lambda document: document.id not in manifest.documents) == []
    assert kept.delete_outdated(
        "t", lambda document: document.id == next(iter(manifest.documents))
    ) == [name]
    assert kept.ids("t") == []


def test_a_damaged_build_is_named_to_who_reads_it_and_forgotten(published, tmp_path):
    store, manifest, kept = published
    name = kept.keep_published(store, manifest, {})
    (file,) = tmp_path.rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(ExportError, match="is damaged"):
        kept.builds("t")
    assert kept.delete_outdated("t", lambda document: False) == [name]
    assert kept.ids("t") == []


def test_the_oldest_are_deleted_and_the_published_one_is_not_counted(published):
    store, manifest, kept = published
    names = []
    for day in (1, 2, 3, 4):
        dated = replace(manifest, published_at=f"2026-11-0{day}T00:00:00.000+00:00")
        names.append(kept.keep_published(store, dated, {}))
    kept.prune(dated, 2)
    assert kept.ids("t") == names[1:]
    kept.delete("t")
    assert kept.ids("t") == []


def test_a_build_is_chosen_by_the_beginning_of_its_id(store):
    (manifest,) = store.manifests()
    manifest = replace(manifest, published_at="2026-11-03T00:00:00.000+00:00")
    ids = ["20261101t000000000-aa", "20261102t000000000-bb", "20261104t000000000-cc"]
    assert build_name(manifest).startswith("20261103t000000000-")
    assert choose_build(ids, manifest, "") == ids[1]
    assert choose_build(ids, manifest, "20261104") == ids[2]
    for chosen, problem in [("2026", "3 kept builds begin"), ("2025", "0 kept builds begin")]:
        with pytest.raises(UnknownTreeError, match=problem):
            choose_build(ids, manifest, chosen)
    with pytest.raises(UnknownTreeError, match="none is before it"):
        choose_build(ids[2:], manifest, "")


def test_vectors_of_another_embedder_and_unknown_builds_are_refused(published):
    store, manifest, kept = published
    name = kept.keep_published(store, manifest, {})
    other = replace(store.identity, embedder_fingerprint="another")
    with pytest.raises(ExportError, match="another embedder"):
        kept.read("t", name, other)
    with pytest.raises(UnknownTreeError, match="no build 'x' of tree 't' is kept"):
        kept.read("t", "x", store.identity)
