"""What every data set becomes: documents, and questions about them with what is known to answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from raptor_core.documents.base import Document, Skipped


@dataclass(frozen=True, slots=True)
class Question:
    """One question, and what is known of its answer; what a data set does not say is empty.

    Attributes:
        id: unique in the data set.
        text: as it is asked.
        document: id of the document that it is asked of; None where it is asked of all.
        sources: ids of documents that answer it.
        evidence: passages that answer it, as they stand in the documents.
        answers: reference answers, any of which will do.
        options: of a multiple-choice question.
        gold: index of the right option, from 0.
        hard: whether people who skimmed the document mostly failed on it (QuALITY).
        kinds: of question or of its answers, in the data set's own words.
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
        """What it is drawn with in a bootstrap: its document, else its first source, else it."""
        return self.document or (self.sources[0] if self.sources else self.id)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Documents and questions.

    Attributes:
        name: "qasper", "quality", "narrativeqa", or the name of a user's own file.
        documents: ordered as in the file; every document that a question names is among them.
        questions: at least one.
        abstracts: by document id; empty, or not there, where a document has none.
        left_out: what the file names and no question can be asked of, and why.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    abstracts: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[Skipped, ...] = ()
