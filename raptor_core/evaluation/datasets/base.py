"""Values of a data set: documents, and questions with their known answers.

The loaders of each form are in the modules beside this one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from raptor_core.documents.base import Document, Skipped

GENERAL, SPECIFIC = "general", "specific"
"""Kinds of questions: about a whole text, so that no passage answers them, and about a part."""


@dataclass(frozen=True, slots=True)
class Question:
    """Question with its known answers; a field that a data set lacks is empty.

    Attributes:
        id: unique in the data set.
        document: id of the document that the question is about; None for all documents.
        sources: ids of documents that answer it.
        evidence: passages that answer it, as the documents hold them.
        answers: reference answers, each of them right.
        options: options of a multiple-choice question.
        gold: index of the right option, from 0.
        hard: people who skimmed the document mostly failed on it (QuALITY).
        kinds: kinds of the question or of its answers, in the words of the data set; ``GENERAL``
            and ``SPECIFIC`` are among them.
    """

    id: str
    text: str
    document: str | None = None
    sources: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    gold: int | None = None
    hard: bool | None = None
    kinds: tuple[str, ...] = ()

    @property
    def cluster(self) -> str:
        """Unit of the bootstrap: the document, else the first source, else the question itself."""
        return self.document or (self.sources[0] if self.sources else self.id)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Documents and questions.

    Attributes:
        name: "qasper", "quality", "narrativeqa", or the name of a user's file.
        documents: documents in the order of the file; every document of a question is among them.
        questions: at least one question.
        abstracts: abstracts by document id; missing or empty where a document has none.
        left_out: documents of the file that could not be read, and why.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    abstracts: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[Skipped, ...] = ()
