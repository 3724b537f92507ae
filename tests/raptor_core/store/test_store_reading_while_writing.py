"""Readers beside a publisher find each tree as some build left it, whole."""

import json
import random
import subprocess
import sys
import time

import pytest
from support import store_process
from support.stores import PROCESS_PATH, faults, open_at, publish, rebuild

ROUNDS = {"edge": 50, "local": 15}
KILLS = {"edge": 10, "local": 4}


def start(*args):
    return subprocess.Popen(
        [sys.executable, store_process.__file__, *map(str, args)],
        env={"PYTHONPATH": PROCESS_PATH},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def publish_first(root, kind):
    with open_at(root, kind) as store:
        for tree in ("one", "two"):
            publish(store, rebuild(tree, 0), tree)


@pytest.mark.slow
def test_a_reader_finds_no_mixed_tree_while_rebuilds_are_published(tmp_path, kind):
    publish_first(tmp_path, kind)
    with start("read_until_told", tmp_path, kind) as reader:
        assert reader.stdout.readline() == "reading\n"
        with start("publish_rebuilds", tmp_path, kind, 1, ROUNDS[kind] + 1) as publisher:
            assert len(publisher.stdout.readlines()) == ROUNDS[kind]
        assert publisher.returncode == 0
        told, _ = reader.communicate("enough\n", timeout=60)
    found = json.loads(told)
    assert found["wrong"] == []
    assert found["n_builds"] > 4


@pytest.mark.slow
def test_a_publisher_killed_at_any_time_leaves_whole_trees(tmp_path, kind):
    publish_first(tmp_path, kind)
    rng = random.Random(1)
    seen = set()
    for attempt in range(KILLS[kind]):
        with start("publish_rebuilds", tmp_path, kind, 100 * attempt, 100 * attempt + 99) as child:
            assert child.stdout.readline()
            time.sleep(rng.uniform(0, 0.4))
            child.kill()
        with open_at(tmp_path, kind, None) as store:
            assert faults(store) == []
            manifests = store.manifests()
        assert [manifest.tree for manifest in manifests] == ["one", "two"]
        assert not list(tmp_path.glob("*/journal"))
        seen |= {manifest.build_id for manifest in manifests}
    assert len(seen) > KILLS[kind]
    with open_at(tmp_path, kind) as store:
        for tree in ("one", "two"):
            publish(store, rebuild(tree, 7), tree)
            assert store.point_ids(tree) == sorted(node.id for node in rebuild(tree, 7))
        assert faults(store) == []
