"""Descent from the corpus tree against whole layers of it: tokens, evidence, words, documents.

    python benchmarks/corpus_descent.py qmsum.jsonl --documents 16 --cache trees/
    python benchmarks/corpus_descent.py qasper.jsonl --documents 50 --cache trees/

Every second question with evidence is asked of all documents together. "Evidence" is the share of
its runs of four words that stand in what is read, "words" that of the content words of a reference
answer. "Document" is the share of questions whose document is read in detail. "search" is the
default strategy over all trees, without the corpus tree.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from measuring import print_head, print_row
from tree_clusterings import first_documents

from raptor_core import Query
from raptor_core.evaluation.bootstrap import interval_text, mean_interval
from raptor_core.evaluation.datasets import load_dataset
from raptor_core.evaluation.datasets.base import Question
from raptor_core.evaluation.index import Index, open_index
from raptor_core.evaluation.measures import content_recall, evidence_recall
from raptor_core.home.descent import RATED_BUDGETS, choose
from raptor_core.nodes import Node, grouped
from raptor_core.tree.build import build_tree
from raptor_core.tree.components import Components
from raptor_core.tree.corpus_tree import (
    CORPUS_TREE_NAME,
    corpus_tree_settings,
    published_tops,
    top_documents,
)

BUDGETS_TOKENS = (250, 500, 1000, 2000)

Read = Callable[[Question], Sequence[Node]]


def print_reading(name: str, read: Read, questions: Sequence[Question]) -> None:
    """Print the means of what is read for each question."""
    documents = [question.cluster for question in questions]
    nodes = [read(question) for question in questions]
    texts = ["\n".join(node.text for node in part) for part in nodes]
    pairs = list(zip(questions, texts, strict=True))
    evidence = [evidence_recall(question.evidence, text) for question, text in pairs]
    words = [content_recall(question, text) or 0.0 for question, text in pairs]
    below = [{d for n in part if n.tree != CORPUS_TREE_NAME for d in n.documents} for part in nodes]
    print_row(
        name,
        f"{np.mean([sum(node.n_tokens for node in part) for part in nodes]):,.0f}",
        interval_text(mean_interval(evidence, documents)),
        interval_text(mean_interval(words, documents)),
        f"{np.mean([q.document in part for q, part in zip(questions, below, strict=True)]):.3f}",
        f"{np.mean([len(part) for part in below]):.1f}",
    )


def measure(index: Index) -> None:
    """Print a row for each way to read, and each budget."""
    components = index.components
    above = components.above(corpus_tree_settings(components.settings))
    documents = top_documents(published_tops(index.store))
    tree = build_tree(documents, name=CORPUS_TREE_NAME, components=above)
    nodes = list(tree.nodes())
    layers = grouped(nodes, lambda node: node.layer)
    print(f"{index.n_nodes} nodes; corpus tree {' -> '.join(str(len(n)) for n in layers.values())}")
    questions = [question for question in index.dataset.questions if question.evidence][::2]

    def search(question: Question, budget_tokens: int) -> list[Node]:
        query = Query(budget_tokens=budget_tokens)
        return [hit.node for hit in index.retriever.search(question.text, query).ranked]

    def descend(question: Question, budget_tokens: int) -> list[Node]:
        return choose(nodes, search(question, RATED_BUDGETS * budget_tokens), budget_tokens)

    print_head("read", "tokens", "evidence", "words", "document", "documents in detail")
    for name, read in (("descent", descend), ("search", search)):
        for budget in BUDGETS_TOKENS:
            print_reading(name, lambda q, read=read, budget=budget: read(q, budget), questions)
    for number, members in layers.items():
        print_reading(f"layer {number}, all", lambda _, members=members: members, questions)


def main() -> None:
    """Measure one data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--documents", type=int, default=16)
    parser.add_argument("--cache", type=Path, required=True, help="folder that keeps trees")
    arguments = parser.parse_args()
    dataset = first_documents(load_dataset(arguments.dataset), arguments.documents)
    with open_index(dataset, Components(), arguments.cache) as index:
        measure(index)


if __name__ == "__main__":
    main()
