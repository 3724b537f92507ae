"""Decision on what may be dropped: only documents that are known to be gone.

``decide_removals`` is the only place where absence is judged. The command, the sensor, upstream
assets and `raptor plan` act on its answer (``raptor_assets.corpus.changes``), runs of the chain on
``Unread``. How a source lists and reads is in ``sources``.

| published document | state | action |
| --- | --- | --- |
| its id is in the source | present | built again where it changed |
| a person set it aside | set aside | dropped |
| its id, file, table or a folder above could not be read | unknown | kept as published, named |
| equal text is new under another id | moved | dropped when the new place is published |
| none of these | gone | dropped |
| gone, and more are gone than ``source.max_removed`` allows | unconfirmed | kept until confirmed |
| gone, and a named source holds nothing | unconfirmed | kept until confirmed |

The first row that fits counts, but the last two go before "gone": then nothing is built or dropped.
A partition is kept as a whole, since its tree holds all its documents.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from raptor_core.documents.base import PublishedDocument, Skipped
from raptor_core.documents.grouping import partition_key, tree_name
from raptor_core.identity import composed
from raptor_core.settings import GroupingSettings, SourceSettings


class Unread:
    """Places that could not be read: documents at or below them are unknown.

    Those that certainly hold no text are not among them, unless ``with_empty`` asks for them.
    """

    def __init__(self, skipped: Iterable[Skipped], *, with_empty: bool = False) -> None:
        self._places: dict[str, list[Skipped]] = {}
        for item in skipped:
            if with_empty or not item.is_empty:
                self._places.setdefault(item.place or item.name, []).append(item)

    def __bool__(self) -> bool:
        return bool(self._places)

    def place_of(self, document_id: str, source: str) -> str:
        """Return the unread place that holds a document, or "" where none does."""
        places = (*_places_above(document_id), *_places_above(composed(source)))
        return next((place for place in places if place in self._places), "")

    def reason(self, place: str) -> str:
        """Return the reason why an unread place was not read."""
        return self._places[place][-1].reason

    def declared(self, place: str) -> list[tuple[str, ...] | None]:
        """Return the readers of each unread item of a place, see ``Skipped``; none for ""."""
        return [item.readers for item in self._places.get(place, ())]

    def may_concern(self, partition: str, grouping: GroupingSettings) -> bool:
        """Return whether the partition may hold a document that is named as a place is.

        Its readers are not known, so the end of the partition's name says nothing. With ``shards``
        documents of any name may be there.
        """
        if grouping.shards:
            return bool(self)
        trees = (tree_name(place, (), grouping) for place in self._places)
        keys = (partition_key(tree, grouping) for tree in trees)
        return any(partition == key or partition.startswith(f"{key} (") for key in keys)


def _places_above(path: str) -> Iterable[str]:
    """Yield the path and the folders above it; for a URL also every part of it."""
    parts = path.split("/")
    if "://" not in path:
        return ("/".join(parts[:end]) for end in range(len(parts), 0, -1))
    return ("/".join(parts[start:end]) for start, end in combinations(range(len(parts) + 1), 2))


@dataclass(frozen=True, slots=True)
class Removals:
    """Partitions that may be neither dropped nor built without some of their documents.

    Attributes:
        unknown: an unread place of each partition.
        unconfirmed: partitions whose documents are gone, which a person has to confirm.
        reason: reason why a person has to confirm; "" without one.
    """

    unknown: Mapping[str, str] = field(default_factory=dict)
    unconfirmed: frozenset[str] = frozenset()
    reason: str = ""


def decide_removals(
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
) -> Removals:
    """Decide which partitions stay as published, by the table of this module.

    Args:
        published: documents of each partition that may have lost some; none of a partition that
            was begun and never published.
        present: ids of the documents in the source, or set aside by a person.
        moved: ids of documents whose text is new under another id.
        empty_sources: named sources that list nothing.
        n_others: number of published documents in further partitions.
    """
    unread = Unread(skipped)
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
        reason = _doubt(sum(n_missing.values()), n_published, empty_sources, settings)
    return Removals(unknown, frozenset(n_missing) if reason else frozenset(), reason)


def _doubt(
    n_gone: int, n_published: int, empty_sources: Sequence[str], settings: SourceSettings
) -> str:
    """Return why documents may only seem to be gone, or "" where there is no doubt."""
    if not n_gone or settings.max_removed >= 1:
        return ""
    numbers = f"{n_gone:,} of {n_published:,} published documents are gone from the source"
    if empty_sources:
        return f"{numbers}, and {', '.join(empty_sources)} holds nothing"
    if n_gone > settings.max_removed * n_published:
        return f"{numbers}, more than source.max_removed = {settings.max_removed:g} allows"
    if n_gone > settings.max_removed_documents:
        limit = settings.max_removed_documents
        return f"{numbers}, more than source.max_removed_documents = {limit} allows"
    return ""
