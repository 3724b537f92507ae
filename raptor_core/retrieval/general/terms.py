"""The terms of the nodes from which ``coverage`` chooses, and what each term is worth.

They are read from the store once after each publication, and stay in memory.
"""

import sys
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from raptor_core.nodes import Node
from raptor_core.store.base import Manifest, Where
from raptor_core.store.lexical import STEM_CHARS, fold_identifier_words
from raptor_core.store.store import VectorStore

MAX_NODES = 4096
"""Maximum number of nodes to read: layers from the top, and then chunks from all over the text."""

MAX_TABLES = 8
"""Number of filters whose terms stay in memory, at most about 15 MB each."""

COMMON_SHARE = 0.2
"""Maximum share of chunks with a word that is a term; others do not distinguish parts of a text."""

COMMON_CHUNKS = 16
"""Number of chunks in which any word may be, so that short texts keep their subjects."""

PAIR_SHARE = 0.25
"""Worth of all pairs of neighbouring words together, relative to that of all words."""

WRITTEN_FACTOR = 3.0
"""Weight of the squared share of a layer's word pairs that the children do not contain."""

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TermTable:
    """The terms of nodes, as numbers: words that are not common, and pairs of neighbouring ones.

    Attributes:
        n_tokens: tokens of each node.
        is_chunk: whether each node is a chunk.
        first_terms: index of each node's first term in ``terms``, and the end; ``(n_nodes + 1,)``.
        terms: distinct terms of each node, ascending; numbers of pairs follow those of words.
        counts: number of occurrences of each of these terms in its node.
        words: numbers by word.
        df: number of chunks that contain each word.
        n_terms: number of words and pairs.
    """

    nodes: tuple[Node, ...]
    n_tokens: Numbers
    is_chunk: Mask
    first_terms: Numbers
    terms: Numbers
    counts: Numbers
    words: Mapping[str, int]
    df: Numbers
    n_terms: int

    @classmethod
    def from_nodes(cls, nodes: Sequence[Node]) -> "TermTable":
        """Make the table of nodes; common words are not terms."""
        texts = [fold_identifier_words(node.text) for node in nodes]
        numbers: defaultdict[str, int] = defaultdict()
        numbers.default_factory = numbers.__len__
        terms = np.fromiter(map(numbers.__getitem__, chain.from_iterable(texts)), np.int64)
        rows = np.repeat(np.arange(len(nodes)), list(map(len, texts)))
        is_chunk = np.array([node.is_leaf for node in nodes], dtype=bool)
        _, of_chunks, _ = _count_terms_by_row(
            rows[is_chunk[rows]], terms[is_chunk[rows]], len(numbers)
        )
        df = np.bincount(of_chunks, minlength=len(numbers))
        is_rare = df[terms] <= max(COMMON_CHUNKS, COMMON_SHARE * is_chunk.sum())
        rows, terms = rows[is_rare], terms[is_rare]
        is_pair = rows[1:] == rows[:-1]
        pairs = (terms[:-1] * len(numbers) + terms[1:])[is_pair]
        distinct, pairs = np.unique(pairs, return_inverse=True)
        n_terms = len(numbers) + len(distinct)
        rows = np.concatenate([rows, rows[1:][is_pair]])
        rows, terms, counts = _count_terms_by_row(
            rows, np.concatenate([terms, len(numbers) + pairs]), n_terms
        )
        return cls(
            nodes=tuple(nodes),
            n_tokens=np.array([node.n_tokens for node in nodes], dtype=np.int64),
            is_chunk=is_chunk,
            first_terms=np.searchsorted(rows, np.arange(len(nodes) + 1)),
            terms=terms,
            counts=counts,
            words=dict(numbers),
            df=df,
            n_terms=n_terms,
        )

    def terms_of(self, row: int) -> Numbers:
        """Return the terms of a node."""
        return self.terms[self.first_terms[row] : self.first_terms[row + 1]]

    def share_of_chunks(self, name: str) -> float:
        """Return the share of chunks that contain the rarest word of a name, in any form.

        Words with the same first letters are forms of a long word; a form of a short word may have
        up to two letters more.
        """
        counts = [
            int(self.df[self._word_numbers(word)].sum()) for word in fold_identifier_words(name)
        ]
        return min(counts, default=0) / max(int(self.is_chunk.sum()), 1)

    def _word_numbers(self, word: str) -> list[int]:
        start, longest = word[:STEM_CHARS], len(word) + 2 if len(word) < STEM_CHARS else sys.maxsize
        return [n for w, n in self.words.items() if w.startswith(start) and len(w) <= longest]

    def term_worths(self, chunks: Mask) -> Floats:
        """Return the worth of each term, given the chunks in a mask over the nodes.

        It is ``log(1 + n) * log(n_chunks / df)`` for ``n`` occurrences in ``df`` chunks, and 0 for
        a term in fewer than two chunks, such as a word that a model invented.
        """
        of_chunks = np.repeat(chunks, np.diff(self.first_terms))
        terms = self.terms[of_chunks]
        df = np.bincount(terms, minlength=self.n_terms)
        n = np.bincount(terms, weights=self.counts[of_chunks], minlength=self.n_terms)
        worths: Floats = np.log1p(n) * np.log(max(chunks.sum(), 1) / np.maximum(df, 1))
        worths[df < 2] = 0.0
        of_words, of_pairs = np.split(worths, [len(self.words)])
        if of_pairs.any():
            of_pairs *= PAIR_SHARE * of_words.sum() / of_pairs.sum()
        return worths

    @cached_property
    def overall_term_worths(self) -> Floats:
        """Worth of each term, given all chunks."""
        return self.term_worths(self.is_chunk)

    def sum_worths_by_node(self, worths: Floats) -> Floats:
        """Return the sum of the worths of each node's terms, shape ``(n_nodes,)``."""
        ends = np.concatenate([[0.0], np.cumsum(worths[self.terms])])
        sums: Floats = ends[self.first_terms[1:]] - ends[self.first_terms[:-1]]
        return sums

    @cached_property
    def node_factors(self) -> Floats:
        """Factor of each node, which is above 1 in layers of summaries that a model wrote.

        Such summaries say as much as others, but many of their words are worth nothing, because no
        chunk contains them. The factor depends on the mean share of a summary's word pairs that
        none of its children contains.
        """
        row_of = {node.id: row for row, node in enumerate(self.nodes)}
        shares: dict[int, list[float]] = {}
        for row, node in enumerate(self.nodes):
            children = [row_of[child] for child in node.children if child in row_of]
            pairs = self._word_pairs_of(row)
            if children and len(children) == len(node.children) and pairs:
                new = pairs.difference(*map(self._word_pairs_of, children))
                shares.setdefault(node.layer, []).append(len(new) / len(pairs))
        factor = {layer: 1 + WRITTEN_FACTOR * np.mean(s) ** 2 for layer, s in shares.items()}
        return np.array([factor.get(node.layer, 1.0) for node in self.nodes])

    def _word_pairs_of(self, row: int) -> set[int]:
        terms = self.terms_of(row)
        return set(terms[terms >= len(self.words)].tolist())


