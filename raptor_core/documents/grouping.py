"""Grouping of documents into trees, and of trees into partitions.

With ``grouping.separate_readers``, all documents in a tree of a folder or corpus have the same
readers, and so do its summaries. The name of such a tree ends in the readers, such as
"hr (group:hr)". Documents without readers are in a tree without this suffix.
"""

import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

from raptor_core.documents.base import EVERYONE, Document, DocumentEntry
from raptor_core.identity import digest, percent_encode, shorten_name
from raptor_core.settings import GroupingSettings

_UNSAFE = re.compile(
    r"\A\s+|\s+\Z|\.\.\.|[%\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"  # control characters
)
_PLAIN_READER = re.compile(r"(?!everyone\Z)[\w.:@+-]+")
_NOT_PLAIN = re.compile(r"[^\w.:@+, -]")
_LABEL_CHARS = 60

Identifiable = TypeVar("Identifiable", Document, DocumentEntry)


def tree_name(document_id: str, readers: tuple[str, ...] | None, grouping: GroupingSettings) -> str:
    """Return the name of a document's tree.

    It is the document's id, its folder ("." if it is in none) or "corpus". The name of a folder or
    corpus ends in the readers if the document has some and ``separate_readers`` is on.
    """
    if grouping.by == "document":
        return document_id
    is_corpus = grouping.by == "corpus"
    group = grouping.corpus_name if is_corpus else document_id.rpartition("/")[0] or "."
    return (
        f"{group} ({_readers_label(readers)})" if readers and grouping.separate_readers else group
    )


@lru_cache(maxsize=1 << 12)
def _readers_label(readers: tuple[str, ...]) -> str:
    """Return a label for a set of readers that no other set has."""
    if EVERYONE in readers:
        return "everyone"
    label = ", ".join(readers)
    if all(map(_PLAIN_READER.fullmatch, readers)) and len(label) <= _LABEL_CHARS:
        return label
    return f"{_NOT_PLAIN.sub('_', label)[:_LABEL_CHARS]}~{digest('readers', *readers)[:16]}"


def partition_key(tree: str, grouping: GroupingSettings) -> str:
    """Return the key of a tree's partition.

    With ``shards`` it is the number of a stable hash, such as "shard-0007". Without, it is the
    tree's name, in which characters that keys forbid are percent-encoded. A long name is shortened,
    but two trees never share a key.
    """
    if grouping.shards:
        return _shard_key(tree, grouping.shards)
    return shorten_name(_escape_name(tree) or "%", "partition", tree)


@lru_cache(maxsize=1 << 17)  # because a plan groups the source and then the store
def _shard_key(tree: str, n_shards: int) -> str:
    width = max(4, len(str(n_shards - 1)))
    return sys.intern(f"shard-{int(digest('shard', tree), 16) % n_shards:0{width}d}")


def document_tree_name(document: Document | DocumentEntry, grouping: GroupingSettings) -> str:
    """Return the name of the tree of a document; see ``tree_name``."""
    return tree_name(document.id, document.readers, grouping)


def _escape_name(name: str) -> str:
    return _UNSAFE.sub(lambda match: percent_encode(match[0]), name)


class Partitions(Mapping[str, Mapping[str, tuple[Identifiable, ...]]], Generic[Identifiable]):
    """Documents or their entries by partition and tree; keys are sorted, documents by id.

    Trees whose names are in ``without`` are omitted.
    """

    def __init__(
        self,
        documents: Sequence[Identifiable],
        grouping: GroupingSettings,
        without: Collection[str] = (),
    ) -> None:
        self._grouping = grouping
        groups: dict[str, list[Identifiable]] = {}
        for document in documents:
            tree = document_tree_name(document, grouping)
            if tree not in without:
                groups.setdefault(partition_key(tree, grouping), []).append(document)
        self._groups: Mapping[str, Sequence[Identifiable]] = dict(sorted(groups.items()))

    def __getitem__(self, name: str) -> dict[str, tuple[Identifiable, ...]]:
        trees: dict[str, list[Identifiable]] = {}
        for document in self._groups[name]:
            trees.setdefault(document_tree_name(document, self._grouping), []).append(document)
        return {tree: tuple(trees[tree]) for tree in sorted(trees)}

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)
