"""A user's own questions: a golden set, over documents that are given beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from raptor_core.documents.base import Document
from raptor_core.errors import SourceError
from raptor_core.evaluation.datasets.base import Dataset, Question
from raptor_core.evaluation.golden import GoldenCase, load_golden


def load_own(path: Path, documents: Sequence[Document]) -> Dataset:
    """The cases of a golden set; they are asked of all documents unless they name a tree.

    Raises:
        SettingsError: a line is malformed; it is named.
        SourceError: no document is given, or a case names one that is not among them.
    """
    if not documents:
        raise SourceError(
            f"{path} holds questions and no documents; name what they are asked of, such as "
            "--source docs/"
        )
    known = {document.id for document in documents}
    questions = tuple(_question(path, case, known) for case in load_golden(path))
    return Dataset(path.stem, tuple(documents), questions)


def _question(path: Path, case: GoldenCase, known: set[str]) -> Question:
    named = (*case.documents, *([case.tree] if case.tree else []))
    missing = [name for name in named if name not in known]
    if missing:
        raise SourceError(
            f"{path}, line {case.line}: the source holds no document {missing[0]!r}; write its "
            f"path as it stands in the source, such as {min(known)!r}"
        )
    return question_of(case)


def question_of(case: GoldenCase) -> Question:
    """A golden case as a question; what answers it may be any document or passage."""
    return Question(
        id=f"line {case.line}",
        text=case.question,
        document=case.tree or None,
        sources=case.documents,
        evidence=case.spans,
        answers=(case.answer,) if case.answer else (),
        kinds=(case.kind,) if case.kind else (),
    )
