"""What a look at a source found, and its documents by partition, put together one at a time."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic

import numpy as np

from raptor_core.documents.base import Entry, Skipped
from raptor_core.documents.catalog.entries import Entries
from raptor_core.documents.grouping import Identifiable, partition_key, tree_name
from raptor_core.settings import GroupingSettings


class Partitions(Mapping[str, Mapping[str, tuple[Identifiable, ...]]], Generic[Identifiable]):
    """Documents, or their entries, by partition and tree; keys are sorted, documents by id.

    It holds 4 bytes for each document and the keys; the documents of a partition are looked up
    when they are asked for.

    Args:
        documents: ordered by id.
        grouping: which of them make one tree, and which trees one partition.
    """

    def __init__(self, documents: Sequence[Identifiable], grouping: GroupingSettings) -> None:
        self._documents = documents
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
    """The number of each document's partition; ``numbers`` takes those of the keys."""
    by_tree: dict[str, int] = {}
    ids = documents.ids() if isinstance(documents, Entries) else (d.id for d in documents)
    for document_id in ids:
        tree = tree_name(document_id, grouping)
        number = by_tree.get(tree)
        if number is None:
            number = numbers.setdefault(partition_key(tree, grouping), len(numbers))
            if tree != document_id:  # a tree of its own is not asked for again
                by_tree[tree] = number
        yield number


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a source holds, by hashes alone; documents are ordered by id.

    ``unsettled`` names the files that are being written now, each with the ids of the documents
    that were in it before. Those documents are listed as they were.
    """

    documents: Entries
    skipped: tuple[Skipped, ...] = ()
    unsettled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _grouped: dict[GroupingSettings, Partitions[Entry]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def without(self, ids: Collection[str]) -> Inventory:
        """The same but for these documents."""
        if not ids:
            return self
        left = Entries.of(entry for entry in self.documents if entry.id not in ids)
        return replace(self, documents=left)

    def partitions(self, grouping: GroupingSettings) -> Partitions[Entry]:
        """The documents by partition and tree, put together once."""
        if grouping not in self._grouped:
            self._grouped[grouping] = Partitions(self.documents, grouping)
        return self._grouped[grouping]
