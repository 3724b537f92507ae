"""How full chunks are, what cutting takes, and how far an edit is seen, beside greedy packing.

    python benchmarks/chunking.py SOURCE ... --edits 1000

A source is a file or a folder; a JSON Lines file of papers gets its sections from short lines
without a stop with ``--line-sections``. Documents are cut to ``--chars`` characters, so that an
edit of a book does not cut all of it again. An edit changes one sentence of a paragraph: another
sentence put behind it, or in its place, or the sentence or a word of it left out, or a word
replaced. Of each source and method:

    chunks, mean, small   how many, tokens on average, and the share under 30 tokens
    seconds               CPU seconds of cutting a million tokens
    others, 95 %, most    chunks that an edit changes beside those of its paragraph: mean,
                          95th percentile, and the most
    beyond                those of them, on average, that begin behind the end of its section
"""

from __future__ import annotations

import argparse
import random
import re
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from measuring import print_head, print_row

from raptor_core import Document, Settings, load_documents
from raptor_core.chunking import Chunker, make_chunker
from raptor_core.chunking.outline import blocks_of
from raptor_core.chunking.sentences import sentences_of
from raptor_core.documents.blocks import Block
from raptor_core.evaluation.datasets.records import line_sections
from raptor_core.tokens import make_counter

METHODS = ("greedy", "sentences")
SMALL_TOKENS = 30
HEAD = (
    *("source", "method", "chunks", "mean", "small", "seconds"),
    *("others", "95 %", "most", "beyond"),
)
Edit = tuple[Document, Document, Block, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--edits", type=int, default=1000, help="random edits of each source")
    parser.add_argument("--chars", type=int, default=60_000, help="of each document")
    parser.add_argument("--documents", type=int, default=200, help="of each source, by chance")
    parser.add_argument("--line-sections", action="store_true")
    arguments = parser.parse_args()
    print_head(*HEAD)
    for source in arguments.sources:
        documents = sample(source, arguments)
        for method in arguments.methods:
            row = figures(documents, chunker(method), arguments.edits)
            print_row(source.rstrip("/").rpartition("/")[2], method, *row)


def chunker(method: str) -> Chunker:
    settings = Settings()
    counter = make_counter(settings.tokens, settings.embedder)
    return make_chunker(settings.chunking.model_copy(update={"method": method}), counter)


def sample(source: str, arguments: argparse.Namespace) -> list[Document]:
    """Some documents of the source, each cut at its length."""
    found = list(load_documents(source).documents)
    random.Random(224).shuffle(found)
    cut = [replace(d, text=d.text[: arguments.chars]) for d in found[: arguments.documents]]
    if arguments.line_sections:
        return [replace(d, sections=line_sections(d.text)) for d in cut]
    return cut


def figures(documents: Sequence[Document], chunker: Chunker, n_edits: int) -> list[str]:
    """The cells of one row."""
    started = time.process_time()
    chunks = [chunker.chunk(document) for document in documents]
    seconds = time.process_time() - started
    counts = np.array([chunk.n_tokens for row in chunks for chunk in row])
    before = {
        document.id: {(c.start, c.end) for c in row}
        for document, row in zip(documents, chunks, strict=True)
    }
    seen = np.array([changed(edit, before, chunker) for edit in edits(documents, n_edits)])
    return [
        *(f"{len(counts):,}", f"{counts.mean():.1f}", f"{(counts < SMALL_TOKENS).mean():.1%}"),
        *(f"{1e6 * seconds / counts.sum():.1f}", f"{seen[:, 0].mean():.2f}"),
        *(f"{np.quantile(seen[:, 0], 0.95):.0f}", f"{seen[:, 0].max()}"),
        f"{seen[:, 1].mean():.2f}",
    ]


def edits(documents: Sequence[Document], n: int) -> Iterator[Edit]:
    """Old and new document, the paragraph that was edited, and by how much longer it is now."""
    chance = random.Random(224)
    blocks = {d.id: blocks_of(d) for d in documents}
    sizes = [len(document.text) for document in documents]
    while n:
        document, other = chance.choices(documents, sizes, k=2)
        block = chance.choice(blocks[document.id])
        if block.kind == "heading":
            continue
        start, end = chance.choice(sentences_of(document.text, block))
        a, b = chance.choice(sentences_of(other.text, chance.choice(blocks[other.id])))
        sentence = edited(document.text[start:end], " ".join(other.text[a:b].split()), chance)
        if sentence != document.text[start:end]:
            yield (
                document,
                rewritten(document, start, end, sentence),
                block,
                len(sentence) - (end - start),
            )
            n -= 1


def edited(sentence: str, other: str, chance: random.Random) -> str:
    """The sentence after one of five kinds of edit."""
    words = re.split(r"(\s+)", sentence)
    at = 2 * chance.randrange((len(words) + 1) // 2)
    kind = chance.randrange(5)
    if kind < 3:
        return (f"{sentence} {other}", other, "")[kind]
    words[at] = chance.choice(other.split()) if kind == 3 else ""
    return "".join(words)


def rewritten(document: Document, start: int, end: int, sentence: str) -> Document:
    """The document with other text from ``start`` to ``end``; sections behind are moved."""
    more = len(sentence) - (end - start)
    sections = tuple(
        replace(s, start=s.start + more * (s.start >= end), end=s.end + more * (s.end >= end))
        for s in document.sections
    )
    text = document.text[:start] + sentence + document.text[end:]
    return replace(document, text=text, sections=sections)


def changed(
    edit: Edit, before: dict[str, set[tuple[int, int]]], chunker: Chunker
) -> tuple[int, int]:
    """New chunks outside the edited paragraph, and those of them behind its section."""
    document, new, block, more = edit
    starts = [*sorted({section.start for section in document.sections}), len(document.text)]
    section_end = starts[bisect_right(starts, block.start)] + more
    others = beyond = 0
    for chunk in chunker.chunk(new):
        behind = chunk.start >= block.end + more
        if not behind and chunk.end > block.start:
            continue
        moved = more if behind else 0
        if (chunk.start - moved, chunk.end - moved) not in before[document.id]:
            others += 1
            beyond += chunk.start >= section_end
    return others, beyond


if __name__ == "__main__":
    main()
