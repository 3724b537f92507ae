"""An audit of a sample of summaries by one judge, which repeats nothing that is known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from raptor_core.audit.base import Audited, Judge, Judgement, SentenceFinding
from raptor_core.audit.terms import Terms, names, number_forms, numbers, terms, word_forms, words
from raptor_core.curation import RIGHT, WRONG, Curation
from raptor_core.identity import digest
from raptor_core.nodes import Node

Known = Mapping[str, Sequence[SentenceFinding]]
"""Findings of earlier audits by ``audit_key``."""


class RememberingJudge:
    """Another judge, asked only about what is not ``known``.

    What it could not judge is asked again.
    """

    def __init__(self, inner: Judge, known: Known | None = None) -> None:
        self._inner = inner
        self.name, self.version = inner.name, inner.version
        self.known = {key: tuple(f) for key, f in (known or {}).items() if _is_judged(f)}

    def judge(self, summaries: Sequence[Audited]) -> list[list[SentenceFinding]]:
        """See ``Judge.judge``."""
        keys = [audit_key(item, self._inner) for item in summaries]
        pairs = zip(keys, summaries, strict=True)
        fresh = {key: item for key, item in pairs if key not in self.known}
        judged = self._inner.judge(list(fresh.values())) if fresh else []
        known = self.known | dict(zip(fresh, map(tuple, judged), strict=True))
        self.known |= {key: known[key] for key in fresh if _is_judged(known[key])}
        return [_told_of(item, known[key]) for key, item in zip(keys, summaries, strict=True)]


def audit_key(item: Audited, judge: Judge) -> str:
    """Digest of all that a judge's findings depend on: its version, and the texts."""
    texts = (child.text for child in item.children)
    return digest("audit", judge.name, judge.version, item.node.text, *texts)


def _is_judged(findings: Sequence[SentenceFinding]) -> bool:
    return all(finding.judgement != "not judged" for finding in findings)


def _told_of(item: Audited, findings: Sequence[SentenceFinding]) -> list[SentenceFinding]:
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

    return [
        replace(finding, node_id=item.node.id, evidence_child=child_of(finding))
        for finding in findings
    ]


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What one judge found.

    Attributes:
        population: summaries that could have been audited.
        audited: the sampled nodes, in the layer's order.
        keys: the ``audit_key`` of each.
        by_node: the findings of each, one for every sentence, in order.
        n_judged: nodes that were judged now; the others' findings were known.
        n_right, n_wrong: findings that people marked so.
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

    def marked(self, curation: Curation) -> AuditReport:
        """The same with what people say of its findings, see ``with_marks``."""
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


def with_marks(
    findings: Iterable[SentenceFinding], curation: Curation
) -> Iterator[SentenceFinding]:
    """The findings; a sentence whose finding a person marked as wrong counts as supported."""
    for finding in findings:
        mark = curation.mark(finding.node_id, finding.sentence)
        if finding.judgement != "unsupported" or mark is None:
            yield finding
            continue
        told = "; ".join(
            part for part in (finding.reason, f"{mark.value}, says {mark.who}") if part
        )
        judgement: Judgement = "supported" if mark.value == WRONG else "unsupported"
        yield replace(finding, judgement=judgement, reason=told)


@dataclass(frozen=True, slots=True)
class Audit:
    """The summaries of a layer of one or more trees, to sample.

    ``below`` maps id to node of the layer below. ``known`` are findings of earlier audits.
    """

    nodes: Sequence[Node]
    below: Mapping[str, Node]
    known: Known = field(default_factory=dict)


def run_audits(
    audits: Sequence[Audit], judge: Judge, rate: float, minimum: int
) -> list[AuditReport]:
    """Judge a sample of each layer's summaries against their children, all in one call.

    ``rate`` and ``minimum`` are those of ``sample``. A summary that was judged by the same judge
    over the same texts is not judged again: its findings are taken from what is known.
    """
    asked = RememberingJudge(judge, {key: f for one in audits for key, f in one.known.items()})
    chosen = [sample(one.nodes, rate, minimum) for one in audits]
    items = [
        [Audited(n, tuple(one.below[c] for c in n.children if c in one.below)) for n in nodes]
        for one, nodes in zip(audits, chosen, strict=True)
    ]
    keys = [[audit_key(item, judge) for item in of_layer] for of_layer in items]
    n_judged = [sum(key not in asked.known for key in of_layer) for of_layer in keys]
    findings = iter(asked.judge([item for of_layer in items for item in of_layer]))
    return [
        AuditReport(
            judge=judge.name,
            version=judge.version,
            population=len(one.nodes),
            audited=tuple(nodes),
            keys=tuple(of_layer),
            by_node=tuple(tuple(next(findings)) for _ in of_layer),
            n_judged=n,
        )
        for one, nodes, of_layer, n in zip(audits, chosen, keys, n_judged, strict=True)
    ]


def sample(nodes: Sequence[Node], rate: float, minimum: int) -> list[Node]:
    """Of a layer's summaries those with the smallest hash of their id; in the given order.

    They are ``rate`` (0 to 1) of all, rounded up, and ``minimum`` at the least. A choice by hash
    keeps its nodes when others come and go, so that a rebuild audits little anew.
    """
    wanted = max(minimum, math.ceil(rate * len(nodes)))
    by_hash = sorted((digest("audit", node.id), node.id) for node in nodes)
    chosen = {node_id for _, node_id in by_hash[:wanted]}
    return [node for node in nodes if node.id in chosen]


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


def measure_propagation(
    findings: Iterable[SentenceFinding], above: Iterable[tuple[str, Iterable[str]]]
) -> Propagation:
    """Follow unsupported sentences into ``above``: texts of the next layer, their children's ids.

    The paper found no hallucination that its parents repeat.
    """
    parents: dict[str, list[Terms]] = {}
    for text, children in above:
        held = terms(text)
        for child in children:
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
