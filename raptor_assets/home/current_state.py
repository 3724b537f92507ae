"""Current state: the readers, decisions and deletions that published trees must follow.

Two rules stand side by side in ``CurrentState``: if it is unknown whether a document still exists,
it stays published; if its readers are unknown, nobody may read it. ``publication`` applies them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from raptor_assets.assets.versions import NARROWED, TreeVersion, documents_version
from raptor_assets.home.access import CorpusAccess
from raptor_core.curation import Curation
from raptor_core.documents import DocumentEntry, Inventory, PublishedDocument, partition_key
from raptor_core.documents.base import readers_of_both
from raptor_core.documents.removal import UnreadPlaces
from raptor_core.identity import digest
from raptor_core.nodes import Node
from raptor_core.store.base import Manifest, ShortManifest, TreeEdition, readers_digest
from raptor_core.store.publishing import UNFINISHED
from raptor_core.store.store import VectorStore
from raptor_core.tree.corpus_tree import readers_of_top_documents
from raptor_core.tree.publish import forbidden_node_ids, without_nodes

Readers = Mapping[str, tuple[str, ...]]
"""Readers by document."""


def _names_of_trees(short_manifests: Iterable[ShortManifest]) -> list[str]:
    return [short.tree for short in short_manifests]


@dataclass(frozen=True)
class CurrentState:
    """Present readers, decisions and deletions of documents that are, or will be, published.

    Attributes:
        curation: decisions of people.
        readers_of: returns the readers of a document of a manifest. *Unknown is closed.* Access
            that was granted together with a new text does not hold for an older text, unless a
            person published that on purpose, by a rollback.
        is_gone: returns whether a document certainly left a tree. *Unknown is kept.*
        trees_with_changed_readers: returns trees whose published readers may be old.
        entries: the documents of the source.
        set_aside_documents: ids of documents that people set aside, whole or chunk by chunk.
    """

    curation: Curation
    readers_of: Callable[[Manifest, PublishedDocument], tuple[str, ...]]
    is_gone: Callable[[str, str, str], bool]
    trees_with_changed_readers: Callable[[Iterable[ShortManifest]], list[str]] = field(
        default=_names_of_trees
    )
    entries: Sequence[DocumentEntry] = ()
    set_aside_documents: Collection[str] = ()

    @classmethod
    def of(cls, access: CorpusAccess, inventory: Inventory | None = None) -> CurrentState:
        """Read the source of a corpus, or the trees below a corpus tree."""
        if access.corpus_below is not None:
            if not access.corpus_below.store.exists():
                return cls.of_trees_below(access, ())
            with access.corpus_below.store.open_existing() as store:
                return cls.of_trees_below(access, store.manifests())
        if not access.source.settings.has_sources:
            return cls(access.read_curation(), _published_readers, lambda *_: False, lambda _: [])
        return cls._of_source(access, inventory or access.source.current_inventory())

    @classmethod
    def _of_source(cls, access: CorpusAccess, inventory: Inventory) -> CurrentState:
        partitions = inventory.group_into_partitions(access.settings.grouping)
        trees = {tree: entries for of in partitions.values() for tree, entries in of.items()}
        present = {tree: {entry.id for entry in entries} for tree, entries in trees.items()}
        curation = access.read_curation()
        entries = (*inventory.documents, *inventory.aside_entries)
        contents = {entry.id: entry.content_hash for entry in entries}
        unread = UnreadPlaces(inventory.skipped)
        readers_of_text = _readers_by_content_hash(inventory)

        def readers_of(manifest: Manifest, document: PublishedDocument) -> tuple[str, ...]:
            published = manifest.readers.get(document.id, ())
            content = contents.get(document.id)
            is_foreign = not manifest.inputs and content is None
            if is_foreign and not unread.place_of(document.id, document.source):
                return published  # the import is all that says anything of it
            today = inventory.current_readers(document.id, document.source, published)
            if content == document.content_hash:
                return today
            elsewhere = readers_of_text.get(document.content_hash)
            if elsewhere is not None:  # the text moved, and another one may have its id
                today = readers_of_both(today, elsewhere)
            is_meant = content is None or bool(manifest.pin)
            return today if is_meant else readers_of_both(published, today)

        def is_gone(tree: str, document: str, source: str) -> bool:
            if document in present.get(tree, ()) or inventory.failure:
                return False
            return not unread.place_of(document, source)

        def trees_with_changed_readers(short_manifests: Iterable[ShortManifest]) -> list[str]:
            return [
                short.tree
                for short in short_manifests
                if short.readers
                != readers_digest({e.id: e.readers for e in trees.get(short.tree, ()) if e.readers})
                or (short.readers and not is_current(short))
            ]

        def is_current(short: ShortManifest) -> bool:
            name = partition_key(short.tree, access.settings.grouping)
            digest = documents_version(partitions.get(name, {}), curation)
            return TreeVersion.of(name, digest, access.tree_code_version).text == short.inputs

        return cls(
            curation,
            readers_of,
            is_gone,
            trees_with_changed_readers,
            entries,
            inventory.set_aside_ids,
        )

    @classmethod
    def of_trees_below(
        cls, access: CorpusAccess, below: Sequence[Manifest], shortened: Collection[str] = ()
    ) -> CurrentState:
        """Return what the published trees ``below`` imply for the corpus trees above them.

        The kept rows of the corpus tree give a text its readers while they match what is published
        below. Otherwise readers are only revoked, since the text above a tree may still summarize
        what the tree lost. Texts above ``shortened`` trees, which have just lost a text, are gone.
        """
        readers = readers_of_top_documents(m for m in below if m.tree not in shortened)
        is_current = access.source.settings.has_sources and are_rows_of_trees(access, below)
        entries = access.source.current_inventory().documents if is_current else ()
        rows = {(entry.id, entry.content_hash): entry.readers or () for entry in entries}

        def readers_of(manifest: Manifest, document: PublishedDocument) -> tuple[str, ...]:
            known = (document.id, document.content_hash)
            published = manifest.readers.get(document.id, ())
            return readers_of_both(rows.get(known, published), readers.get(document.id, ()))

        def is_gone(_tree: str, document: str, _source: str) -> bool:
            return document not in readers

        return cls(access.read_curation(), readers_of, is_gone)

    def readers_by_document(self, manifest: Manifest) -> Readers:
        """Return the readers of those documents of a manifest that have any.

        The manifest's own readers bound those of a document that cannot be read now.
        """
        found = {d.id: self.readers_of(manifest, d) for d in manifest.published_documents}
        return {name: names for name, names in found.items() if names}

    def has_document_of(self, manifest: Manifest) -> bool:
        """Return whether the source still has a document of a tree, in this tree or another."""
        return any(entry.id in manifest.documents for entry in self.entries)

    def find_deleted_documents(self, manifest: Manifest) -> set[str]:
        """Return the documents of an imported tree that the source no longer has.

        If the source has none of the tree's documents, the tree was made in another home, and
        nothing counts as deleted.
        """
        if not self.has_document_of(manifest):
            return set()
        texts = {entry.content_hash for entry in self.entries}
        present = {entry.id for entry in self.entries}
        documents = manifest.documents
        return {
            d for d in self.find_gone_documents(manifest) - present if documents[d] not in texts
        }

    def find_gone_documents(self, manifest: Manifest) -> set[str]:
        """Return the documents of a manifest that certainly left its tree."""
        documents = manifest.published_documents
        return {d.id for d in documents if self.is_gone(manifest.tree, d.id, d.source)}

    def find_moved_documents(
        self, documents: Collection[str], manifest: Manifest, store: VectorStore
    ) -> set[str]:
        """Return the documents of a tree that moved to another tree, which is not published yet."""
        published = {d for m in store.manifests() if m.tree != manifest.tree for d in m.documents}
        new = [entry for entry in self.entries if entry.id not in published]
        ids, hashes = {entry.id for entry in new}, {entry.content_hash for entry in new}
        return {d for d in documents if d in ids or manifest.documents[d] in hashes}

    def has_nodes_set_aside(
        self, manifest: Manifest, nodes_of: Callable[[str], Sequence[Node]]
    ) -> bool:
        """Return whether people set aside some nodes of a published tree."""
        aside = self.curation.set_aside_documents.union(self.set_aside_documents)
        if aside.isdisjoint(manifest.documents) and not self.curation.digest(manifest.documents):
            return False
        return bool(
            forbidden_node_ids(nodes_of(manifest.tree), self.curation, self.set_aside_documents)
        )

    def apply_to_edition(self, edition: TreeEdition, gone: Collection[str] = ()) -> TreeEdition:
        """Return an edition with the present readers, without what people set aside."""
        manifest = replace(edition.manifest, readers=self.readers_by_document(edition.manifest))
        edition, gone = replace(edition, manifest=manifest), {*gone, *self.set_aside_documents}
        if not (
            gone or self.curation.set_aside_documents or self.curation.digest(manifest.documents)
        ):
            return edition
        forbidden = forbidden_node_ids(edition.nodes, self.curation, gone)
        if not forbidden:
            return edition
        shown = without_nodes(edition, forbidden)
        return replace(
            shown,
            manifest=replace(shown.manifest, inputs=_inputs_matching_no_build(manifest.inputs)),
        )


STAMP = "stamp.json"
"""File beside the kept rows of a corpus tree: the trees whose top nodes they are."""


def digest_of_published(below: CorpusAccess, short_manifests: Iterable[ShortManifest]) -> str:
    """Return the digest of published trees below a corpus tree."""
    least = str(below.settings.corpus_tree.min_trees)
    return digest(least, *(f"{m.tree}\0{m.build_id}\0{m.readers}" for m in short_manifests))


def are_rows_of_trees(above: CorpusAccess, published: Sequence[Manifest]) -> bool:
    """Return whether the kept rows of a corpus tree are the top nodes of these trees."""
    file = above.home.upstream_folder / STAMP
    if above.corpus_below is None or not file.exists():
        return False
    stamp = digest_of_published(above.corpus_below, (manifest.short_form for manifest in published))
    return bool(json.loads(file.read_text(encoding="utf-8"))["stamp"] == stamp)


def _readers_by_content_hash(inventory: Inventory) -> Readers:
    """Return who may read each text of the source, by content hash, in any document."""
    readers: defaultdict[str, set[str]] = defaultdict(set)
    for entry in (*inventory.documents, *inventory.aside_entries):
        readers[entry.content_hash].update(entry.readers or ())
    return {text: tuple(sorted(names)) for text, names in readers.items()}


def _published_readers(manifest: Manifest, document: PublishedDocument) -> tuple[str, ...]:
    """Return the published readers, in a home without a source of its own."""
    return manifest.readers.get(document.id, ())


def _inputs_matching_no_build(inputs: str) -> str:
    """Return ``Manifest.inputs`` that match no build, so that the next one replaces the tree."""
    if not inputs or inputs == UNFINISHED:
        return inputs
    return replace(TreeVersion.parse(inputs), documents_digest=NARROWED).text
