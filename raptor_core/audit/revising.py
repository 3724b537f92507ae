"""Summarizer whose summaries are audited before they are kept, and made again if they fail."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from raptor_core.audit.base import AuditedSummary, Judge, NamedText, SentenceFinding
from raptor_core.audit.coverage import omissions
from raptor_core.errors import BudgetError
from raptor_core.identity import fingerprint
from raptor_core.models.summarizing.base import FailedSummary, Summarizer, Summary, SummaryRequest

BATCH_ANSWERS = 32
"""Number of answers that are judged in one call."""


COVERAGE_VERSION = 1
"""Version of the measure of omissions; raise it with every change that changes a text."""


@dataclass(frozen=True, slots=True)
class _Faults:
    """Faults of a summary: unsupported sentences, and beginnings of children that it leaves out."""

    objections: tuple[str, ...] = ()
    omissions: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(self.objections) + len(self.omissions)


class RevisingSummarizer:
    """Summarizer that audits every new summary of another summarizer.

    A summary with unsupported sentences, or that leaves out most children or copies one, is
    requested again, with these faults in the prompt. The answer with fewer faults is kept, the
    first of equals. The judge is part of the fingerprint, because it affects the texts.
    """

    def __init__(self, inner: Summarizer, judge: Judge) -> None:
        self._inner = inner
        self._judge = judge
        judged_by = {"name": judge.name, "version": judge.version}
        values = {"inner": inner.fingerprint, "judge": judged_by, "coverage": COVERAGE_VERSION}
        self.fingerprint = fingerprint("revised", values)

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """Yield one answer for each request, revised ones last; see ``Summarizer.summarize``.

        A BudgetError is raised after all paid answers, revised or not.
        """
        by_key = {request.key: request for request in requests}
        first: dict[str, tuple[Summary, _Faults]] = {}
        try:
            for answer, wrong in self._judge_batches(self._inner.summarize(requests), by_key):
                if isinstance(answer, Summary) and wrong.count:
                    first[answer.key] = (answer, wrong)
                else:
                    yield answer
            again = [
                replace(by_key[key], objections=wrong.objections, omissions=wrong.omissions)
                for key, (_, wrong) in first.items()
            ]
            seconds = self._inner.summarize(again) if again else ()
            for second, still_wrong in self._judge_batches(seconds, by_key):
                answer, wrong = first.pop(second.key)
                better = isinstance(second, Summary) and still_wrong.count < wrong.count
                yield replace(second if better else answer, usage=answer.usage + second.usage)
        except BudgetError:
            yield from (answer for answer, _ in first.values())
            raise

    def _judge_batches(
        self, answers: Iterable[Summary | FailedSummary], requests: Mapping[str, SummaryRequest]
    ) -> Iterator[tuple[Summary | FailedSummary, _Faults]]:
        """Yield each answer with its faults, or with none if the budget ends."""
        waiting = iter(answers)
        batch: list[Summary | FailedSummary] = []
        try:
            while True:
                batch.extend(islice(waiting, BATCH_ANSWERS))
                if not batch:
                    return
                wrong = self._unsupported(batch, requests)
                while batch:
                    answer = batch.pop(0)
                    faults = _Faults()
                    if isinstance(answer, Summary):
                        objections = tuple(map(_objection, wrong.get(answer.key, [])))
                        left_out = omissions(answer.text, requests[answer.key].texts)
                        faults = _Faults(objections, left_out)
                    yield answer, faults
        except BudgetError:
            yield from ((answer, _Faults()) for answer in batch)
            raise

    def _unsupported(
        self, answers: Sequence[Summary | FailedSummary], requests: Mapping[str, SummaryRequest]
    ) -> dict[str, list[SentenceFinding]]:
        """Return the unsupported sentences by the keys of the answers."""
        summaries = [answer for answer in answers if isinstance(answer, Summary)]
        audited = []
        for summary in summaries:
            texts = enumerate(requests[summary.key].texts)
            children = tuple(NamedText(f"{summary.key}:{at}", text) for at, text in texts)
            audited.append(AuditedSummary(NamedText(summary.key, summary.text), children))
        findings = self._judge.judge(audited)
        return {
            summary.key: [f for f in of_summary if f.judgement == "unsupported"]
            for summary, of_summary in zip(summaries, findings, strict=True)
        }


def _objection(finding: SentenceFinding) -> str:
    missing = ", ".join(finding.missing[:6])
    return f"{finding.sentence} ({missing})" if missing else finding.sentence
