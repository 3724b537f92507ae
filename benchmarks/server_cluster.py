"""Three real Qdrant servers as a cluster: publications and reads before and after one is killed.

    QDRANT_BINARY=/path/to/qdrant python benchmarks/server_cluster.py [--tick 50] [--seconds 10]

Each collection has three copies, as docs/stores.md recommends. One thread publishes a tree of some
20 nodes again and again, another reads it whole; both keep their store open, and open it again
after an error. Each node in turn is killed with kill -9, and brought back after the given seconds.
The baseline is what both did in the seconds before the kill. ``--tick`` is the server's
``cluster.consensus.tick_period_ms``.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.qdrant_cluster import qdrant_cluster, wait_for  # noqa: E402
from support.qdrant_server import KEY  # noqa: E402
from support.stores import IDENTITY, open_at, publish, rebuild  # noqa: E402

from raptor_core.errors import StoreError  # noqa: E402
from raptor_core.store import StoreIdentity, VectorStore  # noqa: E402

NAME = "corpus-ab12cd34"
REBUILDS = 200
"""Different states of the tree, in turn."""


class Traffic:
    """A publisher and a reader; the moments at which either was done, and what went wrong."""

    def __init__(self, url: str, read_consistency: str) -> None:
        self._url, self._read_consistency = url, read_consistency
        self._enough = threading.Event()
        self.published: list[float] = []
        self.read: list[float] = []
        self.errors: list[str] = []
        self.longest = 0.0
        self._states = [rebuild("t", number) for number in range(REBUILDS)]
        self._ids = {frozenset(n.id for n in state): at for at, state in enumerate(self._states)}
        with self._open(IDENTITY) as store:
            publish(store, self._states[0])
        works = (
            lambda: self._go_on(IDENTITY, self._publish, self.published),
            lambda: self._go_on(None, self._look, self.read),
        )
        self._threads = [threading.Thread(target=work) for work in works]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        for thread in self._threads:
            thread.join()

    def _open(self, identity: StoreIdentity | None) -> VectorStore:
        return open_at(
            None,
            "server",
            identity,
            url=self._url,
            timeout_seconds=5,
            replication_factor=3,
            write_consistency_factor=2,
            read_consistency=self._read_consistency,
        )

    def _go_on(
        self,
        identity: StoreIdentity | None,
        work: Callable[[VectorStore], None],
        done: list[float],
    ) -> None:
        while not self._enough.is_set():
            try:
                with self._open(identity) as store:
                    while not self._enough.is_set():
                        start = time.monotonic()
                        work(store)
                        done.append(time.monotonic())
                        self.longest = max(self.longest, done[-1] - start)
            except StoreError as error:
                self.errors.append(str(error)[:200])

    def _publish(self, store: VectorStore) -> None:
        publish(store, self._states[(len(self.published) + 1) % REBUILDS])

    def _look(self, store: VectorStore) -> None:
        if frozenset(node.id for node in store.nodes()) not in self._ids:
            self.errors.append("a tree was read that nobody published")

    def within(self, start: float, end: float) -> tuple[int, int]:
        """Publications and reads that ended in a time."""
        return tuple(sum(start <= at < end for at in done) for done in (self.published, self.read))  # type: ignore[return-value]


def availability(tick: str, read_consistency: str, seconds: float) -> None:
    """Print what is done in the seconds before and after each of three nodes is killed."""
    os.environ["QDRANT_API_KEY"] = KEY
    settings = {"cluster__consensus__tick_period_ms": tick}
    with (
        tempfile.TemporaryDirectory() as folder,
        qdrant_cluster(Path(folder), **settings) as cluster,
        Traffic(cluster.url, read_consistency) as traffic,
    ):
        for number, node in enumerate(cluster.nodes, 1):
            time.sleep(seconds)
            traffic.longest = 0.0
            killed = time.monotonic()
            node.kill()
            time.sleep(seconds)
            before = traffic.within(killed - seconds, killed)
            after = traffic.within(killed, killed + seconds)
            shares = [100 * now / max(1, then) for now, then in zip(after, before, strict=True)]
            print(
                f"node {number}: {before[0]} publications and {before[1]} reads before, "
                f"{after[0]} ({shares[0]:.0f} %) and {after[1]} ({shares[1]:.0f} %) after; "
                f"the longest took {traffic.longest:.1f} s; {len(traffic.errors)} errors so far"
            )
            node.start()
            with suppress(OSError):
                wait_for(lambda: cluster.is_whole(NAME))
    for error in traffic.errors[:5]:
        print(error)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tick", default="100", help="milliseconds")
    parser.add_argument("--read-consistency", default="quorum")
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    availability(given.tick, given.read_consistency, given.seconds)


if __name__ == "__main__":
    main()
