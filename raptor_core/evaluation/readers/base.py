"""The seam for readers: a question and a context in, a short answer out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from raptor_core.evaluation.datasets.base import Question
from raptor_core.identity import digest


@dataclass(frozen=True, slots=True)
class Ask:
    """A question with the context that it is answered from."""

    question: Question
    context: str

    def key(self, reader: str) -> str:
        """Digest of all that a reader reads, and of the reader's fingerprint."""
        return digest("answer", reader, self.question.text, *self.question.options, self.context)


class AnswerReader(Protocol):
    """Answers in the fewest words, with the number of an option where there are options."""

    @property
    def fingerprint(self) -> str:
        """Changes with everything that changes an answer."""

    def read(self, asks: Sequence[Ask]) -> Iterator[tuple[int, str]]:
        """Answers as they come: the place in ``asks``, and the answer, which may be empty."""
