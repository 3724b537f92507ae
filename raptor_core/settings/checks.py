"""Settings of audits and of asset checks. No bound makes a layer stale."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from raptor_core.settings.base import ChatPart, OrNone, Part


class AuditSettings(ChatPart):
    """Judge of sampled summaries; ``checks.audit_rate`` is the share that is sampled.

    Attributes:
        judge: "support" (similarity, coverage, numbers, names, oppositions; the bundled model),
            "nli" (a cross-encoder of sentence-transformers), "llm" (an OpenAI-compatible chat
            endpoint, which is paid for), or "local" (a chat model's GGUF file, which runs in this
            process).
        on_unsupported: what happens to an audited summary with an unsupported sentence: "report"
            it, "quarantine" it (published, and left out of retrieval), or "block" the publication.
        model: model of "nli" (a hub name or a local folder), of "llm", or the file of "local".
        max_retries: attempts after the first, for an audit with an invalid answer or a fault; after
            them the summary is "not judged".
        max_tokens: most tokens of an answer.
        json_format: form of the request for JSON: by a schema ("json_schema"), as any JSON
            ("json_object"), or by the prompt alone ("prompt"), which every server knows.
    """

    purpose: ClassVar[str] = "audit"
    common: ClassVar[tuple[str, ...] | None] = ("judge", "on_unsupported")

    judge: Literal["support", "nli", "llm", "local"] = "support"
    on_unsupported: Literal["report", "quarantine", "block"] = "report"
    model: str = "gpt-4o-mini"
    max_retries: int = Field(2, ge=0, le=20)
    max_tokens: int = Field(1000, ge=64)
    json_format: Literal["json_schema", "json_object", "prompt"] = "json_schema"

    @property
    def is_local(self) -> bool:
        """See ``EndpointPart.is_local``."""
        return self.judge == "local"

    @model_validator(mode="after")
    def _judge_has_its_model(self) -> "AuditSettings":
        if self.judge == "nli" and self.model == type(self).model_fields["model"].default:
            raise ValueError(
                f'audit.model is "{self.model}", a chat model; audit.judge "nli" needs a '
                "cross-encoder for inference: its hub name, such as "
                "cross-encoder/nli-deberta-v3-small, or its folder"
            )
        return self


class CheckSettings(Part):
    """Bounds of the asset checks, of means over a layer unless a bound says otherwise.

    Attributes:
        min_compression, max_compression: summary tokens over children's tokens (paper: 0.28).
        min_children, max_children: mean of children per parent (paper: 6.7).
        on_cluster_size: what happens to a layer of clusters outside of these bounds: "warn", or
            "block" it before a summary of it is made.
        audit_rate: share of summaries that are audited.
        audit_minimum: least number of audited summaries in each layer and partition.
        max_unsupported: share of audited summaries that may hold an unsupported sentence
            (paper: 0.04 of audited nodes hallucinated).
        max_switched: share of summaries that may be in another language than their children.
        near_duplicate: share of three-word runs that two summaries share from which they are near
            duplicates.
        max_near_duplicates: share of a layer's summaries that may nearly repeat another; of two
            that are alike, one counts.
        min_coverage: share of the children of a layer's summaries of which these hold something.
        max_injected: share of a tree's texts that may hold chat markup or unseen characters.
        max_cut_sentences: share of the borders between chunks that may lie inside a sentence.
        max_mean_cosine: mean cosine of two nodes of a layer of ten or more, above which its
            vectors have collapsed.
        max_equal_vectors: share of a tree's texts whose vector may be that of another text.
        max_odd_documents: share of a partition's documents whose text may look as if it had been
            read wrongly.
        golden: file of questions with known answers, relative to the settings file, or "none".
        min_golden_hit_rate: share of them whose answer must be retrieved.
    """

    common: ClassVar[tuple[str, ...] | None] = ("audit_rate", "golden")

    min_compression: float = Field(0.10, ge=0)
    max_compression: float = Field(0.60, gt=0)
    min_children: float = Field(2.0, ge=0)
    max_children: float = Field(25.0, gt=0)
    on_cluster_size: Literal["warn", "block"] = "warn"
    audit_rate: float = Field(0.1, ge=0, le=1)
    audit_minimum: int = Field(5, ge=0)
    max_unsupported: float = Field(0.1, ge=0, le=1)
    max_switched: float = Field(0.0, ge=0, le=1)
    near_duplicate: float = Field(0.8, ge=0.5, le=1)
    max_near_duplicates: float = Field(0.1, ge=0, le=1)
    min_coverage: float = Field(0.5, ge=0, le=1)
    max_injected: float = Field(0.0, ge=0, le=1)
    max_cut_sentences: float = Field(0.1, ge=0, le=1)
    max_mean_cosine: float = Field(0.995, gt=0, le=1)
    max_equal_vectors: float = Field(0.1, ge=0, le=1)
    golden: Annotated[str | None, OrNone] = None
    max_odd_documents: float = Field(0.0, ge=0, le=1)
    min_golden_hit_rate: float = Field(0.5, ge=0, le=1)

    @model_validator(mode="after")
    def _bounds_in_order(self) -> "CheckSettings":
        if self.min_compression >= self.max_compression:
            raise ValueError("min_compression must be below max_compression")
        if self.min_children >= self.max_children:
            raise ValueError("min_children must be below max_children")
        return self
