"""A judge that is never asked twice about the same texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from raptor_core.audit.base import Audited, Judge, SentenceFinding
from raptor_core.identity import digest

Known = Mapping[str, Sequence[SentenceFinding]]
"""Findings of earlier audits by ``audit_key``."""


class RememberingJudge:
    """Another judge, asked only about what it has not judged before.

    What it could not judge is asked again.
    """

    def __init__(self, inner: Judge, known: Known | None = None) -> None:
        self._inner = inner
        self._known = {key: tuple(f) for key, f in (known or {}).items() if _is_judged(f)}

    @property
    def name(self) -> str:
        """The other judge's."""
        return self._inner.name

    @property
    def version(self) -> str:
        """The other judge's."""
        return self._inner.version

    def knows(self, item: Audited) -> bool:
        """Whether the other judge would not be asked."""
        return audit_key(item, self._inner) in self._known

    def judge(self, summaries: Sequence[Audited]) -> list[list[SentenceFinding]]:
        """See ``Judge.judge``."""
        keys = [audit_key(item, self._inner) for item in summaries]
        pairs = zip(keys, summaries, strict=True)
        fresh = {key: item for key, item in pairs if key not in self._known}
        judged = self._inner.judge(list(fresh.values())) if fresh else []
        found = self._known | dict(zip(fresh, map(tuple, judged), strict=True))
        self._known |= {key: found[key] for key in fresh if _is_judged(found[key])}
        return [_told_of(item, found[key]) for key, item in zip(keys, summaries, strict=True)]


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
