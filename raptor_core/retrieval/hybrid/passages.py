"""Passages, which are paragraphs that are joined from parts of chunks.

``ContextParts`` counts which parts a context contains; ``context_packing`` selects passages.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from raptor_core.nodes import Node
from raptor_core.retrieval.hybrid.scoring import Numbers, Scores, group_numbers
from raptor_core.store.outlines import Outlines

MAX_SHARE = 0.25
"""Maximum share of the budget for one paragraph; a longer one is split at its chunks."""

MIN_LIMIT_TOKENS = 200
"""Length up to which a paragraph that fits the budget stays whole, whatever its share is."""

WORDS_WEIGHT = 1.0
"""Weight, in standard deviations, of the question's words in a part of a chunk."""


@dataclass(frozen=True, eq=False)
class Passages:
    """Passages, represented by the parts of chunks of which they consist.

    A passage is a paragraph or a chunk. Of a long paragraph, each chunk's part is a passage.

    Attributes:
        chunk: row of each part's chunk, ascending, shape ``(n_parts,)``.
        passage: number of each part's passage, from 0 without a gap.
        n_tokens: tokens of each part.
        word_shares: share of the question's words in each part, minus the mean of its chunk.
    """

    chunk: Numbers
    passage: Numbers
    n_tokens: Numbers
    word_shares: Scores

    @classmethod
    def from_chunks(cls, leaves: Outlines, budget_tokens: int, *, by_paragraph: bool) -> "Passages":
        """Form the passages of chunks.

        Args:
            leaves: the chunks.
            budget_tokens: maximum tokens of the context.
            by_paragraph: form paragraphs, if the chunks have them; else each chunk is a passage.
        """
        nodes, pairs = leaves
        none = np.zeros(len(nodes), np.int64)
        n_parts = nodes["n_children"].astype(np.int64) if by_paragraph else none
        chunk = np.repeat(np.arange(len(nodes)), np.maximum(n_parts, 1))
        n_tokens = nodes["n_tokens"].astype(np.int64)[chunk]
        single = -1 - np.arange(len(chunk))
        names = single.copy()
        in_paragraph = (n_parts > 0)[chunk]
        if in_paragraph.any():
            starts, tokens = pairs.astype(np.int64).T
            documents = group_numbers(nodes["place"])[chunk][in_paragraph]
            names[in_paragraph] = (documents << 32) + starts
            n_tokens[in_paragraph] = tokens
            passage = group_numbers(names)
            limit = min(budget_tokens, max(MIN_LIMIT_TOKENS, MAX_SHARE * budget_tokens))
            is_over = np.bincount(passage, weights=n_tokens)[passage] > limit
            names[is_over] = single[is_over]
        passage = group_numbers(names)
        return cls(chunk, passage, n_tokens, np.zeros(len(chunk)))

    def with_word_shares(self, shares: Scores) -> "Passages":
        """Return the passages with the share of the question's words in each part."""
        n_tokens = np.maximum(np.bincount(self.chunk, weights=self.n_tokens), 1)
        means = np.bincount(self.chunk, weights=self.n_tokens * shares) / n_tokens
        return replace(self, word_shares=shares - means[self.chunk])

    def first_chunks(self) -> Numbers:
        """Return the row of each passage's first chunk."""
        return self.chunk[np.unique(self.passage, return_index=True)[1]]

    def contain_any_chunk(self, chunks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return for each passage whether a mask over the chunks is true for any of its chunks."""
        counts = np.bincount(self.passage, weights=chunks[self.chunk])
        any_of: NDArray[np.bool_] = counts > 0
        return any_of

    def mean_scores(self, chunk_scores: Scores) -> Scores:
        """Return the mean score of each passage's parts, weighted by tokens.

        The score of a part is that of its chunk plus ``WORDS_WEIGHT`` times its ``word_shares``.
        """
        total = np.bincount(self.passage, weights=self.n_tokens)
        share = self.n_tokens / np.maximum(total, 1)[self.passage]
        weights = share * (chunk_scores[self.chunk] + WORDS_WEIGHT * self.word_shares)
        scores: Scores = np.bincount(self.passage, weights=weights).astype(np.float64)
        return scores


class ContextParts:
    """The parts of chunks that a context contains, a contiguous range of each chunk.

    Attributes:
        n_tokens: tokens that each passage would add, shape ``(n_passages,)``.
    """

    def __init__(self, passages: Passages) -> None:
        self._chunk: list[int] = passages.chunk.tolist()
        self._passage: list[int] = passages.passage.tolist()
        self._ends: list[int] = [0, *np.cumsum(passages.n_tokens).tolist()]
        self._order: list[int] = np.argsort(passages.passage, kind="stable").tolist()
        self._bounds = [0, *np.cumsum(np.bincount(passages.passage)).tolist()]
        last = passages.chunk.max() + 2
        self._begins = np.searchsorted(passages.chunk, np.arange(last)).tolist()
        sizes = np.bincount(passages.passage, weights=passages.n_tokens)
        self.n_tokens: Numbers = sizes.astype(np.int64)
        self._ranges: dict[int, tuple[int, int]] = {}

    def add_passage(self, passage: int) -> list[int]:
        """Add a passage, update ``n_tokens``, and return the rows of its chunks."""
        chunks = []
        for part in self._parts_of_passage(passage):
            chunk = self._chunk[part]
            first, last = self._ranges.get(chunk, (part, part))
            self._ranges[chunk] = (min(first, part), max(last, part))
            chunks.append(chunk)
        overlapping = {
            self._passage[part]
            for chunk in chunks
            for part in range(self._begins[chunk], self._begins[chunk + 1])
        }
        for number in overlapping:
            self.n_tokens[number] = sum(map(self._added_tokens, self._parts_of_passage(number)))
        return chunks

    def _parts_of_passage(self, passage: int) -> list[int]:
        return self._order[self._bounds[passage] : self._bounds[passage + 1]]

    def _added_tokens(self, part: int) -> int:
        """Return the tokens that a part would add, including the gap before it."""
        first, last = self._ranges.get(self._chunk[part], (part, part - 1))
        n_leading = self._ends[first] - self._ends[min(first, part)]
        return n_leading + self._ends[max(last, part) + 1] - self._ends[last + 1]

    def incomplete_chunks(self) -> dict[int, slice]:
        """Return which parts of each incomplete chunk the context contains, numbered from 0."""
        cuts = {}
        for chunk, (first, last) in self._ranges.items():
            begin, end = self._begins[chunk : chunk + 2]
            if last + 1 - first < end - begin:
                cuts[chunk] = slice(first - begin, last + 1 - begin)
        return cuts


def column_names_at(node: Node, start: int) -> str:
    """Return the column names for the table row at a character of a chunk, or "".

    They are in the context if the table began in an earlier chunk, else in its first row. A record
    such as "name: Ada | born: 1815" contains its own.
    """
    above, _, lines = node.text[: start - node.start].rpartition("\n\n")
    if not lines.strip():
        return node.table_header if start == node.start else ""
    first = lines.lstrip("\n").partition("\n")[0]
    is_row = " | " in first and ": " not in first
    return node.table_header if node.table_header and not above else first if is_row else ""


def cut_chunk(node: Node, parts: slice) -> Node:
    """Reduce a chunk to some of its paragraph parts: its text, span, tokens and context."""
    kept = node.paragraphs[parts]
    if len(kept) == len(node.paragraphs):
        return node
    start = max(node.start, kept[0][0])
    following = node.paragraphs[parts.stop :]
    end = following[0][0] if following else node.end
    text = node.text[start - node.start : end - node.start].rstrip()
    n_tokens = sum(n for _, n in kept)
    label, columns = node.context.partition("\n")[0], column_names_at(node, start)
    context = f"{label}\n{columns}" if columns else label
    return replace(
        node,
        text=text,
        start=start,
        end=start + len(text),
        n_tokens=n_tokens,
        paragraphs=kept,
        context=context,
    )
