"""Chunkers: they find the units, pack them, and verify the limit on the text of each chunk."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import chain, pairwise
from operator import itemgetter
from typing import ClassVar

from raptor_core.chunking.base import Chunk
from raptor_core.chunking.overlong import Measure, cut_sentence
from raptor_core.chunking.packing import Opens, SentenceSpan, key_of, pack_stably
from raptor_core.chunking.paragraphs import paragraphs, strip_spans
from raptor_core.chunking.sections import SectionPaths, heading_starts
from raptor_core.chunking.sentences import Span, sentences_of
from raptor_core.documents.base import Document
from raptor_core.documents.data_runs import data_runs
from raptor_core.identity import fingerprint
from raptor_core.settings.models import ChunkingSettings
from raptor_core.tokens.base import TokenCounter

# Part of the fingerprint: raise it when sentences or packing change.
RULES_VERSION = 3
_LINE = re.compile(r"\S(?:[^\n]*\S)?")
"""Line without the white space around it."""


class SentenceChunker:
    """Chunks of whole sentences, at most ``max_tokens`` long; an edit shifts few of them.

    A sentence is cut only if it is over the limit by itself. Runs of data are left out, unless the
    document holds nothing else; see ``raptor_core.documents.data_runs``.
    """

    method: ClassVar[str] = "sentences"
    rules: ClassVar[int] = RULES_VERSION

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
            "rules": self.rules,
        }
        return fingerprint("chunking", values)

    def chunk(self, document: Document) -> list[Chunk]:
        """Cut one document into chunks, in order; return none if it holds only white space."""
        text = document.text
        if not text or text.isspace():
            return []
        paths, measure = SectionPaths(document), Measure(text, self._counter)
        units = list(self._units(document))
        groups = [self._weigh(text, group, measure) for group in _without_data(text, units)]
        spans = [span for group in groups for span in self._pack(text, group, measure)]
        return self._verify(text, spans, [unit.start for unit in chain(*groups)], paths)

    def _pack(self, _text: str, units: list[SentenceSpan], _measure: Measure) -> list[Span]:
        """Return the spans of chunks."""
        ends = pack_stably(units, self._limit)
        return [(units[a].start, units[b - 1].end) for a, b in pairwise([0, *ends])]

    def _units(self, document: Document) -> Iterator[SentenceSpan]:
        """Yield the sentences of all paragraphs, in order, neither weighed nor cut."""
        text, paths = document.text, SectionPaths(document)
        headings, starts = heading_starts(document)
        previous_end = 0
        for block in paragraphs(text, headings):
            level = 0
            if block.kind == "heading":
                line = text[block.start : block.end]
                marks = len(line) - len(line.lstrip("#"))
                level = min(max(1, len(paths.at(block.start)) or marks), 7)
            section = bisect_left(starts, previous_end) < bisect_left(starts, block.start + 1)
            opens = Opens.SECTION if section or level else Opens.PARAGRAPH
            for start, end in sentences_of(text, block):
                yield SentenceSpan(start, end, 0, key_of(text[start:end]), opens, level)
                opens = Opens.NOTHING
            previous_end = block.end

    def _weigh(self, text: str, units: list[SentenceSpan], measure: Measure) -> list[SentenceSpan]:
        """Weigh the units, and replace a unit over the limit by its parts."""
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
            if count <= self._limit:
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


def _without_data(text: str, units: list[SentenceSpan]) -> list[list[SentenceSpan]]:
    """Return the units between the runs of data of a text; no chunk reaches over such a run."""
    runs = data_runs(text)
    if not runs:
        return [units]
    groups: list[list[SentenceSpan]] = [[] for _ in range(len(runs) + 1)]
    for unit in units:
        first = bisect_right(runs, unit.start, key=itemgetter(1))
        last = bisect_left(runs, unit.end, key=itemgetter(0))
        inner = [bound for run in runs[first:last] for bound in run]
        bounds = [unit.start, *(min(max(at, unit.start), unit.end) for at in inner), unit.end]
        for number, span in enumerate(zip(bounds[::2], bounds[1::2], strict=True), first):
            for start, end in strip_spans(text, span):
                if any(map(str.isalnum, text[start:end])):
                    key = key_of(text[start:end])
                    groups[number].append(unit._replace(start=start, end=end, key=key))
    return [group for group in groups if group] or [units]


class GreedyChunker(SentenceChunker):
    """Chunks filled with sentences across paragraphs and sections, as in the paper.

    A sentence that does not fit moves to the next chunk as a whole. With ``line_ends`` the end of a
    line ends a sentence, as in the authors' code. Tokens between two sentences count.
    """

    method = "greedy"
    rules = 4

    def __init__(self, settings: ChunkingSettings, counter: TokenCounter) -> None:
        super().__init__(settings, counter)
        self._line_ends = settings.line_ends

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the limit, the counter, the rules and the units."""
        base = super().fingerprint
        return fingerprint("lines", {"base": base}) if self._line_ends else base

    def _units(self, document: Document) -> Iterator[SentenceSpan]:
        for unit in super()._units(document):
            if not self._line_ends:
                yield unit
                continue
            for line in _LINE.finditer(document.text, unit.start, unit.end):
                yield unit._replace(start=line.start(), end=line.end())

    def _pack(self, text: str, units: list[SentenceSpan], measure: Measure) -> list[Span]:
        spans: list[Span] = []
        at = 0
        while at < len(units):
            start = units[at].start
            ends = [unit.end for unit in units[at : at + self._limit]]
            weights = measure.weights([start] * len(ends), ends)
            n = max(1, sum(weight <= self._limit for weight in weights))
            # The count of the chunk's own text decides: a token may reach over its ends.
            while n > 1 and not self._fits(text[start : ends[n - 1]]):
                n -= 1
            while n < len(ends) and self._fits(text[start : ends[n]]):
                n += 1
            spans.append((start, ends[n - 1]))
            at += n
        return spans

    def _fits(self, text: str) -> bool:
        return self._counter.count([text])[0] <= self._limit
