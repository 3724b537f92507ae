"""What the steps of a run work with: settings, components, tables, the vector store, the source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property

from raptor_assets.batches import Size
from raptor_assets.opening import HeldStore
from raptor_assets.project.resources import Resources
from raptor_assets.versions import code_versions
from raptor_core.documents.base import Corpus, Document
from raptor_core.documents.grouping import Partitions
from raptor_core.errors import TableError
from raptor_core.quality.document_text import MIN_DOCUMENTS, CommonText
from raptor_core.tables.schema import Schema
from raptor_core.tree.components import Components
from raptor_core.tree.published import PublishedTrees

Trees = Mapping[str, Sequence[Document]]
"""Documents of one partition by tree."""


_COMMON_TEXT = ("common_text",)
_COUNTS = Schema(("counts", "json"))


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
        self.versions = code_versions(self.settings)
        self.components = components
        self.tables = resources.tables
        self.store = HeldStore(resources.store)
        self.source = resources.source
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
