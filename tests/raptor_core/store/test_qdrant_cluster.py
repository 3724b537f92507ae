"""A cluster of three real servers, each killed and brought back while others publish and read."""

import threading

import pytest
from support.qdrant_cluster import qdrant_cluster, wait_for
from support.qdrant_server import KEY
from support.stores import IDENTITY, faults, open_at, publish, rebuild

from raptor_core.errors import StoreError

pytestmark = [pytest.mark.slow, pytest.mark.rare]

NAME = "corpus"
COPIES = {"collection": {"replication_factor": 3, "write_consistency_factor": 2}}


class Traffic:
    """A publisher and a reader that go on, whatever becomes of a node."""

    def __init__(self, url):
        self.url = url
        self.published, self.n_reads, self.wrong = 0, 0, []
        self.number = {self.ids(rebuild("t", 0)): 0}
        self._done = threading.Event()
        with self.open(IDENTITY) as store:
            publish(store, rebuild("t", 0))
        self._threads = [threading.Thread(target=run) for run in (self._publish, self._read)]
        for thread in self._threads:
            thread.start()

    def open(self, identity=None):
        return open_at(None, "server", identity, url=self.url, timeout_seconds=5, **COPIES)

    def end(self):
        self._done.set()
        for thread in self._threads:
            thread.join()

    @staticmethod
    def ids(nodes):
        return frozenset(node.id for node in nodes)

    def is_latest(self, nodes):
        """Whether they are of the last publication, which may have been told as failed.

        A node that came back may give a tree as it was before, or a part of one, until the others
        say that it lags.
        """
        return self.number.get(self.ids(nodes)) in (self.published, self.published + 1)

    def _publish(self):
        while not self._done.is_set():
            following = rebuild("t", self.published + 1)
            self.number[self.ids(following)] = self.published + 1
            try:
                with self.open(IDENTITY) as store:
                    publish(store, following)
            except StoreError:
                continue  # once more the same
            self.published += 1

    def _read(self):
        while not self._done.is_set():
            try:
                with self.open() as store:
                    for _ in range(5):
                        self._compare(self.published, store.nodes())
            except StoreError:
                continue

    def _compare(self, known, nodes):
        seen = self.number.get(self.ids(nodes))
        self.n_reads += 1
        if seen is not None and seen < known:  # for milliseconds nodes of both builds come
            self.wrong.append(f"{seen} was read after {known} was published")


def goes_on(traffic):
    """Wait until both have got on a little."""
    published, n_reads = traffic.published, traffic.n_reads
    wait_for(lambda: traffic.published > published + 2 and traffic.n_reads > n_reads + 3)


def test_any_node_may_die_and_come_back_while_others_publish_and_read(tmp_path, monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    with qdrant_cluster(tmp_path) as cluster:
        traffic = Traffic(cluster.url)
        try:
            for node in cluster.nodes:
                goes_on(traffic)
                node.kill()
                goes_on(traffic)
                node.start()
                wait_for(lambda: cluster.is_whole(NAME))
        finally:
            traffic.end()
        assert traffic.wrong == []
        for node in cluster.nodes:
            with open_at(None, "server", None, url=node.url) as store:
                wait_for(lambda s=store: traffic.is_latest(s.nodes()) and faults(s) == [])
