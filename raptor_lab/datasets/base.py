"""Values of a data set: documents, and questions with reference answers.

The loaders are in the other modules of this package.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from raptor_core.documents.base import Document, Skipped
from raptor_core.evaluation.golden_file import Question

GENERAL, SPECIFIC = "general", "specific"
"""Kinds of questions: about a whole text, which no passage answers, and about a part of it."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """Documents and questions.

    Attributes:
        name: "qasper", "quality", "narrativeqa", or the name of a user's file.
        documents: documents in the order of the file, among them that of every question.
        questions: at least one question.
        abstracts: abstracts by document id; missing or empty where a document has none.
        skipped_documents: documents of the file that could not be read, and why.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    abstracts: Mapping[str, str] = field(default_factory=dict)
    skipped_documents: tuple[Skipped, ...] = ()
