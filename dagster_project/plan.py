"""What has to be built and dropped: the source and the settings against what is recorded.

The sensor and the command decide by this one function.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from raptor_assets import keys
from raptor_assets.provenance import MATERIALIZED, recorded_versions
from raptor_assets.versions import build_version, documents_version, source_version
from raptor_core.documents import (
    Corpus,
    Document,
    Skipped,
    group_documents,
    partition_key,
    tree_name,
)
from raptor_core.identity import digest
from raptor_core.settings import Settings

MAX_RUN_PARTITIONS = 500
"""A longer range is split into several runs: Dagster plans every asset of every partition."""

Known = Callable[[str], Iterable[Document]]
"""The documents that a partition was last built from."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Partition keys by what has to happen to them, each sorted.

    Attributes:
        new: in the source, and no partition yet.
        changed: their documents or the settings differ from what is published, or nothing is.
        unchanged: published from these documents with these settings.
        removed: partitions whose documents are gone.
        held: partitions whose documents were not read this time, though something is there by
            that name; they stay as they are.
        tokens: of ``new``, ``changed`` and ``removed``: differs whenever the same partition has
            to be built or dropped again, whatever its content was before.
    """

    new: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    held: tuple[str, ...]
    tokens: Mapping[str, str]

    @property
    def to_build(self) -> tuple[str, ...]:
        """New and changed partitions, sorted."""
        return tuple(sorted((*self.new, *self.changed)))


def find_changes(
    instance: dg.DagsterInstance,
    settings: Settings,
    corpus: Corpus,
    known: Known = lambda _partition: (),
) -> Changes:
    """Compare a corpus that was just read with what the instance has recorded.

    ``known`` tells apart what is gone from what could not be read.
    """
    partitions = group_documents(corpus.documents, settings.grouping)
    documents = {name: documents_version(trees) for name, trees in partitions.items()}
    build = build_version(settings)
    wanted = {name: source_version(version, build) for name, version in documents.items()}
    published = recorded_versions(instance, keys.TREE)
    snapshots = recorded_versions(instance, keys.DOCUMENTS)
    existing = set(instance.get_dynamic_partitions(_name()))
    current = {
        name
        for name in wanted.keys() & existing
        if published.get(name, "").startswith(f"{wanted[name]}-")
        and snapshots.get(name) == documents[name]
    }
    absent = existing - wanted.keys()
    unread = [item for item in corpus.skipped if not item.is_empty]
    held = {name for name in absent if _is_unread(name, unread, settings, known)}
    latest = instance.get_latest_storage_id_by_partition(keys.TREE, MATERIALIZED)
    pending = (wanted.keys() - current) | (absent - held)
    return Changes(
        new=tuple(sorted(wanted.keys() - existing)),
        changed=tuple(sorted((wanted.keys() & existing) - current)),
        unchanged=tuple(sorted(current)),
        removed=tuple(sorted(absent - held)),
        held=tuple(sorted(held)),
        tokens={
            name: digest(wanted.get(name, "drop"), str(latest.get(name)))[:16] for name in pending
        },
    )


def contiguous_ranges(order: Sequence[str], names: Collection[str]) -> list[tuple[str, ...]]:
    """``names`` as runs of neighbours in ``order``, the order of the partitions definition.

    A run of Dagster covers a range of partitions; none holds more than ``MAX_RUN_PARTITIONS``.
    """
    ranges: list[list[str]] = []
    before = False
    for name in order:
        wanted = name in names
        if wanted and before and len(ranges[-1]) < MAX_RUN_PARTITIONS:
            ranges[-1].append(name)
        elif wanted:
            ranges.append([name])
        before = wanted
    return [tuple(found) for found in ranges]


def order_with(instance: dg.DagsterInstance, new: Sequence[str]) -> list[str]:
    """Partition keys in the definition's order, once ``new`` ones are added."""
    existing = list(instance.get_dynamic_partitions(_name()))
    known = set(existing)
    return existing + [name for name in new if name not in known]


def range_tags(names: Sequence[str]) -> dict[str, str]:
    """Tags of a run over a range of partitions."""
    return {
        "dagster/asset_partition_range_start": names[0],
        "dagster/asset_partition_range_end": names[-1],
    }


def _name() -> str:
    name = keys.TREES.name
    if name is None:
        raise AssertionError("the partitions definition has a name")
    return name


def _is_unread(
    partition: str, skipped: Sequence[Skipped], settings: Settings, known: Known
) -> bool:
    """Whether a document of the partition was skipped this time, rather than removed."""
    if not skipped:
        return False
    grouping = settings.grouping
    if not grouping.shards and grouping.by == "document":
        names = (tree_name(Document(item.name, ""), grouping) for item in skipped)
        if partition in {partition_key(name, grouping) for name in names}:
            return True
    named = {item.name for item in skipped}
    return any(
        document.id in named or any(document.source.endswith(name) for name in named)
        for document in known(partition)
    )
