"""Choice of nodes of all layers that cover the terms of a text within a budget of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from raptor_core.retrieval.base import Query, Retrieval, sort_by_document
from raptor_core.retrieval.general.kinds import Decision
from raptor_core.retrieval.general.terms import (
    Floats,
    Mask,
    Numbers,
    TermTable,
    read_terms,
)
from raptor_core.store.base import Hit, Where
from raptor_core.store.protocols import Searcher

TOKENS_POWER = 0.8
"""A node's gain is divided by its tokens to this power: under 1 it spares long nodes a little."""

MAX_CANDIDATES = 1024
"""Number of nodes that compete: those of the greatest gains before any is chosen."""

KEPT_WORTH = 0.25
"""Share of its worth that a term keeps each time a chosen node has it."""


PART_SHARE = 2 / 3
"""Least share of a summary's chunks in a part of the text, so that the summary is of the part."""


def cover(question: str, decision: Decision, query: Query, store: Searcher) -> Retrieval:
    """Return nodes of all layers that cover the text, or the part of it that a question names."""
    where = query.where
    if decision.documents:
        where = replace(where, documents=tuple(sorted(decision.documents)))
    table = read_terms(where, store)
    part = _part(table, decision)
    chosen = {table.nodes[row].id: round(gain, 6) for row, gain in choose(table, query, part)}
    nodes = store.nodes(Where(ids=tuple(chosen)))
    hits = [Hit(node, chosen[node.id], {"coverage": chosen[node.id]}) for node in nodes]
    return Retrieval(
        question=question,
        query=query,
        hits=tuple(sort_by_document(hits)),
        n_tokens=sum(node.n_tokens for node in nodes),
        n_candidates=int(part.sum()),
        n_passed_over=int((part & (table.n_tokens > query.budget_tokens)).sum()),
        kind="general",
        reason=decision.reason,
    )


def _part(table: TermTable, decision: Decision) -> Mask:
    """Return which nodes are of the part to cover: its chunks, and summaries of mostly these."""
    if not (decision.headings or decision.chunks):
        return np.ones(len(table.nodes), dtype=bool)
    shares: dict[str, float] = {}
    for node in sorted(table.nodes, key=lambda node: node.layer):
        path = (node.documents[0], *node.section)
        paths = {path[:end] for end in range(1, len(path) + 1)}
        is_named = node.id in decision.chunks or not decision.headings.isdisjoint(paths)
        below = [shares[child] for child in node.children if child in shares]
        shares[node.id] = float(np.mean(below)) if below else float(node.is_leaf and is_named)
    return np.array([shares[node.id] >= PART_SHARE for node in table.nodes])


def choose(table: TermTable, query: Query, part: Mask) -> Iterator[tuple[int, float]]:
    """Choose the node of the greatest gain that fits, again and again.

    Args:
        table: the nodes.
        query: its budget, ``top_k``, ``max_per_document`` and layers bound the choice.
        part: nodes of the part to cover, shape ``(n_nodes,)``.

    Yields:
        Rows of the table, with the gain of each.
    """
    worths = table.all_worths.copy() if part.all() else table.worths(table.is_chunk & part)
    weights = table.factors / np.maximum(table.n_tokens, 1) ** TOKENS_POWER
    rows = _candidates(table, query, part, weights * table.sums(worths))
    weights, table = weights[rows], table.take(rows)
    documents = np.array([node.documents[0] for node in table.nodes])
    is_open = np.ones(len(rows), dtype=bool)
    room, n_chosen, n_chunks = query.budget_tokens, 0, Counter[str]()
    while n_chosen != query.top_k:
        fits = is_open & (table.n_tokens <= room)
        if not fits.any():
            return
        gains = np.where(fits, weights * table.sums(worths), -np.inf)
        best = int(np.argmax(gains))
        yield int(rows[best]), float(gains[best])
        is_open[best] = False
        room -= int(table.n_tokens[best])
        n_chosen += 1
        n_chunks[documents[best]] += int(table.is_chunk[best])
        if n_chunks[documents[best]] == query.max_per_document:
            is_open &= ~(table.is_chunk & (documents == documents[best]))
        worths[table.terms_of(best)] *= KEPT_WORTH


def _candidates(table: TermTable, query: Query, part: Mask, gains: Floats) -> Numbers:
    """Return the rows of a part in the layers of a query that have the greatest gains."""
    if query.where.layers is not None:
        part = part & np.isin([node.layer for node in table.nodes], query.where.layers)
    rows = np.flatnonzero(part)
    best: Numbers = rows[np.argsort(-gains[rows], kind="stable")[:MAX_CANDIDATES]]
    return best
