"""Manifests of finished trees, and removal of nodes that must not be published.

``raptor_core.store`` publishes trees. Custom components are given by their fingerprints;
``components`` makes them.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import TypeVar

from raptor_core.curation import CURATED, Curation
from raptor_core.documents.base import Document
from raptor_core.identity import FALLBACK, digest, fingerprint
from raptor_core.models.local.files import digest_size_and_file_ends
from raptor_core.nodes import Node, Tree
from raptor_core.settings import Settings
from raptor_core.store.base import Manifest, TreeEdition

BUILD_GROUPS = ("chunking", "tokens", "embedder", "clustering", "summarizer")
"""Sections of the settings on which a tree's content depends and which have a component."""
_LABELS = {"name", "key_terms", "paragraphs"}
Value = TypeVar("Value")
_values = attrgetter(*(field.name for field in fields(Node) if field.name not in _LABELS))


def build_settings_fingerprint(settings: Settings, custom: Mapping[str, str]) -> str:
    """Return the fingerprint of all settings and components that change a tree's content."""
    groups = (*BUILD_GROUPS, "tree")
    values = {group: content_settings(settings, group, custom) for group in groups}
    return fingerprint("build", values)


def content_settings(
    settings: Settings, group: str, custom: Mapping[str, str]
) -> dict[str, object]:
    """Return the settings of a section that change a result, with its custom component."""
    part = getattr(settings, group)
    values: dict[str, object] = part.model_dump(
        mode="json", include=set(part.flagged_settings("rebuilds"))
    )
    if values.get("kind") == "extractive":
        values.pop("foreign_facts", None)  # because quoted sentences invent nothing
    if getattr(part, "is_local", False):
        with suppress(OSError):  # because applications that only search do not need the file
            values["model"] = digest_size_and_file_ends(part.model)
    return {**values, "own": custom[group]} if custom.get(group) else values


def build_id(nodes: Sequence[Node]) -> str:
    """Return a digest of a tree's nodes in any order, except for names and paragraphs."""
    return digest(*sorted(json.dumps(_values(node), sort_keys=True) for node in nodes))


def make_manifest(
    tree: Tree,
    documents: Sequence[Document],
    settings_fingerprint: str,
    inputs: str = "",
) -> Manifest:
    """Make the manifest of a finished tree, with the current time."""
    nodes = list(tree.nodes())
    return Manifest(
        tree=tree.name,
        build_id=build_id(nodes),
        layer_sizes=tuple(len(layer.nodes) for layer in tree.layers),
        n_tokens=sum(node.n_tokens for node in nodes),
        documents={document.id: document.content_hash for document in documents},
        end=tree.end.reason,
        settings_fingerprint=settings_fingerprint,
        published_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        fits=tree.fits,
        title=_find_title(tree, documents),
        inputs=inputs,
        is_refused=any(FALLBACK in node.quality for node in nodes),
        sources={d.id: d.source for d in documents if d.source not in ("", d.id)},
        readers={d.id: d.readers for d in documents if d.readers},
    )


def forbidden_node_ids(
    nodes: Sequence[Node], curation: Curation, gone: Collection[str] = ()
) -> set[str]:
    """Return the ids of a tree's nodes that must not be published.

    These are chunks that a person set aside or whose document is gone, summaries whose text differs
    from a person's correction, corrections that were reverted, and all nodes above these.

    Args:
        nodes: all nodes of the tree, from the leaves up.
        curation: the decisions that apply.
        gone: ids of documents that are gone.
    """
    keys = {node.id: node.content_key for node in nodes}
    forbidden: set[str] = set()
    for node in nodes:
        if node.is_leaf:
            document = node.documents[0]
            denies = (
                document in gone
                or document in curation.set_aside_documents
                or curation.excludes_chunk(document, node.content_key)
            )
        else:
            children = [keys[child] for child in node.children]
            decision = curation.summary_decision(node.documents, children)
            written = node.text != decision.value if decision else CURATED in node.quality
            denies = written or not forbidden.isdisjoint(node.children)
        if denies:
            forbidden.add(node.id)
    return forbidden


def without_nodes(edition: TreeEdition, forbidden: Collection[str]) -> TreeEdition:
    """Return an edition without the ``forbidden`` nodes, which include all nodes above any of them.

    So the children of every remaining node remain, too. The caller must change the manifest's
    ``inputs``, so that the next build publishes the tree again.
    """
    nodes = [node for node in edition.nodes if node.id not in forbidden]
    sizes = Counter(node.layer for node in nodes)
    documents = {node.documents[0] for node in nodes if node.is_leaf}
    manifest = edition.manifest

    def kept(values: Mapping[str, Value]) -> dict[str, Value]:
        return {name: value for name, value in values.items() if name in documents}

    return replace(
        edition,
        nodes=nodes,
        manifest=replace(
            manifest,
            build_id=build_id(nodes),
            layer_sizes=tuple(sizes[layer] for layer in sorted(sizes)),
            n_tokens=sum(node.n_tokens for node in nodes),
            documents=kept(manifest.documents),
            fits=manifest.fits[: max(0, len(sizes) - 1)],
            sources=kept(manifest.sources),
            readers=kept(manifest.readers),
        ),
    )


def _find_title(tree: Tree, documents: Sequence[Document]) -> str:
    top_nodes = tree.layers[-1].nodes
    if len(documents) == 1:
        return documents[0].title
    return top_nodes[0].name if len(top_nodes) == 1 else ""
