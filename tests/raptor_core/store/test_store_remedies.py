"""Each remedy that an error of the store names is followed word for word, and the store works."""

import re
import shutil
from pathlib import Path

import pytest
from support.stores import make_tree, open_at, publish

from raptor_core.errors import StoreError

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
        assert store.nodes() == sorted(TREE, key=lambda n: (n.tree, n.layer, *n.order))
