"""Three real Qdrant servers of the tests' own, as one cluster."""

from __future__ import annotations

import json
import socket
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from support.ports import free_port
from support.qdrant_server import KEY, PATIENCE_SECONDS, QdrantServer

N_NODES = 3


class Cluster:
    """The nodes, any of which may be killed and started again; ``settings`` are Qdrant's own."""

    def __init__(self, folder: Path, **settings: str) -> None:
        uris = [f"http://127.0.0.1:{free_port()}" for _ in range(N_NODES)]
        self.nodes = [
            QdrantServer(
                folder / str(number),
                *("--uri", uri),
                *(("--bootstrap", uris[0]) if number else ()),
                cluster__enabled="true",
                cluster__p2p__port=uri.rpartition(":")[2],
                **settings,
            )
            for number, uri in enumerate(uris)
        ]

    def start(self) -> None:
        """Start the nodes one after the other; returns when each knows of all.

        A node answers clients before it listens to other nodes.
        """
        for n_started, node in enumerate(self.nodes, 1):
            node.start()
            wait_for(lambda n=node: is_listening(int(n.environ["QDRANT__CLUSTER__P2P__PORT"])))
            wait_for(lambda n=n_started: len(self._told(self.nodes[0], "/cluster")["peers"]) == n)

    @property
    def url(self) -> str:
        """What ``store.url`` is to be."""
        return ",".join(node.url for node in self.nodes)

    def _told(self, node: QdrantServer, path: str) -> dict:
        asked = urllib.request.Request(f"{node.url}{path}", headers={"api-key": KEY})
        with urllib.request.urlopen(asked, timeout=5) as answer:
            return json.load(answer)["result"]

    def is_whole(self, collection: str) -> bool:
        """Whether every node says that all copies of a collection are up to date."""
        told = [self._told(node, f"/collections/{collection}/cluster") for node in self.nodes]
        shards = [one for node in told for one in (*node["local_shards"], *node["remote_shards"])]
        moving = any(node["shard_transfers"] for node in told)
        return not moving and {shard["state"] for shard in shards} == {"Active"}


def is_listening(port: int) -> bool:
    """Whether somebody takes connections at a port of this machine."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def wait_for(reached) -> None:
    """Wait for what servers and threads do among themselves."""
    last = time.monotonic() + PATIENCE_SECONDS
    while not reached():
        assert time.monotonic() < last, "waited in vain"
        time.sleep(0.05)


@contextmanager
def qdrant_cluster(folder: Path, **settings: str):
    """A cluster of three nodes for as long as the context lasts."""
    cluster = Cluster(folder, **settings)
    try:
        cluster.start()
        yield cluster
    finally:
        for node in cluster.nodes:
            node.kill()
