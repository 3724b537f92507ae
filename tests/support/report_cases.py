"""Trees for reports: small ones of known texts, and large ones."""

from __future__ import annotations

import uuid

from raptor_core.audit.base import SentenceFinding
from raptor_core.documents.base import Document
from raptor_core.nodes import Node
from raptor_core.report.values import Report, ReportTree

PUBLISHED = "2026-11-22T09:07:00+00:00"
HOSTILE = (
    "Before </script><script>window.hacked = 1</script><!-- <script> <b>bold</b> "
    "&lt;i&gt; <img src=x onerror=window.hacked=2> \u2028 \u2029 {{DATA}} after"
)
"""What would run, end the page's data or change its markup, were it not escaped."""


def node_id(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def leaf(name: str, text: str, start: int, document: str = "d.md", tree: str = "t") -> Node:
    return Node(
        id=node_id(name),
        tree=tree,
        layer=0,
        content_key=name,
        text=text,
        n_tokens=len(text.split()),
        position=start,
        documents=(document,),
        children=(),
        fingerprint="f",
        embedding_key=name,
        start=start,
        end=start + len(text),
        section=("Part", "Chapter"),
        source=document,
    )


def summary(name: str, text: str, layer: int, children: list[Node], tree: str = "t") -> Node:
    return Node(
        id=node_id(name),
        tree=tree,
        layer=layer,
        content_key=name,
        text=text,
        n_tokens=len(text.split()),
        position=children[0].position,
        documents=tuple(sorted({name for child in children for name in child.documents})),
        children=tuple(child.id for child in children),
        fingerprint="f",
        embedding_key=name,
    )


def document_of(sentences: list[str], name: str = "d.md", gap: str = "\n\n", tree: str = "t"):
    """A document of these chunks, and its leaves."""
    leaves, at = [], 0
    for number, text in enumerate(sentences):
        leaves.append(leaf(f"{name}{number}", text, at, name, tree))
        at += len(text) + len(gap)
    return Document(name, gap.join(sentences), title=f"Title of {name}", source=name), leaves


def tree_of(nodes: list[Node], *documents: Document, name: str = "t", **values) -> ReportTree:
    return ReportTree(name, "b1", PUBLISHED, "1 node is left", tuple(nodes), documents, **values)


LEAVES = [
    "The lamp was lit in 1872 by Agnes Moor. It burned rape oil.",
    "In the storm of 1953 Tom Ferris kept the lamp burning 🔥 for nineteen hours.",
    "The light was made automatic in 1984. Nobody lives on the rock.",
    HOSTILE,
]


def lighthouse() -> Report:
    """Three layers, a leaf under two parents, an emoji before a span, hostile text, findings."""
    document, leaves = document_of(LEAVES)
    first = summary("s0", "Agnes Moor lit the lamp. In 1899 the king came.", 1, leaves[:2])
    second = summary("s1", "Tom Ferris kept it. It is automatic. " + HOSTILE, 1, leaves[1:])
    top = summary("top", "A lamp was lit and kept. The king came in 1899.", 2, [first, second])
    findings = (
        SentenceFinding(
            first.id,
            "In 1899 the king came.",
            "unsupported",
            0.1,
            ("1899", "king"),
            leaves[1].id,
            "In the storm of 1953 Tom Ferris kept the lamp",
            "No child says that a king came.",
        ),
        SentenceFinding(first.id, "Agnes Moor lit the lamp.", "supported", 0.9),
        SentenceFinding(
            top.id,
            "The king came in 1899.",
            "unsupported",
            0.2,
            ("king",),
            first.id,
            "In 1899 the king came.",
        ),
        SentenceFinding(second.id, "It is automatic.", "not judged", 0.0, reason=HOSTILE),
    )
    tree = tree_of([*leaves, first, second, top], document)
    return Report("t", (tree,), findings, settings='[chunking]\nmax_tokens = "<b>"')
