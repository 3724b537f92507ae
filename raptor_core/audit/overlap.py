"""Baseline judge: words, numbers and names of a sentence that no child holds."""

from collections.abc import Sequence

from raptor_core.audit.base import AuditedSummary, Judgement, SentenceFinding, Text, sentence_texts
from raptor_core.audit.terms import find_missing, find_needs, terms, union

MIN_SUPPORT = 0.5
"""Share of supported content words below which a sentence is unsupported."""


class OverlapJudge:
    """Judge by the share of a sentence's content words that occur in any child.

    A sentence with a number or name that occurs in no child is unsupported, too. The judge does not
    notice a negation, a swap of roles or a wrong combination of words. Numbers compare by value,
    words without English endings, unspaced scripts by pairs of characters. A capital marks a name,
    unless the children put capitals on ordinary words, as German does.
    """

    name = "overlap"
    version = "1"

    def judge(self, summaries: Sequence[AuditedSummary]) -> list[list[SentenceFinding]]:
        """Return the findings on each summary; see ``Judge.judge``."""
        return [_judge(item.node, item.children) for item in summaries]


def _judge(node: Text, children: Sequence[Text]) -> list[SentenceFinding]:
    known = [terms(child.text) for child in children]
    all_terms = union(known)
    findings = []
    for sentence in sentence_texts(node.text):
        needs = find_needs(sentence, all_terms)
        no_word, no_exact = (find_missing(n, all_terms) for n in (needs.content, needs.exact))
        n_content = len(needs.content)
        score = 1 - len(no_word) / n_content if n_content else float(not no_exact)
        supported = score >= MIN_SUPPORT and not no_exact
        judgement: Judgement = "supported" if supported else "unsupported"
        missing = tuple(dict.fromkeys(no_exact + no_word))
        items = (*needs.content, *needs.exact)
        counts = [sum(child.supports(item.forms) for item in items) for child in known]
        evidence = children[counts.index(max(counts))].id if any(counts) else None  # the first
        findings.append(SentenceFinding(node.id, sentence, judgement, score, missing, evidence))
    return findings
