"""Whether title and headings before a chunk help dense retrieval, and how full chunks are.

    python benchmarks/context.py papers.jsonl

The file is a data set of `raptor eval retrieval` whose questions name their evidence. Of each
document, chunks are ranked by cosine to the question and packed into 400, 1,000 and 2,000 tokens;
recall is the share of the evidence's runs of four words that the packed chunks hold. Intervals are
95 % bootstrap intervals over documents. "greedy" fills chunks to the limit across paragraphs,
without context, as the paper does.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from measuring import print_head, print_row

from raptor_core.chunking import Chunk, make_chunker
from raptor_core.chunking.context import context_lines
from raptor_core.evaluation.bootstrap import interval_text, mean_interval, paired_difference
from raptor_core.evaluation.datasets import Dataset, Question, load_dataset
from raptor_core.evaluation.measures import evidence_recall
from raptor_core.models.embedding import make_embedder
from raptor_core.settings.models import ChunkingSettings, EmbedderSettings, TokensSettings
from raptor_core.tokens import TokenCounter, make_counter
from raptor_core.vectors import Vectors

BUDGETS_TOKENS = (400, 1000, 2000)
CHUNKING = ChunkingSettings()
PARTS = {  # whether the title is read, and whether the headings are
    "none": (False, False),
    "title": (True, False),
    "headings": (False, True),
    "title and headings": (True, True),
}
Chunks = Sequence[Sequence[Chunk]]
Recall = list[tuple[str, list[float]]]
"""The document of each question, and its recall at each budget."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="documents with questions")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS)[1:])
    parser.add_argument("--greedy", action="store_true", help="measure greedy packing too")
    arguments = parser.parse_args()
    dataset = load_dataset(arguments.file)
    counter = make_counter(TokensSettings(), EmbedderSettings())
    chunks = {}
    for method in ("sentences", "greedy"):
        chunker = make_chunker(CHUNKING.model_copy(update={"method": method}), counter)
        chunks[method] = [chunker.chunk(document) for document in dataset.documents]
        counts = [chunk.n_tokens for of_document in chunks[method] for chunk in of_document]
        print(f"{method}: {len(counts)} chunks, {np.mean(counts):.1f} tokens on average")
    print_head("context", *(f"{budget:,} tokens" for budget in BUDGETS_TOKENS))
    if arguments.greedy:
        report("greedy, none", list(measure(dataset, chunks["greedy"], "none", counter)))
    base = list(measure(dataset, chunks["sentences"], "none", counter))
    report("none", base)
    for part in arguments.parts:
        report(part, list(measure(dataset, chunks["sentences"], part, counter)), base)


def measure(
    dataset: Dataset, chunks: Chunks, part: str, counter: TokenCounter
) -> Iterator[tuple[str, list[float]]]:
    embedder = make_embedder(EmbedderSettings())
    with_title, with_headings = PARTS[part]
    for document, found in zip(dataset.documents, chunks, strict=True):
        asked = [q for q in dataset.questions if q.document == document.id and q.evidence]
        if not asked:
            continue
        paths = [(document.title * with_title, c.section * with_headings) for c in found]
        lines = context_lines(paths, counter, CHUNKING.max_context_tokens)
        texts = [
            f"{context}\n{c.text}" if context else c.text
            for context, c in zip(lines, found, strict=True)
        ]
        similarity = embedder.embed_queries([q.text for q in asked]) @ embedder.embed(texts).T
        for question, row in zip(asked, similarity, strict=True):
            yield document.id, [recall(question, row, found, b) for b in BUDGETS_TOKENS]


def recall(question: Question, similarity: Vectors, chunks: Sequence[Chunk], budget: int) -> float:
    """Of one question, with what fits of the nearest chunks."""
    held = []
    for row in np.argsort(-similarity, kind="stable").tolist():
        if chunks[row].n_tokens <= budget:
            budget -= chunks[row].n_tokens
            held.append(chunks[row].text)
    return evidence_recall(question.evidence, "\n".join(held))


def report(name: str, found: Recall, base: Recall | None = None) -> None:
    """Prints one row: mean over questions, its interval, and that of the gain."""
    cells = []
    documents = [document for document, _ in found]
    for column in range(len(BUDGETS_TOKENS)):
        values = [recalls[column] for _, recalls in found]
        cell = interval_text(mean_interval(values, documents))
        if base is not None:
            others = [recalls[column] for _, recalls in base]
            gain = paired_difference(values, others, documents)
            cell += f", gain {interval_text(gain.interval, '+')}"
        cells.append(cell)
    print_row(name, *cells)


if __name__ == "__main__":
    main()
