"""Re-embedding: give published trees vectors of another embedder; clusters and texts stay.

The next build publishes these trees again under the new settings: it keeps each cluster whose nodes
stay (``tree.cluster``), and each text (``tree.summarize``).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.current_state import CurrentState
from raptor_assets.home.publication import open_publication
from raptor_core.errors import StoreMismatchError
from raptor_core.identity import embedding_key, summary_content_key, summary_id
from raptor_core.nodes import Node
from raptor_core.store.base import Manifest, TreeEdition, Where
from raptor_core.tree.components import Components
from raptor_core.tree.embed import embed_nodes
from raptor_core.tree.publish import build_id


@dataclass(frozen=True, slots=True)
class ReembeddingCost:
    """Cost of re-embedding published trees: the number of distinct texts, and their tokens."""

    n_trees: int = 0
    n_texts: int = 0
    n_tokens: int = 0


def plan_reembedding(access: CorpusAccess) -> ReembeddingCost:
    """Return what ``reembed`` would embed; nothing if the store has the embedder of the settings.

    Raises:
        StoreMismatchError: the new embedder would cut other chunks, whose summaries are not there.
    """
    components = access.components()
    if not access.store.exists():
        return ReembeddingCost()
    with access.store.open_existing() as store:
        if store.identity.embedder_fingerprint == components.embedder.fingerprint:
            return ReembeddingCost()
        n_trees, nodes = len(store.short_manifests()), store.nodes()
    chunking = {node.fingerprint for node in nodes if node.is_leaf}
    if chunking - {components.chunker.fingerprint}:
        raise StoreMismatchError(
            "the published chunks were cut by other settings, so every summary would be made and "
            "paid for again. If the tokenizer changes with the embedder, set tokens.counter to "
            '"bundled" where the earlier embedder was the bundled one or an endpoint; else set '
            "chunking and tokens back, or build into another store.corpus. Nothing was changed"
        )
    texts = {node.embedding_text: node.n_tokens for node in nodes}
    return ReembeddingCost(n_trees, len(texts), sum(texts.values()))


def reembed(access: CorpusAccess, report: Callable[[str], None]) -> ReembeddingCost:
    """Embed the nodes of all published trees, and replace the store by one with these vectors.

    Pins stay, and the present readers and decisions apply. Finished vectors survive a failure. The
    caller must keep every other run out of the home.

    Raises:
        StoreMismatchError: see ``plan_reembedding``.
        ModelError, EndpointError, BudgetError: the embedder failed; the stored vectors stay.
    """
    planned, components = plan_reembedding(access), access.components()
    if not planned.n_trees:
        return planned
    with access.store.open_existing() as store:
        manifests, identity = store.manifests(), store.identity
    earlier = components.summarizer_fingerprint(identity.embedder_fingerprint)
    today = CurrentState.of(access)
    with (
        access.store.open_replacement() as new,
        open_publication(access, new, today) as publication,
    ):
        for manifest in manifests:
            with access.store.open_existing() as store:
                nodes = store.nodes(Where(trees=(manifest.tree,)))
            shown = today.apply_to_edition(TreeEdition(manifest, nodes))
            if not shown.nodes:  # people set all of it aside; the next build drops it
                continue
            edition = _reembed_edition(shown.manifest, shown.nodes, components, earlier)
            publication.publish([edition], pin=manifest.pin or None)
    components.cache.forget_trees([manifest.tree for manifest in manifests if manifest.pin])
    report(
        f"{planned.n_texts:,} texts of {planned.n_trees:,} trees were embedded again, and their "
        "summaries stay. Earlier builds of these trees have vectors of the earlier embedder: they "
        "can be published again only with it"
    )
    return planned


def _reembed_edition(
    manifest: Manifest, nodes: Sequence[Node], components: Components, earlier: str
) -> TreeEdition:
    """Return a published tree with vectors of the components' embedder.

    ``earlier`` is the fingerprint of the summarizer with the earlier embedder.
    """
    by = components.embedder.fingerprint
    new = [
        replace(node, embedding_key=embedding_key(node.embedding_text, by))
        for node in _with_new_keys_and_ids(nodes, earlier, components.summarizer.fingerprint)
    ]
    rows = embed_nodes(new, components, components.cache).vectors
    vectors = {node.embedding_key: row for node, row in zip(new, rows, strict=True)}
    return TreeEdition(replace(manifest, build_id=build_id(new)), new, vectors)


def _with_new_keys_and_ids(nodes: Sequence[Node], old: str, new: str) -> Sequence[Node]:
    """Return nodes whose summaries have the keys and ids by the new fingerprint of the summarizer.

    That of an extractive one depends on the embedder. The next build finds them by their ids.
    """
    if old == new:
        return nodes
    before = {node.id: node for node in nodes}
    after: dict[str, Node] = {}
    occurrences: Counter[tuple[int, str]] = Counter()
    for node in nodes:  # from the leaves up
        children = [after[child] for child in node.children]
        keys = [before[child].content_key for child in node.children]
        renamed = replace(node, children=tuple(child.id for child in children))
        if keys and node.content_key == summary_content_key(keys, old):
            key = summary_content_key([child.content_key for child in children], new)
            node_id = summary_id(node.tree, node.layer, key, occurrences[node.layer, key])
            occurrences[node.layer, key] += 1
            renamed = replace(renamed, id=node_id, content_key=key, fingerprint=new)
        after[node.id] = renamed
    return list(after.values())
