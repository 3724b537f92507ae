"""The components of a build, built-in or custom, which are made when they are first used.

``custom_components`` imports those that settings name; each package makes its built-in ones.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from raptor_core.audit import make_judge
from raptor_core.audit.base import Judge
from raptor_core.audit.facts import VERSION as FACTS_VERSION
from raptor_core.audit.facts import separate_foreign_facts
from raptor_core.checks.junk import find_unfit_reason
from raptor_core.chunking import make_chunker
from raptor_core.chunking.base import Chunk, Chunker
from raptor_core.chunking.chunker import supplied_chunks
from raptor_core.clustering import make_clusterer
from raptor_core.clustering.base import Clusterer
from raptor_core.curation import Curation
from raptor_core.documents.base import Document
from raptor_core.errors import MissingKeyError, SettingsError
from raptor_core.models.embedding import make_embedder
from raptor_core.models.embedding.base import N_PROBED, Embedder, ProbedEmbedder
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.summarizing import make_summarizer
from raptor_core.models.summarizing.base import ForeignFactRemoval, Summarizer, SummaryFunction
from raptor_core.settings import EmbedderSettings, Settings
from raptor_core.store.base import StoreIdentity
from raptor_core.tokens.base import TokenCounter
from raptor_core.tokens.embedder import TokenizerCounter, bundled_counter
from raptor_core.tree.cache import NodeCache
from raptor_core.tree.custom_components import (
    PROTOCOLS,
    check_interface,
    custom_component,
    custom_fingerprints,
    make_token_counter,
)
from raptor_core.tree.publish import build_settings_fingerprint

_SHARED = frozenset({"ledger", "counter", "chunker", "embedder", "clusterer", "_bundled_embedder"})
"""Parts that copies share after they are made; a summarizer is not shared, but uses its cache."""


class Components:
    """The token counter, chunker, embedder, clusterer, summarizer and judge of some settings.

    Each part is made, and loads its model, when it is first used. Parts that are passed replace
    those of the settings; a summarizer may be a function from the texts of a cluster to their
    summary. If a custom component lacks a member, SettingsError names it.

    Args:
        cache: keeps vectors and texts from the moment they exist until they are published. None
            keeps them in memory until a build has finished its trees.
        curation: people's decisions, which each run may replace.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        counter: TokenCounter | None = None,
        chunker: Chunker | None = None,
        embedder: Embedder | None = None,
        clusterer: Clusterer | None = None,
        summarizer: Summarizer | SummaryFunction | None = None,
        judge: Judge | None = None,
        cache: NodeCache | None = None,
        curation: Curation | None = None,
    ) -> None:
        self.settings = settings or Settings()
        parts = (counter, chunker, embedder, clusterer, summarizer, judge)
        passed = zip(PROTOCOLS, parts, strict=False)  # without the reader, which no build needs
        self._passed = {k: check_interface(k, part, f"the {k}") for k, part in passed if part}
        self.curation = curation or Curation()
        self.cache: NodeCache = cache or NodeCache()
        self.has_own_cache = cache is None

    @classmethod
    def from_either(
        cls, settings: Settings | None, components: "Components | None"
    ) -> "Components":
        """Return the components, or make them from settings; SettingsError if both are given."""
        if settings is not None and components is not None:
            raise SettingsError(
                "settings and components are both given, but components have their own settings: "
                "pass them to Components(settings, ...)"
            )
        return components or cls(settings)

    def with_cache(self, cache: NodeCache) -> "Components":
        """Return components with another cache, which share all parts that do not use it."""
        return self._copy(self.settings, cache, ())

    def for_corpus_tree(self, settings: Settings) -> "Components":
        """Return components for the corpus tree's settings that share ledger and embedder.

        Their chunker is that of these settings, never a custom one.
        """
        self.embedder  # noqa: B018  # made here, so that its model is loaded only once
        settings = settings.model_copy(update={"embedder": self.settings.embedder})
        return self._copy(settings, None if self.has_own_cache else self.cache, ("chunker",))

    def _copy(
        self, settings: Settings, cache: NodeCache | None, without: Collection[str]
    ) -> "Components":
        """Return components that share all parts except those ``without`` or with a cache."""
        self.ledger  # noqa: B018  # made here, so that both share a budget
        passed = {kind: part for kind, part in self._passed.items() if kind not in without}
        copy = Components(settings, cache=cache, curation=self.curation, **passed)
        for name in _SHARED.intersection(vars(self)).difference(without):
            setattr(copy, name, getattr(self, name))
        return copy

    def _custom_component(self, kind: str) -> Any | None:
        """Return the custom component of a kind, or None if the built-in one is used."""
        return self._passed.get(kind) or custom_component(kind, self.settings)

    @cached_property
    def ledger(self) -> Ledger:
        """Ledger of the model calls; ``ledger.begin_run()`` begins another run."""
        return Ledger.from_settings(self.settings)

    @cached_property
    def counter(self) -> TokenCounter:
        """Token counter."""
        return self._passed.get("counter") or make_token_counter(self.settings)

    @property
    def unknown_share(self) -> Callable[[str], float] | None:
        """Function for the share of a text's tokens that the embedder does not know, or None."""
        if self._custom_component("embedder"):
            return None
        if self.settings.embedder.kind == "bundled":
            return bundled_counter().unknown_share
        is_own = self.settings.tokens.counter == "embedder"
        counter = self.counter if is_own else None
        return counter.unknown_share if isinstance(counter, TokenizerCounter) else None

    @cached_property
    def chunker(self) -> Chunker:
        """Chunker, which splits documents into chunks."""
        return self._custom_component("chunker") or make_chunker(
            self.settings.chunking, self.counter
        )

    def chunk_document(self, document: Document) -> list[Chunk]:
        """Return the chunks that the source supplies for a document, else those of the chunker."""
        limit = self.settings.chunking.max_tokens
        return supplied_chunks(document, self.counter, limit) or self.chunker.chunk(document)

    @cached_property
    def embedder(self) -> Embedder:
        """Embedder, which computes the vectors of texts."""
        settings = self.settings.embedder
        ledger = self.ledger if settings.kind == "openai" else None
        return self._custom_component("embedder") or make_embedder(settings, ledger)

    @cached_property
    def clusterer(self) -> Clusterer:
        """Clusterer, which groups the nodes of a layer."""
        return self._custom_component("clusterer") or make_clusterer(self.settings.clustering)

    @cached_property
    def summarizer(self) -> Summarizer:
        """Summarizer, which writes a text for each cluster."""
        return self._custom_component("summarizer") or make_summarizer(
            self.settings.summarizer,
            self.counter,
            self.embedder.fingerprint,
            ledger=self.ledger,
            keep=lambda key, text: self.cache.keep_texts({key: text}),
            unfit=find_unfit_reason,
            foreign_fact_removal=self._foreign_fact_removal,
        )

    def summarizer_fingerprint(self, embedder_fingerprint: str) -> str:
        """Return the fingerprint that the summarizer would have with another embedder."""
        if self.calls_model or self._custom_component("summarizer"):
            return self.summarizer.fingerprint
        settings = self.settings.summarizer
        return make_summarizer(settings, self.counter, embedder_fingerprint).fingerprint

    @property
    def is_extractive(self) -> bool:
        """Whether summaries consist of the children's sentences, so that no model writes texts."""
        return getattr(self.summarizer, "quotes", False)

    @property
    def calls_model(self) -> bool:
        """Whether a model whose calls the ledger counts writes the summaries."""
        return getattr(self.summarizer, "calls_model", False)

    @property
    def has_titles(self) -> bool:
        """Whether each summary begins with a title."""
        return self.calls_model and self.settings.summarizer.titles

    @property
    def _foreign_fact_removal(self) -> ForeignFactRemoval | None:
        """How to remove foreign facts; None if the settings only report them."""
        mode = self.settings.summarizer.foreign_facts
        if mode == "strict":
            find = partial(separate_foreign_facts, embed=self._bundled_embedder.embed)
            return ForeignFactRemoval(f"{FACTS_VERSION}-quoted", find, self._extractive_summarizer)
        removes = mode == "remove"
        return (
            ForeignFactRemoval(FACTS_VERSION, separate_foreign_facts, self._extractive_summarizer)
            if removes
            else None
        )

    @property
    def has_chat_summaries(self) -> bool:
        """Whether a chat model writes the summaries, so that foreign facts are searched for."""
        return self.settings.summarizer.kind != "extractive" and not self._custom_component(
            "summarizer"
        )

    @cached_property
    def _extractive_summarizer(self) -> Summarizer:
        extractive = self.settings.summarizer.model_copy(update={"kind": "extractive"})
        return make_summarizer(extractive, self.counter, self.embedder.fingerprint)

    @property
    def fallback_summarizer(self) -> Summarizer | None:
        """Extractive summarizer for what the model refuses; None if a refusal is a failure."""
        allowed = self.settings.summarizer.max_fallback and self.calls_model
        return self._extractive_summarizer if allowed else None

    @cached_property
    def judge(self) -> Judge:
        """Judge that audits summaries."""
        return self._custom_component("judge") or make_judge(
            self.settings.audit,
            embedder=self._bundled_embedder,
            ledger=self.ledger,
            kept=self.cache,
        )

    @cached_property
    def _bundled_embedder(self) -> Embedder:
        """Bundled embedder, with which the scores of sentences are calibrated."""
        is_own = self.settings.embedder.kind == "bundled" and not self._custom_component("embedder")
        return self.embedder if is_own else make_embedder(EmbedderSettings())

    @cached_property
    def custom_fingerprints(self) -> dict[str, str]:
        """Fingerprints of the custom components in the settings, by section."""
        return custom_fingerprints(self.settings)

    @cached_property
    def settings_fingerprint(self) -> str:
        """Fingerprint of all settings and custom components that change a tree's content."""
        return build_settings_fingerprint(self.settings, self.custom_fingerprints)

    @property
    def store_identity(self) -> StoreIdentity:
        """Identity of a store that may contain trees of these components, without a probe."""
        return StoreIdentity(
            corpus=self.settings.store.corpus,
            embedder_model=self.embedder.model,
            embedder_fingerprint=self.embedder.fingerprint,
            n_dims=self.embedder.n_dims,
        )

    @property
    def probed_identity(self) -> StoreIdentity:
        """Identity of the store with a probe, for which the embedder is called once.

        If the endpoint's key is missing, there is no probe; then nothing can be embedded either.
        """
        if not isinstance(self.embedder, ProbedEmbedder):
            return self.store_identity
        try:
            probe = self.embedder.probe()[:N_PROBED]
            return replace(self.store_identity, probe=probe)
        except MissingKeyError:
            return self.store_identity
