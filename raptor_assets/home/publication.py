"""Publication: the only code that publishes or drops trees.

Builds, approvals, rollbacks, releases, imports and removals hand their editions to a
``Publication``. It applies the present readers and decisions (``current_state``), commits, and then
updates the corpus tree, which is built from what is published. Nothing else in this package writes
to a store of published trees; ``tests/test_architecture.py`` makes sure of it.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from raptor_assets.home.access import CorpusAccess, corpus_tree_access
from raptor_assets.home.current_state import CurrentState, Readers
from raptor_core.documents import Inventory, PublishedDocument
from raptor_core.documents.base import readers_of_both
from raptor_core.errors import SourceError
from raptor_core.store.base import Manifest, PublicationCounts, TreeEdition, Where
from raptor_core.store.facts import common_readers
from raptor_core.store.publishing import PublicationBatch
from raptor_core.store.store import VectorStore

IMPORTED = "imported"
"""``Manifest.inputs`` of an imported tree with a document of the source: the next build replaces
it, or drops it where the source has the document in another tree."""


@dataclass(frozen=True, slots=True)
class PublishedBuild:
    """Build that was published: its manifest, the one that it replaced, and what changed.

    ``n_withheld`` nodes of the build are not published, since people set aside these nodes or nodes
    below them.
    """

    manifest: Manifest
    replaced_manifest: Manifest | None
    counts: PublicationCounts
    n_withheld: int = 0


class Publication:
    """Trees that are published or dropped together; see ``open_publication``.

    ``shortened`` are the published trees that lost a text, because it was deleted or set aside. A
    text of the corpus tree may still summarize it.
    """

    def __init__(
        self, access: CorpusAccess, store: VectorStore, batch: PublicationBatch, today: CurrentState
    ) -> None:
        self._access = access
        self._store = store
        self._batch = batch
        self._today = today
        self.shortened: set[str] = set()

    def publish(
        self, editions: Sequence[TreeEdition], *, pin: str | None = None
    ) -> list[PublishedBuild]:
        """Publish editions in one commit, each with the readers and decisions of today.

        The builds that they replace are kept (``runs.keep_builds``), unless they contain a deleted
        document.

        Args:
            editions: trees with their nodes, and the vectors that the store lacks.
            pin: who pins the trees to these builds, and why; "" releases them. With None, a tree
                that is pinned to another build is refused.

        Raises:
            SourceError: a tree is pinned, or people set all of it aside. Nothing is published.
            StoreError: see ``PublicationBatch.publish``.
        """
        live = {m.tree: m for m in self._store.manifests([e.manifest.tree for e in editions])}
        ready = [
            self._prepare_edition(edition, live.get(edition.manifest.tree), pin)
            for edition in editions
        ]
        for edition in ready:
            self._keep_replaced_delete_outdated(live.get(edition.manifest.tree), edition.manifest)
        pairs = [(live[e.manifest.tree], e.manifest) for e in ready if e.manifest.tree in live]
        self.shortened.update(old.tree for old, new in pairs if self._loses_text(old, new))
        counts = self._batch.publish(ready)
        return [
            PublishedBuild(
                new.manifest, live.get(new.manifest.tree), count, len(old.nodes) - len(new.nodes)
            )
            for old, new, count in zip(editions, ready, counts, strict=True)
        ]

    def drop(self, trees: Collection[str]) -> int:
        """Remove trees with all of their builds; return the number of their nodes."""
        n_nodes = self._batch.drop(trees)
        for tree in trees:
            self._access.kept_builds.delete(tree)
        return n_nodes

    def update_published(self, manifests: Sequence[Manifest], *, forgets: bool = False) -> int:
        """Update published trees to the present readers and decisions; return the changed nodes.

        Args:
            manifests: published trees.
            forgets: also remove chunks of deleted documents, with all summaries above them.
        """
        n_nodes = 0
        for manifest in manifests:
            gone = _find_gone_documents(self._today, manifest, self._store) if forgets else set()
            nodes = self._store.nodes(Where(trees=(manifest.tree,)))
            edition = self._today.apply_to_edition(TreeEdition(manifest, nodes), gone)
            if edition.manifest == manifest:
                continue
            if edition.nodes:
                (counts,) = self._batch.publish([edition])
                n_nodes += counts.readers + counts.removed
                self.shortened.update({manifest.tree} if counts.removed else ())
            else:
                n_nodes += self.drop([manifest.tree])
        return n_nodes

    def _prepare_edition(
        self, edition: TreeEdition, live: Manifest | None, pin: str | None
    ) -> TreeEdition:
        """Return the part of an edition to publish; raise a SourceError if the tree is pinned."""
        tree = edition.manifest.tree
        manifest = replace(
            edition.manifest, pin=pin or "", readers=_reader_upper_bounds(edition.manifest, live)
        )
        deleted = set() if manifest.inputs else self._today.find_deleted_documents(manifest)
        edition = self._today.apply_to_edition(replace(edition, manifest=manifest), deleted)
        if not edition.nodes:
            raise SourceError(
                f"nothing is left to publish of this build of {tree!r}, since people set all of "
                "its chunks aside; `raptor curate list` names them"
            )
        manifest = edition.manifest
        if live and live.pin and pin is None:
            if live.build_id != manifest.build_id:
                raise SourceError(explain_pin(tree, live.pin))
            pin = live.pin
        if not manifest.inputs:  # an import
            is_published = live is not None and live.build_id == manifest.build_id
            known = self._today.has_document_of(manifest)
            inputs = live.inputs if live and is_published else IMPORTED if known else ""
            manifest = replace(manifest, inputs=inputs)
        return replace(edition, manifest=replace(manifest, pin=pin or ""))

    def _loses_text(self, live: Manifest, new: Manifest) -> bool:
        """Return whether a document of a published tree leaves it, or people set some aside."""
        if not self._access.settings.corpus_tree.enabled:
            return False
        texts = set(new.documents.values())
        left = live.documents.keys() - new.documents.keys()
        return any(
            live.documents[name] not in texts for name in left
        ) or self._today.has_nodes_set_aside(
            live, lambda tree: self._store.nodes(Where(trees=(tree,)))
        )

    def _keep_replaced_delete_outdated(self, live: Manifest | None, new: Manifest) -> None:
        """Keep the replaced build, and delete kept builds that contain a deleted document."""
        access, kept, tree = self._access, self._access.kept_builds, new.tree
        if live is None:
            return

        def is_gone(document: PublishedDocument) -> bool:
            return self._today.is_gone(tree, document.id, document.source)

        kept.delete_outdated(tree, is_gone)
        keeps = access.settings.runs.keep_builds and not any(map(is_gone, live.published_documents))
        if keeps and live.build_id != new.build_id:
            kept.keep_published(self._store, live, access.read_build_notes(live))
        kept.prune(new, access.settings.runs.keep_builds)


def _reader_upper_bounds(new: Manifest, live: Manifest | None) -> Readers:
    """Return upper bounds of the readers of documents whose text is older or cannot be read now.

    An earlier build may have readers that were revoked since; the published manifest has not.
    """
    if live is None:
        return new.readers
    bounds = {}
    for name, content in new.documents.items():
        names = new.readers.get(name, ())
        if name in live.documents:
            of_live, is_same = live.readers.get(name, ()), live.documents[name] == content
            names = of_live if is_same else readers_of_both(names, of_live)
        bounds[name] = names
    return bounds


def explain_pin(tree: str, note: str) -> str:
    """Explain why builds do not change a pinned tree, and how a person releases it."""
    return (
        f"the tree {tree!r} is pinned to an earlier build: {note}. `raptor versions release "
        f"{shlex.quote(tree)}` lets builds publish it again"
    )


@contextmanager
def open_publication(
    access: CorpusAccess, store: VectorStore, today: CurrentState | None = None
) -> Iterator[Publication]:
    """Publish and drop trees of an open store, then update the corpus tree.

    If the block raises, trees that were not committed stay as they were.

    Args:
        today: what the source and people say, if the caller has just looked.
    """
    today = today or CurrentState.of(access)
    with store.publish_together() as batch:
        publication = Publication(access, store, batch, today)
        yield publication
    if batch.changes_points:
        store.optimize()  # erases the bytes of what is gone
    _update_corpus_trees(access, store, publication.shortened)


def _update_corpus_trees(
    access: CorpusAccess, store: VectorStore, shortened: Collection[str] = ()
) -> int:
    """Bring the corpus trees up to date with what is published; return how many nodes changed.

    Leaves of trees that are no longer published, or lost a text, are removed with every summary
    above them.
    """
    above, today, behind = _find_outdated_corpus_trees(access, store, shortened)
    if not behind:
        return 0
    with above.store.open_existing() as upper, open_publication(above, upper, today) as publication:
        return publication.update_published(behind, forgets=True)


def _find_outdated_corpus_trees(
    access: CorpusAccess, store: VectorStore, shortened: Collection[str] = ()
) -> tuple[CorpusAccess, CurrentState, list[Manifest]]:
    """Return the manifests of corpus trees that show more than the trees below allow today."""
    above = corpus_tree_access(access)
    if not (access.settings.corpus_tree.enabled and above.store.exists()):
        return above, CurrentState.of_trees_below(above, ()), []
    today = CurrentState.of_trees_below(above, store.manifests(), shortened)
    with above.store.open_existing() as upper:
        behind = [
            m
            for m in upper.manifests()
            if m.readers != today.readers_by_document(m) or today.find_gone_documents(m)
        ]
    return above, today, behind


def have_readers_changed(access: CorpusAccess, inventory: Inventory) -> bool:
    """Return whether the readers of published trees differ from those in the source now."""
    if not access.store.exists():
        return False
    with access.store.open_existing() as store:
        if _find_changed_readers(store, CurrentState.of(access, inventory)):
            return True
        return bool(_find_outdated_corpus_trees(access, store)[-1])


def count_nodes_with_new_readers(access: CorpusAccess, inventory: Inventory) -> int:
    """Return the number of published nodes whose readers differ from those of today."""
    if not access.store.exists():
        return 0
    today, n_nodes = CurrentState.of(access, inventory), 0
    with access.store.open_existing() as store:
        for manifest in _find_changed_readers(store, today):
            old, new = manifest.readers, today.readers_by_document(manifest)
            nodes = store.nodes(Where(trees=(manifest.tree,)))
            n_nodes += sum(
                common_readers(n.documents, old) != common_readers(n.documents, new) for n in nodes
            )
    return n_nodes


def update_readers(access: CorpusAccess, inventory: Inventory | None = None) -> int:
    """Update the readers of published trees and of the corpus trees above them.

    Read access is granted and revoked by writing one field; nothing is built.

    Returns:
        Number of nodes whose readers changed.
    """
    if not access.store.exists():
        return 0
    today = CurrentState.of(access, inventory)
    with access.store.open_existing() as store:
        changed = _find_changed_readers(store, today)
        if not changed:
            return _update_corpus_trees(access, store)
        with open_publication(access, store, today) as publication:
            return publication.update_published(changed)


def _find_changed_readers(store: VectorStore, today: CurrentState) -> list[Manifest]:
    trees = today.trees_with_changed_readers(store.short_manifests())
    manifests = store.manifests(trees) if trees else []
    return [
        manifest
        for manifest in manifests
        if manifest.readers != today.readers_by_document(manifest)
    ]


def _find_gone_documents(today: CurrentState, manifest: Manifest, store: VectorStore) -> set[str]:
    """Return the documents that left a tree, except those whose new tree is not published yet."""
    gone = today.find_gone_documents(manifest)
    return gone - today.find_moved_documents(gone, manifest, store) if gone else gone


def find_trees_with_removed_texts(
    access: CorpusAccess, today: CurrentState, trees: Sequence[str]
) -> list[Manifest]:
    """Return the manifests of the trees among these that show set-aside or deleted texts."""
    if not (trees and access.store.exists()):
        return []
    with access.store.open_existing() as store:
        return [
            manifest
            for manifest in store.manifests(list(trees))
            if _find_gone_documents(today, manifest, store)
            or today.has_nodes_set_aside(manifest, lambda tree: store.nodes(Where(trees=(tree,))))
        ]


def withdraw_texts(
    access: CorpusAccess, inventory: Inventory, resting: Collection[str] = ()
) -> int:
    """Remove set-aside and deleted texts from published trees that no build publishes now.

    A build does this for the trees that it publishes. The others are pinned, or their build failed,
    waits for approval, or has to wait for a document that cannot be read: the trees ``resting``.

    Returns:
        Number of nodes that are no longer published.
    """
    if not access.store.exists():
        return 0
    today = CurrentState.of(access, inventory)
    with access.store.open_existing() as store:
        pinned = {short.tree for short in store.short_manifests() if short.pin}
        decided = {name for decision in today.curation.decisions for name in decision.documents}
        chunks = store.nodes(Where(documents=tuple(decided), layers=(0,))) if decided else ()
        trees = sorted(pinned.union((node.tree for node in chunks), resting))
    manifests = find_trees_with_removed_texts(access, today, trees)
    if not manifests:
        return 0
    with (
        access.store.open_existing() as store,
        open_publication(access, store, today) as publication,
    ):
        return publication.update_published(manifests, forgets=True)
