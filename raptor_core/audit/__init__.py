"""Audits, in which judges decide sentence by sentence whether summaries follow from their children.

``base`` has the interface of a judge, and ``report`` audits a sample of a layer. Checks of whole
layers and trees are in ``raptor_core.checks``. Read ``base`` next.
"""

from typing import TYPE_CHECKING

from raptor_core.audit.base import Judge
from raptor_core.models.embedding.base import Embedder
from raptor_core.models.money.ledger import Ledger
from raptor_core.settings.checks import AuditSettings

if TYPE_CHECKING:
    from raptor_core.audit.llm import KeptAnswers

__all__ = ["make_judge"]


def make_judge(
    settings: AuditSettings,
    *,
    embedder: Embedder | None = None,
    ledger: Ledger | None = None,
    kept: "KeptAnswers | None" = None,
) -> Judge:
    """Return the judge that the settings name; models are loaded when it is first used."""
    if settings.judge in ("llm", "local"):
        from raptor_core.audit.llm import LlmJudge

        return LlmJudge(settings, ledger, kept=kept)
    from raptor_core.audit.support import SupportJudge
    from raptor_core.models.embedding import make_embedder
    from raptor_core.settings.models import EmbedderSettings

    return SupportJudge(embedder or make_embedder(EmbedderSettings()))
