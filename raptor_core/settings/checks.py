"""Settings of audits and of asset checks. No bound makes a layer stale."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field, model_validator

from raptor_core.settings.base import ChatPart, OrNone, Part, setting


class AuditSettings(ChatPart):
    """Judge of sampled summaries; ``checks.audit_rate`` is the share that is sampled."""

    purpose: ClassVar[str] = "audit"

    judge: Literal["support", "llm", "local"] = setting("support", is_common=True, rebuilds=True)
    """"support" (similarity, coverage, numbers, names, oppositions; the bundled model), "llm" (an
    OpenAI-compatible chat endpoint, which is paid for), or "local" (a chat model's GGUF file, which
    runs in this process).
    """
    model: str = setting("gpt-4o-mini", rebuilds=True)
    """Model of "llm", or the file of "local"."""
    max_retries: int = Field(2, ge=0, le=20)
    """Attempts after the first, for an audit with an invalid answer or a fault; after them the
    summary is "not judged".
    """
    max_tokens: int = setting(1000, ge=64, rebuilds=True)
    """Most tokens of an answer."""

    @property
    def is_local(self) -> bool:
        """See ``EndpointPart.is_local``."""
        return self.judge == "local"


CheckName = Literal[
    "unread_rows",
    "document_text",
    "chunk_length",
    "token_budget",
    "cluster_size",
    "coverage",
    "junk_text",
    "foreign_facts",
    "compression_ratio",
    "language_switch",
    "model_answers",
    "hallucination_audit",
    "embedding",
    "summary_coverage",
    "shrink",
    "prompt_injection",
    "unreadable_nodes",
    "staleness",
    "golden_retrieval",
    "golden_regression",
    "unanswered_share",
]
"""Name of a check; docs/checks.md describes each."""

_WATCHED = {
    *("document_text", "token_budget", "coverage", "junk_text", "foreign_facts"),
    "hallucination_audit",
    *("embedding", "shrink", "staleness", "golden_retrieval", "golden_regression"),
}
QUIET = {name: "off" for name in get_args(CheckName) if name not in _WATCHED}
"""Severities of the preset "quiet": every check that blocks stays, and of the others a few."""


class CheckSettings(Part):
    """Bounds of the asset checks, of means over a layer unless a bound says otherwise."""

    min_compression: float = Field(0.1, ge=0)
    """Least tokens of summaries over tokens of their children (paper: 0.28)."""
    max_compression: float = Field(0.6, gt=0)
    """Most tokens of summaries over tokens of their children."""
    min_children: float = Field(2.0, ge=0)
    """Least mean of children per parent (paper: 6.7)."""
    max_children: float = Field(25.0, gt=0)
    """Most mean of children per parent."""
    audit_rate: float = setting(0.1, ge=0, le=1, is_common=True)
    """Share of summaries that are audited."""
    audit_minimum: int = Field(5, ge=0)
    """Least number of audited summaries in each layer and partition."""
    max_unsupported: float = Field(0.1, ge=0, le=1)
    """Share of audited summaries that may hold an unsupported sentence (paper: 0.04 of audited
    nodes hallucinated).
    """
    golden: Annotated[str | None, OrNone] = setting(None, is_common=True)
    """File of questions with known answers, relative to the settings file, or "none"."""
    max_odd_documents: float = Field(0.0, ge=0, le=1)
    """Share of a partition's documents whose text may look as if it had been read wrongly."""
    min_golden_hit_rate: float = Field(0.5, ge=0, le=1)
    """Share of the golden questions whose answer must be retrieved."""
    min_golden_mrr: float = Field(0.0, ge=0, le=1)
    """Least mean reciprocal rank over the golden questions."""
    min_golden_recall: float = Field(0.0, ge=0, le=1)
    """Least mean recall of the golden questions' passages, and of their documents."""

    max_unanswered: float = Field(0.3, ge=0, le=1)
    """Share of the kept questions that may be unanswered, see `serving.questions`."""

    severity: Mapping[CheckName, Literal["error", "warn", "off"]] = setting({}, is_common=True)
    """Severities of checks, such as ``{language_switch = "off", golden_retrieval = "error"}``, in
    place of those of docs/checks.md. An "error" blocks the publication, and fails the run.
    """

    @model_validator(mode="after")
    def _bounds_in_order(self) -> "CheckSettings":
        if self.min_compression >= self.max_compression:
            raise ValueError("min_compression must be below max_compression")
        if self.min_children >= self.max_children:
            raise ValueError("min_children must be below max_children")
        return self
