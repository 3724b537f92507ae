"""Who audits summaries, and what follows from a finding."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from raptor_core.settings.endpoints import EndpointPart


class AuditSettings(EndpointPart):
    """The judge of sampled summaries; how many are sampled is ``checks.audit_rate``.

    Attributes:
        judge: "support" (similarity, coverage, numbers, names, oppositions; the bundled model),
            "overlap" (words alone), "nli" (a cross-encoder of sentence-transformers), or "llm"
            (an OpenAI-compatible chat endpoint, which is paid for).
        on_unsupported: what happens to an audited summary with an unsupported sentence: "report"
            it, "quarantine" it (published, and left out of retrieval), "resummarize" it with the
            findings in the prompt, or "block" the publication.
        model: of "nli" (a hub name or a local folder) or of "llm".
        max_retries: of one audit, after an invalid answer or a fault; then it is "not judged".
        max_tokens: tokens of an answer at the most.
        json_format: how the endpoint is asked for JSON: by a schema ("json_schema"), as any JSON
            ("json_object"), or by the prompt alone ("prompt"), which every server knows.
    """

    purpose: ClassVar[str] = "audit"

    judge: Literal["support", "overlap", "nli", "llm"] = "support"
    on_unsupported: Literal["report", "quarantine", "resummarize", "block"] = "report"
    model: str = "gpt-4o-mini"
    max_retries: int = Field(2, ge=0, le=20)
    max_tokens: int = Field(1000, ge=64)
    json_format: Literal["json_schema", "json_object", "prompt"] = "json_schema"
