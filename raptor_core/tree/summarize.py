"""From clusters to the summary nodes of the next layer, each distinct one paid for once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from raptor_core.documents.base import MetadataValue
from raptor_core.identity import embedding_key, summary_content_key, summary_id
from raptor_core.quality.junk import Junk, find_junk
from raptor_core.summarizing.base import FailedSummary, Summary, SummaryRequest, Usage
from raptor_core.tree.cache import NodeCache
from raptor_core.tree.cluster import Clustering
from raptor_core.tree.tools import Tools
from raptor_core.tree.values import Layer, Node

FLUSH_SECONDS = 0.25
"""Answers of paid calls are staged as they arrive, at most this often: what a crash can lose."""


@dataclass(frozen=True, slots=True)
class Summarized:
    """New layers by tree, and what they took.

    ``layers`` holds the trees whose summaries are all there, nodes in document order.
    ``failed`` holds what could not be made, by tree; those trees have no new layer.
    ``n_reused`` summaries were known to the cache, ``n_made`` were made now.
    """

    layers: Mapping[str, tuple[Node, ...]]
    failed: Mapping[str, tuple[FailedSummary, ...]]
    usage: Usage
    n_reused: int
    n_made: int


@dataclass(frozen=True, slots=True, eq=False)
class _Draft:
    """A summary node without its text."""

    node: Node
    layer: Layer
    rows: tuple[int, ...]


def summarize_clusters(
    work: Sequence[tuple[Layer, Clustering]], tools: Tools, cache: NodeCache
) -> Summarized:
    """Summarize the clusters of many trees at once; clusterings that ended are passed over.

    A summary that fails leaves its tree without a new layer; the others, and every finished
    summary of that tree, are kept in the cache.

    Raises:
        MissingKeyError: the endpoint needs a key.
    """
    drafts = [d for layer, clustering in work for d in _drafts(layer, clustering, tools)]
    known = cache.texts({draft.node.content_key for draft in drafts})
    texts = {
        draft.node.content_key: known[draft.node.content_key]
        for draft in drafts
        if draft.node.content_key in known and not _junk(draft, known[draft.node.content_key])
    }
    n_reused = len(texts)
    requests = {
        draft.node.content_key: _request(draft)
        for draft in drafts
        if draft.node.content_key not in texts
    }
    failures, usage = _summarize(list(requests.values()), drafts, texts, tools, cache)
    nodes = _finish(drafts, texts, tools)
    failed: dict[str, dict[str, FailedSummary]] = {}
    for draft in drafts:
        if draft.node.content_key in failures:
            failed.setdefault(draft.node.tree, {})[draft.node.content_key] = failures[
                draft.node.content_key
            ]
    layers: dict[str, list[Node]] = {}
    for node in sorted(nodes, key=lambda node: node.order):
        if node.tree not in failed:
            layers.setdefault(node.tree, []).append(node)
    return Summarized(
        layers={tree: tuple(found) for tree, found in layers.items()},
        failed={tree: tuple(found.values()) for tree, found in failed.items()},
        usage=usage,
        n_reused=n_reused,
        n_made=len(requests) - len(failures),
    )


def _drafts(layer: Layer, clustering: Clustering, tools: Tools) -> list[_Draft]:
    row_of = {node.id: row for row, node in enumerate(layer.nodes)}
    seen: Counter[str] = Counter()
    drafts = []
    groups = [tuple(sorted(row_of[member] for member in group)) for group in clustering.groups]
    for rows in sorted(groups):
        children = [layer.nodes[row] for row in rows]
        fingerprint = tools.summarizer.fingerprint
        content_key = summary_content_key((c.content_key for c in children), fingerprint)
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
            fingerprint=fingerprint,
            embedding_key="",
            metadata=_common_metadata(children),
        )
        seen[content_key] += 1
        drafts.append(_Draft(node, layer, rows))
    return drafts


def _common_metadata(children: Sequence[Node]) -> dict[str, MetadataValue]:
    common = dict(children[0].metadata)
    for child in children[1:]:
        for key in [key for key, value in common.items() if child.metadata.get(key) != value]:
            del common[key]
    return common


def _request(draft: _Draft) -> SummaryRequest:
    children = [draft.layer.nodes[row] for row in draft.rows]
    node = draft.node
    return SummaryRequest(
        key=node.content_key,
        name=_name(node),
        texts=tuple(child.text for child in children),
        n_tokens=tuple(child.n_tokens for child in children),
        vectors=draft.layer.vectors[np.array(draft.rows)],
    )


def _summarize(
    requests: Sequence[SummaryRequest],
    drafts: Sequence[_Draft],
    texts: dict[str, str],
    tools: Tools,
    cache: NodeCache,
) -> tuple[dict[str, FailedSummary], Usage]:
    by_key: dict[str, list[_Draft]] = {}
    for draft in drafts:
        by_key.setdefault(draft.node.content_key, []).append(draft)
    failures: dict[str, FailedSummary] = {}
    usage = Usage()
    fresh: list[_Draft] = []
    flushed = 0.0
    for given in tools.summarizer.summarize(requests) if requests else ():
        answer = _verified(given, by_key[given.key][0])
        usage += answer.usage
        if isinstance(answer, Summary):
            texts[answer.key] = answer.text
            fresh += by_key[answer.key]
        else:
            failures[answer.key] = answer
        if fresh and answer.usage.calls and time.monotonic() - flushed > FLUSH_SECONDS:
            cache.stage(_finish(fresh, texts, tools), None)
            fresh, flushed = [], time.monotonic()
    if fresh:
        cache.stage(_finish(fresh, texts, tools), None)
    return failures, usage


def _verified(answer: Summary | FailedSummary, draft: _Draft) -> Summary | FailedSummary:
    """The answer; a failure instead where its text is no summary (law 9)."""
    junk = _junk(draft, answer.text) if isinstance(answer, Summary) else None
    if junk is None:
        return answer
    reason = f"the answer is junk ({junk.kind}): {junk.excerpt[:80]!r}"
    return FailedSummary(answer.key, _name(draft.node), reason, answer.usage)


def _junk(draft: _Draft, text: str) -> Junk | None:
    return find_junk(text, [draft.layer.nodes[row].text for row in draft.rows])


def _name(node: Node) -> str:
    return f"node {node.id} of tree {node.tree!r}, layer {node.layer}"


def _finish(drafts: Sequence[_Draft], texts: Mapping[str, str], tools: Tools) -> list[Node]:
    ready = [draft for draft in drafts if draft.node.content_key in texts]
    counts = tools.counter.count([texts[draft.node.content_key] for draft in ready])
    nodes = []
    for draft, n_tokens in zip(ready, counts, strict=True):
        text = texts[draft.node.content_key]
        below = sum(draft.layer.nodes[row].n_tokens for row in draft.rows)
        nodes.append(
            replace(
                draft.node,
                text=text,
                n_tokens=n_tokens,
                embedding_key=embedding_key(text, tools.embedder.fingerprint),
                quality={"compression_ratio": n_tokens / max(below, 1)},
            )
        )
    return nodes
