"""Stores that lie where this process may only read."""

import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.stores import NEWER, make_tree, open_at, publish, vectors_of

from raptor_core.errors import StoreError, StoreLockedError, StoreMismatchError
from raptor_core.store import folder
from raptor_core.store.locking import StoreLock


def mounted_read_only(root: Path) -> bool:
    """Mount a folder over itself, so that nobody can write there; whether that is permitted."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    commands = (["mount", "--bind", root, root], ["mount", "-o", "remount,ro,bind", root])
    if all(_done(command) for command in commands):
        return True
    _done(["umount", root])
    return False


def _done(command) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextmanager
def read_only(root: Path, monkeypatch):
    """The folder on a read-only disk; where mounting is not permitted, one that says so."""
    if mounted_read_only(root):
        try:
            yield
        finally:
            subprocess.run(["umount", root], check=True)
        return
    modes = {path: path.stat().st_mode for path in (root, *root.rglob("*"))}
    for path in sorted(modes, reverse=True):
        path.chmod(0o555 if path.is_dir() else 0o444)
    with monkeypatch.context() as patched:
        if os.geteuid() == 0:  # whom no mode keeps from writing
            patched.setattr(folder.os, "access", lambda path, _: Path(path) != root)
        yield
    for path in sorted(modes):
        path.chmod(modes[path])


@pytest.fixture
def kept(tmp_path, kind, monkeypatch):
    """A folder with a published tree, what readers find in it, and where copies are made."""
    nodes = make_tree()
    root = tmp_path / "kept"
    with open_at(root, kind) as store:
        publish(store, nodes)
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    return root, nodes, copies


def test_a_store_on_a_read_only_disk_is_read_from_a_copy(kept, monkeypatch):
    root, nodes, copies = kept
    with open_at(root) as store:
        before = store.nodes(), store.search(vectors_of(nodes[:2]), 5), store.manifests()
    files = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    with read_only(root, monkeypatch):
        for _ in range(2):
            with open_at(root) as store:
                now = store.nodes(), store.search(vectors_of(nodes[:2]), 5), store.manifests()
                assert now == before
                assert list(copies.iterdir())
            assert not list(copies.iterdir())
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == files


def test_nothing_is_written_there(kept, monkeypatch):
    root, nodes, _ = kept
    for write in (
        lambda store: publish(store, make_tree("other"), "other"),
        lambda store: store.drop("t"),
    ):
        with (
            read_only(root, monkeypatch),
            open_at(root) as store,
            pytest.raises(StoreError, match="may only read"),
        ):
            write(store)
    with open_at(root) as store:
        assert store.count() == len(nodes)


def test_another_identity_and_a_broken_publication_are_refused(kept, monkeypatch):
    root, _, copies = kept
    with (
        read_only(root, monkeypatch),
        pytest.raises(StoreMismatchError, match="was made for"),
    ):
        open_at(root, identity=NEWER)
    (collection,) = (path for path in root.iterdir() if path.is_dir())
    (collection / "journal").write_bytes(b"whatever")
    with (
        read_only(root, monkeypatch),
        pytest.raises(StoreError, match="a publication was broken off here"),
    ):
        open_at(root)
    assert not list(copies.iterdir())


def test_a_copy_is_made_while_nobody_writes(kept, monkeypatch):
    root, _, copies = kept
    lock = StoreLock(root / "corpus.lock", 1)
    lock.acquire()
    monkeypatch.setattr(folder.os, "access", lambda path, _: Path(path) != root)
    try:
        with pytest.raises(StoreLockedError, match=f"process {os.getpid()} "):
            open_at(root, lock_seconds=0.2)
    finally:
        lock.release()
    with open_at(root, lock_seconds=0.2) as store:
        assert store.count()
    assert not list(copies.iterdir())
