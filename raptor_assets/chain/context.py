"""Context of a run for its steps: settings, components, tables, the vector store, the source.

Partitions go through all layers in batches, which bound a run's memory.
"""

import ctypes
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property

from raptor_assets.assets.versions import code_versions
from raptor_assets.home.access import CorpusAccess, StoreAccess
from raptor_assets.home.publication import explain_pin
from raptor_assets.home.published import documents_by_tree, find_current_pins
from raptor_core.documents.base import Corpus, Document
from raptor_core.documents.grouping import Partitions, partition_key
from raptor_core.documents.removal import UnreadPlaces
from raptor_core.errors import SourceError
from raptor_core.rebuild.expected_layers import USUAL_CHILDREN
from raptor_core.settings import Settings
from raptor_core.settings.base import BudgetSettings
from raptor_core.store.store import VectorStore
from raptor_core.tree.components import Components
from raptor_core.tree.publish import build_settings_fingerprint
from raptor_core.tree.published import PublishedTrees
from raptor_core.vectors import Vectors

Trees = Mapping[str, Sequence[Document]]  # documents of one partition by tree

QUICK_NODES = 1000  # for so few, which take seconds, the store stays open


BATCH_PARTITIONS = 64  # published before the next batch begins
BATCH_CHARS = 2_000_000  # of documents, unless one partition has more
BATCH_TREES = 1_000  # unless one partition has more
TOKEN_CHARS = 4  # of a usual text


@dataclass(frozen=True, slots=True)
class PartitionSize:
    """Size of a partition or a batch: its trees, and the characters of their documents."""

    n_trees: int = 0
    n_chars: int = 0

    def __add__(self, size: "PartitionSize") -> "PartitionSize":
        return PartitionSize(self.n_trees + size.n_trees, self.n_chars + size.n_chars)

    def fits_in_batch(self, most_chars: int) -> bool:
        """Return whether one batch may have this size."""
        return self.n_trees <= BATCH_TREES and self.n_chars <= most_chars


def max_batch_chars(settings: Settings) -> int:
    """Return the largest number of characters of documents in a batch.

    With a budget, a run finishes and publishes only as many trees at a time as keep its endpoint
    busy. Whatever it paid for is then published when the budget is spent.
    """
    if settings.budget == BudgetSettings() or not settings.build_endpoints:
        return BATCH_CHARS
    of_call = USUAL_CHILDREN * settings.chunking.max_tokens * TOKEN_CHARS
    return min(BATCH_CHARS, round(of_call * settings.summarizer.concurrency))


def split_into_batches(
    names: Iterable[str], sizes: Mapping[str, PartitionSize], most_chars: int = BATCH_CHARS
) -> Iterator[list[str]]:
    """Split ``names`` into batches, in order; a name without a size counts as empty."""
    batch: list[str] = []
    total = PartitionSize()
    for name in names:
        size = sizes.get(name, PartitionSize())
        if batch and (
            len(batch) == BATCH_PARTITIONS or not (total + size).fits_in_batch(most_chars)
        ):
            yield batch
            batch, total = [], PartitionSize()
        batch.append(name)
        total += size
    if batch:
        yield batch


