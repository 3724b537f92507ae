"""Summaries by an OpenAI-compatible chat endpoint, one call each."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

from raptor_core.errors import EndpointError
from raptor_core.identity import fingerprint
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.faults import CallFaultError
from raptor_core.models.endpoints.pool import run_concurrently
from raptor_core.models.endpoints.values import ChatAsk, Meter
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.usage import SUMMARIES
from raptor_core.models.summarizing.base import FailedSummary, Summary, SummaryRequest, Unfit
from raptor_core.models.summarizing.prompts import (
    language_line,
    limit_line,
    objection_lines,
    prompt_of,
    prompt_overhead,
    prompt_tokens,
)
from raptor_core.retrying import RetryPolicy
from raptor_core.settings.models import SummarizerSettings
from raptor_core.tokens.base import TokenCounter

UnfitCheck = Callable[[str, Sequence[str]], Unfit | None]
"""Function from an answer and its sources to why it is no summary of them, or None."""

Keep = Callable[[str, str], None]
"""Function that stores a paid answer safely: the key of its request, its text."""

# Some models refuse in the text instead of the refusal field. It matches only at the beginning.
_REFUSAL = re.compile(
    r"(?:(?:(?:i['’]m|i am|we['’]re) (?:very |so |truly )?sorry|sorry|i apologi[sz]e|unfortunately)"
    r"[,.;]?\s*)?(?:but |as an ai(?: language)? model,? )*"
    r"i(?:['’]m| am)? (?:can(?:['’]t|not| not)|unable to|not able to|won['’]t be able to)"
    r" (?:assist|help|fulfil|comply|provide|summari[sz]e|create|process|continue|do that|generate"
    r"|engage|answer|access|see|find)",
    re.IGNORECASE,
)


class ChatSummarizer:
    """Summarizer that calls a chat model for each summary, with at most ``concurrency`` open calls.

    An answer that is refused, filtered, empty, cut off, unfit or longer than ``max_tokens`` by the
    tree's own counter leads to a retry; a long answer also lowers the limit of words. After
    ``max_retries`` the node fails, and its name is reported. ``keep`` receives each answer first,
    in the thread of its call.
    """

    def __init__(
        self,
        settings: SummarizerSettings,
        counter: TokenCounter,
        policy: RetryPolicy | None = None,
        *,
        ledger: Ledger | None = None,
        keep: Keep | None = None,
        unfit: UnfitCheck | None = None,
    ) -> None:
        self._settings = settings
        self._counter = counter
        self._keep = keep
        self._unfit = unfit
        self._prompt = prompt_of(settings)
        self._client = EndpointClient(settings, policy, ledger=ledger, purpose=SUMMARIES)
        # The URL is left out: the same model on another endpoint gives the same summaries.
        self.fingerprint = fingerprint(
            "chat",
            {
                "model": settings.model,
                "prompt": self._prompt.version,
                "temperature": settings.temperature,
                "max_tokens": settings.max_tokens,
            },
        )

    @cached_property
    def _overhead(self) -> int:
        return prompt_overhead(self._settings, self._counter)

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """Yield one answer for each request as they finish; closing the iterator cancels the rest.

        Raises:
            MissingKeyError: OpenAI's own API needs a key; raised before the first call.
            BudgetError: the budget is used up; raised after the answers of the open calls.
        """
        if requests:
            self.prepare()
        yield from run_concurrently(self._answer, requests, self._settings.share)

    def prepare(self) -> None:
        """Check the key and count the prompt once, before any call."""
        self._client.require_key()
        _ = self._overhead

    def _answer(self, request: SummaryRequest, stop: threading.Event) -> Summary | FailedSummary:
        meter = Meter()
        try:
            answer = self._client.chat(self.ask(request), meter=meter, stop=stop)
        except EndpointError as error:
            # A failure is reported as the interface demands, and never becomes the text of a node.
            return FailedSummary(
                request.key, request.name, str(error), meter.usage, error.comes_again
            )
        if self._keep is not None:
            self._keep(request.key, answer.text)
        return Summary(request.key, answer.text, answer.usage)

    def ask(self, request: SummaryRequest) -> ChatAsk:
        """Return the chat request for a summary, with the check of its answers."""
        settings = self._settings
        objections = objection_lines(request.objections)
        question = self._prompt.question(request.texts, settings.max_tokens)
        counted = self._counter.count([objections])[0] if objections else 0
        return ChatAsk(
            system=self._prompt.system,
            user=f"{question}\n\n{objections}" if objections else question,
            max_tokens=settings.max_tokens,
            temperature=settings.temperature,
            shorten=partial(limit_line, settings.max_tokens),
            check=partial(self._check, request),
            prompt_tokens=prompt_tokens(request.n_tokens, self._overhead) + counted,
        )

    def _check(self, request: SummaryRequest, text: str) -> None:
        if _REFUSAL.match(text):
            raise CallFaultError("the model refused in its text", "refused")
        n_tokens, limit = self._counter.count([text])[0], self._settings.max_tokens
        if n_tokens > limit:
            reason = f"the answer has {n_tokens} tokens, at most {limit} fit"
            raise CallFaultError(reason, "cut off", text, too_long=True)
        unfit = self._unfit(text, request.texts) if self._unfit is not None else None
        if unfit is not None:
            advice = language_line(unfit.language) if unfit.language else ""
            raise CallFaultError(unfit.reason, plea=advice)
