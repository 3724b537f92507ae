"""Re-embedding: give published trees vectors of another embedder; clusters and texts stay.

The next build publishes these trees again under the new settings: it keeps each cluster whose nodes
stay (``tree.cluster``), and finds each text by its key.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.publication import publishing
from raptor_core.errors import StoreMismatchError
from raptor_core.identity import embedding_key, summary_content_key
from raptor_core.nodes import Node
from raptor_core.store.base import Edition, Manifest, Where
from raptor_core.tree.components import Components
from raptor_core.tree.embed import embed_nodes
from raptor_core.tree.publish import build_id


@dataclass(frozen=True, slots=True)
class Reembedding:
    """Cost of re-embedding published trees: the number of distinct texts, and their tokens."""

    n_trees: int = 0
    n_texts: int = 0
    n_tokens: int = 0


def plan_reembedding(access: CorpusAccess) -> Reembedding:
    """Return what ``reembed`` would embed; nothing if the store has the embedder of the settings.

    Raises:
        StoreMismatchError: the new embedder would cut other chunks, whose summaries are not there.
    """
    components = access.components()
    if not access.store.exists():
        return Reembedding()
    with access.store.open_existing() as store:
        if store.identity.embedder_fingerprint == components.embedder.fingerprint:
            return Reembedding()
        n_trees, nodes = len(store.marks()), store.nodes()
    chunking = {node.fingerprint for node in nodes if node.is_leaf}
    if chunking - {components.chunker.fingerprint}:
        raise StoreMismatchError(
            "the published chunks were cut by other settings, so every summary would be made and "
            "paid for again. If the tokenizer changes with the embedder, set tokens.counter to "
            '"bundled" where the earlier embedder was the bundled one or an endpoint; else set '
            "chunking and tokens back, or build into another store.corpus. Nothing was changed"
        )
    texts = {node.embedding_text: node.n_tokens for node in nodes}
    return Reembedding(n_trees, len(texts), sum(texts.values()))


def reembed(access: CorpusAccess, report: Callable[[str], None]) -> Reembedding:
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
        manifests = store.manifests()
    with access.store.replacing() as new, publishing(access, new) as publication:
        for manifest in manifests:
            with access.store.open_existing() as store:
                nodes = store.nodes(Where(trees=(manifest.tree,)))
            edition = _edition(manifest, nodes, components)
            publication.publish([edition], pin=manifest.hold or None)
    components.cache.forget([manifest.tree for manifest in manifests if manifest.hold])
    report(
        f"{planned.n_texts:,} texts of {planned.n_trees:,} trees were embedded again, and their "
        "summaries stay. Earlier builds of these trees have vectors of the earlier embedder: they "
        "can be published again only with it"
    )
    return planned


def _edition(manifest: Manifest, nodes: list[Node], components: Components) -> Edition:
    """Return a published tree with vectors of the components' embedder."""
    _keep_texts(nodes, components)
    by = components.embedder.fingerprint
    new = [replace(n, embedding_key=embedding_key(n.embedding_text, by)) for n in nodes]
    rows = embed_nodes(new, components, components.cache).vectors
    vectors = {node.embedding_key: row for node, row in zip(new, rows, strict=True)}
    return Edition(replace(manifest, build_id=build_id(new)), new, vectors)


def _keep_texts(nodes: Sequence[Node], components: Components) -> None:
    """Keep the summaries whose key depends on the embedder, as that of quoted sentences does."""
    summarizer, old, new = components.summarizer.fingerprint, {}, {}
    texts: dict[str, str] = {}
    for node in nodes:  # from the leaves up
        old[node.id] = new[node.id] = node.content_key
        below = [old[child] for child in node.children]
        if below and node.content_key == summary_content_key(below, node.fingerprint):
            new[node.id] = summary_content_key([new[c] for c in node.children], summarizer)
        if new[node.id] != node.content_key:
            texts[new[node.id]] = node.text
    components.cache.want((nodes[0].tree, key) for key in texts)
    components.cache.keep_texts(texts)
