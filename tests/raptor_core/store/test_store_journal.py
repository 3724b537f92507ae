"""Publications through crashes: a reader sees the old tree or the new one, whole."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import store_process
from support.store_process import BESIDE, GONE, NEW, OLD
from support.stores import PROCESS_PATH, make_manifest, open_at, publish, publish_together

from raptor_core.errors import StoreError
from raptor_core.store.engines.base import Batch, Point
from raptor_core.store.journal import MAGIC, decode, encode
from raptor_core.store.lexical import passage_vector

pytestmark = pytest.mark.slow


def run(*args):
    return subprocess.run(
        [sys.executable, store_process.__file__, *map(str, args)],
        env={"PYTHONPATH": PROCESS_PATH},
        capture_output=True,
        text=True,
        check=False,
    )


def seen(store):
    """What readers can find of the trees."""
    old, new = (store.search_text([word], 99)[0] for word in ("old", "new"))
    return store.nodes(), store.manifests(), len(old), len(new), store.point_ids("t")


def whole(nodes, n_old, n_new, beside=()):
    """``seen`` of a store that holds the tree of ``nodes``, and another one."""
    ordered = sorted([*nodes, *beside], key=lambda n: (n.tree, n.layer, *n.order))
    manifests = [make_manifest(beside, beside[0].tree)] if beside else []
    return (
        ordered,
        [*manifests, make_manifest(nodes)],
        n_old,
        n_new,
        sorted(node.id for node in nodes),
    )


STEPS = [
    "after journal",
    "half applied",
    "before deletes",
    "before flush",
    "before the journal goes",
]


@pytest.mark.parametrize("step", STEPS)
def test_a_publisher_that_dies_after_its_journal_has_published(tmp_path, kind, step):
    with open_at(tmp_path, kind) as store:
        publish_together(store, {"t": OLD, "gone": GONE})
    done = run("publish_and_die", tmp_path, kind, step)
    assert done.returncode == -9, done.stderr
    assert list(tmp_path.glob("*/journal"))
    with open_at(tmp_path, kind, identity=None) as store:
        assert seen(store) == whole(NEW, 0, len(NEW), BESIDE)
        assert store.point_ids("gone") == []
    assert not list(tmp_path.glob("*/journal*"))


def test_a_publisher_that_dies_before_its_journal_changed_nothing_and_can_go_on(tmp_path, kind):
    with open_at(tmp_path, kind) as store:
        publish_together(store, {"t": OLD, "gone": GONE})
    assert run("publish_and_die", tmp_path, kind, "before journal").returncode == -9
    with open_at(tmp_path, kind) as store:
        assert seen(store)[:4] == whole(OLD, len(OLD), 0, GONE)[:4]
        publish_together(store, {"t": NEW, "beside": BESIDE}, ["gone"])
        assert seen(store) == whole(NEW, 0, len(NEW), BESIDE)


def test_a_full_disk_is_named_and_loses_nothing_published(tmp_path, kind):
    with open_at(tmp_path, kind) as store:
        publish(store, OLD)
    done = run("publish_on_full_disk", tmp_path, kind)
    assert f"StoreError: {tmp_path}" in done.stdout, done.stderr
    with open_at(tmp_path, kind) as store:
        assert seen(store)[:4] == whole(OLD, len(OLD), 0)[:4]
        publish(store, NEW)
        assert seen(store) == whole(NEW, 0, len(NEW))


def test_a_disk_without_room_is_refused_before_anything_is_written(tmp_path, kind, monkeypatch):
    with open_at(tmp_path, kind) as store:
        publish(store, OLD)
        usage = type("Usage", (), {"free": 10 * 2**20})
        monkeypatch.setattr("raptor_core.disk.shutil.disk_usage", lambda _: usage)
        with pytest.raises(StoreError, match="10 MB are free"):
            store.publish(make_manifest(OLD[:3]), OLD[:3])
    monkeypatch.undo()
    with open_at(tmp_path, kind) as store:
        assert seen(store) == whole(OLD, len(OLD), 0)


def test_a_failed_commit_closes_the_store_and_the_next_opening_completes_it(
    tmp_path, kind, monkeypatch
):
    store = open_at(tmp_path, kind)
    publish(store, OLD)
    monkeypatch.setattr(type(store._engine), "flush", lambda _: fail())
    with pytest.raises(StoreError, match="engine failed"):
        store.publish(make_manifest(OLD[:4]), OLD[:4])
    with pytest.raises(StoreError, match="closed"):
        store.count()
    monkeypatch.undo()
    with open_at(tmp_path, kind) as store:
        assert seen(store) == whole(OLD[:4], 4, 0)


def fail():
    raise StoreError("the engine failed")


def point_of(point_id, payload, text):
    """With a vector and words where there is a text, as a publication makes it."""
    if text is None:
        return Point(point_id, payload)
    dense = np.random.default_rng(len(text)).random(5, dtype=np.float32)
    return Point(point_id, {**payload, "text": text}, dense, passage_vector(text))


POINTS = st.builds(
    point_of,
    st.uuids().map(str),
    st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())).map(
        lambda payload: {**payload, "state": "live"}
    ),
    st.none() | st.text(),
)


@given(st.lists(POINTS, max_size=4), st.lists(st.uuids().map(str), max_size=3))
def test_a_journal_comes_back_as_it_was(points, deletes):
    batch = decode(encode(Batch(tuple(points), tuple(deletes))), Path("j"))
    assert batch.deletes == tuple(deletes)
    for read, written in zip(batch.upserts, points, strict=True):
        assert (read.id, read.payload, read.lexical) == (
            written.id,
            written.payload,
            written.lexical,
        )
        assert (read.dense is None) == (written.dense is None)
        assert written.dense is None or (read.dense == written.dense).all()


WHOLE = encode(Batch(deletes=("a", "b")))


@pytest.mark.parametrize(
    "data",
    [b"", b"short", MAGIC, WHOLE[:-1], WHOLE[:-9] + b"d" + WHOLE[-8:], b"RAPTORJ3" + WHOLE[8:]],
    ids=len,
)
def test_a_damaged_journal_is_named_and_not_applied(tmp_path, data):
    with open_at(tmp_path) as store:
        publish(store, OLD)
    place = next(tmp_path.glob("*/engine")).parent / "journal"
    place.write_bytes(data)
    with pytest.raises(StoreError, match="not a complete journal of a publication by this version"):
        open_at(tmp_path)
    place.unlink()
    with open_at(tmp_path) as store:
        assert store.count() == len(OLD)


@pytest.mark.parametrize("kind", ["edge", "local"])
def test_an_id_that_is_no_uuid_is_refused_before_the_journal_is_written(tmp_path, kind):
    with open_at(tmp_path, kind) as store:
        publish(store, OLD)
        before = seen(store)
        with pytest.raises(StoreError, match=r"'no-uuid' cannot be the id .*Nothing was changed"):
            store._commit(Batch(deletes=("no-uuid",)))
        assert seen(store) == before
    assert not list(tmp_path.rglob("journal"))


REFUSED = {
    "is no id of a point": encode(Batch((Point("no-uuid", {"state": "live"}),))),
    "no batch of points": encode(Batch()).replace(b"[[], []]", b"{}"),
}


@pytest.mark.parametrize("kind", ["edge", "local"])
@pytest.mark.parametrize("reason", REFUSED)
def test_a_journal_that_the_engine_refuses_is_named_and_moving_it_away_helps(
    tmp_path, kind, reason
):
    with open_at(tmp_path, kind) as store:
        publish(store, OLD)
    (collection,) = (path for path in tmp_path.iterdir() if path.is_dir())
    journal = collection / "journal"
    body = REFUSED[reason][len(MAGIC) + 32 :]
    journal.write_bytes(MAGIC + hashlib.sha256(body).digest() + body)
    for _ in range(2):
        with pytest.raises(StoreError, match=reason) as caught:
            open_at(tmp_path, kind)
    assert re.match(rf"{journal}: .* move the file away, which opens", str(caught.value))
    journal.unlink()
    with open_at(tmp_path, kind) as store:
        publish(store, NEW)
        assert seen(store) == whole(NEW, 0, len(NEW))
