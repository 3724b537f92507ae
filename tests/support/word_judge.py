"""Judge by words alone, which loads no model."""

from collections.abc import Sequence

from raptor_core.audit.base import Judgement, SentenceFinding, SummaryToAudit, sentence_texts
from raptor_core.audit.terms import (
    find_missing_terms,
    find_required_terms,
    find_supported_terms,
    merge_supported_terms,
)


class WordJudge:
    """Sentences are unsupported where no child holds a number, a name, or half of the words."""

    name, version = "words", "1"

    def __init__(self, _settings: object = None) -> None:
        """Need no settings."""

    def judge(self, summaries: Sequence[SummaryToAudit]) -> list[list[SentenceFinding]]:
        return [self._judge(item) for item in summaries]

    def _judge(self, item: SummaryToAudit) -> list[SentenceFinding]:
        known = merge_supported_terms([find_supported_terms(child.text) for child in item.children])
        findings = []
        for sentence in sentence_texts(item.node.text):
            needs = find_required_terms(sentence, known)
            no_word, no_exact = (
                find_missing_terms(n, known) for n in (needs.content_words, needs.numbers_and_names)
            )
            score = 1 - len(no_word) / max(1, len(needs.content_words))
            judgement: Judgement = "unsupported" if no_exact or score < 0.5 else "supported"
            missing = tuple(dict.fromkeys(no_exact + no_word))
            held = item.children[0].id if judgement == "supported" else None
            finding = SentenceFinding(item.node.id, sentence, judgement, score, missing, held)
            findings.append(finding)
        return findings
