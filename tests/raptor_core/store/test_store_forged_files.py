"""Names and links in a store's files lead nowhere else: a home may come from somebody else."""

import json
import os
import pickle
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import pytest
from qdrant_client import models
from support.stores import IDENTITY, NEWER, make_tree, open_at, publish

from raptor_core.disk import write_durably
from raptor_core.errors import StoreError, StoreLockedError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store import stored_identities
from raptor_core.store.engines.base import Batch, Point
from raptor_core.store.folder import store_stamp
from raptor_core.store.journal import encode
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
def root(tmp_path, kind):
    """A store with a tree, and folders of others around it."""
    root = tmp_path / "home" / "qdrant"
    root.mkdir(parents=True)
    with open_at(root, kind) as store:
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


def link_folder(path, target):
    path.rename(target / path.name)
    path.symlink_to(target / path.name)


@pytest.mark.parametrize("part", ["", "engine", "identity.json"])
def test_a_link_within_the_store_is_refused(root, part, tmp_path):
    link_folder(root / NAME / part, tmp_path / "victim")
    files = sorted((tmp_path / "victim").rglob("*"))
    with pytest.raises(StoreError, match="symbolic link"):
        open_at(root)
    assert sorted((tmp_path / "victim").rglob("*")) == files


def test_a_retired_link_goes_and_its_target_stays(root, tmp_path):
    (root / "corpus-0123").symlink_to(tmp_path / "victim")
    forge(root / "corpus.json", {"retired": ["corpus-0123"]}, "")
    open_at(root).close()
    assert not os.path.lexists(root / "corpus-0123")
    assert (tmp_path / "victim" / "letter.txt").read_text() == "mine"


def test_a_half_made_collection_that_is_a_link_is_not_written_through(root, tmp_path):
    (root / "corpus-ffff0000.part").symlink_to(tmp_path / "victim")
    with open_at(root, identity=NEWER, successor=True) as store:
        assert store.count() == 0
    assert [path.name for path in (tmp_path / "victim").iterdir()] == ["letter.txt"]


def test_files_that_are_written_anew_follow_no_link(root, tmp_path):
    letter = tmp_path / "victim" / "letter.txt"
    for name in ("corpus.json.part", "corpus.holder.json"):
        (root / name).symlink_to(letter)
    with open_at(root, identity=NEWER, successor=True) as store:
        assert store.promote([]) is True
    assert letter.read_text() == "mine"


def test_who_holds_a_store_may_be_forged(root):
    for text in ("[]", '{"pid": 1}', "[" * 100_000, "nothing"):
        with open_at(root), ThreadPoolExecutor(1) as other:
            (root / "corpus.holder.json").write_text(text)
            waiting = other.submit(open_at, root, lock_seconds=0)
            with pytest.raises(StoreLockedError, match="has not said who it is"):
                waiting.result()


POINT = Point("5d0e7b0a-6a34-5c1b-9a55-1e8f3c2b7d61", {"state": "live", "text": "a"})
JOURNALS = {
    "no id": Batch((Point("../victim", {"state": "live"}),)),
    "no id to delete": Batch(deletes=("a",)),
    "no state": Batch((Point(POINT.id, {}),)),
    "no payload": Batch((Point(POINT.id, []),)),
}


@pytest.mark.parametrize("case", JOURNALS)
def test_a_forged_journal_is_named_with_its_remedy(root, case):
    journal = root / NAME / "journal"
    write_durably(journal, encode(JOURNALS[case]))
    with pytest.raises(StoreError, match=r"journal.*move the file away"):
        open_at(root)
    journal.unlink()
    with open_at(root) as store:
        assert store.count() == 15


class Code:
    """What would make a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_points_of_local_mode_run_no_code(tmp_path):
    with open_at(tmp_path, "local") as store:
        publish(store, make_tree())
    (file,) = (tmp_path / NAME / "engine").rglob("*.sqlite")
    with closing(sqlite3.connect(file)) as points, points:
        point = sqlite3.Binary(pickle.dumps(Code(tmp_path / "code ran")))
        points.execute("update points set point = ?", (point,))
    with pytest.raises(StoreError, match=r"io\.open.*move .* away"):
        open_at(tmp_path)
    assert not (tmp_path / "code ran").exists()


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


@pytest.mark.parametrize("part", ["corpus.json", f"{NAME}/engine/pipe", f"{NAME}/journal"])
def test_a_pipe_among_the_files_is_refused_and_not_waited_for(root, part):
    (root / part).unlink(missing_ok=True)
    os.mkfifo(root / part)
    with pytest.raises(StoreError, match=r"move .* away"):
        open_at(root)


def test_a_store_of_links_in_circles_is_stamped(root):
    for number in range(6):
        (root / NAME / f"link{number}").symlink_to(root / NAME)
    assert store_stamp(root, "corpus") == store_stamp(root, "corpus")


def test_a_lock_that_is_a_link_leaves_its_target(root, tmp_path):
    (root / "corpus.lock").unlink(missing_ok=True)
    (root / "corpus.lock").symlink_to(tmp_path / "victim" / "letter.txt")
    with suppress(StoreError):
        open_at(root).close()
    assert (tmp_path / "victim" / "letter.txt").read_text() == "mine"


def test_a_publication_that_a_kill_cut_off_within_sqlite_is_rolled_back(tmp_path):
    """Points are looked at before they are loaded, and that needs what a dead process wrote."""
    with open_at(tmp_path, "local") as store:
        publish(store, make_tree())
    (file,) = (tmp_path / NAME / "engine").rglob("*.sqlite")
    code = (
        "import os, sqlite3, sys; points = sqlite3.connect(sys.argv[1]);"
        "points.execute('pragma cache_size = 1'); points.execute('begin immediate');"
        "points.execute('update points set point = zeroblob(90000)'); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", code, file], check=False)
    assert file.with_name(f"{file.name}-journal").exists()
    with open_at(tmp_path) as store:
        assert store.count() == 15
