"""Drafts, which are summary nodes without their texts.

``summarize`` writes the texts; ``raptor_core.rebuild`` predicts how many must be written.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from raptor_core import identity
from raptor_core.nodes import Node
from raptor_core.tree.cluster import Clustering
from raptor_core.tree.components import Components
from raptor_formats.base import MetadataValue


def draft_summaries(
    nodes: Sequence[Node], clustering: Clustering, components: Components
) -> list[Node]:
    """Make a draft for each cluster over ``nodes``, in the order of their first children.

    A text that a person wrote changes the draft's content key, so that summaries above are written
    again.
    """
    summarizer, number = components.summarizer.fingerprint, clustering.layer + 1
    row_of = {node.id: row for row, node in enumerate(nodes)}
    groups = [tuple(sorted(row_of[member] for member in group)) for group in clustering.groups]
    occurrences: Counter[str] = Counter()
    drafts = []
    for rows, slot in sorted(zip(groups, clustering.slots, strict=True)):
        children = [nodes[row] for row in rows]
        keys = [child.content_key for child in children]
        documents = tuple(sorted({d for child in children for d in child.documents}))
        curated = components.curation.summary_decision(documents, keys)
        content_key = (
            curated.corrected_content_key
            if curated
            else identity.summary_content_key(keys, summarizer)
        )
        node = Node(
            id=identity.summary_id(clustering.tree, number, content_key, occurrences[content_key]),
            tree=clustering.tree,
            layer=number,
            content_key=content_key,
            text="",
            n_tokens=0,
            position=children[0].position,
            documents=documents,
            children=tuple(child.id for child in children),
            fingerprint=summarizer,
            embedding_key="",
            metadata=_common_metadata(children),
            slot=slot,
        )
        occurrences[content_key] += 1
        drafts.append(node)
    return drafts


def mark_summaries(pairs: Iterable[tuple[Node, str]]) -> Iterator[Node]:
    """Yield summaries with their mark in quality, content key and id, unless it is ""."""
    occurrences: Counter[tuple[str, str]] = Counter()
    for node, mark in pairs:
        if not mark:
            yield node
            continue
        key = identity.marked_content_key(node.content_key, mark)
        marked_id = identity.summary_id(node.tree, node.layer, key, occurrences[node.tree, key])
        occurrences[node.tree, key] += 1
        yield replace(node, id=marked_id, content_key=key, quality={**node.quality, mark: 1.0})


def text_keys(content_keys: Iterable[str], components: Components) -> set[str]:
    """Return the content keys under which texts of these summaries may exist, with any mark."""
    keys = set(content_keys)
    if components.is_extractive:
        return keys
    marked = (identity.marked_content_key(k, mark) for k in keys for mark in identity.KEPT_MARKS)
    return keys.union(marked)


def _common_metadata(children: Sequence[Node]) -> dict[str, MetadataValue]:
    """Return the metadata that all children share, and the common items of lists."""
    common = dict(children[0].metadata)
    for child in children[1:]:
        shared = {k: _shared_value(value, child.metadata.get(k, ())) for k, value in common.items()}
        common = {key: value for key, value in shared.items() if value != ()}
    return common


def _shared_value(value: MetadataValue, second: MetadataValue) -> MetadataValue:
    """Return a value that both children have, the common items of lists, or ()."""
    if isinstance(value, tuple) and isinstance(second, tuple):
        return tuple(item for item in value if item in second)
    return value if value == second else ()
