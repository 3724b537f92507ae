"""Code versions from the settings, data versions from content.

A code version is the fingerprint of the settings that an asset's result depends on, so that a
changed setting makes exactly those assets stale. A data version is a digest of the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from raptor_core.curation import Curation
from raptor_core.documents.base import Document, DocumentEntry
from raptor_core.identity import digest, fingerprint
from raptor_core.nodes import Node
from raptor_core.settings import Settings
from raptor_core.store.base import Manifest
from raptor_core.tree.publish import build_id, build_settings_fingerprint, content_settings

if TYPE_CHECKING:
    from raptor_core.audit.report import AuditReport
    from raptor_core.tree.cluster import Clustering

METHOD = "1"  # raise it when a step's result changes under the same settings
NARROWED = "narrowed"  # documents of a version whose tree lost readers before its build
PAST_TOP = "past_top"  # data version where no tree has the layer any more


def code_versions(settings: Settings, custom: Mapping[str, str]) -> dict[str, str]:
    """Return the code version of each kind of asset; ``custom`` has components' fingerprints."""

    def version(*groups: str, **values: object) -> str:
        content = {group: content_settings(settings, group, custom) for group in groups}
        return fingerprint("asset", {"method": METHOD, **content, **values})

    checks = settings.checks
    return {
        "documents": version(),
        "chunks": version("chunking", "tokens", "embedder"),
        "embeddings": version("embedder"),
        "clusters": version("clustering", top_nodes=settings.tree.top_nodes),
        "summaries": version("summarizer", "tokens", "embedder"),
        "findings": version("audit", rate=checks.audit_rate, minimum=checks.audit_minimum),
        "tree": tree_code_version(settings, custom),
    }


def tree_code_version(settings: Settings, custom: Mapping[str, str]) -> str:
    """Return the fingerprint of all settings of a published tree, its audit and its place."""
    store = settings.store
    place = {"kind": store.kind, "corpus": store.corpus, "url": store.url}
    build = build_settings_fingerprint(settings, custom)
    audit = content_settings(settings, "audit", custom)
    values = {"method": METHOD, "build": build, "store": place, "audit": audit}
    return fingerprint("asset", values)


def documents_version(
    trees: Mapping[str, Sequence[Document | DocumentEntry]], curation: Curation | None = None
) -> str:
    """Return the digest of a partition's documents, their grouping, and people's decisions."""
    lines = [
        f"{tree}\0{document.version}" for tree, documents in trees.items() for document in documents
    ]
    for tree, documents in trees.items():
        decisions = curation.digest([document.id for document in documents]) if curation else ""
        lines += [f"{tree}\0curated\0{decisions}"] if decisions else []
    return digest("documents", *sorted(lines))


def nodes_version(nodes: Sequence[Node]) -> str:
    """Return the digest of all fields of all nodes."""
    return build_id(nodes)


def clusters_version(clusterings: Sequence[Clustering]) -> str:
    """Return the digest of the groups of every tree, and of where and why a tree ended."""
    lines = []
    for done in sorted(clusterings, key=lambda done: done.tree):
        lines.append(f"{done.tree}\0{done.layer}\0{done.end.reason if done.end else ''}")
        lines += ["\0".join(group) for group in done.groups]
    return digest("clusters", *lines)


def findings_version(report: AuditReport) -> str:
    """Return the digest of the audited nodes, of the judge and of its findings."""
    lines = [
        f"{node.id}\0{key}"
        for node, key in zip(report.audited_nodes, report.audit_keys, strict=True)
    ]
    return digest("findings", *lines, *map(repr, report.findings))


@dataclass(frozen=True, slots=True)
class TreeVersion:
    """Version of a partition's published trees.

    Attributes:
        documents_digest: digest of the partition's documents, their groups and people's decisions.
        code_version: beginning of the settings' code version, see ``tree_code_version``.
        content_digest: digest of the published nodes; "" in a manifest.
    """

    documents_digest: str
    code_version: str
    content_digest: str = ""

    @classmethod
    def of(cls, partition: str, documents: str, build: str) -> TreeVersion:
        """Return the version of trees to publish, from ``documents_version``."""
        return cls(_short_digest("inputs", partition, documents), build[:16])

    @classmethod
    def parse(cls, text: str) -> TreeVersion:
        """Parse ``Manifest.inputs``, which is "" for trees that no build published."""
        documents, _, build = text.partition("-")
        return cls(documents, build)

    @property
    def text(self) -> str:
        """Text of the version, as it stands in manifests and in Dagster."""
        return "-".join(
            filter(None, (self.documents_digest, self.code_version, self.content_digest))
        )

    def with_content_of(self, manifests: Iterable[Manifest]) -> TreeVersion:
        """Return the version with the content of these manifests."""
        builds = sorted(manifest.build_id for manifest in manifests)
        return replace(self, content_digest=_short_digest("tree", *builds))


def _short_digest(*parts: str) -> str:
    return digest(*parts)[:16]
