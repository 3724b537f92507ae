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
from raptor_core.embedding.base import Embedder
from raptor_core.vectors import Vectors

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
    that model. It does not reason: a wrong combination of words that the children hold passes.
    """

    name = "support"
    version = "1"

    def __init__(self, segmenter: Segmenter, embedder: Embedder) -> None:
        """``segmenter`` gives sentence spans."""
        self._segmenter = segmenter
        self._embedder = embedder

    def judge(self, summaries: Sequence[Audited]) -> list[list[SentenceFinding]]:
        """See ``Judge.judge``."""
        claims = [sentence_texts(self._segmenter, item.node.text) for item in summaries]
        texts = {child.text for item in summaries for child in item.children}
        passages = {text: sentence_texts(self._segmenter, text) for text in texts}
        wanted = sorted({s for found in (*claims, *passages.values()) for s in found})
        vectors = dict(zip(wanted, self._embedder.embed(wanted), strict=True))
        return [
            self._judge(item, sentences, passages, vectors)
            for item, sentences in zip(summaries, claims, strict=True)
        ]

    def _judge(
        self,
        item: Audited,
        sentences: Sequence[str],
        passages: Mapping[str, Sequence[str]],
        vectors: Mapping[str, Vectors],
    ) -> list[SentenceFinding]:
        import numpy as np

        held = [(child.id, text) for child in item.children for text in passages[child.text]]
        if not held:
            return [SentenceFinding(item.node.id, s, "unsupported", 0.0) for s in sentences]
        texts = [text for _, text in held]
        known = Passages(texts, np.stack([vectors[text] for text in texts]))
        found = []
        for sentence in sentences:
            claim = known.weigh(sentence, vectors[sentence])
            child, passage = held[claim.nearest]
            found.append(_finding(item.node.id, sentence, claim, child, passage))
        return found


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
