"""Extractive summaries: the most informative sentences of the children, in source order.

``sentence`` describes single sentences, ``salience`` chooses among them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from raptor_core.identity import fingerprint
from raptor_core.models.summarizing.base import FailedSummary, Summary, SummaryRequest
from raptor_core.models.summarizing.salience import CandidateSentence, LengthBudget, pick_sentences
from raptor_core.models.summarizing.sentence import (
    COMPLETE,
    JUNK,
    PARTIAL,
    SummarySentence,
    split_sentences,
)
from raptor_core.settings.models import SummarizerSettings
from raptor_core.tokens.base import TokenCounter
from raptor_formats.text import UNSPACED

VERSION = 1
"""Version of the method; raise it if any summary changes."""
BATCH = 64
"""Number of requests in one tokenizer call."""
_NO_SPACE = re.compile(rf"[{UNSPACED}\u3000-\u303f\uff00-\uffef]")
_CLAUSE_END = re.compile(r"[,;:，；：、،؛)\]]|\s[–—-](?=\s)")


class ExtractiveSummarizer:
    """Summarizer that chooses sentences by word coverage; it is deterministic and calls no model.

    A summary has about ``ratio`` times the children's tokens, at least ``min_tokens`` if there is
    enough text, and at most ``max_tokens``. Headings, tables, code, references and fragments are
    used only if there is too little prose. If no sentence fits, the best one is cut at the end of a
    clause or word.
    """

    quotes = True

    def __init__(
        self, settings: SummarizerSettings, counter: TokenCounter, embedder_fingerprint: str
    ) -> None:
        self._settings = settings
        self._counter = counter
        self.fingerprint = fingerprint(
            "extractive",
            {
                "version": VERSION,
                "ratio": settings.ratio,
                "min_tokens": settings.min_tokens,
                "max_tokens": settings.max_tokens,
                "counter": counter.fingerprint,
                "embedder": embedder_fingerprint,
            },
        )

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """Yield an answer for each request, in order, ``BATCH`` requests at a time."""
        for start in range(0, len(requests), BATCH):
            yield from self._summarize_batch(requests[start : start + BATCH])

    def _summarize_batch(
        self, requests: Sequence[SummaryRequest]
    ) -> Iterator[Summary | FailedSummary]:
        cached: dict[tuple[str, int], tuple[SummarySentence, ...]] = {}
        clusters = [self._candidates(request, cached) for request in requests]
        budgets = [self._length_budget(request) for request in requests]
        drafts = [
            _join_sentences(_pick_by_quality_tier(candidates, budget, self._settings.min_tokens))
            for candidates, budget in zip(clusters, budgets, strict=True)
        ]
        counts = self._counter.count(drafts)
        for row, request in enumerate(requests):
            text = drafts[row]
            if not text or counts[row] > self._settings.max_tokens:
                text = self._summarize_exactly(clusters[row], budgets[row])
            if text:
                yield Summary(request.key, text)
            else:
                reason = "its children contain no text"
                yield FailedSummary(request.key, request.name, reason, is_permanent=True)

    def _length_budget(self, request: SummaryRequest) -> LengthBudget:
        settings = self._settings
        target = settings.ratio * sum(request.n_tokens)
        target = min(max(target, settings.min_tokens), settings.max_tokens)
        return LengthBudget(target=target, limit=settings.max_tokens)

    def _candidates(
        self, request: SummaryRequest, cached: dict[tuple[str, int], tuple[SummarySentence, ...]]
    ) -> list[CandidateSentence]:
        """Return the distinct sentences of the cluster in source order."""
        candidates: list[CandidateSentence] = []
        distinct: set[str] = set()
        order = 0
        children = zip(request.texts, request.n_tokens, _child_centralities(request), strict=True)
        for child, (text, n_tokens, centrality) in enumerate(children):
            if (text, n_tokens) not in cached:
                cached[text, n_tokens] = split_sentences(text, n_tokens)
            order += 1  # a gap, because no sentence continues one of another child
            for sentence in cached[text, n_tokens]:
                order += 1
                folded = sentence.text.casefold()
                if folded not in distinct:
                    distinct.add(folded)
                    candidates.append(CandidateSentence(sentence, child, order, centrality))
        return candidates

    def _summarize_exactly(
        self, candidates: Sequence[CandidateSentence], budget: LengthBudget
    ) -> str:
        """Return a summary within the limit by exact counts, if estimates were too low."""
        counts = self._counter.count([c.sentence.text for c in candidates])
        exact = [
            replace(c, sentence=replace(c.sentence, n_tokens=float(max(1, n))))
            for c, n in zip(candidates, counts, strict=True)
        ]
        picked = _pick_by_quality_tier(exact, budget, self._settings.min_tokens)
        while picked:
            text = _join_sentences(picked)
            if self._counter.count([text])[0] <= self._settings.max_tokens:
                return text
            picked.pop()
        best = _pick_by_quality_tier(exact, LengthBudget(target=0, limit=float("inf")), 1)
        return self._cut_to_limit(best[0].sentence.text) if best else ""

    def _cut_to_limit(self, text: str) -> str:
        """Return the longest beginning that fits, if possible up to the end of a clause or word."""
        limit = self._settings.max_tokens
        spans = list(self._counter.token_spans(text))
        for n_tokens in range(min(limit, len(spans)), 0, -1):
            head = _cut_to_clause_or_word(text[: spans[n_tokens - 1][1]], text)
            if head and self._counter.count([head])[0] <= limit:
                return head
        return text[:1]


def _child_centralities(request: SummaryRequest) -> list[float]:
    """Return each child's cosine to the cluster's mean, relative to the largest, in [0.2, 1].

    Values are rounded to two decimals, so that they are equal on different machines.
    """
    vectors = np.asarray(request.vectors, dtype=np.float64)
    if len(vectors) != len(request.texts):
        raise ValueError(
            f"{request.name}: expected {len(request.texts)} vectors, one for each text, "
            f"got {len(vectors)}"
        )
    cosines = vectors @ vectors.mean(axis=0)
    top = cosines.max()
    if not top > 0:
        return [1.0] * len(vectors)
    return [float(c) for c in np.round(np.clip(cosines / top, 0.2, 1.0), 2)]


def _pick_by_quality_tier(
    candidates: Sequence[CandidateSentence], budget: LengthBudget, enough: float
) -> list[CandidateSentence]:
    """Return sentences, best first; use lower tiers only below ``enough`` tokens."""
    picked: list[CandidateSentence] = []
    for tier in (COMPLETE, PARTIAL, JUNK):
        allowed = [c for c in candidates if c.sentence.quality_tier <= tier]
        if len(allowed) > len(picked):
            picked = pick_sentences(allowed, budget)
        if sum(c.sentence.n_tokens for c in picked) >= enough:
            break
    return picked


def _join_sentences(picked: Sequence[CandidateSentence]) -> str:
    """Join the sentences in source order, with spaces unless the script has none."""
    text = ""
    for candidate in sorted(picked, key=lambda c: c.order):
        piece = candidate.sentence.text
        glued = not text or (_NO_SPACE.match(text[-1]) and _NO_SPACE.match(piece[0]))
        text += piece if glued else f" {piece}"
    return text


def _cut_to_clause_or_word(head: str, text: str) -> str:
    """Shorten ``head``, a beginning of ``text``, to the end of a clause or word."""
    if len(head) < len(text):
        clauses = [m.start() for m in _CLAUSE_END.finditer(head) if m.start() > len(head) // 2]
        if clauses:
            return head[: clauses[-1]].rstrip()
        inside_word = not text[len(head)].isspace() and text[len(head)].isalnum()
        if inside_word and not _NO_SPACE.match(text[len(head)]) and " " in head.strip():
            head = head.rsplit(maxsplit=1)[0]
    return head.rstrip()
