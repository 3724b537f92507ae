"""What the steps of a run work with: settings, components, tables, the vector store, the source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from functools import cached_property

from raptor_assets.batches import Size
from raptor_assets.project.resources import Resources, StoreResource
from raptor_assets.versions import code_versions
from raptor_core.documents.base import Corpus, Document
from raptor_core.documents.grouping import Partitions
from raptor_core.documents.removal import Unread
from raptor_core.errors import DamagedTableError, SourceError, TableError
from raptor_core.quality.document_text import MIN_DOCUMENTS, CommonText
from raptor_core.store.store import VectorStore
from raptor_core.tables.schema import Schema
from raptor_core.tree.components import Components
from raptor_core.tree.publish import build_settings_fingerprint
from raptor_core.tree.published import PublishedTrees
from raptor_core.vectors import Vectors

Trees = Mapping[str, Sequence[Document]]
"""Documents of one partition by tree."""


_COMMON_TEXT = ("common_text",)
_COUNTS = Schema(("counts", "json"))

HELD_NODES = 1000
"""Nodes that local models finish within seconds: for so few the store stays open meanwhile."""


class HeldStore:
    """Opens the store; between ``hold`` and ``release`` it stays open from its first use on.

    Opening an embedded store takes a tenth of a second, and while it is open readers in other
    processes wait. So it is held for short work, and else opened for each call: then a reader waits
    for a look-up or a publication, never for a model.
    """

    def __init__(self, opener: StoreResource) -> None:
        self._opener = opener
        self._held: ExitStack | None = None
        self._store: VectorStore | None = None

    def open(self) -> AbstractContextManager[VectorStore]:
        """See ``StoreResource.open``."""
        if self._held is None:
            return self._opener.open()
        if self._store is None:
            self._store = self._held.enter_context(self._opener.open())
        return nullcontext(self._store)

    def promote(self, trees: Collection[str]) -> bool:
        """See ``StoreResource.promote``."""
        self.release()
        return self._opener.promote(trees)

    def hold(self) -> None:
        """Keep the store open once it is opened."""
        if self._held is None:
            self._held = ExitStack()

    def release(self) -> None:
        """Close what is held, and hold no longer."""
        held, self._held, self._store = self._held, None, None
        if held is not None:
            held.close()


class KnownStore:
    """What the vector store knows, opened for each look-up."""

    def __init__(self, opener: StoreResource | HeldStore) -> None:
        self._opener = opener

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """See ``Known.vectors``."""
        wanted = list(embedding_keys)
        if not wanted:
            return {}
        with self._opener.open() as store:
            return store.vectors(wanted)

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """See ``Known.texts``."""
        wanted = list(content_keys)
        if not wanted:
            return {}
        with self._opener.open() as store:
            return store.texts(wanted)


class RunContext:
    """One run's components and places.

    ``published`` is what ``look_up`` found.

    Args:
        resources: of the corpus.
        components: as this run uses them.
        names: gives the run's partitions.
        warn: told what a person should know.
        working: told how many texts the step under way has made, and of how many.
    """

    def __init__(
        self,
        resources: Resources,
        components: Components,
        names: Callable[[], Collection[str]],
        *,
        warn: Callable[[str], None],
        working: Callable[[int, int], None],
    ) -> None:
        self.settings = resources.settings
        custom = components.custom_fingerprints
        self.versions = code_versions(self.settings, custom)
        self.settings_fingerprint = build_settings_fingerprint(self.settings, custom)
        self.components = components
        self.tables = resources.tables
        self.store = HeldStore(resources.store)
        self.source = resources.source
        self._places = resources.places
        self.reports = resources.reports
        self.warn = warn
        self.working = working
        self.published = PublishedTrees()
        self._names = names

    @property
    def is_quick(self) -> bool:
        """Whether no step waits for an endpoint or for a large model of its own."""
        settings = self.settings
        own = settings.components
        local = settings.embedder.kind != "openai" and settings.summarizer.kind == "extractive"
        local = local and not (own.embedder or own.summarizer or own.judge)
        return local and settings.audit.judge in ("support", "overlap")

    @cached_property
    def corpus(self) -> Corpus:
        """The source, read once in a run; what it could not read is warned of by name."""
        corpus = self.source.corpus(self._names())
        for skipped in corpus.skipped:
            self.warn(f"not read: {skipped.name}: {skipped.reason}")
        return corpus

    def require_known(self, partition: str, ids: Collection[str]) -> None:
        """Refuse to build a partition of documents that cannot be read now.

        Args:
            partition: to build.
            ids: of its documents that were read.

        Raises:
            SourceError: names such a document, and the place that could not be read.
        """
        unread = Unread(self.corpus.skipped)
        if not unread:
            return
        with suppress(DamagedTableError):  # it is written again
            for document_id, source in self._places(partition):
                if document_id not in ids and (place := unread.place_of(document_id, source)):
                    raise SourceError(
                        f"partition {partition!r} stays as published: its document "
                        f"{document_id!r} cannot be read now, since {place!r} cannot. Make that "
                        "readable, or remove it from the source"
                    )

    @cached_property
    def common_text(self) -> CommonText:
        """What the source's documents have in common, as far as runs have seen them.

        Of the run's documents; of an earlier run's that had more than twice as many.
        """
        counted = CommonText()
        for document in self.corpus.documents:
            counted.add(document)
        kept = None
        with suppress(TableError):  # only a cache
            if table := self.tables.find(_COMMON_TEXT, "documents"):
                kept = CommonText.of(next(_COUNTS.rows(table))[0])
        if kept and kept.n_documents > 2 * counted.n_documents:
            return kept
        if counted.n_documents >= MIN_DOCUMENTS:
            self.tables.write(_COMMON_TEXT, "documents", _COUNTS.table([(counted.counts(),)]))
        return counted

    def look_again(self) -> None:
        """Forget what was published before, which other runs may have changed."""
        self.published = PublishedTrees()

    def look_up(self, trees: Trees) -> None:
        """Learn what these trees go on from; what was looked up before is not asked for again."""
        unknown = self.published.unknown(trees)
        if unknown:
            with self.store.open() as store:
                self.published.look_up(store, unknown)

    @cached_property
    def partitions(self) -> Partitions[Document]:
        """The source's documents by partition and tree."""
        return Partitions(self.corpus.documents, self.settings.grouping)

    @property
    def sizes(self) -> dict[str, Size]:
        """What the source holds for each partition."""
        return {
            name: Size(
                len(trees),
                sum(len(document.text) for members in trees.values() for document in members),
            )
            for name, trees in self.partitions.items()
        }
