"""Loader of QASPER (Dasigi et al. 2021, arXiv:2105.03011): one JSON object of papers."""

from pathlib import Path

from raptor_core.documents.base import Document
from raptor_core.evaluation.golden_file import Question
from raptor_formats.text import clean_text, one_line
from raptor_lab.datasets.base import Dataset
from raptor_lab.datasets.records import UNANSWERABLE, keep_text_evidence
from raptor_lab.datasets.rows import JsonRow, parse_row
from raptor_lab.datasets.sections import find_sections

REMEDY = (
    "expected QASPER as it is published, such as qasper-dev-v0.3.json: an object of papers, each "
    "with title, abstract, full_text and qas"
)


def load_qasper(path: Path, text: str) -> Dataset:
    """Load the papers and their questions; the abstract is a paper's first section.

    Evidence comes from all annotators, without figures and tables.
    """
    file = parse_row(text, str(path), REMEDY)
    documents: list[Document] = []
    questions: list[Question] = []
    abstracts: dict[str, str] = {}
    for paper in file.values:
        row = file.read_object(paper)
        documents.append(_to_document(paper, row))
        abstracts[paper] = clean_text(row.read_text_or("abstract"))
        questions += (_to_question(paper, item) for item in row.read_objects("qas"))
    return Dataset("qasper", tuple(documents), tuple(questions), abstracts)


def gold_answer_kind_and_text(answer: JsonRow) -> tuple[str, str]:
    """Return the kind of an annotator's answer, and its text as in the official evaluation."""
    if answer.values.get("unanswerable"):
        return "none", UNANSWERABLE
    if spans := answer.read_texts("extractive_spans"):
        return "extractive", ", ".join(spans)
    if free := answer.read_text_or("free_form_answer"):
        return "abstractive", free
    yes_no = answer.values.get("yes_no")
    if yes_no is None:
        raise answer.to_error("free_form_answer", "an answer of some kind", free)
    return "boolean", "Yes" if yes_no else "No"


def _to_document(paper: str, row: JsonRow) -> Document:
    listed = [{"name": "Abstract"}] if row.read_text_or("abstract") else []
    parts = [f"Abstract\n{row.read_text('abstract')}"] if listed else []
    for section in row.read_objects("full_text"):
        name = one_line(section.read_text_or("section_name"))
        listed += [{"name": name}] if name else []
        parts.append("\n".join(part for part in (name, *section.read_texts("paragraphs")) if part))
    text = clean_text("\n\n".join(part for part in parts if part))
    title = one_line(row.read_text_or("title"))
    return Document(paper, text, title=title, source=paper, sections=find_sections(text, listed))


def _to_question(paper: str, row: JsonRow) -> Question:
    answers = [item.read_object("answer") for item in row.read_objects("answers")]
    evidence = tuple(passage for answer in answers for passage in answer.read_texts("evidence"))
    gold = list(map(gold_answer_kind_and_text, answers))
    return Question(
        id=row.read_text("question_id"),
        text=row.read_text("question"),
        document=paper,
        sources=(paper,),
        evidence=keep_text_evidence(evidence),
        answers=tuple(dict.fromkeys(text for _, text in gold)),
        kinds=tuple(sorted({kind for kind, _ in gold})),
    )
