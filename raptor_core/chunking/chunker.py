"""Chunkers: they find the units, pack them, and verify the limit on the text of each chunk."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from raptor_core.chunking.base import Chunk
from raptor_core.chunking.overlong import Measure, cut_sentence
from raptor_core.chunking.packing import (
    Opens,
    Packing,
    SentenceSpan,
    key_of,
    pack_greedily,
    pack_stably,
)
from raptor_core.chunking.paragraphs import Paragraph, paragraphs, strip_spans
from raptor_core.chunking.sections import SectionPaths, heading_starts
from raptor_core.chunking.sentences import Span, sentences_of
from raptor_core.documents.base import Document
from raptor_core.identity import fingerprint
from raptor_core.settings.models import ChunkingSettings
from raptor_core.tokens.base import TokenCounter

# Part of the fingerprint: raise it when sentences or packing change.
RULES_VERSION = 3

_LINE = re.compile(r"\S(?:[^\n]*\S)?")
"""Line without the white space around it."""


class SentenceChunker:
    """Chunks of whole sentences, at most ``max_tokens`` long; an edit shifts few of them.

    A sentence is cut only if it is over the limit by itself, or if one of its unbroken words is.
    Such a word counts one token for every 32 characters.
    """

    method: ClassVar[str] = "sentences"
    pack: ClassVar[Packing] = pack_stably

    def __init__(self, settings: ChunkingSettings, counter: TokenCounter) -> None:
        self._limit = settings.max_tokens
        self._counter = counter

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the limit, the counter and the rules; context changes no chunk."""
        values = {
            "method": self.method,
            "max_tokens": self._limit,
            "counter": self._counter.fingerprint,
            "rules": RULES_VERSION,
        }
        return fingerprint("chunking", values)

    def chunk(self, document: Document) -> list[Chunk]:
        """Cut one document into chunks, in order; return none if it holds only white space."""
        text = document.text
        if not text or text.isspace():
            return []
        paths = SectionPaths(document)
        units = self._weigh(text, list(self._units(document)))
        ends = type(self).pack(units, self._limit)
        spans = [(units[a].start, units[b - 1].end) for a, b in pairwise([0, *ends])]
        return self._verify(text, spans, [unit.start for unit in units], paths)

    def _units(self, document: Document) -> Iterator[SentenceSpan]:
        """Yield the sentences of all paragraphs, in order, neither weighed nor cut."""
        text, paths = document.text, SectionPaths(document)
        headings, starts = heading_starts(document)
        previous_end = 0
        for block in paragraphs(text, headings):
            level = _heading_level(text, block, paths) if block.kind == "heading" else 0
            section = bisect_left(starts, previous_end) < bisect_left(starts, block.start + 1)
            opens = Opens.SECTION if section or level else Opens.PARAGRAPH
            for start, end in sentences_of(text, block):
                yield SentenceSpan(start, end, 0, key_of(text[start:end]), opens, level)
                opens = Opens.NOTHING
            previous_end = block.end

    def _weigh(self, text: str, units: list[SentenceSpan]) -> list[SentenceSpan]:
        """Weigh the units, and replace a unit over the limit by its parts."""
        measure = Measure(text, self._counter)
        weighed: list[SentenceSpan] = []
        weights = self._weights(text, [unit[:2] for unit in units], measure)
        for unit, weight in zip(units, weights, strict=True):
            if weight <= self._limit:
                weighed.append(unit._replace(weight=weight))
            else:
                weighed += self._cut(text, unit, measure)
        return weighed

    def _cut(self, text: str, unit: SentenceSpan, measure: Measure) -> Iterator[SentenceSpan]:
        """Cut a unit that is over the limit into parts within it."""
        opens = unit.opens
        cuts = cut_sentence(text, unit.start, unit.end, measure, self._limit)
        spans = list(strip_spans(text, [unit.start, *cuts, unit.end]))
        weights = measure.weights([a for a, _ in spans], [b for _, b in spans])
        for (start, end), weight in zip(spans, weights, strict=True):
            yield SentenceSpan(start, end, weight, key_of(text[start:end]), opens, unit.level)
            opens = Opens.NOTHING

    def _weights(self, text: str, spans: list[Span], measure: Measure) -> list[int]:
        """Return the weight of each sentence, exact if it decides whether the sentence is cut."""
        weights = measure.weights([a for a, _ in spans], [b for _, b in spans])
        near = [row for row, weight in enumerate(weights) if weight > self._limit]
        counts = self._counter.count([text[slice(*spans[row])] for row in near])
        for row, count in zip(near, counts, strict=True):
            long = measure.has_long_tokens(*spans[row])
            if count <= self._limit and not long:
                weights[row] = count
        return weights

    def _verify(
        self, text: str, spans: list[Span], bounds: list[int], paths: SectionPaths
    ) -> list[Chunk]:
        """Return the chunks with exact counts; a chunk over the limit is halved until none is."""
        counts = self._counter.count([text[a:b] for a, b in spans])
        while max(counts, default=0) > self._limit:
            spans = [
                part
                for span, count in zip(spans, counts, strict=True)
                for part in ([span] if count <= self._limit else self._halves(text, span, bounds))
            ]
            counts = self._counter.count([text[a:b] for a, b in spans])
        return [
            Chunk(text[a:b], a, b, count, paths.at(a))
            for (a, b), count in zip(spans, counts, strict=True)
        ]

    def _halves(self, text: str, span: Span, bounds: list[int]) -> list[Span]:
        """Split the span at its middle sentence; a single sentence at about its middle token."""
        start, end = span
        inner = bounds[bisect_left(bounds, start + 1) : bisect_left(bounds, end)]
        if inner:
            return list(strip_spans(text, [start, inner[len(inner) // 2], end]))
        part = text[start:end]
        measure = Measure(part, self._counter)
        half = max(1, -(-len(measure.places(0, len(part))) // 2))
        cuts = cut_sentence(part, 0, len(part), measure, half)
        middle = start + (cuts[0] if cuts else -(-len(part) // 2))
        return list(strip_spans(text, [start, middle, end]))


def _heading_level(text: str, heading: Paragraph, paths: SectionPaths) -> int:
    """Return the depth of the heading, from 1 to 7."""
    line = text[heading.start : heading.end]
    marks = len(line) - len(line.lstrip("#"))
    return min(max(1, len(paths.at(heading.start)) or marks), 7)


class GreedyChunker(SentenceChunker):
    """Chunks filled with sentences across paragraphs and sections, as in the paper.

    The end of a line ends a sentence, as in the authors' code.
    """

    method = "greedy"
    pack = pack_greedily

    def _units(self, document: Document) -> Iterator[SentenceSpan]:
        for unit in super()._units(document):
            for line in _LINE.finditer(document.text, unit.start, unit.end):
                yield unit._replace(start=line.start(), end=line.end())
