"""Summarizers: extractive, and OpenAI-compatible chat."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raptor_core.models.money.ledger import Ledger
    from raptor_core.models.summarizing.base import Summarizer
    from raptor_core.models.summarizing.chat import Fits, Keep
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
    unfit: Fits | None = None,
    batches: Path | None = None,
) -> Summarizer:
    """The summarizer that the settings name; loads no model and calls nothing.

    ``embedder_fingerprint`` is of the vectors that the requests will carry: the extractive
    summarizer weighs children by them. The others are for one that is paid: ``ledger`` holds the
    run's budget and prices, ``keep`` gets each answer as it comes, ``unfit`` says of one why it is
    no summary of its sources, and ``batches`` is a folder that remembers batches under way; None
    forgets them with the process.
    """
    if settings.kind == "openai":
        from raptor_core.models.summarizing.chat import ChatSummarizer

        chat = ChatSummarizer(settings, counter, ledger=ledger, keep=keep, unfit=unfit)
        if not settings.batch_from:
            return chat
        from raptor_core.models.summarizing.batch import BatchSummarizer

        return BatchSummarizer(chat, settings, ledger=ledger, keep=keep, folder=batches)
    from raptor_core.models.summarizing.extractive import ExtractiveSummarizer

    return ExtractiveSummarizer(settings, counter, embedder_fingerprint)
