"""Reading of the best chunks' texts, to split long paragraphs and to find the question's words.

A chunk has one vector and one lexical score, by which all its passages are equal, so that a small
budget would get the first ones. ``passages`` defines what a passage is.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from raptor_core.nodes import Node
from raptor_core.retrieval.hybrid.passages import Passages, column_names_at, cut_chunk
from raptor_core.retrieval.hybrid.scoring import RankedNodes, Scores
from raptor_core.store.base import Where
from raptor_core.store.lexical import STEM_CHARS
from raptor_core.store.store import VectorStore
from raptor_core.text.sentence_ends import sentence_ends
from raptor_core.text.vocabulary import stem
from raptor_core.text.words import folded_words

MAX_READ = 16
"""Maximum number of chunks that are read."""

_LINE = re.compile(r"^.*\w", re.MULTILINE)
"""Start of a line with a word; following lines without words, such as rules, belong to it."""


def read_best_chunks(
    leaves: RankedNodes, budget_tokens: int, store: VectorStore
) -> dict[int, Node]:
    """Read the best chunks that have paragraphs.

    Paragraphs that exceed the budget are split into lines, such as rows of a table, or into
    sentences if they have only one line.

    Returns:
        The chunks by row, ascending; some may be missing because a publication removed them.
    """
    best = np.argsort(-leaves.scores, kind="stable")[:MAX_READ]
    rows = {leaves.node_id(row): row for row in np.sort(best).tolist()}
    read = {rows[node.id]: node for node in store.nodes(Where(ids=tuple(rows)))}
    return {
        row: replace(read[row], paragraphs=tuple(_split_into_parts(read[row], budget_tokens)))
        for row in sorted(read)
        if read[row].paragraphs
    }


def _split_into_parts(node: Node, budget_tokens: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a chunk: its paragraphs, or pieces of those that exceed the budget.

    The tokens of pieces are estimated from characters, with the column names in each row.
    """
    ends = [*(start for start, _ in node.paragraphs[1:]), node.end]
    for (start, n_tokens), end in zip(node.paragraphs, ends, strict=True):
        begin = max(start, node.start)
        text = node.text[begin - node.start : end - node.start].rstrip()
        pieces = [begin + at for at in _piece_starts(text)] if n_tokens > budget_tokens else []
        if len(pieces) < 2:
            yield start, n_tokens
            continue
        n_chars = len(text) + (len(node.table_header) if begin == node.start else 0)
        for at, following in pairwise([*pieces, begin + len(text)]):
            n_shown = following - at + len(column_names_at(node, at))
            yield at, -(-n_tokens * n_shown // n_chars)


def _piece_starts(text: str) -> list[int]:
    """Return the starts of a paragraph's lines, or of the sentences in its only line."""
    lines = [line.start() for line in _LINE.finditer(text)]
    if len(lines) > 1:
        return lines
    ends = sentence_ends(text, 0, len(text))
    return [0, *(end + len(text[end:]) - len(text[end:].lstrip()) for end in ends)]


def add_word_shares(question: str, passages: Passages, nodes: Mapping[int, Node]) -> Passages:
    """Add the share of the question's words in each part of these chunks to the passages.

    ``nodes`` are the chunks by row, from ``read_best_chunks``.
    """
    parts, texts = list[int](), list[str]()
    for row, node in nodes.items():
        first = int(np.searchsorted(passages.chunk, row))
        parts += range(first, first + len(node.paragraphs))
        texts += (cut_chunk(node, slice(n, n + 1)).text for n in range(len(node.paragraphs)))
    shares = np.zeros(len(passages.chunk))
    shares[parts] = word_shares(question, texts)
    return passages.with_word_shares(shares)


def word_shares(question: str, texts: Sequence[str]) -> Scores:
    """Return the share of the question's words that each text contains, shape ``(len(texts),)``.

    Words are weighted by their inverse document frequency among the texts; words that no text
    contains are ignored.
    """
    sought = list(dict.fromkeys(map(_word_form, folded_words(question))))
    present = [set(map(_word_form, folded_words(text))) for text in texts]
    has = np.array([[word in words for word in sought] for words in present], dtype=np.float64)
    if not has.any():
        return np.zeros(len(texts))
    df = has.sum(axis=0)
    worths = np.where(df > 0, np.log1p((len(texts) - df + 0.5) / (df + 0.5)), 0.0)
    shares: Scores = has @ worths / worths.sum()
    return shares


@lru_cache(maxsize=1 << 16)
def _word_form(word: str) -> str:
    return stem(word)[:STEM_CHARS]
