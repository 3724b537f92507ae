"""What a look at a source finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from raptor_core.documents.base import Skipped
from raptor_core.documents.entries import Entries


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a source holds, by hashes alone; documents are ordered by id.

    ``unsettled`` names the files that are being written now, each with the ids of the documents
    that were in it before. Those documents are listed as they were.
    """

    documents: Entries
    skipped: tuple[Skipped, ...] = ()
    unsettled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
