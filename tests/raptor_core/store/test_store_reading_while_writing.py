"""Readers beside a publisher find whole trees, and one that is killed is made good."""

import json
import random
import subprocess
import sys
import time

import pytest
from support import store_process
from support.stores import PROCESS_PATH, faults, live_ids, open_at, publish, rebuild

pytestmark = [pytest.mark.slow, pytest.mark.rare]

ROUNDS, KILLS = 50, 10


def start(*args):
    return subprocess.Popen(
        [sys.executable, store_process.__file__, *map(str, args)],
        env={"PYTHONPATH": PROCESS_PATH},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def publish_first(root):
    with open_at(root) as store:
        for tree in ("one", "two"):
            publish(store, rebuild(tree, 0), tree)


def test_a_reader_finds_no_mixed_tree_while_rebuilds_are_published(tmp_path):
    publish_first(tmp_path)
    with start("read_until_told", tmp_path) as reader:
        assert reader.stdout.readline() == "reading\n"
        with start("publish_rebuilds", tmp_path, 1, ROUNDS + 1) as publisher:
            assert len(publisher.stdout.readlines()) == ROUNDS
        assert publisher.returncode == 0
        output, _ = reader.communicate("enough\n", timeout=60)
    found = json.loads(output)
    assert found["wrong"] == []
    assert found["n_builds"] > 4


def test_a_publisher_killed_at_any_time_is_made_good_by_the_next(tmp_path):
    publish_first(tmp_path)
    rng = random.Random(1)
    for attempt in range(KILLS):
        with start("publish_rebuilds", tmp_path, 100 * attempt, 100 * attempt + 99) as child:
            assert child.stdout.readline()
            time.sleep(rng.uniform(0, 0.4))
            child.kill()
        with open_at(tmp_path) as store:
            for tree in ("one", "two"):
                publish(store, rebuild(tree, attempt), tree)
                assert live_ids(store, tree) == sorted(n.id for n in rebuild(tree, attempt))
            assert faults(store) == []
