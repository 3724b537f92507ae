"""A judge: a sentence is supported if a child contains it."""

from collections.abc import Sequence

from raptor_core import Settings
from raptor_core.audit.base import SentenceFinding, SummaryToAudit, sentence_texts


class Verbatim:
    """Judge that accepts only sentences that are word for word in a child."""

    name = "verbatim"
    version = "1"

    def __init__(self, settings: Settings) -> None:
        """Take the settings."""

    def judge(self, summaries: Sequence[SummaryToAudit]) -> list[list[SentenceFinding]]:
        """Return the findings on the sentences of each summary."""
        return [
            [_finding(audited, sentence) for sentence in sentence_texts(audited.node.text)]
            for audited in summaries
        ]


def _finding(audited: SummaryToAudit, sentence: str) -> SentenceFinding:
    child = next((child.id for child in audited.children if sentence in child.text), None)
    if child is None:
        return SentenceFinding(audited.node.id, sentence, "unsupported", 0.0)
    return SentenceFinding(audited.node.id, sentence, "supported", 1.0, evidence_child=child)
