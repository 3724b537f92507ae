"""The parts that a build works with, made from the settings when they are first used."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

from raptor_core.audit import make_judge
from raptor_core.audit.base import Judge
from raptor_core.audit.report import RememberingJudge
from raptor_core.audit.revising import RevisingSummarizer
from raptor_core.chunking import make_chunker
from raptor_core.chunking.base import Chunker
from raptor_core.clustering import make_clusterer
from raptor_core.clustering.base import Clusterer
from raptor_core.curation import Curation
from raptor_core.errors import SettingsError
from raptor_core.models.embedding import make_embedder
from raptor_core.models.embedding.base import Embedder
from raptor_core.models.embedding.local_models import settle_precision
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.summarizing import make_summarizer
from raptor_core.models.summarizing.base import Summarizer
from raptor_core.models.summarizing.counted import CountedSummarizer
from raptor_core.models.summarizing.function import SummaryFunction
from raptor_core.quality.junk import find_unfit
from raptor_core.settings import Settings
from raptor_core.store.base import StoreIdentity
from raptor_core.tokens.base import TokenCounter
from raptor_core.tree.cache import MemoryCache, NodeCache
from raptor_core.tree.own_components import checked, counter_of, own_component


class Components:
    """Token counter, chunker, embedder, clusterer and summarizer of one set of settings.

    Nothing heavy is loaded before it is needed. A part that is given replaces the one that the
    settings would make; so does one that ``settings.components`` names. A summarizer may be a
    function from the texts of a cluster to their summary. ``cache`` keeps vectors and texts from
    the moment they come until they are published; without one they are kept in memory until a
    build has finished its trees. ``batches`` is a folder for records of batches that an endpoint
    works at; None keeps none. ``curation`` is what people decided; it may be set anew for each run.

    Raises:
        SettingsError: a part lacks something; what, is named.
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
        batches: Path | None = None,
        curation: Curation | None = None,
    ) -> None:
        settings = settings or Settings()
        embedding = settle_precision(settings.embedder)
        self.settings = settings.model_copy(update={"embedder": embedding})
        given = {
            "counter": counter,
            "chunker": chunker,
            "embedder": embedder,
            "clusterer": clusterer,
            "summarizer": summarizer,
            "judge": judge,
        }
        self._given = {
            kind: checked(kind, part, f"the {kind}") for kind, part in given.items() if part
        }
        self._batches = batches
        self.curation = curation or Curation()
        self._given_cache = cache
        self.cache = cache or MemoryCache()
        self.forgets = cache is None  # a finished build takes away what it kept

    @classmethod
    def either(cls, settings: Settings | None, components: Components | None) -> Components:
        """Those that are given, or those of the settings.

        Raises:
            SettingsError: both are given.
        """
        if settings is not None and components is not None:
            raise SettingsError(
                "settings and components are both given, and components have settings of their "
                "own: give them to Components(settings, ...)"
            )
        return components or cls(settings)

    def _own(self, kind: str) -> Any | None:
        """What was given or is named in the settings; None where it is ours."""
        return self._given.get(kind) or own_component(kind, self.settings)

    def with_cache(self, cache: NodeCache) -> Components:
        """The same with one account, over a cache; themselves where one was given to them."""
        if self._given_cache is not None:
            return self
        self.ledger  # noqa: B018 - made now, so that both have it
        other = copy(self)
        other.cache, other.forgets = cache, False
        other.__dict__.pop("summarizer", None)  # it keeps what it makes in the cache
        return other

    def above(self, settings: Settings) -> Components:
        """The same for the corpus tree: other settings, with a chunker of theirs."""
        self.ledger, self.embedder  # noqa: B018 - made now, so that both have them
        other = copy(self)
        other.settings = settings.model_copy(update={"embedder": self.settings.embedder})
        given = {kind: part for kind, part in self._given.items() if kind != "chunker"}
        other.__dict__["_given"] = given
        for part in ("chunker", "summarizer", "quoting"):
            other.__dict__.pop(part, None)
        return other

    @cached_property
    def ledger(self) -> Ledger:
        """What this run has spent, and what it may; ``ledger.begin()`` begins another run."""
        return Ledger.of(self.settings)

    @cached_property
    def counter(self) -> TokenCounter:
        """What counts tokens."""
        return self._given.get("counter") or counter_of(self.settings)

    @cached_property
    def chunker(self) -> Chunker:
        """What cuts documents."""
        return self._own("chunker") or make_chunker(self.settings.chunking, self.counter)

    @cached_property
    def embedder(self) -> Embedder:
        """What turns text into vectors."""
        settings = self.settings.embedder
        ledger = self.ledger if settings.kind == "openai" else None
        return self._own("embedder") or make_embedder(settings, ledger)

    @cached_property
    def clusterer(self) -> Clusterer:
        """What groups the nodes of a layer."""
        return self._own("clusterer") or make_clusterer(self.settings.clustering)

    @cached_property
    def summarizer(self) -> Summarizer:
        """What summarizes a cluster; with a judge of its answers where the settings want it.

        An extractive summary quotes, and another one would be the same.
        """
        revises = not self.quotes and self.settings.audit.on_unsupported == "resummarize"
        return RevisingSummarizer(self._maker, self.judge) if revises else self._maker

    @property
    def quotes(self) -> bool:
        """Whether summaries are the children's own sentences, which no model cut or garbled."""
        return not self._own("summarizer") and self.settings.summarizer.kind == "extractive"

    @property
    def titles(self) -> bool:
        """Whether each summary begins with a title."""
        settings = self.settings.summarizer
        return not self._own("summarizer") and settings.kind == "openai" and settings.titles

    @cached_property
    def quoting(self) -> Summarizer | None:
        """The summarizer without its account where it is the extractive one; None otherwise."""
        if not self.quotes:
            return None
        return make_summarizer(self.settings.summarizer, self.counter, self.embedder.fingerprint)

    @property
    def _maker(self) -> Summarizer:
        settings, own = self.settings.summarizer, self._own("summarizer")
        made = own or make_summarizer(
            settings,
            self.counter,
            self.embedder.fingerprint,
            ledger=self.ledger,
            keep=lambda key, text: self.cache.keep_texts({key: text}),
            unfit=find_unfit,
            batches=self._batches,
        )
        if not own and settings.kind == "openai":
            return made  # counts what it takes itself
        name, limit = type(own).__name__ if own else settings.kind, settings.max_tokens
        return CountedSummarizer(made, self.ledger, self.counter, name=name, max_tokens=limit)

    @cached_property
    def judge(self) -> Judge:
        """What audits summaries; it shares the embedder where that is the bundled one."""
        bundled = self.settings.embedder.kind == "bundled" and not self._own("embedder")
        shared = self.embedder if bundled else None
        made: Judge = self._own("judge") or make_judge(
            self.settings.audit, embedder=shared, ledger=self.ledger
        )
        # What a summary is revised by is not paid for again where it is audited.
        revises = self.settings.audit.on_unsupported == "resummarize"
        return RememberingJudge(made) if revises else made

    @property
    def store_identity(self) -> StoreIdentity:
        """What a store must have been made for to hold these trees."""
        return StoreIdentity(
            corpus=self.settings.store.corpus,
            embedder_model=self.embedder.model,
            embedder_fingerprint=self.embedder.fingerprint,
            n_dims=self.embedder.n_dims,
        )
