"""Choice of nodes of all layers that together cover the terms of a text within a token budget."""

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from raptor_core.retrieval.base import Query, Retrieval, sort_by_document
from raptor_core.retrieval.general.kinds import QuestionDecision
from raptor_core.retrieval.general.terms import Mask, TermTable, read_term_table
from raptor_core.store.base import Hit
from raptor_core.store.store import VectorStore
from raptor_core.tracing import span

TOKENS_POWER = 0.8
"""Power of a node's tokens by which its gain is divided; less than 1 favours long nodes a bit."""

KEPT_WORTH = 0.25
"""Share of its worth that a term keeps each time a chosen node contains it."""

PART_SHARE = 2 / 3
"""Minimum share of a summary's chunks in a part of the text to which the summary belongs."""


@span("packing")
def retrieve_coverage(
    question: str, decision: QuestionDecision, query: Query, store: VectorStore
) -> Retrieval:
    """Return nodes of all layers that cover the text, or the part of it that a question names.

    If the query's ``kind`` is "general", the rest of the named documents fills up the budget.
    """
    where = query.where
    if decision.documents:
        where = where.narrow(covers=sorted(decision.documents))
    table = read_term_table(where, store)
    part = _select_part(table, decision)
    parts = [part, ~part] if query.kind == "general" else [part]
    chosen = choose_nodes(table, query, parts)
    coverage = [(table.nodes[row], round(gain, 6)) for row, gain in chosen]
    hits = [Hit(node, gain, {"coverage": gain}) for node, gain in coverage]
    return Retrieval(
        question=question,
        query=query,
        hits=tuple(sort_by_document(hits)),
        n_tokens=sum(hit.node.n_tokens for hit in hits),
        n_candidates=int(part.sum()),
        n_passed_over=int((part & (table.n_tokens > query.budget_tokens)).sum()),
        kind="general",
        reason=decision.reason,
    )


def _select_part(table: TermTable, decision: QuestionDecision) -> Mask:
    """Return which nodes belong to the part to cover: its chunks, and summaries mostly of these."""
    if not decision.headings:
        return np.ones(len(table.nodes), dtype=bool)
    shares: dict[str, float] = {}
    for node in sorted(table.nodes, key=lambda node: node.layer):
        path = (node.documents[0], *node.section)
        paths = {path[:end] for end in range(1, len(path) + 1)}
        is_named = not decision.headings.isdisjoint(paths)
        below = [shares[child] for child in node.children if child in shares]
        shares[node.id] = float(np.mean(below)) if below else float(node.is_leaf and is_named)
    return np.array([shares[node.id] >= PART_SHARE for node in table.nodes], dtype=bool)


def choose_nodes(
    table: TermTable, query: Query, parts: Sequence[Mask]
) -> Iterator[tuple[int, float]]:
    """Choose greedily the node with the highest gain that fits.

    Args:
        table: the nodes.
        query: limits the choice by its budget, ``top_k``, ``max_per_document`` and layers.
        parts: nodes of each part to cover, shape ``(n_nodes,)``; later parts get the budget that
            earlier ones leave.

    Yields:
        Rows of the table, with the gain of each.
    """
    weights = table.node_factors / np.maximum(table.n_tokens, 1) ** TOKENS_POWER
    layers = query.where.layers
    allowed = [layers is None or node.layer in layers for node in table.nodes]
    is_allowed = np.array(allowed, dtype=bool)
    room, n_chosen, n_chunks = query.budget_tokens, 0, Counter[str]()
    for part in parts:
        worths = (
            table.overall_term_worths.copy()
            if part.all()
            else table.term_worths(table.is_chunk & part)
        )
        rows = np.flatnonzero(part & is_allowed)
        gains = (weights * table.sum_worths_by_node(worths))[rows]
        heap = list(zip((-gains).tolist(), rows.tolist(), strict=True))
        heapify(heap)
        least = table.n_tokens[rows].min(initial=room)
        while heap and room >= least and n_chosen != query.top_k:
            _, row = heappop(heap)
            document = table.nodes[row].documents[0]
            is_full = table.is_chunk[row] and n_chunks[document] == query.max_per_document
            if table.n_tokens[row] > room or is_full:
                continue
            terms = table.terms_of(row)
            gain = float(weights[row] * worths[terms].sum())
            # Gains only decrease, so those in the heap are upper bounds.
            if heap and heap[0] < (-gain, row):
                heappush(heap, (-gain, row))
                continue
            yield row, gain
            room -= int(table.n_tokens[row])
            n_chosen += 1
            n_chunks[document] += int(table.is_chunk[row])
            worths[terms] *= KEPT_WORTH