def _count_terms_by_row(
    rows: Numbers, terms: Numbers, n_terms: int
) -> tuple[Numbers, Numbers, Numbers]:
    """Return rows, terms and counts of the distinct pairs of row and term, ascending."""
    keys, counts = np.unique(rows * n_terms + terms, return_counts=True)
    return *np.divmod(keys, max(n_terms, 1)), counts


_tables: OrderedDict[object, TermTable] = OrderedDict()
_lock = Lock()


def read_term_table(where: Where, store: VectorStore) -> TermTable:
    """Return the terms of the nodes of all layers that match a filter.

    If there are more than ``MAX_NODES``, only some are read; see ``_read_nodes``.
    """
    where = replace(where, layers=None)
    key = (tuple(store.short_manifests(where.trees)), repr(where))
    with _lock:
        table = _tables.pop(key, None)
    if table is None:
        manifests = store.manifests(where.trees)
        table = TermTable.from_nodes(list(_read_nodes(where, manifests, store)))
    with _lock:
        _tables[key] = table
        while len(_tables) > MAX_TABLES:
            _tables.popitem(last=False)
    return table


def _read_nodes(where: Where, manifests: Sequence[Manifest], store: VectorStore) -> Iterator[Node]:
    """Read layers from the top, as many as fit, and all nodes below some nodes of the lowest one.

    If even the top layers do not fit, trees are skipped at regular intervals.
    """
    if _count_nodes(where, manifests, store) <= MAX_NODES:
        yield from store.nodes(where)
        return
    n_tops = sum(manifest.layer_sizes[-1] for manifest in manifests)
    manifests = manifests[:: -(-n_tops // MAX_NODES)]
    n_read = 0
    lowest: list[Node] = []
    for filters, size in _layer_filters_from_top(where, manifests):
        if n_read and n_read + size > MAX_NODES:
            break
        layer = [node for of_trees in filters for node in store.nodes(of_trees)]
        lowest = layer or lowest
        n_read += len(layer)
        yield from layer
    n_chunks = sum(manifest.layer_sizes[0] for manifest in manifests)
    below = lowest[:: -(-n_chunks // MAX_NODES)]
    while ids := {child for node in below for child in node.children}:
        below = store.nodes(where.narrow(ids=sorted(ids)))
        yield from below


def _count_nodes(where: Where, manifests: Sequence[Manifest], store: VectorStore) -> int:
    if where.is_selective:
        return store.count(where)
    return sum(sum(manifest.layer_sizes) for manifest in manifests)


def _layer_filters_from_top(
    where: Where, manifests: Sequence[Manifest]
) -> Iterator[tuple[list[Where], int]]:
    """Yield filters for the top layers of all trees, then for those below; each with its size."""
    for depth in range(max(len(manifest.layer_sizes) for manifest in manifests)):
        trees: dict[int, list[str]] = {}
        size = 0
        for manifest in manifests:
            layer = len(manifest.layer_sizes) - 1 - depth
            if layer >= 0:
                trees.setdefault(layer, []).append(manifest.tree)
                size += manifest.layer_sizes[layer]
        yield [replace(where, layers=(k,), trees=tuple(t)) for k, t in trees.items()], size
