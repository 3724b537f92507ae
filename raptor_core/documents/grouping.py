"""Groups: documents in a tree, and trees in a partition."""

import sys
import unicodedata
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np

from raptor_core.documents.base import Document, Entry
from raptor_core.identity import digest, percent_encode, shorten_name
from raptor_core.settings import GroupingSettings

Identifiable = TypeVar("Identifiable", Document, Entry)


def tree_name(document_id: str, grouping: GroupingSettings) -> str:
    """Return the name of a document's tree: its id, its folder ("." without one) or "corpus"."""
    if grouping.by == "corpus":
        return grouping.corpus_name
    if grouping.by == "folder":
        return document_id.rpartition("/")[0] or "."
    return document_id


def partition_key(tree: str, grouping: GroupingSettings) -> str:
    """Return the key of a tree's partition; without ``shards`` two trees never share a key.

    With ``shards`` it is such as "shard-0007", from a stable hash. Else it is the tree's name, with
    percent-encoding of everything that a partition key cannot hold, shortened if it is long.
    """
    if grouping.shards:
        return _shard(tree, grouping.shards)
    return shorten_name(_escape(tree) or "%", "partition", tree)


@lru_cache(maxsize=1 << 17)  # a plan groups the source, and then the store
def _shard(tree: str, n_shards: int) -> str:
    width = max(4, len(str(n_shards - 1)))
    return sys.intern(f"shard-{int(digest('shard', tree), 16) % n_shards:0{width}d}")


def document_partition(document_id: str, grouping: GroupingSettings) -> str:
    """Return the key of the partition that holds the document."""
    return partition_key(tree_name(document_id, grouping), grouping)


def _escape(name: str) -> str:
    unsafe = {c for c in name if c == "%" or unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}}
    escaped = "".join(percent_encode(char) if char in unsafe else char for char in name)
    escaped = escaped.replace("...", "%2E%2E%2E")
    inner = escaped.strip()
    if inner == escaped:
        return escaped
    at = escaped.index(inner) if inner else len(escaped)
    head, tail = escaped[:at], escaped[at + len(inner) :]
    return percent_encode(head) + inner + percent_encode(tail)


class Partitions(Mapping[str, Mapping[str, tuple[Identifiable, ...]]], Generic[Identifiable]):
    """Documents, or their entries, by partition and tree; keys are sorted, documents by id.

    It keeps the keys and 4 bytes for each document, and looks documents up at each access.
    """

    def __init__(self, documents: Sequence[Identifiable], grouping: GroupingSettings) -> None:
        self._documents: Sequence[Identifiable] = documents
        self._grouping = grouping
        numbers: dict[str, int] = {}
        numbered = array("I", _numbers(documents, grouping, numbers))
        of_document = np.asarray(numbered)
        self._rows = np.argsort(of_document, kind="stable").astype(np.uint32)
        ends = np.cumsum(np.bincount(of_document, minlength=len(numbers)))
        self._starts = np.concatenate(([0], ends))
        self._numbers = {name: numbers[name] for name in sorted(numbers)}

    def __getitem__(self, name: str) -> dict[str, tuple[Identifiable, ...]]:
        number = self._numbers[name]
        trees: dict[str, list[Identifiable]] = {}
        for row in self._rows[self._starts[number] : self._starts[number + 1]].tolist():
            document = self._documents[row]
            trees.setdefault(tree_name(document.id, self._grouping), []).append(document)
        return {tree: tuple(trees[tree]) for tree in sorted(trees)}

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def _numbers(
    documents: Sequence[Identifiable], grouping: GroupingSettings, numbers: dict[str, int]
) -> Iterator[int]:
    """Yield the number of each document's partition, and add new keys to ``numbers``."""
    by_tree: dict[str, int] = {}
    for document_id in (document.id for document in documents):
        tree = tree_name(document_id, grouping)
        number = by_tree.get(tree)
        if number is None:
            number = numbers.setdefault(partition_key(tree, grouping), len(numbers))
            if tree != document_id:  # no further document has such a tree
                by_tree[tree] = number
        yield number
