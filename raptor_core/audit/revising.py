"""Summaries that are judged before they are kept, and made once more where they fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from raptor_core.audit.base import Audited, Judge, NamedText, SentenceFinding
from raptor_core.errors import BudgetError
from raptor_core.identity import fingerprint
from raptor_core.models.summarizing.base import FailedSummary, Summarizer, Summary, SummaryRequest

BATCH_ANSWERS = 32
"""Answers that wait for one another to be judged together."""


class RevisingSummarizer:
    """Another summarizer, of which every new summary is audited.

    One with unsupported sentences is asked for once more, with them in the prompt; of both
    answers the one with fewer such sentences is kept, the first of equals. The judge is part of
    the fingerprint, since it has a say in what is kept.
    """

    def __init__(self, inner: Summarizer, judge: Judge) -> None:
        self._inner = inner
        self._judge = judge
        by = {"name": judge.name, "version": judge.version}
        self.fingerprint = fingerprint("revised", {"inner": inner.fingerprint, "judge": by})

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """See ``Summarizer.summarize``; what has to be revised comes last.

        Raises:
            BudgetError: the budget ends; raised after all that was paid for, revised or not.
        """
        by_key = {request.key: request for request in requests}
        first: dict[str, tuple[Summary, list[SentenceFinding]]] = {}
        try:
            for answer, wrong in self._judged(self._inner.summarize(requests), by_key):
                if isinstance(answer, Summary) and wrong:
                    first[answer.key] = (answer, wrong)
                else:
                    yield answer
            again = [
                replace(by_key[key], objections=tuple(map(_objection, wrong)))
                for key, (_, wrong) in first.items()
            ]
            seconds = self._inner.summarize(again) if again else ()
            for second, left in self._judged(seconds, by_key):
                answer, wrong = first.pop(second.key)
                better = isinstance(second, Summary) and len(left) < len(wrong)
                yield replace(second if better else answer, usage=answer.usage + second.usage)
        except BudgetError:
            yield from (answer for answer, _ in first.values())
            raise

    def _judged(
        self,
        answers: Iterable[Summary | FailedSummary],
        requests: Mapping[str, SummaryRequest],
    ) -> Iterator[tuple[Summary | FailedSummary, list[SentenceFinding]]]:
        """Each answer with its unsupported sentences; a judge is asked about many at once.

        Where the budget ends, what it has paid for comes first, judged or not.
        """
        waiting = iter(answers)
        batch: list[Summary | FailedSummary] = []
        try:
            while True:
                batch.extend(islice(waiting, BATCH_ANSWERS))
                if not batch:
                    return
                wrong = self._wrong(batch, requests)
                while batch:
                    answer = batch.pop(0)
                    yield answer, wrong.get(answer.key, [])
        except BudgetError:
            yield from ((answer, []) for answer in batch)
            raise

    def _wrong(
        self,
        answers: Sequence[Summary | FailedSummary],
        requests: Mapping[str, SummaryRequest],
    ) -> dict[str, list[SentenceFinding]]:
        """Unsupported sentences by the key of the answer."""
        made = [answer for answer in answers if isinstance(answer, Summary)]
        audited = []
        for one in made:
            texts = enumerate(requests[one.key].texts)
            children = tuple(NamedText(f"{one.key}:{at}", text) for at, text in texts)
            audited.append(Audited(NamedText(one.key, one.text), children))
        findings = self._judge.judge(audited)
        return {
            answer.key: [f for f in of_answer if f.judgement == "unsupported"]
            for answer, of_answer in zip(made, findings, strict=True)
        }


def _objection(finding: SentenceFinding) -> str:
    missing = ", ".join(finding.missing[:6])
    return f"{finding.sentence} ({missing})" if missing else finding.sentence
