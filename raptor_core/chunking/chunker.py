"""Chunkers: they find the units, pack them, and verify the token limit for each chunk's text.

Chunks that a source supplies are never cut; ``supplied_chunks`` reads them.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import chain, pairwise
from operator import itemgetter
from typing import ClassVar

from raptor_core.chunking.base import Chunk
from raptor_core.chunking.outline import (
    SectionPaths,
    continued_table_header,
    find_tables,
    outline_blocks,
)
from raptor_core.chunking.packing import (
    BegunUnit,
    SentenceSpan,
    hash_ignoring_spaces,
    stable_chunk_ends,
)
from raptor_core.chunking.sentences import (
    Span,
    SpanWeights,
    block_sentence_spans,
    find_sentence_cuts,
)
from raptor_core.documents.base import CHUNK_ID, Document, lists_to_tuples
from raptor_core.documents.data_runs import find_data_runs
from raptor_core.errors import SourceError
from raptor_core.identity import fingerprint
from raptor_core.settings.models import ChunkingSettings
from raptor_core.tokens.base import TokenCounter
from raptor_formats.blocks import is_horizontal_rule, split_at_bounds, unpack_blocks

# Part of the fingerprint: raise it when sentences or packing change.
RULES_VERSION = 4
PIECE_CHARS = 1 << 16
"""Number of characters whose tokens are in memory at once."""
NEARLY = 2
"""Multiple of the limit up to which an estimated weight is replaced by an exact count."""
RULE_SHARE = 0.25
"""Share of the limit above which a rule separates chunks."""
_LINE = re.compile(r"\S(?:[^\n]*\S)?")
"""Line, stripped of white space."""


class SentenceChunker:
    """Chunks of whole sentences, at most ``max_tokens`` long; an edit shifts few of them.

    A sentence is cut only if it exceeds the limit by itself. Runs of data are omitted, unless the
    document contains nothing else; see ``raptor_core.documents.data_runs``.
    """

    method: ClassVar[str] = "sentences"
    rules_version: ClassVar[int] = RULES_VERSION

    def __init__(self, settings: ChunkingSettings, counter: TokenCounter) -> None:
        self._limit = settings.max_tokens
        self._counter = counter

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the limit, the counter and the rules; context does not change chunks."""
        values = {
            "method": self.method,
            "max_tokens": self._limit,
            "counter": self._counter.fingerprint,
            "rules": self.rules_version,
        }
        return fingerprint("chunking", values)

    def chunk(self, document: Document) -> list[Chunk]:
        """Cut one document into chunks, in order; return none if it is only white space."""
        text = document.text
        if not text or text.isspace():
            return []
        groups = [
            group
            for units in _group_between_non_text(text, list(self._units(document)))
            for group in self._split_at_horizontal_rules(text, self._weigh_and_cut(text, units))
        ]
        spans = [span for group in groups for span in self._pack_into_chunks(text, group)]
        counts = self._count_tokens_and_halve(text, spans, [unit.start for unit in chain(*groups)])
        paths, tables = SectionPaths(document), find_tables(document)
        return [
            Chunk(text[a:b], a, b, count, paths.path_at(a), continued_table_header(tables, a))
            for (a, b), count in sorted(counts.items())
            if not is_horizontal_rule(text[a:b])
        ]

    def _pack_into_chunks(self, _text: str, units: list[SentenceSpan]) -> list[Span]:
        """Return the spans of chunks."""
        ends = stable_chunk_ends(units, self._limit)
        return [(units[a].start, units[b - 1].end) for a, b in pairwise([0, *ends])]

    def _units(self, document: Document) -> Iterator[SentenceSpan]:
        """Yield the sentences of all blocks, in order, not yet weighed or cut."""
        text = document.text
        for part in outline_blocks(document):
            opens, spans = part.begun_unit, block_sentence_spans(text, part.block)
            for number, (start, end) in enumerate(spans, 1):
                leads = part.introduces_next and number == len(spans)
                key = hash_ignoring_spaces(text[start:end])
                yield SentenceSpan(start, end, 0, key, opens, part.level, leads)
                opens = BegunUnit.NOTHING

    def _weigh_and_cut(self, text: str, units: list[SentenceSpan]) -> list[SentenceSpan]:
        """Weigh the units, and replace each unit over the limit by its parts.

        Tokens are counted piece by piece, because those of a whole text need much memory.
        """
        weighed: list[SentenceSpan] = []
        for piece in _group_by_chars(units):
            measure = SpanWeights(text, self._counter, piece[0].start, piece[-1].end)
            weights = self._sentence_weights(text, [unit[:2] for unit in piece], measure)
            for unit, weight in zip(piece, weights, strict=True):
                if weight <= self._limit:
                    weighed.append(unit._replace(weight=weight))
                else:
                    weighed += self._cut_long_unit(text, unit, measure)
        return weighed

    def _split_at_horizontal_rules(
        self, text: str, units: list[SentenceSpan]
    ) -> list[list[SentenceSpan]]:
        """Split the units at long rules; a short rule adds its weight to the next unit."""
        rows = [n for n, (a, b) in enumerate(pairwise(units), 1) if text[a.end : b.start].strip()]
        counts = self._counter.count([text[units[n - 1].end : units[n].start] for n in rows])
        borders = [0]
        for row, count in zip(rows, counts, strict=True):
            weight = units[row].weight + count
            if count > RULE_SHARE * self._limit or weight > self._limit:
                borders.append(row)
            else:
                units[row] = units[row]._replace(weight=weight)
        return [units[a:b] for a, b in pairwise([*borders, len(units)])]

    def _cut_long_unit(
        self, text: str, unit: SentenceSpan, measure: SpanWeights
    ) -> Iterator[SentenceSpan]:
        """Cut a unit that is over the limit into parts within it."""
        opens = unit.begun_unit
        cuts = find_sentence_cuts(text, unit.start, unit.end, measure, self._limit)
        spans = list(split_at_bounds(text, [unit.start, *cuts, unit.end]))
        weights = measure.weights([a for a, _ in spans], [b for _, b in spans])
        for (start, end), weight in zip(spans, weights, strict=True):
            leads = unit.introduces_next and end == spans[-1][1]
            key = hash_ignoring_spaces(text[start:end])
            yield SentenceSpan(start, end, weight, key, opens, unit.level, leads)
            opens = BegunUnit.NOTHING

    def _sentence_weights(self, text: str, spans: list[Span], measure: SpanWeights) -> list[int]:
        """Return the weight of each sentence; exact if it decides whether the sentence is cut."""
        weights = measure.weights([a for a, _ in spans], [b for _, b in spans])
        nearly = range(self._limit + 1, NEARLY * self._limit)
        near = [row for row, weight in enumerate(weights) if weight in nearly]
        counts = self._counter.count([text[slice(*spans[row])] for row in near])
        for row, count in zip(near, counts, strict=True):
            if count <= self._limit:
                weights[row] = count
        return weights

    def _count_tokens_and_halve(
        self, text: str, spans: list[Span], bounds: list[int]
    ) -> dict[Span, int]:
        """Count the tokens of chunks exactly, and halve those over the limit until none is left."""
        counts: dict[Span, int] = {}
        while spans:
            numbers = self._counter.count([text[a:b] for a, b in spans])
            counts.update(zip(spans, numbers, strict=True))
            overlong = [span for span in spans if counts[span] > self._limit]
            spans = [part for span in overlong for part in self._halve_span(text, span, bounds)]
            for span in overlong:
                del counts[span]
        return counts

    def _halve_span(self, text: str, span: Span, bounds: list[int]) -> list[Span]:
        """Split a span at its middle sentence, or a single sentence near its middle token."""
        start, end = span
        inner = bounds[bisect_left(bounds, start + 1) : bisect_left(bounds, end)]
        if inner:
            return list(split_at_bounds(text, [start, inner[len(inner) // 2], end]))
        part = text[start:end]
        measure = SpanWeights(part, self._counter, 0, len(part))
        half = max(1, -(-len(measure.weight_unit_starts(0, len(part))) // 2))
        cuts = find_sentence_cuts(part, 0, len(part), measure, half)
        middle = start + (cuts[0] if cuts else -(-len(part) // 2))
        return list(split_at_bounds(text, [start, middle, end]))


def supplied_chunks(document: Document, counter: TokenCounter, max_tokens: int) -> list[Chunk]:
    """Return the chunks that the source of a document supplies, in order; none if it does not.

    Raises:
        SourceError: a chunk exceeds the limit.
    """
    blocks = unpack_blocks(document.blocks) if document.blocks else []
    if not blocks or blocks[0].kind != "chunk":
        return []
    texts = [document.text[block.start : block.end] for block in blocks]
    chunks = [
        Chunk(
            text,
            block.start,
            block.end,
            n_tokens,
            metadata=lists_to_tuples(json.loads(block.label)),
        )
        for text, block, n_tokens in zip(texts, blocks, counter.count(texts), strict=True)
    ]
    longest = max(chunks, key=lambda chunk: chunk.n_tokens)
    if longest.n_tokens > max_tokens:
        raise SourceError(
            f"chunk {longest.metadata[CHUNK_ID]!r} of document {document.id!r} has "
            f"{longest.n_tokens:,} tokens, the most in this document, but chunking.max_tokens is "
            f"{max_tokens:,}; raise it, or supply smaller chunks"
        )
    return chunks


def _group_between_non_text(text: str, units: list[SentenceSpan]) -> list[list[SentenceSpan]]:
    """Group the units between comments and other non-text, over which no chunk extends."""
    return [
        part for group in _split_at_data_runs(text, units) for part in _split_at_gaps(text, group)
    ]


def _split_at_gaps(text: str, units: list[SentenceSpan]) -> Iterator[list[SentenceSpan]]:
    borders = (
        n
        for n, (a, b) in enumerate(pairwise(units), 1)
        if not is_horizontal_rule(text[a.end : b.start])
    )
    for first, last in pairwise([0, *borders, len(units)]):
        if first < last:
            yield units[first:last]


def _group_by_chars(units: list[SentenceSpan]) -> Iterator[list[SentenceSpan]]:
    """Group the units into runs of about ``PIECE_CHARS`` characters."""
    first = 0
    for at, unit in enumerate(units, 1):
        if at == len(units) or unit.end - units[first].start >= PIECE_CHARS:
            yield units[first:at]
            first = at


def _split_at_data_runs(text: str, units: list[SentenceSpan]) -> list[list[SentenceSpan]]:
    """Group the units between the runs of data of a text."""
    runs = find_data_runs(text)
    if not runs:
        return [units]
    groups: list[list[SentenceSpan]] = [[] for _ in range(len(runs) + 1)]
    for unit in units:
        first = bisect_right(runs, unit.start, key=itemgetter(1))
        last = bisect_left(runs, unit.end, key=itemgetter(0))
        inner = [bound for run in runs[first:last] for bound in run]
        bounds = [unit.start, *(min(max(at, unit.start), unit.end) for at in inner), unit.end]
        for number, span in enumerate(zip(bounds[::2], bounds[1::2], strict=True), first):
            for start, end in split_at_bounds(text, span):
                if any(map(str.isalnum, text[start:end])):
                    key = hash_ignoring_spaces(text[start:end])
                    groups[number].append(unit._replace(start=start, end=end, text_hash=key))
    return [group for group in groups if group] or [units]


class GreedyChunker(SentenceChunker):
    """Chunks filled with sentences across paragraphs and sections, as in the paper.

    A sentence that does not fit moves to the next chunk as a whole. Tokens between two sentences
    count, too.
    """

    method = "greedy"
    rules_version = 5

    def _pack_into_chunks(self, text: str, units: list[SentenceSpan]) -> list[Span]:
        measure = SpanWeights(text, self._counter, units[0].start, units[-1].end)
        spans: list[Span] = []
        at = 0
        while at < len(units):
            start = units[at].start
            ends = [unit.end for unit in units[at : at + self._limit]]
            weights = measure.weights([start] * len(ends), ends)
            n = max(1, sum(weight <= self._limit for weight in weights))
            # The count of the chunk's own text decides: a token may extend over its ends.
            while n > 1 and not self._fits(text[start : ends[n - 1]]):
                n -= 1
            while n < len(ends) and self._fits(text[start : ends[n]]):
                n += 1
            spans.append((start, ends[n - 1]))
            at += n
        return spans

    def _fits(self, text: str) -> bool:
        return self._counter.count([text])[0] <= self._limit
