"""An audit of a sample of summaries by one judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from raptor_core.audit.base import Judge, SentenceFinding
from raptor_core.audit.sampling import sample
from raptor_core.nodes import Node


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What one judge found.

    Attributes:
        judge, version: who judged.
        population: summaries that could have been audited.
        audited: the sampled nodes, in the layer's order.
        findings: one for every sentence of the audited nodes, in order.
    """

    judge: str
    version: str
    population: int
    audited: tuple[Node, ...]
    findings: tuple[SentenceFinding, ...]

    @property
    def unsupported(self) -> list[SentenceFinding]:
        """The sentences that nothing supports, in order."""
        return [finding for finding in self.findings if finding.judgement == "unsupported"]

    @property
    def unsupported_nodes(self) -> list[str]:
        """Ids of audited nodes with such a sentence, in order, each once."""
        return list(dict.fromkeys(finding.node_id for finding in self.unsupported))

    @property
    def unsupported_share(self) -> float:
        """Share of audited nodes with such a sentence; 0 when none was audited."""
        return len(self.unsupported_nodes) / len(self.audited) if self.audited else 0.0


def audit(
    nodes: Sequence[Node],
    below: Mapping[str, Node],
    judge: Judge,
    rate: float,
    minimum: int,
) -> AuditReport:
    """Judge a sample of ``nodes`` against their children, looked up by id in ``below``.

    ``rate`` and ``minimum`` are those of ``raptor_core.audit.sampling.sample``.
    """
    audited = sample(nodes, rate, minimum)
    findings = []
    for node in audited:
        children = [below[child] for child in node.children if child in below]
        findings += judge.judge(node, children)
    population = sum(not node.is_leaf for node in nodes)
    return AuditReport(judge.name, judge.version, population, tuple(audited), tuple(findings))
