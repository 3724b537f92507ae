"""Summarizing the clusters of a layer, so that each distinct text is paid for only once.

Summarizers are in ``raptor_core.models.summarizing``. ``drafts`` makes the nodes without texts,
``naming`` adds names, ``embed`` vectors.
"""

import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from raptor_core import identity
from raptor_core.checks.junk import Junk, find_junk
from raptor_core.curation import CURATED
from raptor_core.models.money.usage import SUMMARIES, Spending, Usage
from raptor_core.models.summarizing.base import FailedSummary, Summary, SummaryRequest
from raptor_core.nodes import Layer, Node, Tree, group_nodes, leaf_texts_by_node
from raptor_core.tree.cache import KnownContent
from raptor_core.tree.cluster import Clustering
from raptor_core.tree.components import Components
from raptor_core.tree.drafts import draft_summaries, mark_summaries, text_keys

LowerLayers = Callable[[str], Sequence[Sequence[Node]]]
"""A function from a tree to the nodes of its lower layers, from the leaves up."""
EarlierTree = Callable[[str], Tree | None]
"""A function from a tree to the published tree that it continues; None if there is none."""
FLUSH_SECONDS = 0.25
"""Minimum time between writes of extractive summaries to the cache; paid ones are kept at once."""
AnswerCallback = Callable[[Node, Usage], None]
"""A callback for each answer, with the first node that requested it, still without text."""


@dataclass(frozen=True, slots=True)
class SummarizedLayers:
    """The new layers of trees.

    Attributes:
        layers: nodes in document order by tree, of trees whose summaries are complete.
        failed: failed summaries by tree, of trees that get no new layer. Refused summaries that
            may be written extractively are not included.
        n_reused: number of summaries that existed already.
        n_made: number of summaries that were written now.
        reused_keys: content keys of summaries that existed already.
    """

    layers: Mapping[str, tuple[Node, ...]]
    failed: Mapping[str, tuple[FailedSummary, ...]]
    n_reused: int
    n_made: int
    reused_keys: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class _Draft:
    """A summary node without its text; drafts with the same ``key`` get the same text.

    ``curated_text`` was written by a person, or is "". ``leaf_texts`` are the texts of the leaves
    below, if they are needed to find foreign facts and the children are summaries.
    """

    node: Node
    layer: Layer
    rows: tuple[int, ...]
    key: str
    curated_text: str
    leaf_texts: tuple[str, ...] = ()

    @property
    def children(self) -> list[Node]:
        """Nodes that it summarizes, in document order."""
        return [self.layer.nodes[row] for row in self.rows]


@dataclass(frozen=True, slots=True)
class _MarkedText:
    """The text of a summary, with the mark ``FALLBACK``, one of ``KEPT_MARKS``, or ""."""

    text: str
    mark: str = ""


def summarize_clusters(
    work: Sequence[tuple[Layer, Clustering]],
    components: Components,
    known: KnownContent,
    on_answer: AnswerCallback = lambda _node, _usage: None,
    lower: LowerLayers = lambda _tree: (),
    earlier: EarlierTree = lambda _tree: None,
) -> SummarizedLayers:
    """Summarize the clusters of many trees at once.

    If a summary fails, its tree gets no new layer. The cache keeps all finished summaries.

    Args:
        work: layers with their clusterings; a clustering without clusters is ignored.
        components: components of the build.
        known: published texts; neither these nor texts in the components' cache are written again.
        on_answer: called at once after each answer, so that its usage is recorded before an error.
        lower: function from a tree to the nodes of the layers below that of ``work``, from the
            leaves up; called only if foreign facts are searched for.
        earlier: published trees, whose extractive summaries stay if their children do.

    Raises:
        MissingKeyError: the endpoint needs a key.
        BudgetError: the run's budget is used up; the cache keeps every finished summary.
    """
    drafts = [d for item in work for d in _drafts(*item, components, lower)]
    by_key = {draft.key: draft for draft in drafts}
    texts = {draft.key: _MarkedText(draft.curated_text) for draft in drafts if draft.curated_text}
    curated = {draft.node.content_key for draft in drafts if draft.curated_text}
    uncurated = {key: draft for key, draft in by_key.items() if key not in texts}
    published = known.texts(text_keys(_content_keys(uncurated.values()), components))
    if components.is_extractive:
        texts |= _published_quotes(uncurated, earlier)
    others = {key: draft for key, draft in uncurated.items() if key not in texts}
    texts |= _known_texts(others, published, components)
    rest = [draft for draft in drafts if draft.key not in texts]
    components.cache.record_needed_keys(
        (draft.node.tree, key)
        for draft in rest
        for key in (*text_keys([draft.node.content_key], components), _invented_key(draft))
    )
    kept = components.cache.texts(text_keys(_content_keys(rest), components))
    texts |= _known_texts({draft.key: draft for draft in rest}, kept, components)
    n_reused = len(texts)
    requests = _make_requests([d for d in by_key.values() if d.key not in texts], components)
    failures = _summarize(requests, drafts, texts, components, on_answer)
    fallbacks = _fall_back(drafts, failures, components)
    nodes = _finish_summaries(drafts, texts, fallbacks, components)
    failed = _failures_by_tree(drafts, failures, fallbacks)
    complete = (node for node in nodes if node.tree not in failed)
    layers = group_nodes(
        sorted(complete, key=lambda node: node.document_order_key), lambda node: node.tree
    )
    return SummarizedLayers(
        layers={tree: tuple(members) for tree, members in layers.items()},
        failed=failed,
        n_reused=n_reused,
        n_made=len(requests) - len(failures),
        reused_keys=frozenset(published.keys() | kept.keys() | curated),
    )


