"""What was spent, by purpose and model."""

from __future__ import annotations

from dataclasses import dataclass, field

from raptor_core.models.money.usage import Usage

SUMMARIES = "summaries"
EMBEDDINGS = "embeddings"
AUDITS = "audits"


@dataclass(frozen=True, slots=True)
class Spending:
    """What one model was paid for one purpose.

    Attributes:
        purpose: ``SUMMARIES``, ``EMBEDDINGS``, ``AUDITS``, or another name.
        model: its name.
        usage: as the endpoint counted; the retries include those of calls that failed.
        lost: worst case of calls whose answer never came (a timeout, a cut connection): the
            endpoint may charge them, so the budget counts them.
    """

    purpose: str
    model: str
    usage: Usage = field(default_factory=Usage)
    lost: Usage = field(default_factory=Usage)
