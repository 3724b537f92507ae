"""Published trees by partition, from the manifests: the one truth of what is built."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from raptor_assets.assets.versions import TreeVersion
from raptor_core.documents import Document, Entry, PublishedDocument
from raptor_core.documents.grouping import partition_key
from raptor_core.settings import GroupingSettings
from raptor_core.store.base import Manifest, Mark
from raptor_core.store.store import VectorStore

Marks = Mapping[str, Sequence[Mark]]
"""Short forms of the published manifests, by partition."""

Previous = Mapping[str, Sequence[PublishedDocument]]
"""Documents of published partitions; none for a partition that was never published."""


@dataclass(frozen=True, slots=True)
class Published:
    """Published trees of each collection of a corpus, the live one first.

    ``documents`` reads the documents of the trees of some partitions. ``holds`` are manifests of
    trees that a person set back to an earlier build. ``waits`` tells whether a build of a partition
    from these inputs waits for approval.
    """

    collections: Sequence[Marks] = ()
    documents: Callable[[Collection[str]], Previous] = field(
        default=lambda partitions: dict.fromkeys(partitions, ())
    )
    holds: Sequence[Manifest] = ()
    waits: Callable[[str, str], bool] = field(default=lambda *_: False)

    def without(self, trees: Collection[str]) -> Published:
        """Return what is published beside these trees."""
        collections = [
            {name: [m for m in marks if m.tree not in trees] for name, marks in each.items()}
            for each in self.collections
        ]
        return replace(self, collections=collections) if trees else self

    def partitions(self) -> set[str]:
        """Return the partitions that a build of this corpus published."""
        return {name for marks in self.collections for name in marks if self.marks(name)}

    def marks(self, partition: str) -> list[Sequence[Mark]]:
        """Return the marks of a partition in each collection that a build published it to."""
        of_each = (marks.get(partition, ()) for marks in self.collections)
        return [marks for marks in of_each if any(mark.inputs for mark in marks)]

    def has_version(self, partition: str, trees: Collection[str], version: TreeVersion) -> bool:
        """Return whether a collection has all trees of a partition in this version.

        Trees that were published by hand or by an import count if the source has them, too.
        """
        return {version} in self._versions(partition, trees)

    def has_documents(self, partition: str, trees: Collection[str], version: TreeVersion) -> bool:
        """Return whether a collection has all trees of a partition from these documents."""
        of_each = self._versions(partition, trees)
        return {version.documents} in [{v.documents for v in versions} for versions in of_each]

    def _versions(self, partition: str, trees: Collection[str]) -> Iterator[set[TreeVersion]]:
        for marks in self.marks(partition):
            yield {TreeVersion.parse(m.inputs) for m in marks if m.inputs or m.tree in trees}

    def is_refused(self, partition: str) -> bool:
        """Return whether a model refused a summary of a partition."""
        return any(mark.is_refused for marks in self.marks(partition)[:1] for mark in marks)


def read_published(
    open_each: Callable[[], Iterator[VectorStore]], grouping: GroupingSettings
) -> Published:
    """Read the marks of every collection that ``open_each`` yields, the live one first.

    Raises:
        StoreError: the store cannot be read.
        StoreLockedError: another process has it open for longer than the settings wait.
    """
    collections, holds = [], []
    for store in open_each():
        marks = store.marks()
        collections.append(_by_partition(marks, grouping))
        if names := [mark.tree for mark in marks if mark.hold]:
            holds += store.manifests(names)

    def documents(partitions: Collection[str]) -> Previous:
        read: dict[str, list[PublishedDocument]] = {name: [] for name in partitions}
        trees = {
            mark.tree: name
            for marks in collections
            for name in partitions
            for mark in marks.get(name, ())
        }
        for store in open_each() if trees else ():
            for manifest in store.manifests(list(trees)):
                if (name := trees.pop(manifest.tree, None)) is not None:
                    read[name] += manifest.published_documents
        return read

    return Published(collections, documents, holds)


def documents_by_tree(
    partitions: Mapping[str, Mapping[str, Iterable[Document | Entry]]],
) -> dict[str, set[str]]:
    """Return the ids of documents by tree."""
    trees = (pair for of_partition in partitions.values() for pair in of_partition.items())
    return {tree: {document.id for document in documents} for tree, documents in trees}


def holds_in_force(
    holds: Iterable[Manifest], present: Mapping[str, Collection[str]]
) -> dict[str, str]:
    """Return why trees are held, by name, of those whose documents are all there.

    Forgetting is stronger: where a document is gone, the tree is built without it.

    Args:
        holds: manifests of held trees.
        present: ids of the documents of the source, by tree.
    """
    return {
        manifest.tree: manifest.hold
        for manifest in holds
        if manifest.documents.keys() <= set(present.get(manifest.tree, ()))
    }


def _by_partition(marks: Iterable[Mark], grouping: GroupingSettings) -> Marks:
    by_partition: defaultdict[str, list[Mark]] = defaultdict(list)
    for mark in marks:
        by_partition[partition_key(mark.tree, grouping)].append(mark)
    return by_partition


class TreeIndex:
    """Index of trees by the partition of their names, made at the first look-up."""

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