def release_memory() -> None:
    """Return freed memory to the system; glibc would keep some 70 MB for each batch."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other libraries have none
        if trim is not None:
            trim(0)


class RunStore:
    """Store that stays open from its first use between ``keep_open`` and ``close``.

    Opening an embedded store takes a tenth of a second, and searches in other processes wait while
    it is open. It therefore stays open during short work only: a search may have to wait for one
    call to the store, but never for a model.
    """

    def __init__(self, opener: StoreAccess) -> None:
        self._opener = opener
        self._stack: ExitStack | None = None
        self._store: VectorStore | None = None

    def open(self) -> AbstractContextManager[VectorStore]:
        """See ``StoreAccess.open``."""
        if self._stack is None:
            return self._opener.open()
        if self._store is None:
            self._store = self._stack.enter_context(self._opener.open())
        return nullcontext(self._store)

    def keep_open(self) -> None:
        """Keep the store open from its next use."""
        if self._stack is None:
            self._stack = ExitStack()

    @contextmanager
    def keep_open_in_block(self) -> Iterator[None]:
        """Keep the store open in a block, from its first use there."""
        is_outer = self._stack is None
        self.keep_open()
        try:
            yield
        finally:
            if is_outer:
                self.close()

    def close(self) -> None:
        """Close the store."""
        stack, self._stack, self._store = self._stack, None, None
        if stack is not None:
            stack.close()


class StoredVectorsAndTexts:
    """Vectors and texts of the vector store, which is opened for each look-up."""

    def __init__(self, opener: StoreAccess | RunStore) -> None:
        self._opener = opener

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """See ``KnownContent.vectors``."""
        keys = list(embedding_keys)
        if not keys:
            return {}
        with self._opener.open() as store:
            return store.vectors(keys)

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """See ``KnownContent.texts``."""
        keys = list(content_keys)
        if not keys:
            return {}
        with self._opener.open() as store:
            return store.texts(keys)


class RunContext:
    """Components and places of one run; ``look_up_published`` fills ``published``."""

    def __init__(
        self,
        access: CorpusAccess,
        components: Components,
        names: Callable[[], Collection[str]],
        *,
        warn: Callable[[str], None],
        working: Callable[[int, int], None],
    ) -> None:
        self.access = access
        self.settings = access.settings
        self.corpus_names = access.names
        custom = components.custom_fingerprints
        self.versions = code_versions(self.settings, custom)
        self.settings_fingerprint = build_settings_fingerprint(self.settings, custom)
        self.components = components
        self.tables = access.tables
        self.store = RunStore(access.store)
        self.source = access.source
        self._published = access.read_published
        self.needs_approval = self.settings.runs.publish == "when_approved"
        self.warn = warn
        self.working = working
        self.published = PublishedTrees()
        self._names = names

    @property
    def needs_no_endpoint(self) -> bool:
        """Whether no step waits for an endpoint or for a custom component."""
        settings = self.settings
        custom = settings.components
        local = settings.embedder.kind != "openai" and settings.summarizer.kind == "extractive"
        local = local and not (custom.embedder or custom.summarizer or custom.judge)
        return local and settings.audit.judge == "support"

    @cached_property
    def corpus(self) -> Corpus:
        """Documents of the source, read once in a run; unreadable files give warnings."""
        corpus = self.source.read_corpus(self._names())
        for skipped in corpus.skipped:
            self.warn(f"not read: {skipped.name}: {skipped.reason}")
        return corpus

    def require_readable(self, partition: str, ids: Collection[str]) -> None:
        """Raise a SourceError if a document of a partition, not set aside, cannot be read now."""
        unread = UnreadPlaces(self.corpus.skipped)
        if not unread:
            return
        known = {*ids, *self.components.curation.set_aside_documents}
        for document in self._published().read_documents([partition])[partition]:
            place = unread.place_of(document.id, document.source)
            if place and document.id not in known:
                raise SourceError(
                    f"partition {partition!r} stays as published: its document {document.id!r} "
                    f"is not read now, since {place!r} {unread.reason_unread(place)}. Make that "
                    "readable, or remove it from the source"
                )

    def require_not_pinned(self, partition: str) -> None:
        """Raise a SourceError for a partition whose trees are pinned."""
        grouping = self.settings.grouping
        for tree, note in self.pin_notes.items():
            if partition_key(tree, grouping) == partition:
                raise SourceError(explain_pin(tree, note))

    def forget_published(self) -> None:
        """Forget all look-ups, since other runs may have published."""
        self.published = PublishedTrees()

    def look_up_published(self, trees: Trees) -> None:
        """Look up the published trees that these trees continue from, each of them once."""
        unknown = self.published.trees_to_look_up(trees)
        if unknown:
            with self.store.open() as store:
                self.published.read_manifests(store, unknown)

    @cached_property
    def pin_notes(self) -> dict[str, str]:
        """Notes on why trees of this run are pinned to an earlier build, by tree name."""
        every = Partitions(self.corpus.documents, self.settings.grouping)
        return find_current_pins(self._published().pins, documents_by_tree(every))

    @cached_property
    def partitions(self) -> Partitions[Document]:
        """Documents of the source by partition and tree, without pinned trees."""
        return Partitions(self.corpus.documents, self.settings.grouping, self.pin_notes)

    @property
    def partition_sizes(self) -> dict[str, PartitionSize]:
        """Size of each partition in the source."""
        return {
            name: PartitionSize(
                len(trees),
                sum(len(document.text) for members in trees.values() for document in members),
            )
            for name, trees in self.partitions.items()
        }