def _failures_by_tree(
    drafts: Sequence[_Draft], failures: Mapping[str, FailedSummary], fallbacks: Container[str]
) -> dict[str, tuple[FailedSummary, ...]]:
    """Return the failures that no fallback replaces, each once, by tree."""
    failed: dict[str, dict[str, FailedSummary]] = {}
    for draft in drafts:
        if draft.key in failures and draft.node.id not in fallbacks:
            failed.setdefault(draft.node.tree, {})[draft.key] = failures[draft.key]
    return {tree: tuple(by_draft.values()) for tree, by_draft in failed.items()}


def _content_keys(drafts: Iterable[_Draft]) -> set[str]:
    return {draft.node.content_key for draft in drafts}


def _drafts(
    layer: Layer, clustering: Clustering, components: Components, lower: LowerLayers
) -> list[_Draft]:
    nodes = draft_summaries(layer.nodes, clustering, components)
    prefix = f"{clustering.tree}\0" if components.is_extractive else ""
    curated = components.curation.texts(node.content_key for node in nodes)
    row_of = {node.id: row for row, node in enumerate(layer.nodes)}
    leaves: Mapping[str, tuple[str, ...]] = {}
    if components.has_chat_summaries and nodes and nodes[0].layer > 1:
        leaves = leaf_texts_by_node(nodes, [*lower(clustering.tree), layer.nodes])
    return [
        _Draft(
            node,
            layer,
            tuple(row_of[child] for child in node.children),
            prefix + node.content_key,
            curated.get(node.content_key, ""),
            leaves.get(node.id, ()),
        )
        for node in nodes
    ]


def _published_quotes(drafts: Mapping[str, _Draft], earlier: EarlierTree) -> dict[str, _MarkedText]:
    """Return the extractive summaries of published trees over the same texts, by draft key.

    Made again after a change of the embedder, they could have other sentences.
    """
    texts = {}
    for key, draft in drafts.items():
        tree, node_id = earlier(draft.node.tree), draft.node.id
        if tree is not None and node_id in tree:
            children = [child.text for child in tree.children(node_id)]
            if children == [child.text for child in draft.children]:
                texts[key] = _MarkedText(tree.node(node_id).text)
    return texts


def _known_texts(
    drafts: Mapping[str, _Draft], known: Mapping[str, str], components: Components
) -> dict[str, _MarkedText]:
    """Return texts that exist already by draft key, without junk.

    Extractive summaries of other trees are made again, which costs nothing. Their chunks may have
    another order or other line breaks, so that a text with the same content key may differ.
    """
    if not components.is_extractive:
        texts: dict[str, _MarkedText] = {}
        for mark in ("", *identity.KEPT_MARKS):
            for key in drafts.keys() - texts.keys():
                text = known.get(identity.marked_content_key(key, mark) if mark else key)
                if text is not None and not _find_draft_junk(drafts[key], text):
                    texts[key] = _MarkedText(text, mark)
        return texts
    first: dict[str, str] = {}
    again = [
        _make_request(draft)
        for key, draft in drafts.items()
        if draft.node.content_key in known or first.setdefault(draft.node.content_key, key) != key
    ]
    answers = components.summarizer.summarize(again)
    return {
        answer.key: _MarkedText(answer.text) for answer in answers if isinstance(answer, Summary)
    }


def _invented_key(draft: _Draft) -> str:
    return identity.marked_content_key(draft.node.content_key, identity.INVENTED)


def _make_requests(drafts: Sequence[_Draft], components: Components) -> list[SummaryRequest]:
    """Return the requests, each with an earlier run's answer if that had foreign facts."""
    kept: Mapping[str, str] = {}
    if components.has_chat_summaries:
        kept = components.cache.texts({_invented_key(draft) for draft in drafts})
    requests = ((_make_request(draft), kept.get(_invented_key(draft), "")) for draft in drafts)
    return [replace(request, invented_answer=text) for request, text in requests]


def _make_request(draft: _Draft) -> SummaryRequest:
    children = draft.children
    return SummaryRequest(
        key=draft.key,
        name=_describe_draft(draft),
        texts=tuple(child.text for child in children),
        n_tokens=tuple(child.n_tokens for child in children),
        vectors=draft.layer.vectors[np.array(draft.rows)],
        leaf_texts=draft.leaf_texts,
    )


