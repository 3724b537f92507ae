"""Names in a store's records lead nowhere else: what is removed is this corpus's own."""

import json

import pytest
from qdrant_client import models
from support.stores import IDENTITY, NEWER, make_tree, open_at, publish

from raptor_core.errors import StoreError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store import stored_identities
from raptor_core.store.server import IDENTITY_ID

NAME = "corpus-ab12cd34"
FORGED = {
    "retired above": {"retired": ["../../victim"]},
    "retired of our form and above": {"retired": ["corpus-../victim"]},
    "retired absolute": {"retired": ["VICTIM"]},
    "retired beside": {"retired": ["victim"]},
    "retired of another corpus": {"retired": ["corpus-archive-ab12cd34"]},
    "retired no name": {"retired": [None]},
    "live above": {"collection": "../../victim"},
    "live the store itself": {"collection": ""},
    "another corpus": {"identity": {"corpus": "other"}},
    "no dimensions": {"identity": {"n_dims": "16"}},
    "no owner": {"owner": ["a"]},
}


@pytest.fixture
def root(tmp_path):
    """A store with a tree, and folders of others around it."""
    root = tmp_path / "home" / "qdrant"
    root.mkdir(parents=True)
    with open_at(root) as store:
        publish(store, make_tree())
    for place in (tmp_path, root.parent, root):
        (place / "victim").mkdir()
        (place / "victim" / "letter.txt").write_text("mine")
    (root / "corpus-archive-ab12cd34").mkdir()
    return root


def forge(path, change, victim):
    text = path.read_text()
    stored = json.loads(text)
    identity = stored["identity"] | change.get("identity", {})
    path.write_text(
        json.dumps(stored | change | {"identity": identity}).replace("VICTIM", str(victim))
    )
    return text


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_name_is_refused_and_nothing_is_removed(root, case, tmp_path):
    text = forge(root / "corpus.json", FORGED[case], tmp_path / "victim")
    files = sorted(tmp_path.rglob("*"))
    for identity, successor in ((IDENTITY, False), (None, False), (NEWER, True)):
        with pytest.raises(StoreError, match=r"corpus\.json.*move .* away"):
            open_at(root, identity=identity, successor=successor)
    with pytest.raises(StoreError, match=r"corpus\.json"):
        stored_identities(StoreSettings(), root)
    assert [path for path in files if not path.exists()] == []
    (root / "corpus.json").write_text(text)
    with open_at(root) as store:
        assert store.count() == 15


def test_a_forged_collection_beside_is_refused(root, tmp_path):
    with open_at(root, identity=NEWER, successor=True):
        pass
    forge(root / "corpus-ffff0000" / "identity.json", {"collection": NAME}, tmp_path)
    with pytest.raises(StoreError, match="corpus-ffff0000"):
        open_at(root, identity=NEWER, successor=True)


@pytest.mark.slow
def test_a_server_s_record_removes_no_collection_of_others(stand_in):
    server = {"kind": "server", "url": stand_in.url}
    open_at(None, **server).close()
    others = ("other-ab12cd34", "corpus-archive-ab12cd34", "letters")
    for name in others:
        stand_in.client.create_collection(name, vectors_config={})
        stand_in.client.set_payload(NAME, {"retired": [name]}, points=[IDENTITY_ID])
        for identity in (IDENTITY, None):
            with pytest.raises(StoreError, match=f"names '{name}'"):
                open_at(None, identity=identity, **server)
    create = models.CreateAlias(collection_name="other-ab12cd34", alias_name="corpus")
    stand_in.client.set_payload(NAME, {"retired": []}, points=[IDENTITY_ID])
    stand_in.client.update_collection_aliases([models.CreateAliasOperation(create_alias=create)])
    with pytest.raises(StoreError, match=r"not made by this program.*store\.corpus"):
        open_at(None, identity=NEWER, successor=True, **server)
    names = {c.name for c in stand_in.client.get_collections().collections}
    assert names == {NAME, *others}


def test_a_live_collection_that_names_itself_as_retired_stays(root):
    text = forge(root / "corpus.json", {"retired": [NAME]}, "")
    with pytest.raises(StoreError, match=f"names '{NAME}'"):
        open_at(root)
    (root / "corpus.json").write_text(text)
    with open_at(root) as store:
        assert store.count() == 15
