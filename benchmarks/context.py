"""Whether title and headings before a chunk help dense retrieval, and how full chunks are.

    python benchmarks/context.py papers.jsonl

Each line of the file is a document: ``text``, ``title`` and ``questions`` (with ``question`` and
``evidence``, passages of the text). Per document, its
chunks are ranked by cosine to the question and packed into 400, 1,000 and 2,000 tokens; recall is
the share of the evidence's word 4-grams that the packed chunks hold. Intervals are 95 %
bootstrap intervals over documents. "greedy" fills chunks to the limit across paragraphs, without
context, as the paper does.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.chunking import Chunk, make_chunker
from raptor_core.chunking.context import ContextWriter
from raptor_core.documents.base import Document
from raptor_core.evaluation.datasets.records import line_sections
from raptor_core.models.embedding import make_embedder
from raptor_core.settings.models import ChunkingSettings, EmbedderSettings, TokensSettings
from raptor_core.tokens import TokenCounter, make_counter

BUDGETS_TOKENS = (400, 1000, 2000)
CHUNKING = ChunkingSettings()
PARTS = {  # whether the title is read, and whether the headings are
    "none": (False, False),
    "title": (True, False),
    "headings": (False, True),
    "title and headings": (True, True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="JSON lines of documents with questions")
    parser.add_argument("--samples", type=int, default=2000, help="bootstrap samples")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS)[1:])
    parser.add_argument("--greedy", action="store_true", help="measure greedy packing too")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in arguments.file.read_text("utf-8").splitlines()]
    documents = [as_document(row) for row in rows]
    counter = make_counter(TokensSettings(), EmbedderSettings())
    chunker = make_chunker(CHUNKING, counter)
    local = [chunker.chunk(document) for document in documents]
    filler = make_chunker(CHUNKING.model_copy(update={"method": "greedy"}), counter)
    greedy = [filler.chunk(document) for document in documents]
    for name, chunks in (("chunker", local), ("greedy", greedy)):
        counts = [chunk.n_tokens for per_document in chunks for chunk in per_document]
        print(f"{name}: {len(counts)} chunks, {np.mean(counts):.1f} tokens on average")
    print("| context | " + " | ".join(f"{budget:,} tokens" for budget in BUDGETS_TOKENS) + " |")
    print("| --- " * (1 + len(BUDGETS_TOKENS)) + "|")
    if arguments.greedy:
        report("greedy, none", measure(rows, documents, greedy, "none", counter), arguments)
    base = report("none", measure(rows, documents, local, "none", counter), arguments)
    for part in arguments.parts:
        report(part, measure(rows, documents, local, part, counter), arguments, base)


def as_document(row: dict[str, Any]) -> Document:
    """The row as a document; a short line without a stop begins a section."""
    text = row["text"]
    title = row["title"] or ""
    return Document(row["paper_id"], text, title=title, sections=line_sections(text))


def measure(
    rows: list[dict[str, Any]],
    documents: list[Document],
    chunks: list[list[Chunk]],
    part: str,
    counter: TokenCounter,
) -> list[NDArray[np.float64]]:
    """Recall per document, each of shape ``(n_questions, n_budgets)``."""
    embedder = make_embedder(EmbedderSettings())
    writer = ContextWriter(counter, CHUNKING.max_context_tokens)
    pairs = [
        (d, c) for d, per_document in zip(documents, chunks, strict=True) for c in per_document
    ]
    with_title, with_headings = PARTS[part]
    paths = [(d.title * with_title, c.section * with_headings) for d, c in pairs]
    contexts = writer.write_all(paths)
    texts = [f"{x}\n{c.text}" if x else c.text for x, (_, c) in zip(contexts, pairs, strict=True)]
    vectors = np.split(embedder.embed(texts), np.cumsum([len(c) for c in chunks])[:-1])
    found = []
    for row, per_document, rank in zip(rows, chunks, vectors, strict=True):
        asked = [q for q in row["questions"] if grams(" ".join(q["evidence"]))]
        if asked:
            similarity = embedder.embed_queries([q["question"] for q in asked]) @ rank.T
            pairs_of = zip(asked, similarity, strict=True)
            found.append(np.array([recalls(q, s, per_document) for q, s in pairs_of]))
    return found


def recalls(
    question: dict[str, Any], similarity: NDArray[np.float32], chunks: list[Chunk]
) -> list[float]:
    """Recall of one question at each budget."""
    wanted = grams(" ".join(question["evidence"]))
    found = []
    for budget in BUDGETS_TOKENS:
        rest, held = budget, set()
        for row in np.argsort(-similarity, kind="stable").tolist():
            if chunks[row].n_tokens <= rest:
                rest -= chunks[row].n_tokens
                held |= grams(chunks[row].text)
        found.append(len(wanted & held) / len(wanted))
    return found


def grams(text: str) -> set[tuple[str, ...]]:
    words = text.casefold().split()
    return set(zip(words, words[1:], words[2:], words[3:], strict=False))


def report(
    name: str,
    recall: list[NDArray[np.float64]],
    arguments: argparse.Namespace,
    base: list[NDArray[np.float64]] | None = None,
) -> list[NDArray[np.float64]]:
    """Prints one row: mean over questions, its interval, and the interval of the gain."""
    cells = []
    for column in range(len(BUDGETS_TOKENS)):
        values = [document[:, column] for document in recall]
        low, high = bootstrap(values, arguments.samples)
        cell = f"{np.concatenate(values).mean():.3f} ({low:.3f} to {high:.3f})"
        if base is not None:
            gains = [v - b[:, column] for v, b in zip(values, base, strict=True)]
            low, high = bootstrap(gains, arguments.samples)
            cell += f", gain {np.concatenate(gains).mean():+.3f} ({low:+.3f} to {high:+.3f})"
        cells.append(cell)
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    return recall


def bootstrap(values: list[NDArray[np.float64]], samples: int) -> tuple[float, float]:
    """95 % interval of the mean over questions, documents drawn with replacement."""
    random = np.random.default_rng(224)
    sums, sizes = np.array([v.sum() for v in values]), np.array([len(v) for v in values])
    drawn = random.integers(0, len(values), (samples, len(values)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


if __name__ == "__main__":
    main()
