"""Evidence and tokens of a scripted agent that looks around first, against a search.

    python benchmarks/agent.py qmsum.jsonl [--meetings 3] [--budget-tokens 1000]

The agent reads the outline of a meeting's tree, takes the summaries whose names share the most
words with the question, and searches under them with the tokens that remain. Without such a name it
searches the tree. Both read at most the budget: names, ids and numbers as JSON count, too.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import mean

from measuring import print_head, print_row

from raptor_assets.serving.answers import OutlineResponse
from raptor_core import Query, Retriever
from raptor_core.evaluation.datasets import load_dataset
from raptor_core.evaluation.measures import evidence_recall, words
from raptor_core.nodes import Tree
from raptor_core.retrieval import Retrieval
from raptor_core.store.base import Where
from raptor_core.tree.build import build_trees
from raptor_core.tree.components import Components

OUTLINE_SHARES = (0.3, 0.6)
BRANCHES = 2
SHORT_WORD = 4


def ids_under(tree: Tree, node_ids: list[str]) -> tuple[str, ...]:
    """Return the ids of some nodes and of all nodes under them."""
    ids = list(node_ids)
    for node_id in ids:
        ids += [child for child in tree.node(node_id).children if child not in ids]
    return tuple(ids)


def long_words(text: str) -> set[str]:
    """Return the words of a text that are not short."""
    return {word for word in words(text) if len(word) >= SHORT_WORD}


def explore(
    question: str, tree: Tree, retriever: Retriever, query: Query, outline: OutlineResponse
) -> Retrieval:
    """Search under the nodes of an outline whose names fit the question best."""
    remaining = query.budget_tokens - outline.n_tokens
    query = replace(query, budget_tokens=remaining)
    shared = {
        node.id: len(long_words(node.name) & long_words(question))
        for node in outline.nodes
        if node.n_children
    }
    best = sorted(filter(shared.get, shared), key=lambda node_id: -shared[node_id])[:BRANCHES]
    if best:
        query = replace(query, where=replace(query.where, ids=ids_under(tree, best)))
    return retriever.search(question, query)


def main() -> None:
    """Print the mean evidence and tokens of both, and how often each found more."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--meetings", type=int, default=3)
    parser.add_argument("--budget-tokens", type=int, default=1000)
    arguments = parser.parse_args()
    dataset = load_dataset(arguments.file)
    documents = dataset.documents[: arguments.meetings]
    components = Components()
    trees = build_trees({item.id: [item] for item in documents}, components=components)
    retriever = Retriever.from_trees(list(trees.values()), components)
    questions = [q for q in dataset.questions if q.document in trees and q.evidence]
    rows: dict[str, list[tuple[float, int]]] = {}
    for question in questions:
        tree = trees[question.document]
        query = Query(budget_tokens=arguments.budget_tokens, where=Where(trees=(tree.name,)))
        runs = {"one search": (retriever.search(question.text, query), 0)}
        for share in OUTLINE_SHARES:
            budget = int(share * arguments.budget_tokens)
            outline = OutlineResponse.of(list(tree.nodes()), 0, budget, components.counter)
            retrieval = explore(question.text, tree, retriever, query, outline)
            runs[f"outline of {budget} tokens, then a search"] = (retrieval, outline.n_tokens)
        for name, (retrieval, n_tokens) in runs.items():
            recall = evidence_recall(question.evidence, retrieval.context)
            rows.setdefault(name, []).append((recall, retrieval.n_tokens + n_tokens))
    print(f"{len(documents)} meetings, {len(questions)} questions")
    print_head("agent", "evidence", "tokens read", "more than one search", "less")
    for name, results in rows.items():
        pairs = list(zip(results, rows["one search"], strict=True))
        more, less = (sum(s * (a[0] - b[0]) > 0 for a, b in pairs) for s in (1, -1))
        recall, tokens = (mean(result[at] for result in results) for at in (0, 1))
        print_row(name, f"{recall:.3f}", f"{tokens:,.0f}", more, less)


if __name__ == "__main__":
    main()
