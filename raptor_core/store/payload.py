"""Conversion of nodes and manifests to point payloads and back, without loss.

Only the ``state`` and the ``readers`` of a point ever change: its id is derived from everything
else in it (``point_id``), so a changed node gets another point. Every field of a node has a payload
field of the same name (``node_id`` for its id). Further fields:

- ``state``: "staged" before publication, then "live"; "manifest" for manifests.
- ``quality`` as JSON text, and ``metadata_exact`` beside ``metadata`` if that contains fractions,
  because engines may change the last bit of a fraction.
- ``mark``: short form of a manifest as JSON text, which is compared with the source.
- ``facts`` and ``numbers``: what filters match, see ``facts``.
- ``readers``: users and groups who may read all documents of the node. They are written by a
  publication (``publishing.py``); a point without the field has none.
"""

import json
import math
import uuid
from dataclasses import asdict, astuple, fields
from functools import lru_cache
from operator import attrgetter
from typing import Any

from raptor_core.documents.base import flat_metadata_entries, lists_to_tuples
from raptor_core.errors import DamagedTreeError, StoreError
from raptor_core.identity import NODE_NAMESPACE, digest
from raptor_core.nodes import NODE_FIELDS, ClusterFit, Node
from raptor_core.store.base import Manifest, ShortManifest
from raptor_core.store.facts import NodeFilterValues, own_filter_values
from raptor_core.store.lexical import LEXICAL_VERSION

Payload = dict[str, Any]
"""Fields of a point without its vectors, as an engine stores them."""

_LARGEST_INTEGER = 2**63 - 1
_NAMES = tuple(name for name, _, _ in NODE_FIELDS)
_TUPLES = tuple(name for name, kind, _ in NODE_FIELDS if kind == "list[string]")
_values = attrgetter(*_NAMES)
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


def point_id(node: Node, filter_values: NodeFilterValues) -> str:
    """Derive the id of a node's point: UUIDv5 of a digest of its whole content.

    Raises:
        StoreError: the node cannot be stored.
    """
    parts = (LEXICAL_VERSION, to_storable_text(node, filter_values))
    return str(uuid.uuid5(NODE_NAMESPACE, digest("point", *parts)))


def to_storable_text(node: Node, filter_values: NodeFilterValues | None = None) -> str:
    """Return the payload of a node as text; raise StoreError if storing it would lose something."""
    for name, values in (("metadata", node.metadata), ("quality", node.quality)):
        for key, value in flat_metadata_entries(values):
            finite = not isinstance(value, float) or math.isfinite(value)
            if not finite or (isinstance(value, int) and abs(value) > _LARGEST_INTEGER):
                raise StoreError(
                    f"node {node.id} of tree {node.tree!r}: {name} {key!r} is {value!r}; "
                    "stored numbers must be finite and fit in 64 bits"
                )
    encoded = _ENCODER.encode(node_to_payload(node, filter_values))
    try:
        encoded.encode()
    except UnicodeEncodeError as error:
        raise StoreError(
            f"node {node.id} of tree {node.tree!r} contains text that is not valid Unicode "
            f"({error.reason}); replace it when the document is read"
        ) from error
    return encoded


@lru_cache(maxsize=1 << 14)
def manifest_point_id(tree: str) -> str:
    """Return the id of the point with a tree's manifest."""
    return str(uuid.uuid5(NODE_NAMESPACE, digest("manifest", tree)))


def node_to_payload(
    node: Node, filter_values: NodeFilterValues | None = None, state: str = "live"
) -> Payload:
    """Convert a node to a payload; without ``filter_values``, use those that it has by itself."""
    payload: Payload = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in zip(_NAMES, _values(node), strict=True)
    }
    payload["node_id"] = payload.pop("id")
    payload["metadata"] = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in node.metadata.items()
    }
    payload["paragraphs"] = [list(part) for part in node.paragraphs]
    payload["quality"] = json.dumps(dict(node.quality))
    payload |= (filter_values or own_filter_values(node)).to_payload()
    if any(isinstance(value, float) for _, value in flat_metadata_entries(node.metadata)):
        payload["metadata_exact"] = json.dumps(dict(node.metadata))
    return {**payload, "state": state}


def payload_to_node(payload: Payload) -> Node:
    """Convert a payload to a node; raise DamagedTreeError if it cannot be decoded."""
    try:
        return _decode_node(payload)
    except (KeyError, TypeError, ValueError) as error:
        raise damaged_point_error(payload) from error


def damaged_point_error(payload: Payload) -> DamagedTreeError:
    """Return the error for a damaged point; ``payload`` may be empty."""
    return DamagedTreeError(
        f"node {payload.get('node_id')} of tree {payload.get('tree')!r} cannot be decoded: the "
        "store's files are damaged. Restore the store from a copy, or move it away and build again"
    )


def _decode_node(payload: Payload) -> Node:
    values = {name: payload[name] for name in _NAMES if name != "id"}
    values |= {name: tuple(values[name]) for name in _TUPLES}
    values["paragraphs"] = tuple((start, n) for start, n in values["paragraphs"])
    exact = payload.get("metadata_exact")
    values["metadata"] = lists_to_tuples(json.loads(exact) if exact else values["metadata"])
    return Node(**{**values, "id": payload["node_id"], "quality": json.loads(payload["quality"])})


def manifest_to_payload(manifest: Manifest) -> Payload:
    """Convert a manifest to a payload."""
    values = {field.name: getattr(manifest, field.name) for field in fields(Manifest)}
    short = manifest.short_form
    return {
        "state": "manifest",
        "tree": manifest.tree,
        "content_key": manifest.content_digest,
        "mark": json.dumps(astuple(short)),
        "manifest": json.dumps(values, sort_keys=True, default=_to_plain_value),
    }


def _to_plain_value(value: Any) -> Any:
    return asdict(value) if isinstance(value, ClusterFit) else dict(value)


def payload_to_short_manifest(payload: Payload) -> ShortManifest:
    """Decode the short form in a manifest's payload; raise DamagedTreeError if that fails."""
    try:
        return ShortManifest(*json.loads(payload["mark"]))
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged_manifest_error(
            f"{payload.get('mark')!r:.80} is not the short form of one"
        ) from error


def payload_to_manifest(payload: Payload) -> Manifest:
    """Convert a payload to a manifest; raise DamagedTreeError if that fails."""
    try:
        values: dict[str, Any] = json.loads(payload["manifest"])
        sizes = tuple(values["layer_sizes"])
        fits = tuple(ClusterFit(**fit) for fit in values["fits"])
        readers = {name: tuple(names) for name, names in values["readers"].items()}
        return Manifest(**{**values, "layer_sizes": sizes, "fits": fits, "readers": readers})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged_manifest_error(f"of tree {payload.get('tree')!r}") from error


def _damaged_manifest_error(cause: str) -> DamagedTreeError:
    return DamagedTreeError(
        f"a manifest cannot be read: {cause}. The store's files are damaged. Build again with "
        "--force"
    )
