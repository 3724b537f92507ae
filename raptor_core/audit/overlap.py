"""The transparent baseline: words, numbers and names of a sentence that no child holds."""

from __future__ import annotations

from collections.abc import Sequence

from raptor_core.audit.base import Audited, Judgement, SentenceFinding, Text, sentence_texts
from raptor_core.audit.terms import Needs, Terms, lacking, needs_of, terms, union

MIN_SUPPORT = 0.5
"""Share of content words below which a sentence is unsupported."""


class OverlapJudge:
    """A sentence is unsupported when too few of its content words occur in any child.

    The same when one of its numbers or names occurs in none. It cannot see a negation, a swap
    of roles or a wrong combination of words that do occur. Numbers compare by value, words
    without their English endings, unspaced scripts by pairs of characters. Names are told by
    their capital, so only in scripts that have capitals, and not where the children put
    capitals on ordinary words, as German does.
    """

    name = "overlap"
    version = "1"

    def judge(self, summaries: Sequence[Audited]) -> list[list[SentenceFinding]]:
        """See ``Judge.judge``."""
        return [_judged(item.node, item.children) for item in summaries]


def _judged(node: Text, children: Sequence[Text]) -> list[SentenceFinding]:
    known = [terms(child.text) for child in children]
    held = union(known)
    findings = []
    for sentence in sentence_texts(node.text):
        needs = needs_of(sentence, held)
        wanting, broken = lacking(needs.content, held), lacking(needs.exact, held)
        n_content = len(needs.content)
        score = 1 - len(wanting) / n_content if n_content else float(not broken)
        supported = score >= MIN_SUPPORT and not broken
        judgement: Judgement = "supported" if supported else "unsupported"
        missing = tuple(dict.fromkeys(broken + wanting))
        evidence = _best_child(needs, children, known)
        findings.append(SentenceFinding(node.id, sentence, judgement, score, missing, evidence))
    return findings


def _best_child(needs: Needs, children: Sequence[Text], known: Sequence[Terms]) -> str | None:
    """Id of the child that holds most of what is needed, the first of equals; None without any."""
    items = (*needs.content, *needs.exact)
    counts = [sum(held.supports(item.forms) for item in items) for held in known]
    best = max(counts, default=0)
    return children[counts.index(best)].id if best else None
