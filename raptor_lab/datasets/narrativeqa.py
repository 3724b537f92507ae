"""Loader of NarrativeQA (Kociský et al. 2018, arXiv:1712.07040): a folder of tables.

The repository has the questions; its ``download_stories.sh`` puts the stories into ``tmp/``.
"""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from raptor_core.documents.base import Document, Skipped
from raptor_core.errors import SourceError
from raptor_core.evaluation.golden_file import Question
from raptor_formats.base import UnreadableError
from raptor_formats.encoding.decoding import decode
from raptor_formats.markup.html import parse_html
from raptor_formats.text import clean_text, one_line
from raptor_lab.datasets.base import Dataset
from raptor_lab.datasets.rows import JsonRow, read_text

DOCUMENTS, QUESTIONS, STORIES = "documents.csv", "qaps.csv", "tmp"
REMEDY = (
    f"expected the NarrativeQA repository: {DOCUMENTS}, {QUESTIONS}, and the stories in "
    f"{STORIES}/DOCUMENT_ID.content, which its download_stories.sh fetches"
)
_HTML = re.compile(rb"<\s*(?:!doctype\s+html|html|head|body|pre)\b", re.IGNORECASE)
_SNIFFED_BYTES = 4096


def load_narrativeqa(folder: Path, split: str) -> Dataset:
    """Load the stories of a split (train, valid or test), without those that have no text."""
    listed = [row for row in _read_table(folder / DOCUMENTS) if row.read_text("set") == split]
    stories = [_read_story(folder, row) for row in listed]
    documents = tuple(story for story in stories if isinstance(story, Document))
    left_out = tuple(story for story in stories if isinstance(story, Skipped))
    if not documents:
        raise SourceError(
            f"{folder / STORIES} has none of the {len(listed)} stories of the split {split!r}; "
            f"{REMEDY}"
        )
    known = {document.id for document in documents}
    questions = tuple(
        _to_question(number, row)
        for number, row in enumerate(_read_table(folder / QUESTIONS), 1)
        if row.read_text("document_id") in known
    )
    return Dataset("narrativeqa", documents, questions, skipped_documents=left_out)


def _read_table(path: Path) -> Iterator[JsonRow]:
    if not path.is_file():
        raise SourceError(f"there is no {path}; {REMEDY}")
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    for values in reader:
        yield JsonRow(values, f"{path}, line {reader.line_num}", REMEDY)


def _read_story(folder: Path, row: JsonRow) -> Document | Skipped:
    name = row.read_text("document_id")
    path = folder / STORIES / f"{name}.content"
    if not path.is_file():
        return Skipped(name, f"there is no {path}")
    data = path.read_bytes()
    try:
        is_html = _HTML.search(data[:_SNIFFED_BYTES])
        text = parse_html(data).text if is_html else clean_text(decode(data))
    except UnreadableError as error:
        return Skipped(name, f"{path} {error}")
    if not text.strip():
        return Skipped(name, f"{path} contains no text", is_empty=True)
    return Document(name, text, title=one_line(row.read_text_or("wiki_title")), source=name)


def _to_question(number: int, row: JsonRow) -> Question:
    document = row.read_text("document_id")
    answers = (row.read_text_or("answer1"), row.read_text_or("answer2"))
    return Question(
        id=f"{document}-{number}",
        text=row.read_text("question"),
        document=document,
        sources=(document,),
        answers=tuple(dict.fromkeys(filter(None, answers))),
    )
