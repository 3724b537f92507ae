"""Audits of sampled summaries by a judge, which reuse the findings of earlier audits."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from raptor_core.audit.base import Judge, Judgement, SentenceFinding, SummaryToAudit
from raptor_core.curation import RIGHT, WRONG, Curation
from raptor_core.identity import digest
from raptor_core.nodes import Node

EarlierFindings = Mapping[str, Sequence[SentenceFinding]]
"""Findings of earlier audits by ``audit_key``."""


def audit_key(item: SummaryToAudit, judge: Judge) -> str:
    """Return a digest of everything that findings depend on: the judge's version and the texts."""
    texts = (child.text for child in item.children)
    leaves = ("leaves", *item.leaf_texts) if item.leaf_texts else ()
    return digest("audit", judge.name, judge.version, item.node.text, *texts, *leaves)


def _is_judged(findings: Sequence[SentenceFinding]) -> bool:
    return all(finding.judgement != "not judged" for finding in findings)


def _transfer_findings(
    item: SummaryToAudit, findings: Sequence[SentenceFinding]
) -> tuple[SentenceFinding, ...]:
    """Return findings, made on equal texts, with the ids of this node and its children."""
    ids = {child.id for child in item.children}

    def child_of(finding: SentenceFinding) -> str | None:
        if finding.evidence_child is None or finding.evidence_child in ids:
            return finding.evidence_child
        quoted = (c.id for c in item.children if finding.evidence and finding.evidence in c.text)
        return next(quoted, None)

    return tuple(
        replace(finding, node_id=item.node.id, evidence_child=child_of(finding))
        for finding in findings
    )


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The findings of a judge on a sample of a layer.

    Attributes:
        population: number of summaries from which the sample is drawn.
        audited_nodes: sampled nodes, in the layer's order.
        audit_keys: ``audit_key`` of each sampled node.
        findings_by_node: findings on each sampled node, one for every sentence, in order.
        n_judged: number of nodes that were judged in this audit; others reuse earlier findings.
        n_right, n_wrong: number of findings that people judged to be right, or wrong.
    """

    judge: str
    version: str
    population: int
    audited_nodes: tuple[Node, ...] = ()
    audit_keys: tuple[str, ...] = ()
    findings_by_node: tuple[tuple[SentenceFinding, ...], ...] = ()
    n_judged: int = 0
    n_marked_right: int = 0
    n_marked_wrong: int = 0

    def with_decisions(self, curation: Curation) -> "AuditReport":
        """Apply people's decisions on the findings; see ``apply_decisions``."""
        decisions = [
            curation.finding_decision(f.node_id, f.sentence) for f in self.unsupported_findings
        ]
        values = [decision.value for decision in decisions if decision]
        by_node = tuple(
            tuple(apply_decisions(of_node, curation)) for of_node in self.findings_by_node
        )
        n_right, n_wrong = values.count(RIGHT), values.count(WRONG)
        return replace(
            self, findings_by_node=by_node, n_marked_right=n_right, n_marked_wrong=n_wrong
        )

    @property
    def findings(self) -> list[SentenceFinding]:
        """All findings, in order."""
        return [finding for of_node in self.findings_by_node for finding in of_node]

    @property
    def unsupported_findings(self) -> list[SentenceFinding]:
        """Findings on unsupported sentences, in order."""
        return [finding for finding in self.findings if finding.judgement == "unsupported"]

    @property
    def unjudged_findings(self) -> list[SentenceFinding]:
        """Findings on sentences that the judge could not judge, in order."""
        return [finding for finding in self.findings if finding.judgement == "not judged"]

    @property
    def unsupported_node_ids(self) -> list[str]:
        """Ids of audited nodes with at least one unsupported sentence, in order."""
        return list(dict.fromkeys(finding.node_id for finding in self.unsupported_findings))

    @property
    def unsupported_share(self) -> float:
        """Share of judged nodes with an unsupported sentence; 0 if none was judged."""
        not_judged = {finding.node_id for finding in self.unjudged_findings}
        n_judged = len(self.audited_nodes) - len(not_judged - set(self.unsupported_node_ids))
        return len(self.unsupported_node_ids) / n_judged if n_judged else 0.0


def apply_decisions(
    findings: Iterable[SentenceFinding], curation: Curation
) -> Iterator[SentenceFinding]:
    """Yield the findings; one that a person judged to be wrong becomes "supported"."""
    for finding in findings:
        decision = curation.finding_decision(finding.node_id, finding.sentence)
        if finding.judgement != "unsupported" or decision is None:
            yield finding
            continue
        reason = "; ".join(filter(None, (finding.reason, f"{decision.value}, says {decision.who}")))
        judgement: Judgement = "supported" if decision.value == WRONG else "unsupported"
        yield replace(finding, judgement=judgement, reason=reason)


@dataclass(frozen=True, slots=True)
class LayerToAudit:
    """A layer to audit.

    Attributes:
        nodes: the summaries from which the sample is drawn.
        nodes_below: nodes of the layer below, by id.
        earlier_findings: findings of earlier audits.
        leaf_texts: texts of the leaves below each node; empty if its children are leaves.
    """

    nodes: Sequence[Node]
    nodes_below: Mapping[str, Node]
    earlier_findings: EarlierFindings = field(default_factory=dict)
    leaf_texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def make_audited_summary(self, node: Node) -> SummaryToAudit:
        """Return a node with the texts that a judge compares it with."""
        children = tuple(
            self.nodes_below[child] for child in node.children if child in self.nodes_below
        )
        return SummaryToAudit(node, children, self.leaf_texts.get(node.id, ()))


def run_audits(
    audits: Sequence[LayerToAudit], judge: Judge, rate: float, minimum: int
) -> list[AuditReport]:
    """Judge a sample of every layer in one call of the judge, and reuse earlier findings.

    Args:
        rate: share of summaries to sample, in [0, 1].
        minimum: minimum number of summaries to sample in each layer.
    """
    reused = {
        key: tuple(findings)
        for audit in audits
        for key, findings in audit.earlier_findings.items()
        if _is_judged(findings)
    }
    samples = [sample_summaries(audit.nodes, rate, minimum) for audit in audits]
    items = [
        [audit.make_audited_summary(node) for node in nodes]
        for audit, nodes in zip(audits, samples, strict=True)
    ]
    keys = [[audit_key(item, judge) for item in of_layer] for of_layer in items]
    by_key = {
        k: item for pair in zip(keys, items, strict=True) for k, item in zip(*pair, strict=True)
    }
    new = {key: item for key, item in by_key.items() if key not in reused}
    judged = judge.judge(list(new.values())) if new else []
    findings = reused | dict(zip(new, map(tuple, judged), strict=True))
    return [
        AuditReport(
            judge=judge.name,
            version=judge.version,
            population=len(audit.nodes),
            audited_nodes=tuple(nodes),
            audit_keys=tuple(of_layer),
            findings_by_node=tuple(
                _transfer_findings(item, findings[key])
                for key, item in zip(of_layer, audited, strict=True)
            ),
            n_judged=sum(key in new for key in of_layer),
        )
        for audit, nodes, of_layer, audited in zip(audits, samples, keys, items, strict=True)
    ]


def sample_summaries(nodes: Sequence[Node], rate: float, minimum: int) -> list[Node]:
    """Draw a share of summaries, those with the smallest hashes, at least ``minimum``, in order."""
    n_sampled = max(minimum, math.ceil(rate * len(nodes)))
    by_hash = sorted((digest("audit", node.id), node.id) for node in nodes)
    chosen = {node_id for _, node_id in by_hash[:n_sampled]}
    return [node for node in nodes if node.id in chosen]
