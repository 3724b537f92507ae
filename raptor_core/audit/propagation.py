"""Whether what a summary invented is told again by the summaries above it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from raptor_core.audit.base import SentenceFinding
from raptor_core.audit.terms import (
    Terms,
    names,
    number_forms,
    numbers,
    terms,
    word_forms,
    words,
)


@dataclass(frozen=True, slots=True)
class Propagation:
    """How far unsupported sentences went up.

    Attributes:
        n_traceable: unsupported sentences with a number or a name that no child holds, in nodes
            that have a parent: only such a mark can be followed.
        n_repeated: those of them of which a parent holds such a number or name.
    """

    n_traceable: int = 0
    n_repeated: int = 0

    def __add__(self, other: Propagation) -> Propagation:
        """Both together."""
        traceable = self.n_traceable + other.n_traceable
        return Propagation(traceable, self.n_repeated + other.n_repeated)


class Summary(Protocol):
    """What is read of a node above."""

    @property
    def text(self) -> str:
        """Its text."""

    @property
    def children(self) -> tuple[str, ...]:
        """Ids of the nodes that it summarizes."""


def measure_propagation(
    findings: Iterable[SentenceFinding], above: Sequence[Summary]
) -> Propagation:
    """Follow unsupported sentences into ``above``, the nodes of the next layer.

    The paper found no hallucination that its parents repeat.
    """
    parents: dict[str, list[Terms]] = {}
    for node in above:
        held = terms(node.text)
        for child in node.children:
            parents.setdefault(child, []).append(held)
    n_traceable = n_repeated = 0
    for finding in findings:
        marks = _marks(finding)
        if finding.judgement != "unsupported" or not marks or finding.node_id not in parents:
            continue
        n_traceable += 1
        n_repeated += any(
            held.supports(forms) for held in parents[finding.node_id] for forms in marks
        )
    return Propagation(n_traceable, n_repeated)


def _marks(finding: SentenceFinding) -> list[frozenset[str]]:
    """Forms of the numbers and names of the sentence that no child holds."""
    called = {word.text for word in names(finding.sentence, words(finding.sentence))}
    told = [word for text in finding.missing for word in words(text) if word.text in called]
    counted = [number for text in finding.missing for number in numbers(text)]
    return [*map(word_forms, told), *map(number_forms, counted)]
