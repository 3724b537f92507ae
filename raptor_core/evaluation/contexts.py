"""The seam for what a comparison compares: from questions to contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from raptor_core.evaluation.datasets.base import Question
from raptor_core.evaluation.index import Index
from raptor_core.nodes import Node
from raptor_core.retrieval import Retrieval
from raptor_core.store.base import Where
from raptor_core.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Asked:
    """At least one question, their vectors row for row, and the documents that all are asked of."""

    questions: Sequence[Question]
    vectors: Vectors
    where: Where


@dataclass(frozen=True, slots=True)
class Context:
    """What a reader would be given.

    ``nodes`` are those that it was put together from, in order; a baseline may have none.
    """

    text: str
    n_tokens: int
    nodes: tuple[Node, ...] = ()

    @classmethod
    def of(cls, retrieval: Retrieval) -> Context:
        """The context that was retrieved."""
        nodes = tuple(hit.node for hit in retrieval.hits)
        return cls(retrieval.context, retrieval.n_tokens, nodes)


class System(Protocol):
    """One system of a comparison."""

    @property
    def name(self) -> str:
        """As it is written on the command line."""

    def contexts(self, index: Index, asked: Asked, budget_tokens: int) -> list[Context]:
        """A context for each question, none over the budget."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one context is worth, by measure; with the answer that was read from it, if any."""

    values: Mapping[str, float]
    answer: str | None = None


class Measurer(Protocol):
    """Measure of what contexts are worth."""

    @property
    def meanings(self) -> Mapping[str, str]:
        """The measures that it may give, in the order of tables, and what each means."""

    def measure(self, questions: Sequence[Question], contexts: Sequence[Context]) -> list[Measured]:
        """The measures that each question allows."""
