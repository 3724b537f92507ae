"""A change of the embedder: built beside the live collection, which it replaces at the end."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from support import store_process
from support.stores import IDENTITY, NEWER, PROCESS_PATH, make_tree, open_at, publish

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store import stored_identities, stored_identity
from raptor_core.store.server import IDENTITY_ID

pytestmark = pytest.mark.slow

OLD, NEW = make_tree(word="old"), make_tree(word="new")


class Place:
    """A corpus somewhere: how it is opened, and what is there."""

    def __init__(self, root, **settings):
        self.root, self.settings = root, settings

    def open(self, identity=None, **given):
        return open_at(self.root, identity=identity, **self.settings, **given)

    def newer(self):
        return self.open(NEWER, successor=True)

    def identities(self):
        return stored_identities(StoreSettings(**self.settings), self.root)

    def seen(self):
        """What a reader that names no embedder finds."""
        with self.open() as store:
            return store.identity, store.nodes()


@pytest.fixture(params=["edge", "server"])
def place(request, tmp_path):
    """A corpus with OLD published in it."""
    if request.param == "server":
        stand_in = request.getfixturevalue("stand_in")
        made = Place(None, kind="server", url=stand_in.url)
        made.client = stand_in.client
    else:
        made = Place(tmp_path, kind=request.param)
    with made.open(IDENTITY) as store:
        publish(store, OLD)
    return made


def ordered(nodes):
    return sorted(nodes, key=lambda n: (n.tree, n.layer, *n.order))


def test_a_corpus_of_another_schema_holds_up_no_other_one(place):
    """Of two corpora whose names begin alike."""
    archive = replace(IDENTITY, corpus="corpus-archive")
    place.open(archive, corpus="corpus-archive").close()
    if place.root is None:
        client = place.client
        client.set_payload("corpus-archive-ab12cd34", {"schema": 1}, points=[IDENTITY_ID])
    else:
        for path in (
            place.root / "corpus-archive.json",
            *place.root.glob("corpus-archive-*/*.json"),
        ):
            path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 1}))
    with place.newer() as store:
        publish(store, NEW)
        assert place.identities() == [IDENTITY, NEWER]
        assert store.promote(["t"])
    assert place.identities() == [NEWER]
    with pytest.raises(StoreMismatchError, match="schema 1"):
        place.open(archive, corpus="corpus-archive")


def test_a_new_embedder_builds_beside_and_readers_keep_the_live_collection(place):
    for _ in range(2):
        with place.newer() as store:
            assert (store.identity, store.live) == (NEWER, False)
            publish(store, NEW)
        assert place.seen() == (IDENTITY, ordered(OLD))
        assert place.identities() == [IDENTITY, NEWER]
        with pytest.raises(StoreMismatchError, match=r"sample-model.*newer-model"):
            place.open(NEWER)


def test_promotion_switches_readers_and_removes_the_old_collection(place, tmp_path):
    with place.newer() as store:
        publish(store, NEW)
        assert store.promote(["t"]) is True
        assert store.live
        assert store.promote(["t", "unheard of"]) is True
        assert store.nodes() == ordered(NEW)
    assert place.seen() == (NEWER, ordered(NEW))
    assert place.identities() == [NEWER]
    assert not list(tmp_path.glob("corpus-ab12*"))


def test_nothing_is_promoted_while_a_tree_is_missing(place):
    with place.newer() as store:
        publish(store, NEW)
        assert store.promote(["t", "other"]) is False
        assert not store.live
    assert place.seen() == (IDENTITY, ordered(OLD))


def test_both_sides_manifests_are_readable(place):
    other = make_tree("other")
    with place.open(IDENTITY) as store:
        publish(store, other, "other")
    with place.newer() as store:
        publish(store, NEW)
    published = []
    for identity in place.identities():
        with place.open(identity, successor=True) as store:
            published.append([manifest.tree for manifest in store.manifests()])
    assert published == [["other", "t"], ["t"]]


def test_the_embedder_may_be_set_back_and_forth(place):
    with place.newer() as store:
        publish(store, NEW)
    with place.open(IDENTITY, successor=True) as store:
        assert store.live
        publish(store, OLD[:5])
    with place.newer() as store:
        assert store.promote(["t"])
    with place.open(IDENTITY, successor=True) as store:
        assert (store.live, store.count()) == (False, 0)
        publish(store, OLD)
        assert store.promote(["t"])
    assert place.seen() == (IDENTITY, ordered(OLD))
    assert place.identities() == [IDENTITY]


@pytest.mark.parametrize(
    "other",
    [replace(IDENTITY, n_dims=99), replace(IDENTITY, embedder_model="renamed")],
)
def test_the_same_fingerprint_with_other_facts_is_refused(place, other):
    with pytest.raises(StoreMismatchError, match="--home"):
        place.open(other, successor=True)
    assert place.identities() == [IDENTITY]


def test_corpora_whose_names_begin_alike_are_kept_apart(tmp_path):
    named = replace(IDENTITY, corpus="corpus-b")
    with open_at(tmp_path) as store:
        publish(store, OLD)
    with open_at(tmp_path, identity=named, corpus="corpus-b") as store:
        publish(store, OLD)
    with open_at(tmp_path, identity=NEWER, successor=True) as store:
        publish(store, NEW)
        assert store.promote(["t"])
    assert stored_identities(StoreSettings(), tmp_path) == [NEWER]
    with open_at(tmp_path, identity=None, corpus="corpus-b") as store:
        assert store.count() == len(OLD)


STEPS = {
    "before write 0": IDENTITY,
    "before removal": NEWER,
    "half removed": NEWER,
    "before write 1": NEWER,
}


@pytest.mark.rare
@pytest.mark.parametrize("step", STEPS)
def test_a_promoter_that_dies_leaves_the_old_or_the_new_collection_whole(tmp_path, step):
    with open_at(tmp_path) as store:
        publish(store, OLD)
    with open_at(tmp_path, identity=NEWER, successor=True) as store:
        publish(store, NEW)
    done = subprocess.run(
        [sys.executable, store_process.__file__, "promote_and_die", tmp_path, step],
        env={"PYTHONPATH": PROCESS_PATH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -9, done.stderr
    assert stored_identity(StoreSettings(), tmp_path) == STEPS[step]
    with open_at(tmp_path, identity=None) as store:
        assert store.nodes() == ordered(NEW if store.identity == NEWER else OLD)
    with open_at(tmp_path, identity=NEWER, successor=True) as store:
        assert store.promote(["t"])
    assert stored_identities(StoreSettings(), tmp_path) == [NEWER]
    assert [path.name for path in tmp_path.glob("corpus-*")] == ["corpus-ffff0000"]


@pytest.mark.parametrize("n_requests", range(5))
def test_a_server_that_goes_during_promotion_keeps_one_collection_whole(stand_in, n_requests):
    place = Place(None, kind="server", url=stand_in.url)
    with place.open(IDENTITY) as store:
        publish(store, OLD)
    with place.newer() as store:
        publish(store, NEW)
        stand_in.fail_after = n_requests
        if n_requests < 4:
            with pytest.raises(StoreError, match="503"):
                store.promote(["t"])
        else:
            assert store.promote(["t"])
    stand_in.fail_after = None
    expected = (IDENTITY, ordered(OLD)) if n_requests < 2 else (NEWER, ordered(NEW))
    assert place.seen() == expected
    with place.newer() as store:
        assert store.promote(["t"])
    assert place.identities() == [NEWER]
    names = [one.name for one in stand_in.client.get_collections().collections]
    assert names == ["corpus-ffff0000"]


def test_a_store_that_was_open_on_a_server_during_the_switch_says_so(stand_in):
    place = Place(None, kind="server", url=stand_in.url)
    with place.open(IDENTITY) as store:
        publish(store, OLD)
    with place.open() as reader:
        with place.newer() as store:
            publish(store, NEW)
            store.promote(["t"])
        with pytest.raises(StoreError, match="corpus-ab12cd34"):
            reader.count()
    assert place.seen() == (NEWER, ordered(NEW))
