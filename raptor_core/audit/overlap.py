"""The transparent baseline: words, numbers and names of a sentence that no child holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from raptor_core.audit.base import (
    Audited,
    Judgement,
    Segmenter,
    SentenceFinding,
    sentence_texts,
)
from raptor_core.audit.terms import (
    MAX_CAPITALS,
    Terms,
    content_words,
    names,
    number_forms,
    numbers,
    pairs,
    terms,
    union,
    word_forms,
    words,
)
from raptor_core.nodes import Node

MIN_SUPPORT = 0.5
_MARKER = re.compile(r"^\s*(?:\(?\d{1,3}[.):]|[-*•])\s+")


@dataclass(frozen=True, slots=True)
class _Item:
    """Something that a sentence says: as written, and the forms of which a child holds one."""

    text: str
    forms: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a sentence needs. ``content`` may fall short by a share, ``exact`` may not."""

    content: tuple[_Item, ...]
    exact: tuple[_Item, ...]


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

    def __init__(self, segmenter: Segmenter, min_support: float = MIN_SUPPORT) -> None:
        """``segmenter`` gives sentence spans; ``min_support`` is a share in [0, 1]."""
        self._segmenter = segmenter
        self._min_support = min_support

    def judge(self, summaries: Sequence[Audited]) -> list[list[SentenceFinding]]:
        """See ``Judge.judge``."""
        return [self._judge(item.node, item.children) for item in summaries]

    def _judge(self, node: Node, children: Sequence[Node]) -> list[SentenceFinding]:
        known = [terms(child.text) for child in children]
        held = union(known)
        with_names = held.capitals <= MAX_CAPITALS
        found = []
        for sentence in sentence_texts(self._segmenter, node.text):
            claim = _claim(sentence, with_names)
            evidence = _best_child(claim, children, known)
            found.append(self._finding(node.id, sentence, claim, held, evidence))
        return found

    def _finding(
        self, node_id: str, sentence: str, claim: _Claim, held: Terms, evidence: str | None
    ) -> SentenceFinding:
        wanting = [item.text for item in claim.content if not held.supports(item.forms)]
        broken = [item.text for item in claim.exact if not held.supports(item.forms)]
        n_content = len(claim.content)
        score = 1 - len(wanting) / n_content if n_content else float(not broken)
        supported = score >= self._min_support and not broken
        judgement: Judgement = "supported" if supported else "unsupported"
        missing = tuple(dict.fromkeys(broken + wanting))
        return SentenceFinding(node_id, sentence, judgement, score, missing, evidence)


def _claim(sentence: str, with_names: bool) -> _Claim:
    text = _MARKER.sub("", sentence)
    found = words(text)
    content = {word.stem: _Item(word.text, word_forms(word)) for word in content_words(found)}
    content |= {pair: _Item(pair, frozenset({pair})) for pair in pairs(text)}
    exact = [_Item(number, number_forms(number)) for number in numbers(text)]
    if with_names:
        exact += [_Item(word.text, word_forms(word)) for word in names(text, found)]
    return _Claim(tuple(content.values()), tuple(exact))


def _best_child(claim: _Claim, children: Sequence[Node], known: Sequence[Terms]) -> str | None:
    """Id of the child that holds most of the claim, the first of equals; None without any."""
    items = claim.content + claim.exact
    counts = [sum(held.supports(item.forms) for item in items) for held in known]
    best = max(counts, default=0)
    return children[counts.index(best)].id if best else None
