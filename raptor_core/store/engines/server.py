"""A server's collection as an engine: publications and reads that do not wait for each other.

Reads are in ``sessions.py``, publications in ``versions.py``, and the settings of a new collection
and of searches in ``layout.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from raptor_core.store.engines.base import Batch, Condition, Match, Point, Question, Scored
from raptor_core.store.engines.glances import Glances
from raptor_core.store.engines.known_versions import KnownVersions
from raptor_core.store.engines.qdrant import ClientEngine
from raptor_core.store.engines.sessions import ReadSession
from raptor_core.store.engines.versions import ServerPublisher

if TYPE_CHECKING:
    from raptor_core.store.outlines import Candidates

Read = TypeVar("Read")


class ServerEngine:
    """One collection on a server. Threads may share it."""

    def __init__(self, *collection: Any) -> None:
        """Take the arguments of a ``ClientEngine``, which reads points of all versions."""
        self._points = ClientEngine(*collection)
        self._outlines = Glances(self._points)
        self._publisher = ServerPublisher(self._points)
        self._known = KnownVersions(self._points)

    def apply(self, batch: Batch) -> None:
        """Publish the trees that a batch names; without any, delete nodes and points by id."""
        if not batch.replaces:
            nodes = self._points.scroll(Condition((Match("node_id", batch.deletes),)), ())
            ids = (*batch.deletes, *(record.id for record in nodes))
            self._points.apply(replace(batch, deletes=ids))
            return
        for manifest in self._known.take_unfinished():
            self._publisher.settle(manifest["publication"], [manifest])
        versions = self._publisher.publish(batch)
        self._known.learn_published([tree for tree, _ in batch.replaces], versions)

    def read_consistently(self, read: Callable[[ReadSession], Read]) -> Read:
        """Return the result of ``read``, all of it of one version of each tree.

        Raises:
            StoreError: the same trees were published again and again for ``READ_SECONDS``.
        """
        return ReadSession(self._points, self._outlines, self._known).run(read)

    def scroll(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool = False
    ) -> list[Point]:
        """Return all points that match; live ones as nodes of their tree's version."""
        return self.read_consistently(lambda read: read.scroll(condition, fields, dense=dense))

    def search(self, questions: Sequence[Question], limit: int) -> list[list[Scored]]:
        """Return the best nodes of each search."""
        return self.read_consistently(lambda read: read.search(questions, limit))

    def outlines(self, questions: Sequence[Question], limit: int) -> list[Candidates]:
        """Return the outlines of the nodes that ``search`` returns."""
        return self.read_consistently(lambda read: read.outlines(questions, limit))

    def count(self, condition: Condition) -> int:
        """Return the number of nodes that match."""
        return self.read_consistently(lambda read: read.count(condition))

    def flush(self) -> None:
        """Do nothing: the server has logged every write that was waited for."""

    def optimize(self) -> None:
        """Do nothing: the server optimizes in the background."""

    def close(self) -> None:
        """Close the client."""
        self._points.close()
