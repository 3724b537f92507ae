"""Summarizers: extractive, with a chat model at an endpoint or in a file, or with a function.

``base`` has the interface. ``raptor_core.tree.summarize`` decides which summaries a tree needs.
Read ``base`` next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raptor_core.models.money.ledger import Ledger
    from raptor_core.models.summarizing.base import ForeignFactRemoval, Summarizer
    from raptor_core.models.summarizing.chat import Keep, UnfitCheck
    from raptor_core.settings.models import SummarizerSettings
    from raptor_core.tokens.base import TokenCounter

__all__ = ["make_summarizer"]


def make_summarizer(
    settings: SummarizerSettings,
    counter: TokenCounter,
    embedder_fingerprint: str,
    *,
    ledger: Ledger | None = None,
    keep: Keep | None = None,
    unfit: UnfitCheck | None = None,
    foreign_fact_removal: ForeignFactRemoval | None = None,
) -> Summarizer:
    """Return the summarizer that the settings name, without loading a model or calling anything."""
    if settings.kind != "extractive":
        from raptor_core.models.summarizing.chat import ChatSummarizer

        chat = ChatSummarizer(
            settings,
            counter,
            ledger=ledger,
            keep=keep,
            unfit=unfit,
            foreign_fact_removal=foreign_fact_removal,
        )
        if settings.is_local or not settings.batch_from:
            return chat
        from raptor_core.models.summarizing.batch import BatchSummarizer

        return BatchSummarizer(chat, settings, ledger=ledger, keep=keep)
    from raptor_core.models.summarizing.extractive import ExtractiveSummarizer

    return ExtractiveSummarizer(settings, counter, embedder_fingerprint)
