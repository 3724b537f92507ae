"""Settings of audits and asset checks. Changing a bound does not make layers stale."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field, model_validator

from raptor_core.settings.base import ChatModelSettings, OrNone, SettingsSection, setting


class AuditSettings(ChatModelSettings):
    """Audit of sampled summaries; ``checks.audit_rate`` is the share that is sampled."""

    purpose: ClassVar[str] = "audit"

    judge: Literal["support", "llm", "local"] = setting("support", is_common=True, rebuilds=True)
    """"support" (compares sentences, numbers, names and opposites with the bundled model), "llm"
    (an OpenAI-compatible chat endpoint, which costs money), or "local" (a chat model's GGUF file,
    which runs in this process).
    """
    model: str = setting("gpt-4o-mini", rebuilds=True)
    """Model at the endpoint for "llm", or GGUF file for "local"."""
    max_retries: int = Field(2, ge=0, le=20)
    """Attempts after the first, if a call fails or its answer is invalid. If all fail, the summary
    is "not judged".
    """
    max_tokens: int = setting(1000, ge=64, rebuilds=True)
    """Maximum tokens of an answer."""

    @property
    def is_local(self) -> bool:
        """See ``EndpointSettings.is_local``."""
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
"""Name of a check; see docs/checks.md."""

_WATCHED = {
    *("document_text", "token_budget", "coverage", "junk_text", "foreign_facts"),
    "hallucination_audit",
    *("embedding", "shrink", "staleness", "golden_retrieval", "golden_regression"),
}
QUIET = {name: "off" for name in get_args(CheckName) if name not in _WATCHED}
"""Severities of the preset "quiet", which keeps all checks that block and a few others."""


class CheckSettings(SettingsSection):
    """Bounds of the asset checks; they apply to means over a layer unless stated otherwise."""

    min_compression: float = Field(0.1, ge=0)
    """Minimum ratio of the tokens of summaries to those of their children (paper: 0.28)."""
    max_compression: float = Field(0.6, gt=0)
    """Maximum ratio of the tokens of summaries to those of their children."""
    min_children: float = Field(2.0, ge=0)
    """Minimum mean of children per summary (paper: 6.7)."""
    max_children: float = Field(25.0, gt=0)
    """Maximum mean of children per summary."""
    audit_rate: float = setting(0.1, ge=0, le=1, is_common=True)
    """Share of summaries that are audited."""
    audit_minimum: int = Field(5, ge=0)
    """Minimum number of audited summaries in each layer and partition."""
    max_unsupported: float = Field(0.1, ge=0, le=1)
    """Maximum share of audited summaries with an unsupported sentence (paper: 0.04 of audited nodes
    hallucinated).
    """
    golden: Annotated[str | None, OrNone] = setting(None, is_common=True)
    """File of questions with expected answers, relative to the settings file, or "none"."""
    max_odd_documents: float = Field(0.0, ge=0, le=1)
    """Maximum share of a partition's documents whose text may have been extracted wrongly."""
    min_golden_hit_rate: float = Field(0.5, ge=0, le=1)
    """Minimum share of golden questions whose answer is retrieved."""
    min_golden_mrr: float = Field(0.0, ge=0, le=1)
    """Minimum mean reciprocal rank over the golden questions."""
    min_golden_recall: float = Field(0.0, ge=0, le=1)
    """Minimum mean recall of the golden questions' passages, and of their documents."""

    max_unanswered: float = Field(0.3, ge=0, le=1)
    """Maximum share of unanswered questions among those that `serving.questions` keeps."""

    severity: Mapping[CheckName, Literal["error", "warn", "off"]] = setting({}, is_common=True)
    """Severities that replace the defaults in docs/checks.md, such as ``{language_switch = "off",
    golden_retrieval = "error"}``. An "error" blocks the publication and fails the run.
    """

    @model_validator(mode="after")
    def _bounds_in_order(self) -> "CheckSettings":
        if self.min_compression >= self.max_compression:
            raise ValueError("min_compression must be below max_compression")
        if self.min_children >= self.max_children:
            raise ValueError("min_children must be below max_children")
        return self
