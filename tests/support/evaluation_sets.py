"""Small data sets in every form, written for the tests."""

from __future__ import annotations

import csv
import json
from pathlib import Path

MILL = (
    "The mill at Osby stood idle for six years. Its owner, Aud Berg, moved to Bergen in 1904. "
    "She sold the wheel to a smith. The smith melted the iron and made forty ploughs of it."
)
LAMP = (
    "Agnes Moor lit the lamp on the rock. It burned rape oil until paraffin came in 1911. The "
    "keeper wound the clockwork every four hours. A coat kept the lamp burning in the storm."
)
SOUP = (
    "Boil two crabs for twelve minutes. Roast the shells with fennel and an onion. Add a glass of "
    "sherry and simmer for an hour. Strain it and serve the white meat with cream."
)


def qasper() -> dict[str, object]:
    """Two papers: one answer of each kind, a figure as evidence, and an empty section name."""
    spans = {"extractive_spans": ["a smith", "forty ploughs"], "free_form_answer": ""}
    free = {"extractive_spans": [], "free_form_answer": "Rape oil."}

    def answer(evidence, **given):
        base = {"unanswerable": False, "yes_no": None, "evidence": evidence}
        base |= {"extractive_spans": [], "free_form_answer": "", "highlighted_evidence": []}
        return {"answer": base | given, "annotation_id": "a", "worker_id": "w"}

    def question(name, text, *answers):
        return {"question": text, "question_id": name, "answers": list(answers)}

    def section(name, *paragraphs):
        return {"section_name": name, "paragraphs": list(paragraphs)}

    sold = "She sold the wheel to a smith."
    oil = "It burned rape oil until paraffin came in 1911."
    return {
        "1904.00001": {
            "title": "On mills",
            "abstract": "We study a mill.",
            "full_text": [section("The mill", MILL), section("", "Nothing is left of it.")],
            "qas": [
                question(
                    "q1", "Who bought the wheel?", answer([sold, "FLOAT SELECTED: x"], **spans)
                ),
                question(
                    "q2", "Was it sold?", answer([sold], yes_no=True), answer([sold], **spans)
                ),
            ],
        },
        "1911.00002": {
            "title": "On lamps",
            "abstract": "",
            "full_text": [section("The lamp", LAMP)],
            "qas": [
                question("q3", "What did it burn?", answer([oil], **free)),
                question("q4", "Who paid?", answer([], unanswerable=True)),
            ],
        },
    }


def quality() -> list[dict[str, object]]:
    """Two lines of one article, one of another that is HTML."""

    def line(article, set_id, text, *questions):
        return {
            "article_id": article,
            "set_unique_id": set_id,
            "title": article.title(),
            "article": text,
            "questions": list(questions),
        }

    def question(text, options, gold, difficult):
        labels = {"gold_label": gold, "writer_label": gold, "difficult": difficult}
        return {"question": text, "options": options, **labels}

    wheel = ["A smith.", "A king.", "The keeper.", "Nobody."]
    oil = ["Paraffin.", "Rape oil.", "Coal.", "Gas."]
    where = ["To Rome.", "To Oslo.", "To Bergen.", "To Osby."]
    return [
        line("mill", "mill_A", MILL, question("Who bought the wheel?", wheel, 1, 0)),
        line("mill", "mill_B", MILL, question("Where did Aud move?", where, 3, 1)),
        line("lamp", "lamp_A", f"<p>{LAMP}</p>", question("What did it burn first?", oil, 2, 1)),
    ]


def records() -> list[dict[str, object]]:
    """Documents with their questions."""
    ask = {"question": "Who bought the wheel?", "answers": ["a smith"], "qid": "w"}
    burn = {"question": "What burned first in it?", "answers": "rape oil"}
    boil = {"question": "How long are crabs boiled?", "answers": ["twelve minutes"]}
    sold, oil = "She sold the wheel to a smith.", "It burned rape oil until paraffin came in 1911."
    return [
        {"id": "mill", "title": "Mills", "text": MILL, "questions": [ask | {"evidence": [sold]}]},
        {"id": "lamp", "text": LAMP, "questions": [burn | {"evidence": [oil]}]},
        {"id": "soup", "text": SOUP, "questions": [boil]},
    ]


def write_lines(path: Path, rows: list[dict[str, object]]) -> Path:
    """A JSON Lines file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_narrativeqa(folder: Path) -> Path:
    """Three stories: a book, a script that is HTML, one that was not fetched; and a train one."""
    (folder / "tmp").mkdir(parents=True)
    stories = [("book", "test"), ("script", "test"), ("gone", "test"), ("other", "train")]
    _write_table(
        folder / "documents.csv",
        ["document_id", "set", "kind", "wiki_title"],
        [[name, split, "gutenberg", name.title()] for name, split in stories],
    )
    questions = [
        ["book", "test", "Who bought the wheel?", "A smith.", "the smith"],
        ["script", "test", "What burned?", "Rape oil", "Rape oil"],
        ["gone", "test", "Why, then?", "Because.", "So."],
        ["other", "train", "When?", "Then.", ""],
    ]
    header = ["document_id", "set", "question", "answer1", "answer2"]
    _write_table(folder / "qaps.csv", header, questions)
    (folder / "tmp" / "book.content").write_text(MILL, encoding="utf-8")
    script = f"<html><body><pre>{LAMP}</pre></body></html>"
    (folder / "tmp" / "script.content").write_text(script, encoding="utf-8")
    (folder / "tmp" / "other.content").write_text(SOUP, encoding="utf-8")
    return folder


def _write_table(path: Path, header: list[str], rows: list[list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
