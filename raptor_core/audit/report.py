"""Audit of a sample of summaries by one judge, which reuses earlier findings."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from raptor_core.audit.base import AuditedSummary, Judge, Judgement, SentenceFinding
from raptor_core.curation import RIGHT, WRONG, Curation
from raptor_core.identity import digest
from raptor_core.nodes import Node

Known = Mapping[str, Sequence[SentenceFinding]]
"""Findings of earlier audits by ``audit_key``."""


def audit_key(item: AuditedSummary, judge: Judge) -> str:
    """Return the digest of all that findings depend on: the judge's version, and the texts."""
    texts = (child.text for child in item.children)
    leaves = ("leaves", *item.leaves) if item.leaves else ()
    return digest("audit", judge.name, judge.version, item.node.text, *texts, *leaves)


def _is_judged(findings: Sequence[SentenceFinding]) -> bool:
    return all(finding.judgement != "not judged" for finding in findings)


def _move_to(
    item: AuditedSummary, findings: Sequence[SentenceFinding]
) -> tuple[SentenceFinding, ...]:
    """Return findings on the same texts with the ids of this node and its children."""
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


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Findings of one judge on a sample of a layer.

    Attributes:
        population: number of summaries that the sample is drawn from.
        audited: sampled nodes, in the layer's order.
        keys: ``audit_key`` of each sampled node.
        by_node: findings of each sampled node, one for every sentence, in order.
        n_judged: nodes that were judged now; the others' findings were known.
        n_right, n_wrong: findings that people marked as right or wrong.
    """

    judge: str
    version: str
    population: int
    audited: tuple[Node, ...] = ()
    keys: tuple[str, ...] = ()
    by_node: tuple[tuple[SentenceFinding, ...], ...] = ()
    n_judged: int = 0
    n_right: int = 0
    n_wrong: int = 0

    def marked(self, curation: Curation) -> "AuditReport":
        """Return the report with people's marks on its findings; see ``with_marks``."""
        marks = [curation.mark(f.node_id, f.sentence) for f in self.unsupported]
        values = [mark.value for mark in marks if mark]
        by_node = tuple(tuple(with_marks(of_node, curation)) for of_node in self.by_node)
        n_right, n_wrong = values.count(RIGHT), values.count(WRONG)
        return replace(self, by_node=by_node, n_right=n_right, n_wrong=n_wrong)

    @property
    def findings(self) -> list[SentenceFinding]:
        """All findings, in order."""
        return [finding for of_node in self.by_node for finding in of_node]

    @property
    def unsupported(self) -> list[SentenceFinding]:
        """Findings on unsupported sentences, in order."""
        return [finding for finding in self.findings if finding.judgement == "unsupported"]

    @property
    def not_judged(self) -> list[SentenceFinding]:
        """Findings on sentences for which the judge's model gave no usable answer, in order."""
        return [finding for finding in self.findings if finding.judgement == "not judged"]

    @property
    def unsupported_nodes(self) -> list[str]:
        """Ids of audited nodes with an unsupported sentence, in order, without repeats."""
        return list(dict.fromkeys(finding.node_id for finding in self.unsupported))

    @property
    def unsupported_share(self) -> float:
        """Share of judged nodes with an unsupported sentence; 0 if none was judged."""
        not_judged = {finding.node_id for finding in self.not_judged}
        n_judged = len(self.audited) - len(not_judged - set(self.unsupported_nodes))
        return len(self.unsupported_nodes) / n_judged if n_judged else 0.0


def with_marks(
    findings: Iterable[SentenceFinding], curation: Curation
) -> Iterator[SentenceFinding]:
    """Yield the findings; a finding that a person marked as wrong counts as supported."""
    for finding in findings:
        mark = curation.mark(finding.node_id, finding.sentence)
        if finding.judgement != "unsupported" or mark is None:
            yield finding
            continue
        reason = "; ".join(filter(None, (finding.reason, f"{mark.value}, says {mark.who}")))
        judgement: Judgement = "supported" if mark.value == WRONG else "unsupported"
        yield replace(finding, judgement=judgement, reason=reason)


@dataclass(frozen=True, slots=True)
class Audit:
    """Layer of summaries to sample, nodes ``below`` it by id, and findings of earlier audits.

    ``leaves`` are the texts of the leaves beneath each node, where its children are summaries.
    """

    nodes: Sequence[Node]
    below: Mapping[str, Node]
    known: Known = field(default_factory=dict)
    leaves: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def item(self, node: Node) -> AuditedSummary:
        """Return a node with what a judge compares it with."""
        children = tuple(self.below[child] for child in node.children if child in self.below)
        return AuditedSummary(node, children, self.leaves.get(node.id, ()))


def run_audits(
    audits: Sequence[Audit], judge: Judge, rate: float, minimum: int
) -> list[AuditReport]:
    """Judge a ``sample`` of each layer's summaries in one call, and reuse earlier findings."""
    known = {
        key: tuple(findings)
        for audit in audits
        for key, findings in audit.known.items()
        if _is_judged(findings)
    }
    samples = [sample(audit.nodes, rate, minimum) for audit in audits]
    items = [
        [audit.item(node) for node in nodes] for audit, nodes in zip(audits, samples, strict=True)
    ]
    keys = [[audit_key(item, judge) for item in of_layer] for of_layer in items]
    by_key = {
        k: item for pair in zip(keys, items, strict=True) for k, item in zip(*pair, strict=True)
    }
    fresh = {key: item for key, item in by_key.items() if key not in known}
    judged = judge.judge(list(fresh.values())) if fresh else []
    findings = known | dict(zip(fresh, map(tuple, judged), strict=True))
    return [
        AuditReport(
            judge=judge.name,
            version=judge.version,
            population=len(audit.nodes),
            audited=tuple(nodes),
            keys=tuple(of_layer),
            by_node=tuple(
                _move_to(item, findings[key]) for key, item in zip(of_layer, audited, strict=True)
            ),
            n_judged=sum(key in fresh for key in of_layer),
        )
        for audit, nodes, of_layer, audited in zip(audits, samples, keys, items, strict=True)
    ]


def sample(nodes: Sequence[Node], rate: float, minimum: int) -> list[Node]:
    """Return the ``rate`` of summaries with the smallest hashes, at least ``minimum``, in order."""
    n_sampled = max(minimum, math.ceil(rate * len(nodes)))
    by_hash = sorted((digest("audit", node.id), node.id) for node in nodes)
    chosen = {node_id for _, node_id in by_hash[:n_sampled]}
    return [node for node in nodes if node.id in chosen]
