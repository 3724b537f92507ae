"""Renames and moves of documents, which are no removals; ``changes`` decides what they lead to."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from raptor_assets.home.published import Previous
from raptor_core.documents import Document, DocumentEntry


@dataclass(frozen=True, slots=True)
class Renames:
    """Renames and moves that explain missing documents.

    Attributes:
        renamed_documents: document ids before a rename, by the ids after it.
        successor_partitions: partitions that took a document, by the partition that it left.
        removal_doubt: why a person has to confirm that the other documents are gone, else "".
    """

    renamed_documents: Mapping[str, str] = field(default_factory=dict)
    successor_partitions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    removal_doubt: str = ""


def find_renames(
    partitions: Mapping[str, Mapping[str, Sequence[Document | DocumentEntry]]],
    to_build: Collection[str],
    previous: Previous,
    present: Collection[str],
) -> Renames:
    """Pair missing documents with new ones of equal content, in the order of their ids.

    A partition also follows another one that takes a document of it with its id, as after a change
    of its readers or of the grouping.

    Args:
        partitions: documents of the source by partition and tree.
        to_build: partitions that may have new documents.
        previous: published documents of partitions that may have lost some.
        present: ids of published documents that the source still has.
    """
    published = {document.id for documents in previous.values() for document in documents}
    missing: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for partition, documents in previous.items():
        for document in documents:
            if document.id not in present:
                missing[document.content_hash].append((document.id, partition))
    for places in missing.values():
        places.sort(reverse=True)
    renamed: dict[str, str] = {}
    successors: defaultdict[str, set[str]] = defaultdict(set)
    owners = {document.id: name for name, documents in previous.items() for document in documents}
    for partition in sorted(to_build) if owners else ():
        for entry in (d for members in partitions[partition].values() for d in members):
            if (owner := owners.get(entry.id, partition)) != partition:
                successors[owner].add(partition)
            candidates = missing.get(entry.content_hash)
            if candidates and entry.id not in published:
                renamed[entry.id], place = candidates.pop()
                if place != partition:
                    successors[place].add(partition)
    return Renames(renamed, {name: tuple(sorted(takers)) for name, takers in successors.items()})
