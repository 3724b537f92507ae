"""Loaders of QMSum and SQuALITY as they are published: questions that a summary answers.

QMSum (Zhong et al. 2021, arXiv:2104.05938) has JSON Lines of meetings, SQuALITY (Wang et al. 2022,
arXiv:2205.11465) JSON Lines of stories. A question about a whole text is of the kind ``GENERAL``.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from raptor_core.documents.base import Document
from raptor_core.evaluation.golden_file import Question
from raptor_formats.text import clean_text
from raptor_lab.datasets.base import GENERAL, SPECIFIC, Dataset
from raptor_lab.datasets.rows import JsonRow, parse_json_lines

QMSUM = (
    "expected QMSum as it is published: one JSON object to a line with meeting_transcripts, "
    "general_query_list and specific_query_list"
)
SQUALITY = (
    "expected SQuALITY as it is published, such as v1-3/txt/dev.jsonl: one JSON object to a line "
    "with metadata, document and questions"
)


def load_qmsum(path: Path, text: str) -> Dataset:
    """Load meetings, with a paragraph for each speaker's turn; evidence consists of turns."""
    documents: list[Document] = []
    questions: list[Question] = []
    for number, row in enumerate(parse_json_lines(path, text, QMSUM), 1):
        name = f"meeting-{number}"
        turns = [
            clean_text(f"{turn.read_text_or('speaker')}: {turn.read_text_or('content')}")
            for turn in row.read_objects("meeting_transcripts")
        ]
        documents.append(Document(name, "\n\n".join(turns), source=name))
        questions += _meeting_questions(name, row, turns)
    return Dataset("qmsum", tuple(documents), tuple(questions))


def _meeting_questions(meeting: str, row: JsonRow, turns: Sequence[str]) -> Iterator[Question]:
    for key, kind in (("general_query_list", GENERAL), ("specific_query_list", SPECIFIC)):
        for number, item in enumerate(row.read_objects(key), 1):
            yield Question(
                id=f"{meeting}-{kind}-{number}",
                text=item.read_text("query"),
                document=meeting,
                sources=(meeting,),
                evidence=tuple(_select_turns(item, turns)) if kind == SPECIFIC else (),
                answers=item.read_texts("answer"),
                kinds=(kind,),
            )


def _select_turns(item: JsonRow, turns: Sequence[str]) -> Iterator[str]:
    """Yield the turns of a question's spans, which are pairs of first and last number."""
    for span in item.values.get("relevant_text_span") or ():
        try:
            first, last = map(int, span)
        except (TypeError, ValueError) as error:
            raise item.to_error("relevant_text_span", "pairs of numbers of turns", span) from error
        yield from turns[first : last + 1]


def load_squality(path: Path, text: str) -> Dataset:
    """Load stories; the first question of each asks for its plot, so it is a general one."""
    documents: dict[str, Document] = {}
    questions: list[Question] = []
    for row in parse_json_lines(path, text, SQUALITY):
        name = row.read_object("metadata").read_text("passage_id")
        documents[name] = Document(name, clean_text(row.read_text("document")), source=name)
        for number, item in enumerate(row.read_objects("questions"), 1):
            questions.append(
                Question(
                    id=f"{name}-{number}",
                    text=item.read_text("question_text"),
                    document=name,
                    sources=(name,),
                    answers=tuple(
                        r.read_text("response_text") for r in item.read_objects("responses")
                    ),
                    kinds=(GENERAL if number == 1 else SPECIFIC,),
                )
            )
    return Dataset("squality", tuple(documents.values()), tuple(questions))
