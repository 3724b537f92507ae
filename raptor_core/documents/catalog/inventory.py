"""What a look at a source finds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from raptor_core.documents.base import Entry, Skipped
from raptor_core.documents.catalog.entries import Entries
from raptor_core.documents.catalog.partitions import Partitions
from raptor_core.settings import GroupingSettings


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
