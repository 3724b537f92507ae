"""The cache of unfinished work: no value is lost or paid for twice, unneeded ones go."""

import random
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from support import cache_process
from support.openai_server import FakeOpenAI
from support.paid_build import DOCUMENTS, make_components, paid_settings
from support.stores import PROCESS_PATH, keyed_vectors, make_manifest, make_tree, open_at

from raptor_core.errors import DamagedTreeError, StoreError
from raptor_core.store.engines.base import Condition, Match, Upsert
from raptor_core.tree.build import build_tree
from raptor_core.tree.cache import FILE, NodeCache
from raptor_core.tree.published import read_published_tree

ODD = "Grüße 世界 😀,\ttwo\nlines"
VECTOR = np.array([0.6, 0.8], dtype=np.float32)


def start(action, folder):
    return subprocess.Popen(
        [sys.executable, cache_process.__file__, action, str(folder)],
        env={"PYTHONPATH": PROCESS_PATH},
        stdout=subprocess.PIPE,
        text=True,
    )


def fill(cache, tree, keys, text="text"):
    cache.record_needed_keys((tree, key) for key in keys)
    cache.keep_texts(dict.fromkeys(keys, text))


both_kinds = pytest.mark.parametrize(
    "made", [lambda _: NodeCache(), NodeCache], ids=["memory", "sqlite"]
)


@both_kinds
def test_what_is_kept_is_found_by_key_until_it_is_discarded(tmp_path, made):
    cache = made(tmp_path)
    cache.keep_texts({"a": "one", "b": ODD})
    cache.keep_vectors({"v": VECTOR})
    cache.keep_texts({"a": "another"})
    assert cache.texts(["a", "b", "v", "unknown"]) == {"a": "another", "b": ODD}
    found = cache.vectors(["a", "v"])
    assert found.keys() == {"v"}
    assert (found["v"].tobytes(), found["v"].dtype) == (VECTOR.tobytes(), np.float32)
    cache.discard(["a", "unknown"])
    assert cache.texts(["a", "b"]) == {"b": ODD}


@pytest.mark.parametrize("text", ["with a \0", "half a pair \ud83d"])
def test_a_text_that_no_store_takes_is_not_kept(tmp_path, text):
    cache = NodeCache(tmp_path)
    fill(cache, "t", ["a"], text)
    assert cache.texts(["a"]) == {}
    cache.keep_texts({"a": "made again"})
    assert cache.texts(["a"]) == {"a": "made again"}


@pytest.mark.slow
def test_what_another_run_leaves_while_one_is_open_is_not_lost(tmp_path):
    cache = NodeCache(tmp_path)
    assert cache.texts(["a"]) == {}
    with start("keep_one", tmp_path) as other:
        assert other.wait() == 0
    cache.keep_texts({"a": "of this one"})
    assert NodeCache(tmp_path).texts(["a", "b"]) == {"a": "of this one", "b": "of the other"}


@both_kinds
def test_a_tree_takes_along_what_no_other_unfinished_tree_wants(tmp_path, made):
    cache = made(tmp_path)
    fill(cache, "one", ["a", "b"])
    fill(cache, "two", ["b", "c"])
    cache.keep_texts({"nobody's": "text"})
    assert cache.unfinished_trees() == ["one", "two"]
    assert cache.count_wanted_summaries() == 3
    cache.forget_trees(["one", "never there"])
    assert cache.count_wanted_summaries() == 2
    assert cache.texts("abc").keys() == {"b", "c"}
    assert cache.unfinished_trees() == ["two"]
    cache.forget_trees(["two"])
    assert cache.texts(["a", "b", "c", "nobody's"]).keys() == {"nobody's"}
    assert cache.unfinished_trees() == []


def test_trees_of_one_name_in_two_corpora_are_two(tmp_path):
    one, other = NodeCache(tmp_path, "one"), NodeCache(tmp_path, "other")
    for cache in (one, other):
        fill(cache, "t", ["a"])
    one.forget_trees(["t"])
    assert one.unfinished_trees() == []
    assert other.unfinished_trees() == ["t"]
    assert other.texts(["a"]) == {"a": "text"}
    other.forget_trees(["t"])
    assert other.texts(["a"]) == {}