def _summarize(
    requests: Sequence[SummaryRequest],
    drafts: Sequence[_Draft],
    texts: dict[str, _MarkedText],
    components: Components,
    on_answer: AnswerCallback,
) -> dict[str, FailedSummary]:
    first: dict[str, _Draft] = {}
    for draft in drafts:
        first.setdefault(draft.key, draft)
    failures: dict[str, FailedSummary] = {}
    unsaved: dict[str, str] = {}
    flushed = time.monotonic()
    try:
        for reply in components.summarizer.summarize(requests) if requests else ():
            draft = first[reply.key]
            answer = reply if components.is_extractive else _without_junk(reply, draft)
            if reply.usage.calls and not components.calls_model:  # from a custom summarizer
                name = type(components.summarizer).__name__
                components.ledger.count_spending(Spending(SUMMARIES, name, reply.usage))
            (node,) = mark_summaries([(draft.node, _mark_of_answer(answer))])
            on_answer(node, answer.usage)
            if isinstance(answer, Summary):
                unsaved[node.content_key] = answer.text
                texts[answer.key] = _MarkedText(answer.text, _mark_of_answer(answer))
            else:
                failures[answer.key] = answer
                components.cache.discard(text_keys([draft.node.content_key], components))
            if unsaved and time.monotonic() - flushed > FLUSH_SECONDS:
                components.cache.keep_texts(unsaved)
                unsaved, flushed = {}, time.monotonic()
    finally:
        components.cache.keep_texts(unsaved)
    return failures


def _mark_of_answer(answer: Summary | FailedSummary) -> str:
    if isinstance(answer, Summary):
        return answer.mark
    return identity.FALLBACK if answer.is_refused else ""


def _fall_back(
    drafts: Sequence[_Draft], failures: Mapping[str, FailedSummary], components: Components
) -> dict[str, _MarkedText]:
    """Return extractive texts of refused summaries by node id.

    A tree gets none if any of its summaries failed for another reason, or if more were refused than
    ``max_fallback`` allows.
    """
    if not failures or components.fallback_summarizer is None:
        return {}
    by_tree: dict[str, list[_Draft]] = {}
    for draft in drafts:
        by_tree.setdefault(draft.node.tree, []).append(draft)
    requests: list[SummaryRequest] = []
    for members in by_tree.values():
        refused = [draft for draft in members if draft.key in failures]
        n_allowed = max(1, int(components.settings.summarizer.max_fallback * len(members)))
        if len(refused) <= n_allowed and all(failures[d.key].is_refused for d in refused):
            requests += (replace(_make_request(draft), key=draft.node.id) for draft in refused)
    answers = components.fallback_summarizer.summarize(requests)
    return {
        a.key: _MarkedText(a.text, identity.FALLBACK) for a in answers if isinstance(a, Summary)
    }


def _without_junk(answer: Summary | FailedSummary, draft: _Draft) -> Summary | FailedSummary:
    """Return a model's answer, or a failure if its text is not a summary (law 9)."""
    junk = _find_draft_junk(draft, answer.text) if isinstance(answer, Summary) else None
    if junk is None:
        return answer
    reason = f"the answer is junk ({junk.kind}): {junk.excerpt[:80]!r}"
    return FailedSummary(answer.key, _describe_draft(draft), reason, answer.usage, is_refused=True)


def _find_draft_junk(draft: _Draft, text: str) -> Junk | None:
    return find_junk(text, [child.text for child in draft.children])


NAMED_CHUNKS = 12
"""Maximum number of chunks that are listed in the name of a failed summary."""


def _describe_draft(draft: _Draft) -> str:
    """Return the name of a summary for messages, with the spans of its chunks."""
    node = draft.node
    name = f"node {node.id} of tree {node.tree!r}, layer {node.layer}"
    leaves = [child for child in draft.children if child.is_leaf]
    if not leaves:
        return name
    spans = [f"{leaf.documents[0]}:{leaf.start}-{leaf.end}" for leaf in leaves[:NAMED_CHUNKS]]
    more = f" and {len(leaves) - NAMED_CHUNKS} more" if len(leaves) > NAMED_CHUNKS else ""
    return f"{name}, over the chunks {', '.join(spans)}{more}"


def _finish_summaries(
    drafts: Sequence[_Draft],
    texts: Mapping[str, _MarkedText],
    fallbacks: Mapping[str, _MarkedText],
    components: Components,
) -> list[Node]:
    written_texts = [texts.get(draft.key) or fallbacks.get(draft.node.id) for draft in drafts]
    ready = [(draft, text) for draft, text in zip(drafts, written_texts, strict=True) if text]
    marked = mark_summaries((draft.node, text.mark) for draft, text in ready)
    counts = components.counter.count([text.text for _, text in ready])
    nodes = []
    for (draft, written), node, n_tokens in zip(ready, marked, counts, strict=True):
        text = written.text
        below = sum(child.n_tokens for child in draft.children)
        nodes.append(
            replace(
                node,
                text=text,
                n_tokens=n_tokens,
                embedding_key=identity.embedding_key(text, components.embedder.fingerprint),
                quality={
                    "compression_ratio": n_tokens / max(below, 1),
                    **({CURATED: 1.0} if draft.curated_text else {}),
                    **node.quality,
                },
            )
        )
    return nodes
