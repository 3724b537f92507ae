"""Layout of the map: a point for each node, and columns that ``web/atlas.js`` reads.

The time of UMAP with exact neighbours grows with the square of the number of nodes. So it places
only the upper layers, at most ``MAX_LAID_OUT`` nodes. Each lower node is placed around its first
parent, along the two main directions of its cluster, within half the distance to the next cluster.
The time is linear, the result depends only on the trees, and clusters stay together.
``web/plane.js`` draws the map.
"""

import base64
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.reduction import project_to_plane, round_to_grid, umap_layout
from raptor_core.nodes import Node
from raptor_core.threads import one_blas_thread
from raptor_core.vectors import Vectors

LAYOUT_VERSION = "1"
"""Version of the layout; a new version invalidates cached layouts."""

MAX_LAID_OUT = 4096
NEIGHBORS = 15
EPOCHS = 200
SPREAD = 0.45
"""Radius of a cluster, as a share of the distance to the nearest cluster."""

Points = NDArray[np.float64]


def first_parent_indices(nodes: Sequence[Node]) -> NDArray[np.int32]:
    """Return the index of each node's first parent in ``nodes``, or -1; shape ``(n_nodes,)``."""
    rows = {node.id: row for row, node in enumerate(nodes)}
    parents = np.full(len(nodes), -1, dtype=np.int32)
    for parent, node in enumerate(nodes):
        for child in node.children:
            if (row := rows.get(child)) is not None and parents[row] < 0:
                parents[row] = parent
    return parents


@one_blas_thread
def compute_node_points(
    nodes: Sequence[Node], vectors: Mapping[str, Vectors]
) -> NDArray[np.float32]:
    """Compute a point for each node, shape ``(len(nodes), 2)``, float32, from 0 to 1.

    ``vectors`` are by embedding key; a node without a vector gets the point of its parent.
    """
    if not nodes:
        return np.zeros((0, 2), dtype=np.float32)
    parents = first_parent_indices(nodes)
    layers = np.array([node.layer for node in nodes])
    rows = _vector_rows(nodes, vectors)
    points = np.zeros((len(nodes), 2))
    lowest = _lowest_umap_layer(layers, parents)
    upper = np.flatnonzero((layers >= lowest) | (parents < 0))
    points[upper] = _umap_points(rows[upper])
    for layer in range(lowest - 1, -1, -1):
        _place_around_parents(
            points, rows, np.flatnonzero((layers == layer) & (parents >= 0)), parents
        )
    # The longer axis is horizontal, like a screen.
    points = project_to_plane(points.astype(np.float32))
    low, span = points.min(axis=0), np.ptp(points, axis=0).max()
    return np.asarray((points - low) / max(float(span), 1e-12), dtype=np.float32)


def _vector_rows(nodes: Sequence[Node], vectors: Mapping[str, Vectors]) -> Vectors:
    example = next(iter(vectors.values()), np.zeros(2, dtype=np.float32))
    missing = np.zeros_like(example)
    return np.stack([vectors.get(node.embedding_key, missing) for node in nodes])


def _lowest_umap_layer(layers: NDArray[np.int64], parents: NDArray[np.int32]) -> int:
    """Return the lowest layer that UMAP places; it also places all roots of lower layers."""
    top = int(layers.max())
    sizes = (np.count_nonzero((layers >= layer) | (parents < 0)) for layer in range(top))
    return next((layer for layer, size in enumerate(sizes) if size <= MAX_LAID_OUT), top)


def _umap_points(rows: Vectors) -> Points:
    if len(rows) <= NEIGHBORS or not (rows != rows[0]).any():
        return project_to_plane(rows)
    points = umap_layout(
        round_to_grid(rows), n_neighbors=NEIGHBORS, n_dims=2, epochs=EPOCHS, seed=0
    )
    return np.asarray(points, dtype=np.float64)


def _place_around_parents(
    points: Points, rows: Vectors, members: NDArray[np.int64], parents: NDArray[np.int32]
) -> None:
    """Place nodes around the points of their parents."""
    from scipy.spatial import cKDTree

    order = members[np.argsort(parents[members], kind="stable")]
    owners, starts = np.unique(parents[order], return_index=True)
    distances, _ = cKDTree(points[owners]).query(points[owners], k=2)
    gaps = np.where(np.isfinite(distances[:, 1]), distances[:, 1], 1.0)
    median_gap = float(np.median(gaps)) or 1.0
    radii = SPREAD * np.clip(gaps, 0.3 * median_gap, 2.0 * median_gap)
    ends = [*starts[1:], len(order)]
    for owner, start, end, radius in zip(owners, starts, ends, radii, strict=True):
        cluster = order[start:end]
        offsets = project_to_plane(rows[cluster])
        reach = float(np.sqrt((offsets**2).sum(axis=1)).max())
        points[cluster] = points[owner] + offsets * (radius / max(reach, 1e-12))


NAME_CHARS = 60
"""Maximum characters of a summary's first words, which are shown if it has no name."""

_SCALE = 65_535


def map_column_values(
    nodes: Sequence[Node], points: NDArray[np.float32], titles: Mapping[str, str]
) -> dict[str, Any]:
    """Return the map's columns as base64 of little-endian numbers, and the names of summaries.

    ``points`` have shape ``(len(nodes), 2)``, see ``compute_node_points``; ``titles`` are by tree.
    """
    names = list(dict.fromkeys(node.tree for node in nodes))
    numbers = {name: number for number, name in enumerate(names)}
    return {
        "trees": [{"name": name, "title": titles.get(name, "")} for name in names],
        "id": _to_base64(b"".join(uuid.UUID(node.id).bytes for node in nodes)),
        "place": _to_base64(np.rint(points * _SCALE).astype("<u2").tobytes()),
        "layer": _to_base64(np.array([node.layer for node in nodes], dtype="u1").tobytes()),
        "parent": _to_base64(first_parent_indices(nodes).astype("<i4").tobytes()),
        "tree": _to_base64(np.array([numbers[n.tree] for n in nodes], dtype="<i4").tobytes()),
        "names": [node_name(node) for node in nodes if node.layer],
    }


def node_name(node: Node) -> str:
    """Return the name of a summary, or its first words if it has none."""
    if node.name:
        return node.name
    line = " ".join(node.text[: 4 * NAME_CHARS].split())
    if len(line) <= NAME_CHARS:
        return line
    return f"{line[:NAME_CHARS].rpartition(' ')[0] or line[:NAME_CHARS]} …"


def tree_titles(nodes: Sequence[Node]) -> dict[str, str]:
    """Return the titles by tree, of trees whose leaves all have the same document title."""
    by_tree: dict[str, set[str]] = {}
    for node in nodes:
        if node.is_leaf:
            by_tree.setdefault(node.tree, set()).add(str(node.metadata.get("title", "")))
    return {tree: title for tree, titles in by_tree.items() for title in titles if len(titles) == 1}


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
