"""An audit of a sample of summaries by one judge, which repeats nothing that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from raptor_core.audit.base import Audited, Judge, SentenceFinding
from raptor_core.audit.remembering import Known, RememberingJudge, audit_key
from raptor_core.audit.sampling import sample
from raptor_core.nodes import Node


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What one judge found.

    Attributes:
        judge, version: who judged.
        population: summaries that could have been audited.
        audited: the sampled nodes, in the layer's order.
        keys: the ``audit_key`` of each.
        by_node: the findings of each, one for every sentence, in order.
        n_judged: nodes that were judged now; the others' findings were known.
    """

    judge: str
    version: str
    population: int
    audited: tuple[Node, ...] = ()
    keys: tuple[str, ...] = ()
    by_node: tuple[tuple[SentenceFinding, ...], ...] = ()
    n_judged: int = 0

    @property
    def findings(self) -> list[SentenceFinding]:
        """All findings, in order."""
        return [finding for found in self.by_node for finding in found]

    @property
    def unsupported(self) -> list[SentenceFinding]:
        """The sentences that nothing supports, in order."""
        return [finding for finding in self.findings if finding.judgement == "unsupported"]

    @property
    def not_judged(self) -> list[SentenceFinding]:
        """The sentences for which the judge's model gave no usable answer, in order."""
        return [finding for finding in self.findings if finding.judgement == "not judged"]

    @property
    def unsupported_nodes(self) -> list[str]:
        """Ids of audited nodes with an unsupported sentence, in order, each once."""
        return list(dict.fromkeys(finding.node_id for finding in self.unsupported))

    @property
    def unsupported_share(self) -> float:
        """Share of judged nodes with such a sentence; 0 when none was judged."""
        not_judged = {finding.node_id for finding in self.not_judged}
        n_judged = len(self.audited) - len(not_judged - set(self.unsupported_nodes))
        return len(self.unsupported_nodes) / n_judged if n_judged else 0.0


@dataclass(frozen=True, slots=True)
class Audit:
    """A layer of one or more trees to sample.

    ``below`` maps id to node of the layer below. ``known`` are findings of earlier audits.
    """

    nodes: Sequence[Node]
    below: Mapping[str, Node]
    known: Known = field(default_factory=dict)


def run_audits(
    audits: Sequence[Audit], judge: Judge, rate: float, minimum: int
) -> list[AuditReport]:
    """Judge a sample of each layer's summaries against their children, all in one call.

    ``rate`` and ``minimum`` are those of ``raptor_core.audit.sampling.sample``. A summary that was
    judged by the same judge over the same texts is not judged again: its findings are taken from
    what is known, unless it was not judged then.
    """
    asked = RememberingJudge(judge, {key: f for one in audits for key, f in one.known.items()})
    chosen = [sample(one.nodes, rate, minimum) for one in audits]
    items = [
        [with_children(node, one.below) for node in nodes]
        for one, nodes in zip(audits, chosen, strict=True)
    ]
    n_judged = [sum(not asked.knows(item) for item in of_layer) for of_layer in items]
    found = iter(asked.judge([item for of_layer in items for item in of_layer]))
    return [
        AuditReport(
            judge=judge.name,
            version=judge.version,
            population=sum(not node.is_leaf for node in one.nodes),
            audited=tuple(nodes),
            keys=tuple(audit_key(item, judge) for item in of_layer),
            by_node=tuple(tuple(next(found)) for _ in of_layer),
            n_judged=n,
        )
        for one, nodes, of_layer, n in zip(audits, chosen, items, n_judged, strict=True)
    ]


def with_children(node: Node, below: Mapping[str, Node]) -> Audited:
    """The summary with those of its children that are known."""
    return Audited(node, tuple(below[child] for child in node.children if child in below))
