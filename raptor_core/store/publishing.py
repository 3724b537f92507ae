"""Trees gathered into commits: a commit costs some flushes of the disk, or some requests.

Each tree is compared with what is stored when it is given, and the points to write are kept until
a commit is full. Its trees become live together; a crash leaves all of them old or all new.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np

from raptor_core.errors import StoreError
from raptor_core.nodes import Node
from raptor_core.store.base import Edition, Published, StoreIdentity
from raptor_core.store.conditions import LIVE, MANIFEST
from raptor_core.store.engine import Batch, Condition, Engine, Match, Point, Record
from raptor_core.store.payload import manifest_id
from raptor_core.store.publication import (
    STATE_FIELDS,
    Publication,
    check_vectors,
    plan_publication,
    publication_batch,
)
from raptor_core.vectors import Vectors

COMMIT_BYTES = 8 * 2**20
"""What a commit of several trees holds, as estimated: 2,800 nodes of 400 characters and 384
dimensions. Where a tree of them takes 100 nodes, the flushes are a hundredth of the whole."""

DROPPED_TREES = 500
"""Trees that are asked for at once to be dropped."""

_FIELD_BYTES = 1000
_ID_BYTES = 40


class Publisher:
    """What the next commit holds; see ``Publishing``. ``live_vectors`` is the store's look-up."""

    def __init__(
        self,
        engine: Engine,
        live_vectors: Callable[[Iterable[str]], dict[str, Vectors]],
        commit: Callable[[Batch], None],
        identity: StoreIdentity,
    ) -> None:
        self._engine = engine
        self._live_vectors = live_vectors
        self._commit = commit
        self._identity = identity
        self._points: list[Point] = []
        self._deletes: list[str] = []
        self._trees: set[str] = set()
        self._marks: dict[str, str | None] = {}
        self._n_bytes = 0
        self._failure: StoreError | None = None

    def publish(self, editions: Sequence[Edition]) -> list[Published]:
        """See ``Publishing.publish``."""
        names = [edition.manifest.tree for edition in editions]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise StoreError(f"tree {twice!r} comes twice among {len(names)} to be published")
        return [done for part in self._parts(editions) for done in self._publish_part(part)]

    def _parts(self, editions: Sequence[Edition]) -> Iterator[list[Edition]]:
        """The editions in order, as many at once as are compared at once; at least one."""
        part: list[Edition] = []
        total = 0
        for edition in editions:
            size = self._bytes(edition.nodes)
            if part and total + size > COMMIT_BYTES:
                yield part
                part, total = [], 0
            part.append(edition)
            total += size
        if part:
            yield part

    def _publish_part(self, editions: Sequence[Edition]) -> list[Published]:
        self._begin(edition.manifest.tree for edition in editions)
        stored = self._stored(editions)
        planned = [
            (edition.manifest, plan_publication(edition.manifest, edition.nodes, records))
            for edition, records in zip(editions, stored, strict=True)
        ]
        changed = [node for _, publication in planned for node, _ in publication.changed]
        vectors = self._vectors(changed, editions)
        batches = [
            publication_batch(manifest, publication, vectors) for manifest, publication in planned
        ]
        for (manifest, publication), batch in zip(planned, batches, strict=True):
            self._add([manifest.tree], batch, self._publication_bytes(publication))
        return [publication.result for _, publication in planned]

    def _vectors(self, changed: Sequence[Node], editions: Sequence[Edition]) -> dict[str, Vectors]:
        """Vectors of changed nodes by embedding key: those that are given, else those live."""
        given = {key: vector for one in editions for key, vector in one.vectors.items()}
        taken = [node for node in changed if node.embedding_key in given]
        if taken:
            rows = np.stack([given[node.embedding_key] for node in taken])
            check_vectors(taken, rows, self._identity)
        rest = [node.embedding_key for node in changed if node.embedding_key not in given]
        return {**(self._live_vectors(rest) if rest else {}), **given}

    def _stored(self, editions: Sequence[Edition]) -> list[list[Record]]:
        """State and digest of all points of each edition's tree."""
        found: dict[str, list[Record]] = {edition.manifest.tree: [] for edition in editions}
        for record in self._listed(list(found)):
            found[record.payload["tree"]].append(record)
        return list(found.values())

    def _listed(self, trees: Sequence[str]) -> list[Record]:
        """State and digest of all nodes of these trees, once what their manifests say is known.

        In this order: a manifest that is written in between is then another at the commit.
        """
        for tree in trees:
            self._marks.pop(tree, None)
        match = Match("tree", tuple(trees))
        manifests = self._engine.scroll(Condition((match, MANIFEST)), ("tree", "mark"))
        self._marks |= {found.payload["tree"]: found.payload.get("mark") for found in manifests}
        return self._engine.scroll(Condition((match, LIVE)), STATE_FIELDS)

    def drop(self, trees: Collection[str]) -> int:
        """See ``Publishing.drop``."""
        names = sorted(set(trees))
        self._begin(names)
        n_live = 0
        for at in range(0, len(names), DROPPED_TREES):
            part = names[at : at + DROPPED_TREES]
            stored = self._listed(part)
            deletes = tuple(record.id for record in stored)
            held = (manifest_id(tree) for tree in part if tree in self._marks)
            self._add(part, Batch(deletes=(*deletes, *held)), _ID_BYTES * len(deletes))
            n_live += sum(record.payload["state"] == "live" for record in stored)
        return n_live

    def _begin(self, trees: Iterable[str]) -> None:
        """Commit what is gathered where it holds one of these trees."""
        if self._failure:
            raise self._failure
        if not self._trees.isdisjoint(trees):
            self._flush()

    def _add(self, trees: Sequence[str], batch: Batch, n_bytes: int) -> None:
        if self._n_bytes + n_bytes > COMMIT_BYTES:
            self._flush()
        self._points += batch.upserts
        self._deletes += batch.deletes
        self._trees.update(trees)
        self._n_bytes += n_bytes

    def end(self) -> None:
        """Commit what is left.

        Raises:
            StoreError: this commit failed, or one before it.
        """
        self._begin(self._trees)
        self._failure = StoreError("this publication has ended; begin another")

    def _flush(self) -> None:
        replaces = tuple((tree, self._marks.get(tree)) for tree in sorted(self._trees))
        batch = Batch(tuple(self._points), tuple(self._deletes), replaces=replaces)
        self._points, self._deletes, self._n_bytes = [], [], 0
        self._trees.clear()
        if not batch.upserts and not batch.deletes:
            return
        try:
            self._commit(batch)
        except StoreError as error:
            self._failure = error
            raise

    def _publication_bytes(self, publication: Publication) -> int:
        changed = self._bytes([node for node, _ in publication.changed])
        return changed + _FIELD_BYTES + _ID_BYTES * len(publication.deletes)

    def _bytes(self, nodes: Sequence[Node]) -> int:
        fixed = 4 * self._identity.n_dims + _FIELD_BYTES
        return sum(len(node.text) + fixed for node in nodes)
