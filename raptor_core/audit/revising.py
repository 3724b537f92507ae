"""Summaries that are judged before they are kept, and made once more where they fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from raptor_core.audit.base import Audited, Judge, SentenceFinding
from raptor_core.identity import fingerprint
from raptor_core.nodes import Node
from raptor_core.summarizing.base import FailedSummary, Summarizer, Summary, SummaryRequest


class RevisingSummarizer:
    """Another summarizer, of which every new summary is audited.

    One with unsupported sentences is asked for once more, with them in the prompt; of both
    answers the one with fewer such sentences is kept, the first of equals. The judge is part of
    the fingerprint, since it has a say in what is kept.
    """

    def __init__(self, inner: Summarizer, judge: Judge) -> None:
        self._inner = inner
        self._judge = judge

    @property
    def fingerprint(self) -> str:
        """Of the other summarizer and the judge."""
        judge = {"name": self._judge.name, "version": self._judge.version}
        return fingerprint("revised", {"inner": self._inner.fingerprint, "judge": judge})

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """See ``Summarizer.summarize``; what has to be revised comes last."""
        by_key = {request.key: request for request in requests}
        first: dict[str, tuple[Summary, list[SentenceFinding]]] = {}
        for answer in self._inner.summarize(requests):
            if isinstance(answer, Summary):
                wrong = self._unsupported(by_key[answer.key], answer)
                if wrong:
                    first[answer.key] = (answer, wrong)
                    continue
            yield answer
        again = [
            replace(by_key[key], objections=tuple(map(_objection, wrong)))
            for key, (_, wrong) in first.items()
        ]
        for second in self._inner.summarize(again) if again else ():
            answer, wrong = first[second.key]
            usage = answer.usage + second.usage
            if isinstance(second, Summary):
                better = len(self._unsupported(by_key[second.key], second)) < len(wrong)
                answer = second if better else answer
            yield replace(answer, usage=usage)

    def _unsupported(self, request: SummaryRequest, answer: Summary) -> list[SentenceFinding]:
        children = tuple(
            _node(f"{request.key}:{at}", 0, text) for at, text in enumerate(request.texts)
        )
        (found,) = self._judge.judge([Audited(_node(request.key, 1, answer.text), children)])
        return [finding for finding in found if finding.judgement == "unsupported"]


def _objection(finding: SentenceFinding) -> str:
    missing = ", ".join(finding.missing[:6])
    return f"{finding.sentence} ({missing})" if missing else finding.sentence


def _node(name: str, layer: int, text: str) -> Node:
    """A text as judges take it."""
    return Node(
        id=name,
        tree="",
        layer=layer,
        content_key="",
        text=text,
        n_tokens=0,
        position=0,
        documents=(),
        children=(),
        fingerprint="",
        embedding_key="",
    )
