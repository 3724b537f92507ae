"""Loader of QuALITY (Pang et al. 2022, arXiv:2112.08608): JSON Lines of articles."""

import re
from pathlib import Path

from raptor_core.documents.base import Document
from raptor_core.evaluation.golden_file import Question
from raptor_formats.markup.html import parse_html
from raptor_formats.text import clean_text, one_line
from raptor_lab.datasets.base import Dataset
from raptor_lab.datasets.records import read_options_and_right_index
from raptor_lab.datasets.rows import JsonRow, parse_json_lines

REMEDY = (
    "expected QuALITY as it is published, such as QuALITY.v1.0.1.htmlstripped.dev: one JSON object "
    "to a line with article_id, title, article and questions"
)
_MARKUP = re.compile(r"</?(?:p|html|body|div|br|span)\b[^>]*>", re.IGNORECASE)


def load_quality(path: Path, text: str) -> Dataset:
    """Load the articles and their questions; lines of one article are one document.

    ``gold`` is the gold label, which the published test set lacks; ``hard`` is
    ``difficult``, the data set's HARD subset.
    """
    documents: dict[str, Document] = {}
    questions: dict[str, Question] = {}
    for row in parse_json_lines(path, text, REMEDY):
        article = row.read_text("article_id")
        documents.setdefault(article, _to_document(article, row))
        for number, item in enumerate(row.read_objects("questions"), 1):
            name = item.read_text_or(
                "question_unique_id", f"{row.read_text('set_unique_id')}_{number}"
            )
            questions[name] = _to_question(name, article, item)
    return Dataset("quality", tuple(documents.values()), tuple(questions.values()))


def _to_document(article: str, row: JsonRow) -> Document:
    text = row.read_text("article")
    title = one_line(row.read_text_or("title"))
    if not _MARKUP.search(text):
        return Document(article, clean_text(text), title=title, source=article)
    parsed = parse_html(f'<meta charset="utf-8">{text}'.encode())
    return Document(article, parsed.text, title=title, source=article, sections=parsed.sections)


def _to_question(name: str, article: str, row: JsonRow) -> Question:
    options, gold = read_options_and_right_index(row)
    difficult = row.read_whole_number("difficult", 0, 1)
    return Question(
        id=name,
        text=row.read_text("question"),
        document=article,
        sources=(article,),
        answers=() if gold is None else (options[gold],),
        options=options,
        gold=gold,
        hard=None if difficult is None else bool(difficult),
        kinds=() if difficult is None else ("hard" if difficult else "easy",),
    )