def test_forgotten_text_leaves_no_bytes_and_its_room_is_given_back(tmp_path):
    cache = NodeCache(tmp_path)
    fill(cache, "t", [f"{number}" for number in range(900)], "xylophone " * 50)
    full = (tmp_path / FILE).stat().st_size
    cache.forget_trees(["t"])
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"xylophone" not in left
    assert len(left) < full / 5


def test_a_file_whose_process_died_before_it_had_tables_is_empty(tmp_path):
    (tmp_path / FILE).touch()
    cache = NodeCache(tmp_path, "wiki")
    assert cache.unfinished_trees() == []
    cache.record_needed_keys([("a.md", "key")])
    assert cache.unfinished_trees() == ["a.md"]


def test_a_damaged_file_is_named_and_may_be_moved_away(tmp_path):
    NodeCache(tmp_path).keep_texts({"a": "one"})
    (tmp_path / FILE).write_bytes(b"no database" * 999)
    with pytest.raises(StoreError, match=r"cache\.sqlite.*move it away.*unfinished work only"):
        NodeCache(tmp_path).texts("a")
    (tmp_path / FILE).unlink()
    assert NodeCache(tmp_path).texts("a") == {}


@pytest.mark.slow
def test_a_disk_that_fills_up_is_named_and_what_was_kept_stays(tmp_path):
    with start("keep_on_full_disk", tmp_path) as process:
        *kept, error = process.stdout.read().splitlines()
    assert f"StoreError: {tmp_path}" in error
    assert len(kept) > 10
    assert NodeCache(tmp_path).texts(kept).keys() == set(kept)


@pytest.mark.rare
@pytest.mark.slow
def test_nothing_that_was_kept_is_lost_by_a_kill_at_any_time(tmp_path):
    rng = random.Random(3)
    for number in range(8):
        folder = tmp_path / str(number)
        with start("keep_many", folder) as process:
            process.stdout.readline()
            time.sleep(rng.uniform(0, 0.2))
            process.send_signal(signal.SIGKILL)
            kept = [f"{0:06}", *process.stdout.read().split()]
        cache = NodeCache(folder)
        found = cache.texts(kept) | cache.vectors(kept)
        assert found.keys() == set(kept)
        assert cache.unfinished_trees() == ["t"]


@pytest.mark.rare
@pytest.mark.slow
def test_a_kill_while_a_tree_is_forgotten_leaves_all_of_it_or_nothing(tmp_path):
    rng = random.Random(5)
    keys = [f"{number:03}" for number in range(200)]
    for number in range(8):
        folder = tmp_path / str(number)
        with start("forget_and_keep", folder) as process:
            process.stdout.readline()
            time.sleep(rng.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
        cache = NodeCache(folder)
        assert len(cache.texts(keys)) in (0, 200)
        cache.forget_trees(["t"])
        assert (cache.texts(keys), cache.unfinished_trees()) == ({}, [])


def test_junk_in_the_cache_becomes_no_summary(tmp_path):
    with FakeOpenAI() as server:
        settings = paid_settings(server.base_url, tree={"max_layers": 1})
        tree = build_tree(DOCUMENTS, components=make_components(settings, tmp_path))
        n_paid = server.n_requests
        key = tree.layers[1].nodes[0].content_key
        NodeCache(tmp_path).keep_texts({key: "I'm sorry, but I can't assist with that request."})
        again = build_tree(DOCUMENTS, components=make_components(settings, tmp_path))
        assert server.n_requests == n_paid + 1
    assert list(again.nodes()) == list(tree.nodes())


def test_a_tree_with_a_missing_vector_is_refused():
    nodes = make_tree()
    with open_at(None) as store:
        store.publish(make_manifest(nodes), nodes, keyed_vectors(nodes))
        first = Condition((Match("node_id", (nodes[0].id,)),))
        (point,) = store._engine.scroll(first, None)
        store._engine.apply([Upsert((replace(point, dense=None),))])
        with pytest.raises(DamagedTreeError, match="missing vectors: 1"):
            read_published_tree(store, "t")
