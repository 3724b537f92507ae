"""Summary nodes before their texts: all of a node that follows from its cluster alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from raptor_core.curation import Curation
from raptor_core.documents.base import MetadataValue
from raptor_core.identity import summary_content_key, summary_id
from raptor_core.nodes import Node
from raptor_core.tree.cluster import Clustering

Draft = tuple[Node, tuple[int, ...]]
"""A node without text, tokens and embedding key, and the rows of its children."""


def draft_summaries(
    nodes: Sequence[Node], clustering: Clustering, summarizer_fingerprint: str, curation: Curation
) -> list[Draft]:
    """One draft for each cluster over ``nodes``, ordered by its rows.

    One whose text people gave has a content key of its own: what stands above it is made anew.
    """
    row_of = {node.id: row for row, node in enumerate(nodes)}
    groups = [tuple(sorted(row_of[member] for member in group)) for group in clustering.groups]
    seen: Counter[str] = Counter()
    drafts = []
    for rows, slot in sorted(zip(groups, clustering.slots, strict=True)):
        children = [nodes[row] for row in rows]
        keys = [child.content_key for child in children]
        given = curation.summary(clustering.tree, keys, slot)
        made = summary_content_key(keys, summarizer_fingerprint)
        content_key = given.content_key if given else made
        number = clustering.layer + 1
        node = Node(
            id=summary_id(clustering.tree, number, content_key, seen[content_key]),
            tree=clustering.tree,
            layer=number,
            content_key=content_key,
            text="",
            n_tokens=0,
            position=children[0].position,
            documents=tuple(sorted({d for child in children for d in child.documents})),
            children=tuple(child.id for child in children),
            fingerprint=summarizer_fingerprint,
            embedding_key="",
            metadata=_common_metadata(children),
            slot=slot,
        )
        seen[content_key] += 1
        drafts.append((node, rows))
    return drafts


def _common_metadata(children: Sequence[Node]) -> dict[str, MetadataValue]:
    common = dict(children[0].metadata)
    for child in children[1:]:
        for key in [key for key, value in common.items() if child.metadata.get(key) != value]:
            del common[key]
    return common
