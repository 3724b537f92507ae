"""What model calls cost: prices, the budget of a run and what it spent, estimates beforehand.

No price is shipped: prices age. The settings hold them by model name, ``[prices."gpt-4o-mini"]``.
"""

from raptor_core.models.money.account import Account, Hold
from raptor_core.models.money.estimates import Cost, embedding_cost, estimate_tokens, summary_cost
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.prices import FREE, cost_usd
from raptor_core.models.money.spending import AUDITS, EMBEDDINGS, SUMMARIES, Spending
from raptor_core.models.money.usage import Usage

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
