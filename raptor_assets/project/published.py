"""Published trees by partition, from the manifests: the one truth of what is built."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property

from raptor_assets.project.changes import Marks, Previous, Published
from raptor_core.documents import PublishedDocument
from raptor_core.documents.grouping import partition_key
from raptor_core.settings import GroupingSettings
from raptor_core.store.base import Mark
from raptor_core.store.store import VectorStore


def read_published(
    open_each: Callable[[], Iterator[VectorStore]], grouping: GroupingSettings
) -> Published:
    """Read the marks of every collection that ``open_each`` yields, the live one first.

    Raises:
        StoreError: the store cannot be read.
        StoreLockedError: another process has it open for longer than the settings wait.
    """
    collections = [_by_partition(store.marks(), grouping) for store in open_each()]

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

    return Published(collections, documents)


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
