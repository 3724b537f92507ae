"""What opening a store finds, and each remedy that an error of the store names is followed."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from support import store_process
from support.stores import IDENTITY, NEWER, PROCESS_PATH, make_tree, open_at, publish

from raptor_core.errors import StoreError, StoreLockedError, StoreMismatchError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store import read_stored_identity
from raptor_core.store.collection import SCHEMA


def test_a_store_is_as_it_was_when_it_is_opened_again(tmp_path):
    nodes = make_tree()
    with open_at(tmp_path) as store:
        publish(store, nodes)
        before = (store.nodes(), store.manifests(), store.search_text(["leaf 3"], 9))
    for identity in (None, IDENTITY):
        with open_at(tmp_path, identity=identity) as store:
            assert (store.nodes(), store.manifests(), store.search_text(["leaf 3"], 9)) == before
            assert store.identity == IDENTITY


@pytest.fixture(params=["edge", "server"])
def kind(request, tmp_path):
    """How to open a corpus of each kind."""
    if request.param == "edge":
        return partial(open_at, tmp_path)
    return partial(open_at, None, "server", url=request.getfixturevalue("stand_in").url)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (NEWER, ["sample-model", "newer-model", "ab12cd34", "ffff0000", "Set the embedder back"]),
        (replace(IDENTITY, embedder_fingerprint="cd" * 8), ["with another precision or revision"]),
        (replace(IDENTITY, n_dims=99), ["16 dimensions", "99 dimensions", "embedder.revision"]),
    ],
)
def test_another_embedder_is_refused_with_both_names_and_the_remedies(kind, other, words):
    with kind() as store:
        publish(store, make_tree())
    with pytest.raises(StoreMismatchError) as caught:
        kind(identity=other)
    remedies = ['store.corpus = "corpus_2"', "folder qdrant/corpus of the home"]
    assert all(word in str(caught.value) for word in [*words, *remedies])
    with kind() as store:
        assert store.count() == 15


def test_another_corpus_than_that_of_the_settings_is_refused(tmp_path):
    with pytest.raises(StoreMismatchError, match="other"):
        open_at(tmp_path, identity=replace(IDENTITY, corpus="other"))


def test_what_a_dead_process_half_made_is_made_anew(tmp_path):
    part = tmp_path / "corpus.part" / "engine"
    part.mkdir(parents=True)
    (part / "half").write_text("written")
    with open_at(tmp_path) as store:
        assert publish(store, make_tree()).added == 15
    assert not part.exists()


@pytest.mark.slow
def test_optimizing_removes_the_bytes_of_removed_text_from_edge_s_files(tmp_path):
    def files_with(word):
        return [f for f in tmp_path.rglob("*") if f.is_file() and word.encode() in f.read_bytes()]

    with open_at(tmp_path) as store:
        publish(store, make_tree(n=120, word="xylophone"))
        publish(store, make_tree(n=120, word="violin"))
        store.optimize()
    assert files_with("violin")
    assert files_with("xylophone") == []


@pytest.mark.parametrize("schema", ["6-00000000", f"{SCHEMA[:-1]}x"])
def test_a_store_of_another_schema_is_left_as_it_is_and_the_remedy_named(tmp_path, schema):
    with open_at(tmp_path) as store:
        publish(store, make_tree())
    record = tmp_path / "corpus" / "identity.json"
    ours = record.read_bytes()
    record.write_text(json.dumps(json.loads(ours) | {"schema": schema, "identity": "later"}))
    theirs = record.read_bytes()
    for identity in (IDENTITY, None):
        with pytest.raises(StoreMismatchError, match=f"schema {schema}.*raptor export"):
            open_at(tmp_path, identity=identity)
    with pytest.raises(StoreMismatchError, match="raptor export"):
        read_stored_identity(StoreSettings(), tmp_path)
    assert record.read_bytes() == theirs
    record.write_bytes(ours)
    with open_at(tmp_path) as store:
        assert store.count() == 15


def start(*args):
    return subprocess.Popen(
        [sys.executable, store_process.__file__, *map(str, args)],
        env={"PYTHONPATH": PROCESS_PATH},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_a_waiting_process_names_the_user_of_the_store_and_continues_once_it_is_killed(
    tmp_path,
):
    with open_at(tmp_path) as store:
        publish(store, make_tree())
    with start("hold", tmp_path) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreLockedError, match=rf"process {holder.pid} on .*store_process"):
            open_at(tmp_path, lock_seconds=0.1)
        holder.kill()
    with open_at(tmp_path, lock_seconds=5) as store:
        assert store.count() == 15


NAME = "corpus"
TREE = make_tree()


@pytest.fixture
def root(tmp_path):
    """A store with a tree."""
    with open_at(tmp_path) as store:
        publish(store, TREE)
    return tmp_path


def engine(root):
    return next((root / NAME).glob("engine.*"))


def lose_engine(root):
    shutil.rmtree(engine(root))


def damage_engine(root):
    for file in engine(root).rglob("*"):
        if file.suffix == ".json":
            file.write_bytes(b"damaged " * 600)


def damage_record(root):
    (root / NAME / "identity.json").write_text("{")


def lose_record(root):
    (root / NAME / "identity.json").unlink()


DAMAGES = [lose_engine, damage_engine, damage_record, lose_record]


def move_away(message, target):
    """Do what a message says: move the paths that it names before the word "away"."""
    said = re.search(r"[Mm]ove (.*?)(?:, and the .*?)? away", message) or pytest.fail(message)
    named = said[1]
    if named in ("it", "the file"):
        named = re.match(r"(\S+?):? ", message)[1]
    target.mkdir(exist_ok=True)
    for path in map(Path, named.split(" and ")):
        path.rename(target / f"{len(list(target.iterdir()))}")


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_what_an_error_says_to_move_away_mends_the_store(root, damage, tmp_path_factory):
    damage(root)
    with pytest.raises(StoreError) as caught:
        open_at(root)
    move_away(str(caught.value), tmp_path_factory.mktemp("away"))
    with open_at(root) as store:
        assert publish(store, TREE).unchanged in (0, len(TREE))
        assert store.count() == len(TREE)
    with open_at(root, identity=None) as store:
        assert store.nodes() == sorted(TREE, key=lambda n: (n.tree, n.layer, *n.document_order_key))
