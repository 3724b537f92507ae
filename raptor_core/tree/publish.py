"""What is published of a finished tree."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from operator import attrgetter

from raptor_core.documents.base import Document
from raptor_core.identity import digest, fingerprint
from raptor_core.nodes import Node, Tree
from raptor_core.settings import Settings
from raptor_core.settings.base import HOW_ENDPOINTS_ARE_CALLED
from raptor_core.store.base import Manifest
from raptor_core.tree.own_components import own_fingerprint

_LABELS = {"name", "key_terms", "paragraphs"}
_values = attrgetter(*(field.name for field in fields(Node) if field.name not in _LABELS))


def build_settings_fingerprint(settings: Settings) -> str:
    """Fingerprint of every setting that a tree's content depends on."""
    parts = ("chunking", "tokens", "embedder", "clustering", "summarizer", "tree")
    return fingerprint("build", {part: content_settings(settings, part) for part in parts})


_HOW = {
    *("batch_size", "threads", "encoding", "json_format"),
    *("batch_from", "batch_poll_seconds", "batch_price"),
}
"""Settings of models that change no result, beside those of endpoints."""


def content_settings(settings: Settings, part: str) -> dict[str, object]:
    """The settings of one part that change a result, without those that say only how."""
    how = HOW_ENDPOINTS_ARE_CALLED | _HOW
    values: dict[str, object] = getattr(settings, part).model_dump(mode="json", exclude=set(how))
    if values.get("precision") != "bfloat16":
        values.pop("precision", None)  # of float32, as before there was a choice
    for name in ("system_prompt", "user_prompt", "titles"):
        if not values.get(name):
            values.pop(name, None)  # as before there was a choice
    own = own_fingerprint(part, settings)
    return {**values, "own": own} if own else values


def build_id(nodes: Sequence[Node]) -> str:
    """Digest of all nodes of a tree, in any order, but names and paragraphs."""
    return digest(*sorted(json.dumps(_values(node), sort_keys=True) for node in nodes))


def make_manifest(
    tree: Tree,
    documents: Sequence[Document],
    settings: Settings,
    quarantined: Collection[str] = (),
) -> Manifest:
    """The manifest of a finished tree over ``documents``, published now.

    ``quarantined`` are ids of nodes that no search may find; those of other trees are left out.
    """
    nodes = list(tree.nodes())
    return Manifest(
        tree=tree.name,
        build_id=build_id(nodes),
        layer_sizes=tuple(len(layer.nodes) for layer in tree.layers),
        n_tokens=sum(node.n_tokens for node in nodes),
        documents={document.id: document.content_hash for document in documents},
        end=tree.end.reason,
        settings_fingerprint=build_settings_fingerprint(settings),
        published_at=datetime.now(UTC).isoformat(timespec="seconds"),
        fits=tree.fits,
        quarantined=tuple(sorted(node.id for node in nodes if node.id in quarantined)),
        title=_title(tree, documents),
    )


def _title(tree: Tree, documents: Sequence[Document]) -> str:
    tops = tree.layers[-1].nodes
    if len(documents) == 1:
        return documents[0].title
    return tops[0].name if len(tops) == 1 else ""
