"""Summarizing with a chat model, with a call for each summary."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial

from raptor_core.chunking.sentences import find_sentence_spans
from raptor_core.errors import AnswerError, BudgetError, EndpointError
from raptor_core.identity import CUT_OFF, INVENTED, REPLACED, fingerprint, marked_content_key
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.faults import CallFaultError
from raptor_core.models.endpoints.limits import run_concurrently
from raptor_core.models.endpoints.values import ChatModelRequest, UsageMeter
from raptor_core.models.local.files import model_identity
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.usage import SUMMARIES, Usage
from raptor_core.models.summarizing import prompts
from raptor_core.models.summarizing.base import (
    FailedSummary,
    ForeignFactRemoval,
    SeparatedAnswer,
    Summary,
    SummaryRequest,
    UnfitAnswer,
)
from raptor_core.retrying import RetryPolicy
from raptor_core.settings.models import SummarizerSettings
from raptor_core.text.sentence_ends import ends_sentence
from raptor_core.tokens.base import TokenCounter

UnfitCheck = Callable[[str, Sequence[str]], UnfitAnswer | None]
"""A function that returns why an answer is not a summary of its sources, or None."""
Keep = Callable[[str, str], None]
"""A function that stores a paid answer, given the key of its request and its text."""
ENOUGH = 0.5
"""Minimum share of an answer that must be left after foreign facts were removed."""


class ChatSummarizer:
    """Summarizer that calls a chat model for each summary, with ``concurrency`` calls at once.

    If an answer is refused, filtered, empty, cut off, unfit, or longer than ``max_tokens`` by the
    tree's token counter, it is retried at a higher temperature. If not even a sentence of a long
    answer fits, the retry requests fewer words. After ``max_retries`` the summary fails. With
    ``foreign_fact_removal``, the model is told about foreign facts once; then sentences with such
    facts are removed, and if too little is left, the summary quotes the texts. ``keep`` receives
    each answer first, in the call's thread.
    """

    calls_model = True

    def __init__(
        self,
        settings: SummarizerSettings,
        counter: TokenCounter,
        policy: RetryPolicy | None = None,
        *,
        ledger: Ledger | None = None,
        keep: Keep | None = None,
        unfit: UnfitCheck | None = None,
        foreign_fact_removal: ForeignFactRemoval | None = None,
    ) -> None:
        self._settings = settings
        self._counter = counter
        self._keep = keep
        self._unfit = unfit
        self._foreign_fact_removal = foreign_fact_removal
        self._prompt = prompts.make_prompt(settings)
        self._client = EndpointClient(settings, policy, ledger=ledger, purpose=SUMMARIES)
        # Without the URL, because the same model at another endpoint gives the same summaries.
        self.fingerprint = fingerprint(
            settings.kind if settings.is_local else "chat",
            {
                "model": model_identity(settings),
                "prompt": self._prompt.version,
                "temperature": settings.temperature,
                "max_tokens": settings.max_tokens,
                **({"facts": foreign_fact_removal.version} if foreign_fact_removal else {}),
            },
        )

    @cached_property
    def _prompt_overhead_tokens(self) -> int:
        return prompts.prompt_overhead_tokens(self._settings, self._counter)

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """Yield an answer for each request as they finish; closing the iterator cancels the rest.

        Raises:
            MissingKeyError: the endpoint needs a key; raised before the first call.
            BudgetError: the budget is used up; raised after the answers of the open calls.
        """
        if requests:
            self.prepare()
        yield from run_concurrently(
            self._answer_request, requests, self._settings.max_concurrent_calls
        )

    def prepare(self) -> None:
        """Check the key and count the prompt's tokens, once before all calls."""
        self._client.require_key()
        _ = self._prompt_overhead_tokens

    def _answer_request(
        self, request: SummaryRequest, stop: threading.Event
    ) -> Summary | FailedSummary:
        meter = UsageMeter()
        try:
            summary = self._write_summary(request, meter, stop)
        except EndpointError as error:
            # The interface requires that failures are reported; they never become a node's text.
            return FailedSummary(
                request.key,
                request.name,
                str(error),
                meter.usage,
                error.is_permanent,
                isinstance(error, AnswerError),
            )
        if self._keep is not None:
            self._keep(summary.text_key, summary.text)
        return summary

    def _write_summary(
        self, request: SummaryRequest, meter: UsageMeter, stop: threading.Event
    ) -> Summary:
        """Return the model's answer without foreign facts; see the class docstring."""
        earlier = (
            self.separate_foreign_facts(request, request.invented_answer)
            if request.invented_answer
            else None
        )
        try:
            answer = self._client.chat(self.make_chat_request(request), meter=meter, stop=stop)
        except (EndpointError, BudgetError) as error:
            if earlier is None or (
                earlier.remaining_share < ENOUGH and not isinstance(error, AnswerError)
            ):
                raise
            return self._choose_least_invented(request, (earlier,), meter.usage)
        foreign = self.separate_foreign_facts(request, answer.text)
        if not foreign.facts:
            return self.make_summary(request, foreign, meter.usage, is_cut=answer.cut_off)
        if earlier is not None:
            return self._choose_least_invented(request, (earlier, foreign), meter.usage)
        self.keep_invented_answer(request, answer.text)
        meter.usage += self._client.count_retry()
        return self._write_summary(replace(request, invented_answer=answer.text), meter, stop)

    def keep_invented_answer(self, request: SummaryRequest, text: str) -> None:
        """Keep an answer with foreign facts, so that it is paid only once if the run is killed."""
        if self._keep is not None:
            self._keep(marked_content_key(request.key, INVENTED), text)

    def separate_foreign_facts(self, request: SummaryRequest, text: str) -> SeparatedAnswer:
        """Return the foreign facts of an answer to a request."""
        if self._foreign_fact_removal is None:
            return SeparatedAnswer((), text, 1.0)
        found = self._foreign_fact_removal.separate_foreign_facts(
            text, request.leaf_texts or request.texts
        )
        return found._replace(
            remaining_text=self._trim_to_sentences(found.remaining_text, is_cut=False)
        )

    def make_summary(
        self, request: SummaryRequest, answer: SeparatedAnswer, usage: Usage, *, is_cut: bool
    ) -> Summary:
        """Return the summary for an answer without foreign facts."""
        if answer.remaining_share < ENOUGH:
            return self._choose_least_invented(request, (answer,), usage)
        return Summary(request.key, answer.remaining_text, usage, CUT_OFF if is_cut else "")

    def _choose_least_invented(
        self, request: SummaryRequest, answers: Sequence[SeparatedAnswer], usage: Usage
    ) -> Summary:
        """Return the rest of the answer that invents least, or a summary that quotes the texts."""
        best = max(answers, key=lambda answer: answer.remaining_share)
        if best.remaining_share >= ENOUGH:
            return Summary(request.key, best.remaining_text, usage)
        if self._foreign_fact_removal is not None:
            for quoted in self._foreign_fact_removal.extractive_summarizer.summarize([request]):
                if isinstance(quoted, Summary):
                    return replace(quoted, usage=usage, mark=REPLACED)
        raise AnswerError(f"the answer invents {', '.join(best.facts[:5])}", "unfit")

    def make_chat_request(self, request: SummaryRequest) -> ChatModelRequest:
        """Return the chat request for a summary, with the check for its answers."""
        settings = self._settings
        question, foreign = self._prompt.format_user_message(request.texts, settings.max_tokens), ""
        if request.invented_answer:
            facts = self.separate_foreign_facts(request, request.invented_answer).facts
            foreign = f"\n\n{prompts.foreign_facts_line(facts)}"
        n_tokens = self._counter.count([foreign])[0] if foreign else 0
        return ChatModelRequest(
            system=self._prompt.system,
            user=question + foreign,
            max_tokens=settings.max_tokens,
            temperature=settings.temperature,
            shorten=partial(prompts.length_limit_line, settings.max_tokens),
            trim=self._trim_to_sentences,
            check=partial(self._check_answer, request),
            prompt_tokens=prompts.count_prompt_tokens(
                request.n_tokens, self._prompt_overhead_tokens
            )
            + n_tokens,
            n_unusable=request.n_unusable,
        )

    def _trim_to_sentences(self, text: str, is_cut: bool) -> str:
        """Return the complete sentences of an answer that fit into ``max_tokens``."""
        limit = self._settings.max_tokens
        if not is_cut and self._counter.count([text])[0] <= limit:
            return text
        kept = cut_to_whole_sentences(text, self._counter, limit, is_cut=is_cut)
        return kept or ("" if is_cut else text)

    def _check_answer(self, request: SummaryRequest, text: str) -> None:
        n_tokens, limit = self._counter.count([text])[0], self._settings.max_tokens
        if n_tokens > limit:
            reason = f"the answer has {n_tokens} tokens, at most {limit} fit"
            raise CallFaultError(reason, "cut off", text, is_too_long=True)
        unfit = self._unfit(text, request.texts) if self._unfit is not None else None
        if unfit is not None:
            line = prompts.language_line(unfit.language) if unfit.language else ""
            raise CallFaultError(unfit.reason, retry_line=line)


def cut_to_whole_sentences(text: str, counter: TokenCounter, limit: int, *, is_cut: bool) -> str:
    """Return the longest beginning of complete sentences within ``limit`` tokens, or ""."""
    ends = [end for _, end in find_sentence_spans(text)]
    if is_cut and ends and not ends_sentence(text[: ends[-1]]):
        ends.pop()
    while ends and counter.count([text[: ends[-1]]])[0] > limit:
        ends.pop()
    return text[: ends[-1]].strip() if ends else ""
