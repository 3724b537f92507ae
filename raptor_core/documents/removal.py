"""The decision whether a published document may be dropped because the source lacks it.

``decide_partitions_to_keep`` is the only code that decides this. The command, the sensor, upstream
assets and `raptor plan` use its result (``raptor_assets.corpus.changes``); runs of the chain use
``UnreadPlaces``. Listing and reading of sources is in ``sources``.

| published document | state | action |
| --- | --- | --- |
| its id is in the source | present | built again if it changed |
| a person set it aside | set aside | dropped |
| its id, file, table or a folder above cannot be read | unknown | stays published, is reported |
| equal text is new under another id | moved | dropped when the new one is published |
| none of these | gone | dropped |
| gone, and more are gone than ``source.max_removed`` allows | unconfirmed | kept until confirmed |
| gone, and a named source is empty | unconfirmed | kept until confirmed |

The first row that applies decides, except that the last two precede "gone": then nothing is built
or dropped. A partition is kept as a whole, because its trees contain all its documents.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from raptor_core.documents.base import PublishedDocument, Skipped
from raptor_core.documents.grouping import partition_key, tree_name
from raptor_core.identity import to_nfc
from raptor_core.settings import GroupingSettings, SourceSettings


class UnreadPlaces:
    """Files, folders and tables that could not be read; documents in them are unknown.

    Items that certainly contain no text are included only if ``with_empty``.
    """

    def __init__(self, skipped: Iterable[Skipped], *, with_empty: bool = False) -> None:
        self._places: dict[str, list[Skipped]] = {}
        for item in skipped:
            if with_empty or not item.is_empty:
                self._places.setdefault(item.place or item.name, []).append(item)

    def __bool__(self) -> bool:
        return bool(self._places)

    def place_of(self, document_id: str, source: str) -> str:
        """Return the unread id, file, folder or table of a document, or "" if there is none."""
        places = (*_places_above(document_id), *_places_above(to_nfc(source)))
        return next((place for place in places if place in self._places), "")

    def reason_unread(self, place: str) -> str:
        """Return why an unread place was not read."""
        return self._places[place][-1].reason

    def declared_readers(self, place: str) -> list[tuple[str, ...] | None]:
        """Return the readers of each unread item of a place, as in ``Skipped``; none for ""."""
        return [item.readers for item in self._places.get(place, ())]

    def may_concern(self, partition: str, grouping: GroupingSettings) -> bool:
        """Return whether the partition may contain documents of an unread place.

        The readers of such documents are not known, so the readers in the partition's name do not
        matter. With ``shards``, any partition may contain them.
        """
        if grouping.shards:
            return bool(self)
        trees = (tree_name(place, (), grouping) for place in self._places)
        keys = (partition_key(tree, grouping) for tree in trees)
        return any(partition == key or partition.startswith(f"{key} (") for key in keys)


def _places_above(path: str) -> Iterable[str]:
    """Return the path and the folders above it; for a URL, every contiguous part of it."""
    parts = path.split("/")
    if "://" not in path:
        return ("/".join(parts[:end]) for end in range(len(parts), 0, -1))
    return ("/".join(parts[start:end]) for start, end in combinations(range(len(parts) + 1), 2))


@dataclass(frozen=True, slots=True)
class PartitionsToKeep:
    """The partitions that stay published as they are, because documents are missing.

    Attributes:
        unknown_partitions: partitions with unknown documents, each with an unread place.
        unconfirmed_partitions: partitions with gone documents, which a person must confirm.
        reason: why a person must confirm; "" if nobody must.
    """

    unknown_partitions: Mapping[str, str] = field(default_factory=dict)
    unconfirmed_partitions: frozenset[str] = frozenset()
    reason: str = ""


def decide_partitions_to_keep(
    published: Mapping[str, Sequence[PublishedDocument]],
    present: Collection[str],
    skipped: Sequence[Skipped],
    *,
    settings: SourceSettings,
    grouping: GroupingSettings,
    moved: Collection[str] = (),
    empty_sources: Sequence[str] = (),
    n_others: int = 0,
    is_confirmed: bool = False,
) -> PartitionsToKeep:
    """Decide which partitions stay as published, by the table of this module.

    Args:
        published: documents of each partition that may lack some; empty for a partition that
            was begun but never published.
        present: ids of documents that are in the source or set aside.
        skipped: what could not be read.
        settings: limits for removals without confirmation.
        grouping: grouping of documents into partitions.
        moved: ids of documents whose text is new under another id.
        empty_sources: named sources without files and rows.
        n_others: number of published documents in all other partitions.
        is_confirmed: a person confirmed that the documents are gone.
    """
    unread = UnreadPlaces(skipped)
    unknown: dict[str, str] = {}
    n_missing: dict[str, int] = {}
    for partition, documents in published.items():
        missing = [document for document in documents if document.id not in present]
        places = (unread.place_of(document.id, document.source) for document in missing)
        place = next(filter(None, places), "")
        if not documents and unread.may_concern(partition, grouping):
            place = partition
        if place:
            unknown[partition] = place
        elif n_gone := sum(document.id not in moved for document in missing):
            n_missing[partition] = n_gone
    n_published = n_others + sum(map(len, published.values()))
    reason = ""
    if not is_confirmed:
        reason = _explain_confirmation(
            sum(n_missing.values()), n_published, empty_sources, settings
        )
    return PartitionsToKeep(unknown, frozenset(n_missing) if reason else frozenset(), reason)


def _explain_confirmation(
    n_gone: int, n_published: int, empty_sources: Sequence[str], settings: SourceSettings
) -> str:
    """Return why a person must confirm that documents are gone, or ""."""
    if not n_gone or settings.max_removed >= 1:
        return ""
    numbers = f"{n_gone:,} of {n_published:,} published documents are gone from the source"
    if empty_sources:
        return f"{numbers}, and {', '.join(empty_sources)} is empty"
    if n_gone > settings.max_removed * n_published:
        return f"{numbers}, more than source.max_removed = {settings.max_removed:g} allows"
    if n_gone > settings.max_removed_documents:
        limit = settings.max_removed_documents
        return f"{numbers}, more than source.max_removed_documents = {limit} allows"
    return ""
