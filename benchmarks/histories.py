"""Histories of documents: the real states of a folder, edits at random, heavy rewriting."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from raptor_core import Document, load_documents
from raptor_core.documents import Partitions
from raptor_core.settings.models import GroupingSettings

Grouped = Mapping[str, Sequence[Document]]
Texts = list[list[str]]
"""Of each document its paragraphs, or its sections."""

ROUNDS = 20
REWRITTEN = (0.1, 0.4, 0.1, 0.3, 0.05, 0.4, 0.1, 0.6, 0.1, 0.2, 0.3, 0.1, 0.5, 0.02, 0.1)
"""Share of the sections that are rewritten in each state; of leaves up to 70 % are then new."""

SECTION_CHARS = 2000


def states(source: Path, group_by: Any) -> Iterator[tuple[str, Grouped]]:
    """Successive states of a folder, by tree."""
    for folder in sorted(path for path in source.iterdir() if path.is_dir()):
        found = load_documents(folder).documents
        partitions = Partitions(found, GroupingSettings(by=group_by))
        yield folder.name, {tree: docs for p in partitions.values() for tree, docs in p.items()}


def edits(source: Path, skip: int, n_documents: int, seed: int) -> Iterator[tuple[str, Grouped]]:
    """A corpus as one tree, then with more and more of its paragraphs changed."""
    rng = random.Random(seed)
    documents = list(load_documents(source).documents)[skip : skip + n_documents]
    yield "0", {"corpus": documents}
    plan = [("one", 0.0), ("1 %", 0.01), ("5 %", 0.05)]
    plan += [(f"2 %, {number}", 0.02) for number in range(1, ROUNDS + 1)]
    for name, share in plan:
        documents = edited(documents, share, rng)
        yield name, {"corpus": documents}


def edited(documents: Sequence[Document], share: float, rng: random.Random) -> list[Document]:
    """The documents with a share of their paragraphs changed, one at the least.

    Half of them get a sentence from elsewhere, a quarter goes, a quarter is put in elsewhere.
    """
    texts = [document.text.split("\n\n") for document in documents]
    places = [
        (d, p) for d, found in enumerate(texts) for p, text in enumerate(found) if len(text) > 80
    ]
    for d, p in sorted(rng.sample(places, max(1, round(share * len(places)))), reverse=True):
        from_d, from_p = rng.choice(places)
        other = texts[from_d][min(from_p, len(texts[from_d]) - 1)]
        kind = rng.random()
        if kind < 0.5 or share == 0.0:
            sentences = texts[d][p].split(". ")
            sentences[rng.randrange(len(sentences))] = other.split(". ")[0]
            texts[d][p] = ". ".join(sentences)
        elif kind < 0.75:
            del texts[d][p]
        else:
            texts[d].insert(p, other)
    return _with_texts(documents, texts)


def rewrites(source: Path, skip: int, n_documents: int, seed: int) -> Iterator[tuple[str, Grouped]]:
    """A corpus as one tree, then with up to 60 % of its sections rewritten from state to state.

    Of the new sections, two thirds are written anew in place, from their own sentences and some
    of others; a third are sections of the source's other documents, which replace one, and one in
    four of them comes in addition. Beside them a tenth as many are deleted, and moved elsewhere.
    """
    rng = random.Random(seed)
    found = list(load_documents(source).documents)
    documents = found[skip : skip + n_documents]
    others = [
        text for document in found if document not in documents for text in sections(document)
    ]
    rng.shuffle(others)
    yield "0", {"corpus": documents}
    for number, share in enumerate(REWRITTEN, 1):
        documents = rewritten(documents, share, others, rng)
        yield f"{number}: {share:.0%}", {"corpus": documents}


def sections(document: Document) -> list[str]:
    """Runs of paragraphs of some 2,000 characters."""
    found = [""]
    for paragraph in document.text.split("\n\n"):
        if len(found[-1]) >= SECTION_CHARS:
            found.append("")
        found[-1] += f"\n\n{paragraph}" if found[-1] else paragraph
    return found


def rewritten(
    documents: Sequence[Document], share: float, others: list[str], rng: random.Random
) -> list[Document]:
    """The documents with a share of their sections rewritten; takes sections from ``others``."""
    texts = [sections(document) for document in documents]
    places = [(d, s) for d, found in enumerate(texts) for s in range(len(found))]
    rng.shuffle(places)
    n_new = max(1, round(share * len(places)))
    n_gone = round(0.1 * n_new)
    for d, s in places[:n_new]:
        if rng.random() < 2 / 3 or not others:
            texts[d][s] = mixed(texts[d][s], rng.choice(others or texts[d]), rng)
        elif rng.random() < 3 / 4:
            texts[d][s] = others.pop()
        else:
            texts[d][s] += "\n\n" + others.pop()
    for d, s in places[n_new : n_new + n_gone]:
        texts[d][s] = ""
    for d, s in places[n_new + n_gone : n_new + 2 * n_gone]:
        to_d, to_s = rng.choice(places)
        texts[to_d][to_s] += "\n\n" + texts[d][s]
        texts[d][s] = ""
    return _with_texts(documents, [[text for text in found if text] for found in texts])


def mixed(section: str, other: str, rng: random.Random) -> str:
    """The sentences in another order, a fifth of them from another section."""
    own, foreign = (re.split(r"(?<=[.!?])\s+", text) for text in (section, other))
    rng.shuffle(own)
    n = len(own)
    own[: n // 5] = rng.sample(foreign, min(n // 5, len(foreign)))
    rng.shuffle(own)
    return "\n\n".join(" ".join(own[at : at + 8]) for at in range(0, n, 8))


def _with_texts(documents: Sequence[Document], texts: Texts) -> list[Document]:
    return [
        Document(document.id, "\n\n".join(found), title=document.title)
        for document, found in zip(documents, texts, strict=True)
    ]
