"""Layers and spread of the contexts of broad questions, over the handbook, a story and a meeting.

    python benchmarks/broad.py --story quality.jsonl --meeting qmsum.jsonl [--strategy hybrid]

The files are data sets of `raptor eval retrieval`; the first document of each is read. The text of
a corpus is cut into tenths, one document after the other. A node touches a tenth if a chunk that it
is, or that stands under it, does. "Chunks" counts the tenths that chunks of the context touch.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from measuring import print_head, print_row

from raptor_core import Document, Query, Retriever, load_documents
from raptor_core.evaluation.datasets import load_dataset
from raptor_core.nodes import Node
from raptor_core.tree.build import build_trees
from raptor_core.tree.components import Components

HANDBOOK = Path(__file__).parent.parent / "examples" / "handbook"
BUDGETS_TOKENS = (500, 2000)
N_PARTS = 10
QUESTIONS = {
    "handbook": (
        "What are these documents about?",
        "Give an overview of the main rules and procedures.",
        "Which problems occur again and again, and how are they solved?",
    ),
    "story": (
        "What is the message of the story?",
        "How do the main characters change from the beginning to the end?",
    ),
    "meeting": (
        "What were the main points of the meeting?",
        "What conclusions did the participants reach?",
    ),
}


def parts_of(
    nodes: Iterable[Node], by_id: Mapping[str, Node], documents: Sequence[Document]
) -> set[int]:
    """Return the numbers of the parts of the text that the chunks under some nodes touch."""
    starts, end = {}, 0
    for document in documents:
        starts[document.id] = end
        end += len(document.text)
    parts: set[int] = set()
    below = list(nodes)
    while below:
        node = below.pop()
        below += [by_id[child] for child in node.children]
        if node.is_leaf:
            first, last = (starts[node.documents[0]] + at for at in (node.start, node.end - 1))
            parts |= set(range(first * N_PARTS // end, last * N_PARTS // end + 1))
    return parts


def measure(corpus: str, documents: Sequence[Document], strategy: str) -> None:
    """Print a row for each question and budget."""
    components = Components()
    trees = build_trees({item.id: [item] for item in documents}, components=components)
    retriever = Retriever.from_trees(list(trees.values()), components)
    by_id = {node.id: node for tree in trees.values() for node in tree.nodes()}
    for question in QUESTIONS[corpus]:
        for budget in BUDGETS_TOKENS:
            retrieval = retriever.search(question, Query(strategy, budget_tokens=budget))
            nodes = [hit.node for hit in retrieval.hits]
            layers = Counter(node.layer for node in nodes)
            shown = ", ".join(f"{layers[layer]} of {layer}" for layer in sorted(layers))
            chunks = [node for node in nodes if node.is_leaf]
            spread = [len(parts_of(part, by_id, documents)) for part in (nodes, chunks)]
            print_row(corpus, question, f"{budget:,}", retrieval.kind or "", shown, *spread)


def main() -> None:
    """Measure the three corpora."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--story", type=Path, required=True)
    parser.add_argument("--meeting", type=Path, required=True)
    parser.add_argument("--strategy", default="hybrid")
    arguments = parser.parse_args()
    corpora = {
        "handbook": load_documents(HANDBOOK).documents,
        "story": load_dataset(arguments.story).documents[:1],
        "meeting": load_dataset(arguments.meeting).documents[:1],
    }
    print_head("corpus", "question", "tokens", "kind", "nodes by layer", "tenths", "by chunks")
    for corpus, documents in corpora.items():
        measure(corpus, documents, arguments.strategy)


if __name__ == "__main__":
    main()
