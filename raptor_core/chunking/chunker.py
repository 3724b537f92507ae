"""The chunker: paragraphs, sentences, packing, and the limit verified on the text itself."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from itertools import groupby, pairwise

from raptor_core.chunking.base import Chunk
from raptor_core.chunking.cutting import cut
from raptor_core.chunking.measure import Measure
from raptor_core.chunking.overlong import cut_sentence
from raptor_core.chunking.packing import Part, Piece, Span, key_of, pack
from raptor_core.chunking.paragraphs import Paragraph, paragraphs
from raptor_core.chunking.sections import SectionPaths, heading_starts
from raptor_core.chunking.sentences import sentences_of
from raptor_core.documents.base import Document
from raptor_core.identity import fingerprint
from raptor_core.settings.models import ChunkingSettings
from raptor_core.tokens.base import TokenCounter

# Part of the fingerprint: raise it when sentences or packing change.
RULES_VERSION = 2


class SentenceChunker:
    """Chunks of whole sentences, at most ``max_tokens`` long, local under edits.

    A sentence is cut only when it is over the limit by itself, or holds an unbroken word that
    is, at 32 characters a token.
    """

    def __init__(self, settings: ChunkingSettings, counter: TokenCounter) -> None:
        self._limit = settings.max_tokens
        self._counter = counter

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the limit, the counter, and the rules; context changes no chunk."""
        values = {
            "max_tokens": self._limit,
            "counter": self._counter.fingerprint,
            "rules": RULES_VERSION,
        }
        return fingerprint("chunking", values)

    def chunk(self, document: Document) -> list[Chunk]:
        """The chunks of one document in order; empty when it holds only white space."""
        text = document.text
        if not text or text.isspace():
            return []
        paths = SectionPaths(document)
        pieces = self._pieces(document, paths)
        bounds = [start for piece in pieces for start, _, _ in piece.parts]
        return self._verified(text, pack(pieces, self._limit), bounds, paths)

    def _pieces(self, document: Document, paths: SectionPaths) -> list[Piece]:
        """Pieces of all paragraphs, in order."""
        text, limit = document.text, self._limit
        measure = Measure(text, self._counter)
        headings, starts = heading_starts(document)
        blocks = paragraphs(text, headings)
        spans = [(row, span) for row, b in enumerate(blocks) for span in sentences_of(text, b)]
        weights = self._weights(text, [span for _, span in spans], measure)
        pieces: list[Piece] = []
        following = zip(spans, weights, strict=True)
        for row, sentences in groupby(following, key=lambda item: item[0][0]):
            block = blocks[row]
            after = blocks[row - 1].end if row else 0
            section = bisect_left(starts, after) < bisect_left(starts, block.start + 1)
            level = _level(text, block, paths) if block.kind == "heading" else 0
            parts = list(self._cut_overlong(text, sentences, measure))
            pieces += _pieces(text, parts, level=level, section=section, limit=limit)
        return pieces

    def _weights(self, text: str, spans: list[Span], measure: Measure) -> list[int]:
        """Weight of each sentence; exact where it decides whether the sentence is cut."""
        weights = measure.weights([a for a, _ in spans], [b for _, b in spans])
        near = [row for row, weight in enumerate(weights) if weight > self._limit]
        counts = self._counter.count([text[slice(*spans[row])] for row in near])
        for row, count in zip(near, counts, strict=True):
            long = measure.has_long_tokens(*spans[row])
            if count <= self._limit and not long:
                weights[row] = count
        return weights

    def _cut_overlong(
        self, text: str, sentences: Iterator[tuple[tuple[int, Span], int]], measure: Measure
    ) -> Iterator[Part]:
        """Start, end and weight of each sentence, or of its parts if it is over the limit."""
        for (_, (start, end)), weight in sentences:
            if weight <= self._limit:
                yield start, end, weight
                continue
            cuts = cut_sentence(text, start, end, measure, self._limit)
            parts = list(_stripped(text, [start, *cuts, end]))
            found = measure.weights([a for a, _ in parts], [b for _, b in parts])
            yield from ((a, b, w) for (a, b), w in zip(parts, found, strict=True))

    def _verified(
        self, text: str, spans: list[Span], bounds: list[int], paths: SectionPaths
    ) -> list[Chunk]:
        """The chunks, with exact counts; one that is over the limit is halved until none is."""
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
        """The span in two at the middle sentence, or, if it is one, at about its middle token."""
        start, end = span
        inner = bounds[bisect_left(bounds, start + 1) : bisect_left(bounds, end)]
        if inner:
            return list(_stripped(text, [start, inner[len(inner) // 2], end]))
        part = text[start:end]
        measure = Measure(part, self._counter)
        half = max(1, -(-len(measure.places(0, len(part))) // 2))
        cuts = cut_sentence(part, 0, len(part), measure, half)
        middle = start + (cuts[0] if cuts else -(-len(part) // 2))
        return list(_stripped(text, [start, middle, end]))


def _stripped(text: str, bounds: list[int]) -> Iterator[Span]:
    """The spans between the bounds without white space around them; empty ones are left out."""
    for start, end in pairwise(bounds):
        part = text[start:end]
        first = start + len(part) - len(part.lstrip())
        if first < end:
            yield first, start + len(part.rstrip())


def _level(text: str, heading: Paragraph, paths: SectionPaths) -> int:
    """How deep the heading is, from 1 to 7."""
    line = text[heading.start : heading.end]
    marks = len(line) - len(line.lstrip("#"))
    return min(max(1, len(paths.at(heading.start)) or marks), 7)


def _pieces(
    text: str, parts: list[Part], *, level: int, section: bool, limit: int
) -> Iterator[Piece]:
    """The paragraph as one piece if it fits, else cut into several."""
    weights = [weight for _, _, weight in parts]
    total = sum(weights)
    ends = [len(parts)]
    if total > limit:
        ends = cut(weights, [key_of(text[a:b]) for a, b, _ in parts], limit)
    for at, end in pairwise([0, *ends]):
        yield Piece(
            tuple(parts[at:end]),
            sum(weights[at:end]),
            key_of(text[parts[at][0] : parts[end - 1][1]]),
            level=level if total <= limit // 2 else 0,
            first=at == 0,
            last=end == len(parts),
            section=section and at == 0,
        )
