"""Published trees by partition; their manifests are the source of truth for what is built."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from raptor_assets.assets.versions import TreeVersion
from raptor_core.documents import Document, DocumentEntry, PublishedDocument
from raptor_core.documents.grouping import partition_key
from raptor_core.settings import GroupingSettings
from raptor_core.store.base import Manifest, ShortManifest
from raptor_core.store.store import VectorStore

Marks = Mapping[str, Sequence[ShortManifest]]
"""Short forms of the published manifests, by partition."""

Previous = Mapping[str, Sequence[PublishedDocument]]
"""Documents of published partitions; none for a partition that was never published."""


@dataclass(frozen=True, slots=True)
class PublishedState:
    """Published trees of a corpus; ``read_documents`` reads the documents of some partitions.

    ``pins`` are manifests of trees that a person pinned to an earlier build.
    ``read_waiting_inputs`` returns the inputs of builds of these partitions that wait for approval.
    """

    short_manifests: Marks = field(default_factory=dict)
    read_documents: Callable[[Collection[str]], Previous] = field(
        default=lambda partitions: dict.fromkeys(partitions, ())
    )
    pins: Sequence[Manifest] = ()
    read_waiting_inputs: Callable[[Collection[str]], Mapping[str, str]] = field(
        default=lambda _: {}
    )

    def without_trees(self, trees: Collection[str]) -> PublishedState:
        """Return what is published, without these trees."""
        if not trees:
            return self
        short_manifests = {
            name: [m for m in of if m.tree not in trees]
            for name, of in self.short_manifests.items()
        }
        return replace(self, short_manifests=short_manifests)

    def partitions_with_own_build(self) -> set[str]:
        """Return the partitions that a build of this corpus published."""
        return set(filter(self.has_own_build, self.short_manifests))

    def has_own_build(self, partition: str) -> bool:
        """Return whether a build published a tree of a partition."""
        return any(short.inputs for short in self.short_manifests.get(partition, ()))

    def is_published_as(self, partition: str, trees: Collection[str], version: TreeVersion) -> bool:
        """Return whether all trees of a partition are published in this version.

        Trees that were imported or published by hand count only if the source has them.
        """
        return self._versions_of_trees(partition, trees) == {version}

    def is_published_from_documents(
        self, partition: str, trees: Collection[str], version: TreeVersion
    ) -> bool:
        """Return whether all trees of a partition are published from these documents."""
        return {v.documents_digest for v in self._versions_of_trees(partition, trees)} == {
            version.documents_digest
        }

    def _versions_of_trees(self, partition: str, trees: Collection[str]) -> set[TreeVersion]:
        if not self.has_own_build(partition):
            return set()
        short_manifests = self.short_manifests[partition]
        return {TreeVersion.parse(m.inputs) for m in short_manifests if m.inputs or m.tree in trees}

    def has_refused_summary(self, partition: str) -> bool:
        """Return whether a model refused a summary of a partition."""
        return any(short.is_refused for short in self.short_manifests[partition])


def read_published(
    open_store: Callable[[], VectorStore], grouping: GroupingSettings
) -> PublishedState:
    """Read the short manifests of the store that ``open_store`` opens.

    Raises:
        StoreError: the store cannot be read.
        StoreLockedError: another process has it open for longer than the settings wait.
    """
    with open_store() as store:
        short_manifests = store.short_manifests()
        names = [short.tree for short in short_manifests if short.pin]
        pins = store.manifests(names) if names else ()
    by_partition = _group_by_partition(short_manifests, grouping)

    def documents(partitions: Collection[str]) -> Previous:
        read: dict[str, list[PublishedDocument]] = {name: [] for name in partitions}
        trees = {short.tree: name for name in partitions for short in by_partition.get(name, ())}
        if trees:
            with open_store() as store:
                for manifest in store.manifests(list(trees)):
                    read[trees[manifest.tree]] += manifest.published_documents
        return read

    return PublishedState(by_partition, documents, pins)


def documents_by_tree(
    partitions: Mapping[str, Mapping[str, Iterable[Document | DocumentEntry]]],
) -> dict[str, set[str]]:
    """Return the ids of documents by tree."""
    trees = (pair for of_partition in partitions.values() for pair in of_partition.items())
    return {tree: {document.id for document in documents} for tree, documents in trees}


def find_current_pins(
    pins: Iterable[Manifest], present: Mapping[str, Collection[str]]
) -> dict[str, str]:
    """Return the notes of pins in force, by tree; the tree must still have one of its documents.

    A pin ends when the last document is deleted or has moved to a tree of another name.

    Args:
        pins: manifests of pinned trees.
        present: ids of the documents of the source, by tree.
    """
    return {
        manifest.tree: manifest.pin
        for manifest in pins
        if not manifest.documents.keys().isdisjoint(present.get(manifest.tree, ()))
    }


def _group_by_partition(
    short_manifests: Iterable[ShortManifest], grouping: GroupingSettings
) -> Marks:
    by_partition: defaultdict[str, list[ShortManifest]] = defaultdict(list)
    for short in short_manifests:
        by_partition[partition_key(short.tree, grouping)].append(short)
    return by_partition


class TreeIndex:
    """Index of trees by partition, made at the first look-up."""

    def __init__(self, listed: Callable[[], Iterable[str]], grouping: GroupingSettings) -> None:
        self._listed = listed
        self._grouping = grouping

    def __call__(self, partition: str) -> set[str]:
        """Return the names of one partition's trees."""
        return set(self._by_partition.get(partition, ()))

    @cached_property
    def _by_partition(self) -> Mapping[str, list[str]]:
        by_partition: defaultdict[str, list[str]] = defaultdict(list)
        for tree in self._listed():
            by_partition[partition_key(tree, self._grouping)].append(tree)
        return by_partition
