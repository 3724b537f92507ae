"""Choice of a context about the corpus: a descent from the corpus tree into the documents.

It calls no model. Plans and answers are in ``corpus_tree``, which reads this context once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

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
    """Context about the corpus, in document order, and numbers of documents.

    ``n_read`` documents have a node of their tree in the context, ``n_detailed`` of these a chunk;
    the others are in it through summaries of several documents.
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
    """Choose nodes on the way down within a budget, the one over the most of the passages first.

    A node is worth its place from ``LEAST_SHARE`` of the weight that chance would give it. It
    takes the place of the summary over it; only the top nodes stay. ``above`` are all nodes of the
    corpus tree, ``passages`` nodes of the trees below, best first.
    """
    under, weights, least = _rate(above, passages)
    by_id = {node.id: node for node in (*above, *passages)}
    tops = [node.id for node in above if node.layer == max(n.layer for n in above)]
    heap = [(-1.0, number, top, "") for number, top in enumerate(tops)]
    chosen: dict[str, Node] = {}
    room, rated = budget_tokens, set[str]()
    while heap:
        _, _, node_id, parent = heappop(heap)
        if node_id in rated:
            continue
        rated.add(node_id)
        node, is_spare = by_id[node_id], parent in chosen and parent not in tops
        remaining = room - node.n_tokens + (chosen[parent].n_tokens if is_spare else 0)
        if remaining >= 0:
            if is_spare:
                del chosen[parent]
            chosen[node_id], room, parent = node, remaining, node_id
        for child in under.get(node_id, ()):
            if weights[child] >= least.get(child, 0.0):
                heappush(heap, (-weights[child], len(rated), child, parent))
    return sorted(chosen.values(), key=lambda n: (n.tree != CORPUS_TREE_NAME, n.tree, n.position))


def _rate(
    above: Sequence[Node], passages: Sequence[Node]
) -> tuple[dict[str, Sequence[str]], dict[str, float], dict[str, float]]:
    """Return children, weight, and least weight of each node; all passages together weigh 1.

    The children of a leaf are its tree's passages.
    """
    ranks = {node.id: 1 / (SPARED_RANKS + rank) for rank, node in enumerate(passages)}
    weights = {node_id: weight / sum(ranks.values()) for node_id, weight in ranks.items()}
    by_tree = grouped(passages, lambda node: node.tree)
    tops = grouped((n for n in above if n.is_leaf), lambda node: str(node.metadata[TREE]))
    under: dict[str, Sequence[str]] = {}
    leaves: dict[str, set[str]] = {}
    of_leaf: dict[str, float] = {}
    for node in sorted(above, key=lambda node: node.layer):
        if node.is_leaf:
            tree = str(node.metadata[TREE])
            under[node.id] = [passage.id for passage in by_tree.get(tree, ())]
            of_leaf[node.id] = sum(weights[p] for p in under[node.id]) / len(tops[tree])
            leaves[node.id] = {node.id}
        else:
            under[node.id] = node.children
            leaves[node.id] = set().union(*(leaves[child] for child in node.children))
        weights[node.id] = sum(of_leaf[leaf] for leaf in leaves[node.id])
    least = {node_id: LEAST_SHARE * len(part) / len(of_leaf) for node_id, part in leaves.items()}
    return under, weights, least


def _describe(nodes: Sequence[Node], documents: Mapping[str, set[str]]) -> Descent:
    passages = [node for node in nodes if node.tree != CORPUS_TREE_NAME]
    tops = [str(n.metadata[TREE]) for n in nodes if n.tree == CORPUS_TREE_NAME and n.is_leaf]
    detailed = {document for node in passages if node.is_leaf for document in node.documents}
    below = {document for node in passages for document in node.documents}
    read = below.union(*(documents.get(tree, set()) for tree in tops))
    n_documents = len(set().union(*documents.values()))
    return Descent(tuple(nodes), n_documents, len(read), len(detailed))
