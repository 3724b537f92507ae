"""Interfaces of a comparison: systems that make contexts, and measurers that judge them.

Systems are in ``systems.py``, measures in ``measures.py``.
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
    """Questions about the same documents, with a vector in each row; at least one question."""

    questions: Sequence[Question]
    vectors: Vectors
    where: Where


@dataclass(frozen=True, slots=True)
class Context:
    """Text for an answering model, its nodes in order, and their documents, best first."""

    text: str
    n_tokens: int
    nodes: tuple[Node, ...] = ()
    documents: tuple[str, ...] = ()

    @classmethod
    def of(cls, retrieval: Retrieval) -> "Context":
        """Make the context of a retrieval."""
        nodes = tuple(hit.node for hit in retrieval.hits)
        ranked = dict.fromkeys(name for hit in retrieval.ranked for name in hit.node.documents)
        return cls(retrieval.context, retrieval.n_tokens, nodes, tuple(ranked))


class System(Protocol):
    """System of a comparison: a way from questions to contexts."""

    @property
    def name(self) -> str:
        """Name of the system, as the command line takes it."""

    def contexts(self, index: Index, batch: QuestionBatch, budget_tokens: int) -> list[Context]:
        """Make a context within the budget for each question."""


@dataclass(frozen=True, slots=True)
class ContextScores:
    """Scores of one context by measure, and a model's answer from it, if any."""

    values: Mapping[str, float]
    answer: str | None = None


class Measurer(Protocol):
    """Interface of what scores contexts."""

    @property
    def meanings(self) -> Mapping[str, str]:
        """Meaning of each measure that may apply, in the order of tables."""

    def measure(
        self, questions: Sequence[Question], contexts: Sequence[Context]
    ) -> list[ContextScores]:
        """Score each context by the measures that its question allows."""
