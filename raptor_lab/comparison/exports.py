"""Files of an evaluation for other tools: questions, contexts, answers, references and scores.

Columns are those that the loaders of ragas and deepeval read; neither is imported. Comparisons are
made in ``compare.py``.
"""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from raptor_core.disk import replace_file
from raptor_lab.comparison.compare import QuestionScore
from raptor_lab.comparison.contexts import Context

COLUMNS = {
    "ragas": {
        "question": "user_input",
        "contexts": "retrieved_contexts",
        "context_ids": "retrieved_context_ids",
        "answer": "response",
        "evidence": "reference_contexts",
    },
    "deepeval": {
        "question": "input",
        "contexts": "retrieval_context",
        "answer": "actual_output",
        "reference": "expected_output",
        "evidence": "context",
    },
    "csv": {},
}
"""Names of columns by format, where they differ from those of ``csv``."""


def write_exports(scores: Sequence[QuestionScore], exports: Iterable[tuple[str, Path]]) -> None:
    """Write scores with contexts to files, each a format of ``COLUMNS`` and a path."""
    for form, path in exports:
        names = COLUMNS[form]
        rows = [{names.get(name, name): v for name, v in _values(s).items()} for s in scores]
        if form == "ragas":
            text = "".join(f"{_json(row)}\n" for row in rows)
        else:
            text = _csv_text(rows) if form == "csv" else _json(rows)
        replace_file(path, text.encode())


def _values(item: QuestionScore) -> dict[str, Any]:
    question, context = item.question, item.context or Context("", 0)
    right = () if question.gold is None else (question.options[question.gold],)
    references = (*question.answers, *right)
    return {
        "id": question.id,
        "strategy": item.system,
        "budget_tokens": item.budget_tokens,
        "question": question.text,
        "contexts": [node.text for node in context.nodes] or list(filter(None, [context.text])),
        "context_ids": [node.id for node in context.nodes],
        "context_scores": list(context.scores),
        "answer": item.answer,
        "reference": references[0] if references else None,
        "references": list(references),
        "evidence": list(question.evidence) or None,
        "documents": list(dict.fromkeys((*question.sources, *filter(None, [question.document])))),
        "scores": dict(item.measures),
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _csv_text(rows: Sequence[dict[str, Any]]) -> str:
    """Return a table with a column for each measure; lists are JSON."""
    flat = [{**row, **row["scores"]} for row in rows]
    columns = list(dict.fromkeys(name for row in flat for name in row if name != "scores"))
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, columns, extrasaction="ignore")
    writer.writeheader()
    for row in flat:
        writer.writerow({k: _json(v) if isinstance(v, list) else v for k, v in row.items()})
    return stream.getvalue()
