"""Each remedy that an error of the store names is followed word for word, and the store works."""

import re
import shutil
from pathlib import Path

import pytest
from support.stores import NEWER, make_tree, open_at, publish

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store import stored_identities

NAME = "corpus-ab12cd34"
TREE = make_tree()


@pytest.fixture
def root(tmp_path):
    """A store with a tree."""
    with open_at(tmp_path) as store:
        publish(store, TREE)
    return tmp_path


def lose_engine(root):
    shutil.rmtree(root / NAME / "engine")


def damage_engine(root):
    for file in (root / NAME / "engine").rglob("*"):
        if file.suffix == ".json":
            file.write_bytes(b"damaged " * 600)


def damage_alias(root):
    (root / "corpus.json").write_text("{")


def damage_collection(root):
    (root / "corpus.json").unlink()
    (root / NAME / "identity.json").write_text("{")


def damage_the_live_collection_s_own_file(root):
    (root / NAME / "identity.json").write_text("{")


def put_another_in_its_place(root):
    (root / "corpus.json").unlink()
    (root / NAME / "identity.json").unlink()


def forge_alias(root):
    path = root / "corpus.json"
    path.write_text(path.read_text().replace('"retired": []', '"retired": ["../victim"]'))


DAMAGES = [
    lose_engine,
    damage_engine,
    damage_alias,
    damage_collection,
    damage_the_live_collection_s_own_file,
    put_another_in_its_place,
    forge_alias,
]


def move_away(message, target):
    """Do what a message says: move the paths that it names before the word "away"."""
    said = re.search(r"[Mm]ove (.*?)(?:, and the .*?)? away", message) or pytest.fail(message)
    named = said[1]
    if named in ("it", "the file"):
        named = re.match(r"(\S+?):? ", message)[1]
    target.mkdir(exist_ok=True)
    for path in map(Path, named.split(" and ")):
        path.rename(target / f"{len(list(target.iterdir()))}")


def open_and_list(root):
    """Do with a store what a build does before it publishes."""
    open_at(root).close()
    stored_identities(StoreSettings(), root)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_what_an_error_says_to_move_away_mends_the_store(root, damage, tmp_path_factory):
    damage(root)
    with pytest.raises(StoreError) as caught:
        open_and_list(root)
    move_away(str(caught.value), tmp_path_factory.mktemp("away"))
    with open_at(root) as store:
        assert publish(store, TREE).unchanged in (0, len(TREE))
        assert store.count() == len(TREE)
    with open_at(root, identity=None) as store:
        assert store.nodes() == sorted(TREE, key=lambda n: (n.tree, n.layer, *n.order))


def test_a_damaged_engine_beside_the_live_one_is_moved_away_alone(root, tmp_path_factory):
    open_at(root, identity=NEWER, successor=True).close()
    shutil.rmtree(root / "corpus-ffff0000" / "engine")
    with pytest.raises(StoreError) as caught:
        open_at(root, identity=NEWER, successor=True)
    assert "corpus.json" not in str(caught.value)
    move_away(str(caught.value), tmp_path_factory.mktemp("away"))
    open_at(root, identity=NEWER, successor=True).close()
    with open_at(root) as store:
        assert store.count() == len(TREE)


def test_another_embedder_may_be_set_back(root):
    with pytest.raises(StoreMismatchError, match="Set the embedder back, build everything with"):
        open_at(root, identity=NEWER)
    open_at(root).close()
    with open_at(root, identity=NEWER, successor=True) as store:
        publish(store, TREE)
        assert store.promote(["t"])
    open_at(root, identity=NEWER).close()


def test_a_closed_store_is_opened_again(root):
    store = open_at(root)
    store.close()
    with pytest.raises(StoreError, match="open it again"):
        store.count()
    with open_at(root) as store:
        with pytest.raises(StoreError, match="use the open one, or close it first"):
            open_at(root)
        assert store.count() == len(TREE)
