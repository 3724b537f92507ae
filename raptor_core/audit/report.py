"""An audit of a sample of summaries by one judge, which repeats nothing that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from raptor_core.audit.base import Audited, Judge, SentenceFinding
from raptor_core.audit.sampling import sample
from raptor_core.identity import digest
from raptor_core.nodes import Node

Known = Mapping[str, Sequence[SentenceFinding]]
"""Findings of earlier audits by ``audit_key``."""


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
    chosen = [
        [with_children(node, one.below) for node in sample(one.nodes, rate, minimum)]
        for one in audits
    ]
    keys = [tuple(audit_key(item, judge) for item in items) for items in chosen]
    found = {key: tuple(f) for one in audits for key, f in one.known.items() if _is_judged(f)}
    fresh = {
        key: item
        for of_layer, items in zip(keys, chosen, strict=True)
        for key, item in zip(of_layer, items, strict=True)
        if key not in found
    }
    judged = judge.judge(list(fresh.values())) if fresh else []
    found.update(zip(fresh, map(tuple, judged), strict=True))
    return [
        AuditReport(
            judge=judge.name,
            version=judge.version,
            population=sum(not node.is_leaf for node in one.nodes),
            audited=tuple(item.node for item in items),
            keys=of_layer,
            by_node=tuple(_of(item, found[key]) for key, item in zip(of_layer, items, strict=True)),
            n_judged=sum(key in fresh for key in of_layer),
        )
        for one, items, of_layer in zip(audits, chosen, keys, strict=True)
    ]


def _is_judged(findings: Sequence[SentenceFinding]) -> bool:
    return all(finding.judgement != "not judged" for finding in findings)


def with_children(node: Node, below: Mapping[str, Node]) -> Audited:
    """The summary with those of its children that are known."""
    return Audited(node, tuple(below[child] for child in node.children if child in below))


def audit_key(item: Audited, judge: Judge) -> str:
    """Digest of all that a judge's findings depend on: its version, and the texts."""
    texts = (child.text for child in item.children)
    return digest("audit", judge.name, judge.version, item.node.text, *texts)


def _of(item: Audited, findings: Sequence[SentenceFinding]) -> tuple[SentenceFinding, ...]:
    """Findings on the same texts as findings on this node and its children.

    An evidence child is known by its text, since ids change where texts do not; one that is not
    among the children any more is found by the passage.
    """
    ids = {child.id for child in item.children}

    def child_of(finding: SentenceFinding) -> str | None:
        if finding.evidence_child is None or finding.evidence_child in ids:
            return finding.evidence_child
        holding = (c.id for c in item.children if finding.evidence and finding.evidence in c.text)
        return next(holding, None)

    return tuple(
        replace(finding, node_id=item.node.id, evidence_child=child_of(finding))
        for finding in findings
    )
