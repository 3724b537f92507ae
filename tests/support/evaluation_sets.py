"""Small data sets in every form, written for the tests."""

from __future__ import annotations

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
