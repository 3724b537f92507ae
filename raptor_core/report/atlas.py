"""All nodes of some trees as columns, for the map and the layers; ``web/atlas.js`` reads them."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.nodes import Node
from raptor_core.report.layout import first_parents

NAME_CHARS = 60
"""Of a summary's text, where it has no name."""

_SCALE = 65_535


def atlas_values(
    nodes: Sequence[Node], points: NDArray[np.float32], titles: Mapping[str, str]
) -> dict[str, Any]:
    """Columns as base64 of little-endian numbers, and the names of the summaries in their order.

    Args:
        points: of ``lay_out``, shape ``(len(nodes), 2)``.
        titles: of trees, by name; of those that have one.
    """
    names = list(dict.fromkeys(node.tree for node in nodes))
    numbers = {name: at for at, name in enumerate(names)}
    return {
        "trees": [{"name": name, "title": titles.get(name, "")} for name in names],
        "id": _packed(b"".join(uuid.UUID(node.id).bytes for node in nodes)),
        "place": _packed(np.rint(points * _SCALE).astype("<u2").tobytes()),
        "layer": _packed(np.array([node.layer for node in nodes], dtype="u1").tobytes()),
        "parent": _packed(first_parents(nodes).astype("<i4").tobytes()),
        "tree": _packed(np.array([numbers[n.tree] for n in nodes], dtype="<i4").tobytes()),
        "names": [node_name(node) for node in nodes if node.layer],
    }


def node_name(node: Node) -> str:
    """What a summary is called, or else its first words."""
    if node.name:
        return node.name
    line = " ".join(node.text[: 4 * NAME_CHARS].split())
    if len(line) <= NAME_CHARS:
        return line
    return f"{line[:NAME_CHARS].rpartition(' ')[0] or line[:NAME_CHARS]} …"


def tree_titles(nodes: Sequence[Node]) -> dict[str, str]:
    """The titles of trees that are one document, by tree."""
    found: dict[str, set[str]] = {}
    for node in nodes:
        if node.is_leaf:
            found.setdefault(node.tree, set()).add(str(node.metadata.get("title", "")))
    return {tree: title for tree, titles in found.items() for title in titles if len(titles) == 1}


def _packed(data: bytes) -> str:
    return base64.b64encode(data).decode()
