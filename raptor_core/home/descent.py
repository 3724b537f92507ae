"""Choice of a context about the corpus: a descent from the corpus tree into the documents.

It calls no model. Plans and answers are in ``corpus_tree``, which reads this context once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count

from raptor_core.home.corpus_retriever import CorpusTreeRetriever
from raptor_core.home.store_retriever import StoreRetriever
from raptor_core.nodes import Node, grouped
from raptor_core.retrieval import Query
from raptor_core.retrieval.general import cover, decide
from raptor_core.store.base import Where
from raptor_core.tree.corpus_tree import CORPUS_TREE_NAME, TREE

RATED_BUDGETS = 4
"""Contexts of passages that rate the trees above them."""

SPARED_RANKS = 10
"""A passage at rank r weighs ``1 / (SPARED_RANKS + r)``, so that no single one decides."""

LEAST_SHARE = 0.5
"""A node is worth its place from this part of the weight that chance would give it."""


@dataclass(frozen=True)
class Descent:
    """Context about the corpus: its nodes, and how much of the corpus they are.

    Attributes:
        nodes: summaries of the corpus tree, then passages, in document order.
        n_documents: documents of the corpus.
        n_read: documents of which a node of their tree is in the context; the others are in it
            through summaries of several documents.
        n_detailed: documents of which a chunk is in the context.
    """

    nodes: tuple[Node, ...]
    n_documents: int
    n_read: int
    n_detailed: int


def descend(
    question: str, query: Query, trees: StoreRetriever, corpus_tree: CorpusTreeRetriever
) -> Descent:
    """Choose a context of ``query.budget_tokens`` about a question, from the corpus tree down.

    A question that names nothing gets nodes that cover the corpus tree. For others one search in
    all trees rates the corpus tree's nodes by the passages under them.
    """
    query = replace(query, scope="trees", where=Where(), top_k=None)
    decision = trees.read(lambda store: decide(question, query, store))
    if decision.is_general and not decision.documents:
        retrieval = corpus_tree.read(lambda store: cover(question, decision, query, store))
        nodes = [hit.node for hit in retrieval.hits]
    else:
        wide = replace(query, budget_tokens=RATED_BUDGETS * query.budget_tokens)
        passages = [hit.node for hit in trees.search(question, wide).ranked]
        nodes = choose(corpus_tree.nodes(CORPUS_TREE_NAME), passages, query.budget_tokens)
    return _describe(nodes, {m.tree: set(m.documents) for m in StoreRetriever.manifests(trees)})


def choose(above: Sequence[Node], passages: Sequence[Node], budget_tokens: int) -> list[Node]:
    """Choose nodes on the way down, the one over the most of the passages first.

    A node is worth its place from ``LEAST_SHARE`` of the weight that chance would give it. It
    takes the place of the summary over it; only the top nodes stay.

    Args:
        above: all nodes of the corpus tree.
        passages: nodes of the trees below, best first.
        budget_tokens: maximum tokens of the context.

    Returns:
        The top nodes that fit and the chosen nodes, in document order.
    """
    weights = _weights(above, passages)
    share = 1 / max(sum(node.is_leaf for node in above), 1)
    n_leaves = {node_id: len(leaves) for node_id, leaves in _leaves_under(above).items()}
    by_id = {node.id: node for node in (*above, *passages)}
    under = _children(above, passages)
    tops = {node.id for node in above if node.layer == max(n.layer for n in above)}
    order = count()
    heap = [(-1.0, next(order), top, "") for top in sorted(tops)]
    chosen: dict[str, Node] = {}
    room, rated = budget_tokens, set[str]()
    while heap:
        _, _, node_id, parent = heappop(heap)
        if node_id in rated:
            continue
        rated.add(node_id)
        freed = chosen[parent].n_tokens if parent in chosen and parent not in tops else 0
        fits = by_id[node_id].n_tokens <= room + freed
        if fits:
            if freed:
                del chosen[parent]
            chosen[node_id] = by_id[node_id]
            room += freed - by_id[node_id].n_tokens
        for child in under.get(node_id, ()):
            if weights[child] >= LEAST_SHARE * share * n_leaves.get(child, 0):
                place = node_id if fits else parent
                heappush(heap, (-weights[child], next(order), child, place))
    return sorted(chosen.values(), key=_place)


def _place(node: Node) -> tuple[bool, str, int, int]:
    is_passage = node.tree != CORPUS_TREE_NAME
    return is_passage, node.tree, -node.layer, node.position


def _leaves_under(above: Sequence[Node]) -> dict[str, set[str]]:
    """Return the ids of the leaves under each node; a leaf is under itself."""
    leaves: dict[str, set[str]] = {}
    for node in sorted(above, key=lambda node: node.layer):
        under = (leaves.get(child, set()) for child in node.children)
        leaves[node.id] = {node.id} if node.is_leaf else set().union(*under)
    return leaves


def _children(above: Sequence[Node], passages: Sequence[Node]) -> dict[str, Sequence[str]]:
    """Return the ids of the children of each node; those of a leaf are its tree's passages."""
    by_tree = grouped(passages, lambda node: node.tree)
    return {
        node.id: [p.id for p in by_tree.get(str(node.metadata[TREE]), ())]
        if node.is_leaf
        else node.children
        for node in above
    }


def _weights(above: Sequence[Node], passages: Sequence[Node]) -> dict[str, float]:
    """Return the share of the passages' weight that each node has; all passages have 1."""
    weights = {node.id: 1 / (SPARED_RANKS + rank) for rank, node in enumerate(passages)}
    total = sum(weights.values()) or 1.0
    weights = {node_id: weight / total for node_id, weight in weights.items()}
    leaves = grouped((n for n in above if n.is_leaf), lambda node: str(node.metadata[TREE]))
    of_leaf = dict.fromkeys((node.id for node in above if node.is_leaf), 0.0)
    for passage in passages:
        tops = leaves.get(passage.tree, ())
        for top in tops:
            of_leaf[top.id] += weights[passage.id] / len(tops)
    for node_id, under in _leaves_under(above).items():
        weights[node_id] = sum(of_leaf[leaf] for leaf in under)
    return weights


def _describe(nodes: Sequence[Node], documents: Mapping[str, set[str]]) -> Descent:
    passages = [node for node in nodes if node.tree != CORPUS_TREE_NAME]
    tops = [str(n.metadata[TREE]) for n in nodes if n.tree == CORPUS_TREE_NAME and n.is_leaf]
    detailed = {document for node in passages if node.is_leaf for document in node.documents}
    below = {document for node in passages for document in node.documents}
    read = below.union(*(documents.get(tree, set()) for tree in tops))
    n_documents = len(set().union(*documents.values()))
    return Descent(tuple(nodes), n_documents, len(read), len(detailed))
