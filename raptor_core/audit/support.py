"""The embedded default: a probability from similarity, coverage, exact terms and oppositions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from raptor_core.audit.base import (
    Audited,
    Judgement,
    Segmenter,
    SentenceFinding,
    sentence_texts,
)
from raptor_core.audit.claims import DOUBTS, Claim, Doubts, Passages
from raptor_core.audit.collage import folded, is_collage
from raptor_core.blas import one_blas_thread
from raptor_core.models.embedding.base import Embedder
from raptor_core.vectors import Vectors

QUOTED_CHARS = 40
"""Letters in a row that a quotation shares with a child, or it is one of its sentences or lines."""

BIAS = 0.487
WEIGHTS: Mapping[str, float] = {
    "far": -1.992,
    "very_far": -4.796,
    "uncovered": -2.252,
    "numbers": -1.0,
    "names": -2.884,
    "negations": -0.5,
    "opposites": -1.371,
    "absolutes": -1.242,
}
THRESHOLD = 0.446
"""Log-odds and bound that ``benchmarks/calibrate_support.py`` prints; see docs/audits.md."""


class SupportJudge:
    """A sentence is unsupported when its doubts outweigh, or a number or a name has no source.

    The score is the probability that a sentence with these doubts is supported, at even odds
    beforehand, calibrated on labelled summaries with all-MiniLM-L6-v2; ``embedder`` should be
    that model. A sentence that is put together from the children's own words raises no doubt, and
    needs no model. It does not reason: a wrong combination of what the children hold passes.
    """

    name = "support"
    version = "1"

    def __init__(self, segmenter: Segmenter, embedder: Embedder) -> None:
        """``segmenter`` gives sentence spans."""
        self._segmenter = segmenter
        self._embedder = embedder

    @one_blas_thread
    def judge(self, summaries: Sequence[Audited]) -> list[list[SentenceFinding]]:
        """See ``Judge.judge``."""
        split = [
            [(text, _is_quoted(text, item)) for text in self._sentences(item.node.text)]
            for item in summaries
        ]
        doubtful = [
            item
            for item, claims in zip(summaries, split, strict=True)
            if item.children and not all(quoted for _, quoted in claims)
        ]
        passages = {
            child.text: self._sentences(child.text) for item in doubtful for child in item.children
        }
        wanted = {text for found in passages.values() for text in found}
        wanted.update(text for claims in split for text, quoted in claims if not quoted)
        distinct = sorted(wanted) if doubtful else []
        vectors = dict(zip(distinct, self._embedder.embed(distinct), strict=True))
        return [
            self._judge(item, claims, passages, vectors)
            for item, claims in zip(summaries, split, strict=True)
        ]

    def _sentences(self, text: str) -> list[str]:
        return sentence_texts(self._segmenter, text)

    def _judge(
        self,
        item: Audited,
        claims: Sequence[tuple[str, bool]],
        passages: Mapping[str, Sequence[str]],
        vectors: Mapping[str, Vectors],
    ) -> list[SentenceFinding]:
        node_id = item.node.id
        if not item.children:
            return [
                SentenceFinding(node_id, text, "unsupported", 0.0, reason="it has no children")
                for text, _ in claims
            ]
        weighed = _weigh(item, [text for text, quoted in claims if not quoted], passages, vectors)
        return [
            _quoted(item, text) if quoted else _finding(node_id, text, *weighed[text])
            for text, quoted in claims
        ]


def _weigh(
    item: Audited,
    claims: Sequence[str],
    passages: Mapping[str, Sequence[str]],
    vectors: Mapping[str, Vectors],
) -> dict[str, tuple[Claim, str, str]]:
    """For each claim the doubts, the id of the child that comes closest, and its passage."""
    import numpy as np

    if not claims:
        return {}
    held = [(child.id, text) for child in item.children for text in passages[child.text]]
    texts = [text for _, text in held]
    known = Passages(texts, np.stack([vectors[text] for text in texts]))
    weighed = {text: known.weigh(text, vectors[text]) for text in claims}
    return {text: (claim, *held[claim.nearest]) for text, claim in weighed.items()}


def _is_quoted(sentence: str, item: Audited) -> bool:
    return is_collage(sentence, [child.text for child in item.children], QUOTED_CHARS)


def _quoted(item: Audited, sentence: str) -> SentenceFinding:
    """Of a sentence in the children's own words; evidence is the child that holds all of it."""
    whole = folded(sentence)
    child = next((child for child in item.children if whole in folded(child.text)), None)
    evidence = sentence if child and sentence in child.text else ""
    score = probability(Doubts(*[0.0] * len(DOUBTS)))
    return SentenceFinding(
        item.node.id, sentence, "supported", score, (), child.id if child else None, evidence
    )


def probability(doubts: Doubts) -> float:
    """That a sentence with these doubts is supported, in (0, 1)."""
    odds = BIAS + sum(WEIGHTS[name] * getattr(doubts, name) for name in DOUBTS)
    return 1 / (1 + math.exp(-odds))


def _finding(
    node_id: str, sentence: str, claim: Claim, child: str, passage: str
) -> SentenceFinding:
    score = probability(claim.doubts)
    judgement: Judgement = "supported"
    if claim.broken or score < THRESHOLD:
        judgement = "unsupported"
    reason = "" if judgement == "supported" else _reason(claim)
    return SentenceFinding(
        node_id, sentence, judgement, score, claim.missing, child, passage, reason
    )


_TOLD = {
    "numbers": "a number that no child holds",
    "names": "a name that no child holds",
    "negations": "it negates what no child negates",
    "opposites": "a child says the opposite of one of its words",
    "absolutes": "it is more absolute than the children",
    "uncovered": "many of its words stand in no child",
    "very_far": "no child says anything like it",
    "far": "no child says quite the same",
}


def _reason(claim: Claim) -> str:
    return "; ".join(told for name, told in _TOLD.items() if getattr(claim.doubts, name))
