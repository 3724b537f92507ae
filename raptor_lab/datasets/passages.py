"""Loaders of HotpotQA and MuSiQue as they are published: questions over short passages.

HotpotQA (Yang et al. 2018, arXiv:1809.09600) is a JSON list; MuSiQue (Trivedi et al. 2022,
arXiv:2108.00573) JSON Lines or, in samples, a list. Each passage becomes a document, and each
question is about all of them.
"""

from collections.abc import Iterator
from pathlib import Path

from raptor_core.documents.base import Document
from raptor_core.evaluation.golden_file import Question
from raptor_formats.text import clean_text, one_line
from raptor_lab.datasets.base import Dataset
from raptor_lab.datasets.rows import JsonRow, parse_json_lines, parse_row

REMEDY = "expected HotpotQA or MuSiQue as they are published, such as hotpot_dev_distractor_v1.json"

Passage = tuple[str, str]
"""Title and text."""


def load_passages(path: Path, text: str) -> Dataset:
    """Load the questions, and their passages as documents without duplicates."""
    is_list = text.lstrip().startswith("[")
    listed = (
        parse_row(f'{{"rows": {text}}}', str(path), REMEDY).read_objects("rows")
        if is_list
        else None
    )
    rows = listed or parse_json_lines(path, text, REMEDY)
    ids: dict[Passage, str] = {}
    questions: list[Question] = []
    for number, row in enumerate(rows, 1):
        is_musique = "paragraphs" in row.values
        passages = dict(_read_musique_passages(row) if is_musique else _read_hotpotqa_passages(row))
        for passage in passages:
            ids.setdefault(passage, f"passage-{len(ids) + 1}")
        questions.append(
            Question(
                id=str(number),
                text=row.read_text("question"),
                sources=tuple(ids[passage] for passage, answers in passages.items() if answers),
                answers=(row.read_text("answer"), *row.read_texts("answer_aliases")),
            )
        )
    documents = (Document(name, text, title, name) for (title, text), name in ids.items())
    return Dataset(path.stem, tuple(documents), tuple(questions))


def _read_musique_passages(row: JsonRow) -> Iterator[tuple[Passage, bool]]:
    """Yield the passages of a question of MuSiQue, and whether each answers it."""
    for item in row.read_objects("paragraphs"):
        passage = one_line(item.read_text("title")), clean_text(item.read_text("paragraph_text"))
        yield passage, bool(item.values.get("is_supporting"))


def _read_hotpotqa_passages(row: JsonRow) -> Iterator[tuple[Passage, bool]]:
    """Yield the passages of a question of HotpotQA, and whether each answers it."""
    try:
        answering = {title for title, _ in row.values["supporting_facts"]}
        passages = [(title, "".join(sentences)) for title, sentences in row.values["context"]]
    except (KeyError, TypeError, ValueError) as error:
        expected = "titles with their sentences, and 'supporting_facts'"
        raise row.to_error("context", expected, row.values.get("context")) from error
    for title, text in passages:
        yield (one_line(title), clean_text(text)), title in answering
