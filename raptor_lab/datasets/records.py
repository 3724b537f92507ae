"""Loaders of the plain forms: documents with their questions, and golden sets.

``docs/evaluation.md`` describes the fields of a line of documents with questions.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from raptor_core.documents.base import Document
from raptor_core.documents.parsing.names import TableOrigin
from raptor_core.documents.parsing.records import row_document
from raptor_core.errors import SourceError
from raptor_core.evaluation.golden_file import Question, load_golden
from raptor_core.settings import SourceSettings
from raptor_formats.base import UnreadableError
from raptor_lab.datasets.base import Dataset
from raptor_lab.datasets.rows import JsonRow, parse_json_lines
from raptor_lab.datasets.sections import find_line_sections, find_sections


def load_golden_dataset(path: Path, documents: Sequence[Document]) -> Dataset:
    """Load a golden set as a data set; a question without a tree is about all documents."""
    if not documents:
        raise SourceError(
            f"{path} has questions but no documents; name their documents, such as --source docs/"
        )
    known = {document.id for document in documents}
    questions = load_golden(path)
    for question in questions:
        named = (*question.sources, *filter(None, [question.document]))
        if missing := [name for name in named if name not in known]:
            raise SourceError(
                f"{path}, {question.id}: the source has no document {missing[0]!r}; write its "
                f"path in the source, such as {min(known)!r}"
            )
    return Dataset(path.stem, tuple(documents), questions)


REMEDY = "expected one JSON object to a line with an id, text and questions"
_PAPER = "paper_id"
_NAMES = {_PAPER: "qasper", "article_id": "quality", "document_id": "narrativeqa"}
"""Data sets by the field that names their documents."""
UNANSWERABLE = "Unanswerable"  # answer of a question without one in QASPER
_FLOAT = "FLOAT SELECTED"
"""Prefix of evidence that is a figure or a table, which the text does not contain."""


def load_records(path: Path, text: str) -> Dataset:
    """Load documents, read as `raptor build` would read them, and their questions."""
    documents: list[Document] = []
    questions: list[Question] = []
    abstracts: dict[str, str] = {}
    name = path.stem
    for row in parse_json_lines(path, text, REMEDY):
        document = _to_document(row)
        name = next((_NAMES[key] for key in row.values if key in _NAMES), name)
        documents.append(document)
        abstracts[document.id] = row.read_text_or("abstract")
        questions += (
            _to_question(str(number), document.id, item)
            for number, item in enumerate(row.read_objects("questions"), 1)
        )
    known = {document.id for document in documents}
    for question in questions:
        if missing := [name for name in question.sources if name not in known]:
            raise SourceError(f"{path}, {question.id}: no line has the id {missing[0]!r}; {REMEDY}")
    return Dataset(name, tuple(documents), tuple(questions), abstracts)


def _to_document(row: JsonRow) -> Document:
    table = TableOrigin(name="", source="", metadata={})
    try:
        read = row_document(row.values, table, SourceSettings())
    except UnreadableError as error:
        raise SourceError(f"{row.where}: it {error}; {row.remedy}") from error
    document = replace(read, source=read.id, metadata={})
    listed, text = row.values.get("sections"), document.text
    if listed or _PAPER not in row.values:
        return replace(document, sections=find_sections(text, listed))
    return replace(document, sections=find_line_sections(text))


def _to_question(number: str, document: str, row: JsonRow) -> Question:
    options, gold = read_options_and_right_index(row) if row.values.get("options") else ((), None)
    answers = row.read_texts("answers") or (
        (UNANSWERABLE,) if row.values.get("unanswerable") else ()
    )
    difficult = row.read_whole_number("difficult", 0, 1)
    sources = row.read_texts("sources")
    return Question(
        id=f"{document}-{row.read_text_or('qid', number)}",
        text=row.read_text("question"),
        document=None if sources else document,
        sources=sources or (document,),
        evidence=keep_text_evidence(row.read_texts("evidence")),
        answers=answers or (() if gold is None else (options[gold],)),
        options=options,
        gold=gold,
        hard=None if difficult is None else bool(difficult),
        kinds=tuple(filter(None, [row.read_text_or("kind")])),
    )


def keep_text_evidence(passages: tuple[str, ...]) -> tuple[str, ...]:
    """Remove figures, tables and duplicates from evidence."""
    return tuple(dict.fromkeys(p for p in passages if _FLOAT not in p))


def read_options_and_right_index(row: JsonRow) -> tuple[tuple[str, ...], int | None]:
    """Return the options of a question, and the index of the right one, from 0."""
    options = row.read_texts("options")
    if len(options) < 2:
        raise row.to_error("options", "two options or more", row.values.get("options"))
    label = row.read_whole_number("gold_label", 1, len(options))
    return options, None if label is None else label - 1
