"""Summarizers: extractive, and OpenAI-compatible chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raptor_core.settings.models import SummarizerSettings
    from raptor_core.summarizing.base import Summarizer
    from raptor_core.tokens.base import TokenCounter

__all__ = ["make_summarizer"]


def make_summarizer(
    settings: SummarizerSettings, counter: TokenCounter, embedder_fingerprint: str
) -> Summarizer:
    """The summarizer that the settings name; loads no model and calls nothing.

    ``embedder_fingerprint`` is of the vectors that the requests will carry: the extractive
    summarizer weighs children by them.
    """
    if settings.kind == "openai":
        from raptor_core.summarizing.chat import ChatSummarizer

        return ChatSummarizer(settings, counter)
    from raptor_core.chunking.sentences import sentences
    from raptor_core.summarizing.extractive import ExtractiveSummarizer

    return ExtractiveSummarizer(settings, counter, embedder_fingerprint, sentences)
