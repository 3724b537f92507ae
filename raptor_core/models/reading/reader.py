"""Answers questions from passages through an OpenAI-compatible chat endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.retry import RetryPolicy
from raptor_core.models.endpoints.values import ChatAsk
from raptor_core.models.reading.citations import renumber
from raptor_core.models.reading.prompts import SYSTEM, ask, shorten
from raptor_core.models.reading.values import Answer, Passage
from raptor_core.settings.models import ReaderSettings


class Reader:
    """Reads passages and answers from them, with citations."""

    def __init__(self, settings: ReaderSettings, policy: RetryPolicy | None = None) -> None:
        self._settings = settings
        self._client = EndpointClient(settings, policy)

    def read(self, question: str, passages: Sequence[Passage]) -> Answer:
        """The answer to ``question`` from ``passages``, which are numbered in their order.

        Raises:
            ValueError: there is no passage, so there is nothing to answer from.
            MissingKeyError: OpenAI's own API needs a key and the environment holds none.
            EndpointError: no whole answer after all retries.
        """
        if not passages:
            raise ValueError(f"expected passages to answer {question!r} from, got none")
        max_tokens = self._settings.max_tokens
        answer = self._client.chat(
            ChatAsk(
                system=SYSTEM,
                user=ask(question, passages),
                max_tokens=max_tokens,
                temperature=0.0,
                shorten=partial(shorten, max_tokens),
            )
        )
        cited = renumber(answer.text, len(passages))
        citations = tuple(passages[number - 1] for number in cited.numbers)
        return Answer(cited.text, citations, answer.usage, cited.n_unknown)
