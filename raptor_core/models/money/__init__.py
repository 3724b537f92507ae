"""What model calls cost: prices, the budget of a run and what it spent, estimates beforehand."""

from raptor_core.models.money.ledger import Account, Hold, Ledger
from raptor_core.models.money.usage import (
    AUDITS,
    EMBEDDINGS,
    FREE,
    SUMMARIES,
    Cost,
    Spending,
    Usage,
    cost_usd,
    embedding_cost,
    estimate_tokens,
    summary_cost,
)

__all__ = [
    "AUDITS",
    "EMBEDDINGS",
    "FREE",
    "SUMMARIES",
    "Account",
    "Cost",
    "Hold",
    "Ledger",
    "Spending",
    "Usage",
    "cost_usd",
    "embedding_cost",
    "estimate_tokens",
    "summary_cost",
]
