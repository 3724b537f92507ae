"""Values as data frames and back, without loss. Every frame has a ``tree`` column."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from raptor_core.documents.base import Document, Section
from raptor_core.nodes import End, Fit, Node
from raptor_core.tree.cluster import Clustering

if TYPE_CHECKING:
    import pandas as pd

NODE_COLUMNS = tuple(field.name for field in fields(Node))
DOCUMENT_COLUMNS = ("tree", "id", "title", "source", "text", "sections", "metadata", "content_hash")
CLUSTER_COLUMNS = ("tree", "layer", "cluster", "slot", "node_ids", "ended", "details", "fit")
_JSON = ("metadata", "quality")
_LISTS = ("documents", "children", "section")


def nodes_to_frame(nodes: Iterable[Node]) -> pd.DataFrame:
    """One row per node, a column per field; ``metadata`` and ``quality`` as JSON text."""
    import pandas as pd

    columns: dict[str, list[Any]] = {name: [] for name in NODE_COLUMNS}
    for node in nodes:
        for name in NODE_COLUMNS:
            columns[name].append(_to_cell(name, getattr(node, name)))
    return pd.DataFrame(columns)


def frame_to_nodes(frame: pd.DataFrame) -> tuple[Node, ...]:
    """The nodes of a frame that ``nodes_to_frame`` made."""
    columns = [_from_column(name, frame[name]) for name in NODE_COLUMNS]
    return tuple(Node(*row) for row in zip(*columns, strict=True))


def documents_to_frame(documents: Mapping[str, Sequence[Document]]) -> pd.DataFrame:
    """One row per document, with the tree that it belongs to."""
    import pandas as pd

    rows = [
        (
            tree,
            document.id,
            document.title,
            document.source,
            document.text,
            json.dumps([asdict(section) for section in document.sections], ensure_ascii=False),
            json.dumps(dict(document.metadata), ensure_ascii=False),
            document.content_hash,
        )
        for tree, found in documents.items()
        for document in found
    ]
    return pd.DataFrame(rows, columns=list(DOCUMENT_COLUMNS))


def frame_to_documents(frame: pd.DataFrame) -> dict[str, tuple[Document, ...]]:
    """The documents of a frame that ``documents_to_frame`` made, by tree."""
    found: dict[str, list[Document]] = {}
    for row in frame.itertuples(index=False):
        values: Any = row
        document = Document(
            id=values.id,
            text=values.text,
            title=values.title,
            source=values.source,
            sections=tuple(Section(**section) for section in json.loads(values.sections)),
            metadata=json.loads(values.metadata),
        )
        found.setdefault(values.tree, []).append(document)
    return {tree: tuple(documents) for tree, documents in found.items()}


def clusterings_to_frame(clusterings: Iterable[Clustering]) -> pd.DataFrame:
    """One row per cluster; a tree that ended has one row without cluster, and its reason."""
    import pandas as pd

    rows: list[tuple[Any, ...]] = []
    for done in clusterings:
        told = (json.dumps(dict(done.details)), json.dumps(asdict(done.fit) if done.fit else None))
        if done.end:
            rows.append((done.tree, done.layer, -1, "", [], done.end.reason, *told))
        rows += [
            (done.tree, done.layer, number, slot, list(group), "", *told)
            for number, (group, slot) in enumerate(zip(done.groups, done.slots, strict=True))
        ]
    return pd.DataFrame(rows, columns=list(CLUSTER_COLUMNS))


def frame_to_clusterings(frame: pd.DataFrame) -> dict[str, Clustering]:
    """The clusterings of a frame that ``clusterings_to_frame`` made, by tree."""
    found: dict[str, Clustering] = {}
    for tree, rows in frame.groupby("tree", sort=False):
        layer = int(rows["layer"].iloc[0])
        reason = str(rows["ended"].iloc[0])
        ordered = rows.sort_values("cluster")
        groups = () if reason else tuple(tuple(ids) for ids in ordered["node_ids"])
        fit = json.loads(str(rows["fit"].iloc[0]))
        found[str(tree)] = Clustering(
            tree=str(tree),
            layer=layer,
            groups=groups,
            end=End(layer, reason) if reason else None,
            details=json.loads(str(rows["details"].iloc[0])),
            slots=() if reason else tuple(ordered["slot"]),
            fit=Fit(**fit) if fit else None,
        )
    return found


def _to_cell(name: str, value: Any) -> Any:
    if name in _JSON:
        return json.dumps(dict(value), ensure_ascii=False)
    return list(value) if name in _LISTS else value


def _from_column(name: str, column: pd.Series[Any]) -> list[Any]:
    if name in _JSON:
        return [json.loads(cell) for cell in column]
    if name in _LISTS:
        return [tuple(cell) for cell in column]
    return list(column.tolist())
