"""Interfaces of a comparison: systems that make contexts, and measurers that score them.

Implementations are in ``systems.py`` and ``measures.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from raptor_core.evaluation.golden_file import Question
from raptor_core.nodes import Node
from raptor_core.retrieval import Retrieval
from raptor_core.store.base import Where
from raptor_core.vectors import Vectors
from raptor_lab.comparison.index import Index


@dataclass(frozen=True, slots=True)
class QuestionBatch:
    """One or more questions about the same documents, and a matrix with a row for each."""

    questions: Sequence[Question]
    vectors: Vectors
    where: Where


@dataclass(frozen=True, slots=True)
class Context:
    """Text for an answering model, the nodes it consists of, and their documents, best first."""

    text: str
    n_tokens: int
    nodes: tuple[Node, ...] = ()
    documents: tuple[str, ...] = ()

    @classmethod
    def of(cls, retrieval: Retrieval) -> "Context":
        """Convert a retrieval to a context."""
        nodes = tuple(hit.node for hit in retrieval.hits)
        ranked = dict.fromkeys(
            name for hit in retrieval.hits_by_score for name in hit.node.documents
        )
        return cls(retrieval.context, retrieval.n_tokens, nodes, tuple(ranked))


class System(Protocol):
    """Interface of a system, which retrieves a context for each question."""

    @property
    def name(self) -> str:
        """Name of the system on the command line."""

    def make_contexts(
        self, index: Index, batch: QuestionBatch, budget_tokens: int
    ) -> list[Context]:
        """Make a context within the budget for each question."""


@dataclass(frozen=True, slots=True)
class ContextScores:
    """Scores of one context by measure, and a model's answer from it, if one was asked."""

    values: Mapping[str, float]
    answer: str | None = None


class Measurer(Protocol):
    """Interface of a measurer, which scores contexts."""

    @property
    def measure_meanings(self) -> Mapping[str, str]:
        """Meaning of each measure that may apply, in the order of tables."""

    def measure(
        self, questions: Sequence[Question], contexts: Sequence[Context]
    ) -> list[ContextScores]:
        """Score each context by the measures that its question allows."""
