"""The decision whether a question is about a detail or general, and about which part of the text.

A question is general if it names nothing specific in the text ("Summarize the meeting"). If it
names a document or a section ("main problems of the cold store"), it is general about that part.
Lists of words are in ``wording``. Read ``coverage`` next.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from raptor_core.nodes import Node
from raptor_core.retrieval.base import Query
from raptor_core.retrieval.general.numerals import (
    find_heading_numbers,
    find_part_numbers,
    number_forms,
)
from raptor_core.retrieval.general.terms import TermTable, read_term_table
from raptor_core.retrieval.general.wording import Wording, read_wording
from raptor_core.store.lexical import words_cut_to_stems
from raptor_core.store.store import VectorStore
from raptor_core.text.words import words

SUBJECT_SHARE = 0.15
"""Minimum share of chunks with a topic word that is a subject of the text."""

PART_CHUNKS = 64
"""Number of chunks that are examined for the names in a question."""

Heading = tuple[str, ...]
"""Id of a document, followed by the path of headings down to a section."""


@dataclass(frozen=True, slots=True)
class QuestionDecision:
    """The kind of a question, and the reason in words.

    Attributes:
        is_general: the context must cover the text, or a part of it.
        reason: the reason, as the predicate of a sentence about the question.
        headings: documents and sections that the question names. If there are none, the context
            must cover the whole text.
        documents: documents of the headings.
    """

    is_general: bool
    reason: str
    headings: frozenset[Heading] = frozenset()
    documents: frozenset[str] = frozenset()


def decide_question_kind(question: str, query: Query, store: VectorStore) -> QuestionDecision:
    """Decide whether a question is about a detail or general."""
    if query.kind == "detail":
        return QuestionDecision(False, "is about a detail, as the query says")
    wording = read_wording(question)
    if query.kind == "general" or wording.is_generic:
        return _decide_by_names(_with_digits_for_ordinals(wording, question), query, store)
    if wording.detail:
        return QuestionDecision(False, f"asks for a detail by {wording.detail[0]!r}")
    return QuestionDecision(False, "asks for nothing general")


def _with_digits_for_ordinals(wording: Wording, question: str) -> Wording:
    """Replace ordinals of chapters and sections among the names by digits: "third" becomes "3"."""
    numbers = dict(find_part_numbers(words(question.casefold())))
    names = [name for name in wording.names if name not in numbers]
    return replace(wording, names=[*names, *dict.fromkeys(numbers.values())])


def _decide_by_names(wording: Wording, query: Query, store: VectorStore) -> QuestionDecision:
    names = wording.names
    table = read_term_table(query.where, store) if names or wording.topic else None
    if table:
        names = [*names, *(w for w in wording.topic if table.share_of_chunks(w) >= SUBJECT_SHARE)]
    chunks = _search_chunks(names, query, store) if names else []
    if not chunks or not table:
        return QuestionDecision(True, "names nothing that is in the text")
    is_forced = query.kind == "general"
    headings = (
        frozenset(_matching_headings(names, chunks))
        if wording.request or is_forced
        else frozenset()
    )
    if headings:
        titles = {chunk.documents[0]: str(chunk.metadata.get("title", "")) for chunk in chunks}
        paths = ((titles[name] or name, *sections) for name, *sections in sorted(headings)[:3])
        shown = "; ".join(map(" > ".join, paths))
        documents = frozenset(heading[0] for heading in headings)
        return QuestionDecision(
            True, f"names a part of the text: {shown}", headings, documents=documents
        )
    if is_forced:
        return QuestionDecision(True, "is general, as the query says")
    subjects = _subject_names(names, table, chunks)
    if subjects:
        return QuestionDecision(False, f"names something in the text: {', '.join(subjects)}")
    return QuestionDecision(True, "names nothing that the text is about")


def _subject_names(names: Sequence[str], table: TermTable, chunks: Sequence[Node]) -> list[str]:
    """Return the names that are in headings or in more than one chunk, and identifiers.

    All others are only part of the request, such as the number in "in 5 sentences". If a question
    has a single name, one chunk is enough.
    """
    least = 1.5 / max(table.is_chunk.sum(), 1) if len(names) > 1 else 0.0
    in_headings = set(
        words_cut_to_stems(" ".join(" ".join(_heading_path(chunk)) for chunk in chunks))
    )
    is_identifier = re.compile(r"(?=.*\d).{3,}").match
    return [
        name
        for name in names
        if in_headings.issuperset(words_cut_to_stems(name))
        or is_identifier(name)
        or (table.share_of_chunks(name) > least and not name.isdigit())
    ]


def _search_chunks(names: Sequence[str], query: Query, store: VectorStore) -> list[Node]:
    where = replace(query.where, layers=(0,))
    forms = (form for name in names for form in number_forms(name))
    return [hit.node for hit in store.search_text([" ".join(forms)], PART_CHUNKS, where)[0]]


def _matching_headings(names: Sequence[str], chunks: Sequence[Node]) -> Iterator[Heading]:
    """Yield for each chunk the highest of its headings whose path contains all names."""
    sought = set(words_cut_to_stems(" ".join(names)))
    for chunk in chunks:
        title, *path = _heading_path(chunk)
        headings = (tuple(path[:end]) for end in range(1, len(path) + 1))
        yield from islice((h for h in headings if sought <= _heading_terms(title, h)), 1)


def _heading_terms(title: str, heading: Heading) -> set[str]:
    """Return the terms of a title and a heading path, with numbers of chapters and sections."""
    numbers = (find_heading_numbers(words(part.casefold())) for part in heading[1:])
    return {*words_cut_to_stems(" ".join((title, *heading)))}.union(*numbers)


def _heading_path(chunk: Node) -> tuple[str, ...]:
    """Return the title and the id of a chunk's document, followed by the headings of the chunk."""
    return (str(chunk.metadata.get("title", "")), chunk.documents[0], *chunk.section)
