"""Passages: whole paragraphs, put together from the chunks that they were cut into."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from raptor_core.nodes import Node
from raptor_core.retrieval.hybrid.pool import Numbers, Scores, numbered
from raptor_core.store.outlines import Outlines

SPEAKING_SHARE = 0.15
"""Share of a passage's tokens from which a chunk's own score may stand for it."""


@dataclass(frozen=True, eq=False)
class Passages:
    """What a context is packed of: numbers of passages, and the parts of chunks in each.

    Attributes:
        chunk: row of the chunk of each part, ascending, shape ``(n_parts,)``.
        passage: number of the passage of each part, from 0 without a gap.
        n_tokens: of each part.
        is_paragraph: whether a passage is a paragraph, shape ``(n_passages,)``; else it is a chunk,
            or what a chunk holds of a paragraph that is over the budget.
    """

    chunk: Numbers
    passage: Numbers
    n_tokens: Numbers
    is_paragraph: Numbers

    @classmethod
    def of(cls, leaves: Outlines, budget_tokens: int, *, whole: bool) -> Passages:
        """The passages that chunks are of.

        Args:
            whole: take paragraphs where they are known and within the budget; else each chunk is
                a passage.
        """
        nodes, pairs = leaves
        n_parts = nodes["n_children"].astype(np.int64) if whole else np.zeros(len(nodes), np.int64)
        known = n_parts > 0
        chunk = np.repeat(np.arange(len(nodes)), np.maximum(n_parts, 1))
        n_tokens = nodes["n_tokens"].astype(np.int64)[chunk]
        alone = -1 - np.arange(len(chunk))
        names = alone.copy()
        inside = known[chunk]
        if inside.any():
            starts, tokens = pairs.astype(np.int64).T
            names[inside] = (numbered(nodes["place"])[chunk][inside] << 32) + starts
            n_tokens[inside] = tokens
            passage = numbered(names)
            over = np.bincount(passage, weights=n_tokens)[passage] > budget_tokens
            names[over] = alone[over]
        passage = numbered(names)
        is_paragraph = np.zeros(passage.max() + 1, dtype=np.int64)
        is_paragraph[passage[names >= 0]] = 1
        return cls(chunk, passage, n_tokens, is_paragraph)

    def leading(self) -> Numbers:
        """Row of the first chunk of each passage."""
        return self.chunk[np.unique(self.passage, return_index=True)[1]]

    def scores(self, own: Scores, surrounded: Scores, best: float) -> Scores:
        """The mean of the chunks by tokens, and ``best`` times the best of them by itself.

        So a short hit is not smoothed away by the rest of a long paragraph.
        """
        total = np.bincount(self.passage, weights=self.n_tokens)
        share = self.n_tokens / np.maximum(total, 1)[self.passage]
        means = np.bincount(self.passage, weights=share * surrounded[self.chunk])
        alone = np.bincount(self.passage, weights=share * own[self.chunk])
        leading = np.full(len(total), -np.inf)
        speaks = share >= SPEAKING_SHARE
        np.maximum.at(leading, self.passage[speaks], own[self.chunk][speaks])
        found: Scores = means + best * np.where(np.isfinite(leading), leading, alone)
        return found


class Filling:
    """Which parts of which chunks a context holds; of a chunk all from its first to its last."""

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
        self.taken: dict[int, tuple[int, int]] = {}

    def take(self, passage: int) -> list[int]:
        """Take a passage; rows of its chunks. ``n_tokens`` is then what others would add."""
        chunks = []
        for part in self._parts(passage):
            chunk = self._chunk[part]
            first, last = self.taken.get(chunk, (part, part))
            self.taken[chunk] = (min(first, part), max(last, part))
            chunks.append(chunk)
        beside = {
            self._passage[part]
            for chunk in chunks
            for part in range(self._begins[chunk], self._begins[chunk + 1])
        }
        for other in beside:
            self.n_tokens[other] = sum(map(self._added, self._parts(other)))
        return chunks

    def _parts(self, passage: int) -> list[int]:
        return self._order[self._bounds[passage] : self._bounds[passage + 1]]

    def _added(self, part: int) -> int:
        """Tokens that the context grows by with one more part."""
        first, last = self.taken.get(self._chunk[part], (part, part - 1))
        before = self._ends[first] - self._ends[min(first, part)]
        return before + self._ends[max(last, part) + 1] - self._ends[last + 1]

    def cuts(self) -> dict[int, slice]:
        """Of the chunks that are taken in part, which parts, counted from the chunk's first."""
        cuts = {}
        for chunk, (first, last) in self.taken.items():
            begin, end = self._begins[chunk : chunk + 2]
            if last + 1 - first < end - begin:
                cuts[chunk] = slice(first - begin, last + 1 - begin)
        return cuts


def cut(node: Node, parts: slice) -> Node:
    """A chunk with some of its parts of paragraphs alone: its text, span and tokens are theirs."""
    kept = node.paragraphs[parts]
    if len(kept) == len(node.paragraphs):
        return node
    start = max(node.start, kept[0][0])
    following = node.paragraphs[parts.stop :]
    end = following[0][0] if following else node.end
    text = node.text[start - node.start : end - node.start].rstrip()
    n_tokens = sum(n for _, n in kept)
    return replace(
        node, text=text, start=start, end=start + len(text), n_tokens=n_tokens, paragraphs=kept
    )
