"""The corpus tree, whose documents are the top nodes of the published trees.

It is built, anchored, checked and published by the same code as other trees. It has its own store,
so that a search of the trees does not find texts twice. Each leaf copies a top node, which its
metadata names. Its readers are those who may read all documents of the node's tree, so with
``grouping.separate_readers`` there are several corpus trees, such as "/corpus (group:hr)".
"""

from collections.abc import Iterable, Mapping, Sequence

from raptor_core.documents.base import Document
from raptor_core.identity import MAX_ID_BYTES, shorten_name
from raptor_core.nodes import TOP_NODE, Node, Tree, group_nodes
from raptor_core.settings import CorpusTreeGrouping, Settings, SourceSettings
from raptor_core.settings.models import ServingSettings
from raptor_core.store.base import Manifest, Where
from raptor_core.store.facts import common_readers
from raptor_core.store.store import VectorStore
from raptor_core.tree.build import build_tree
from raptor_core.tree.cache import KnownContent
from raptor_core.tree.components import Components

CORPUS_TREE = "corpus_tree"
"""Folder of the corpus tree in a home, and first part of its asset keys."""
CORPUS_TREE_NAME = CorpusTreeGrouping.corpus_name
"""Name of the corpus tree and its partition, which no document may have."""

Readers = Mapping[str, tuple[str, ...]]
"""Readers by top document."""


def is_corpus_tree(tree: str) -> bool:
    """Return whether this is the name of a corpus tree, such as "/corpus (group:hr)"."""
    return tree == CORPUS_TREE_NAME or tree.startswith(f"{CORPUS_TREE_NAME} (")


def corpus_tree_settings(settings: Settings) -> Settings:
    """Return the settings of the corpus tree, given those of the trees.

    The chunk limit is that of the longest chunk or summary, so each top node is one leaf. Because
    the corpus tree follows the trees, no earlier builds are kept, and none waits for approval. Top
    nodes without readers are published but hidden.
    """
    longest = max(settings.chunking.max_tokens, settings.summarizer.max_tokens)
    corpus = f"{settings.store.corpus}_{CORPUS_TREE}"
    parts = {
        "source": SourceSettings(max_removed=1.0),  # top nodes are removed with their trees
        "grouping": CorpusTreeGrouping(separate_readers=settings.grouping.separate_readers),
        "access": settings.access.model_copy(update={"required": False}),
        "chunking": settings.chunking.model_copy(
            update={"method": "greedy", "max_context_tokens": 0, "max_tokens": longest}
        ),
        "components": settings.components.model_copy(update={"chunker": ""}),
        "store": settings.store.model_copy(update={"corpus": corpus}),
        "checks": settings.checks.model_copy(update={"golden": None}),
        "serving": ServingSettings(),
        "runs": settings.runs.model_copy(update={"keep_builds": 0, "publish": "at_once"}),
        "corpus_tree": settings.corpus_tree.model_copy(update={"enabled": False}),
    }
    if settings.tables.url:
        url = f"{settings.tables.url.rstrip('/')}/{CORPUS_TREE}"
        parts["tables"] = settings.tables.model_copy(update={"url": url})
    return settings.model_copy(update=parts)


def readers_of_top_documents(manifests: Iterable[Manifest]) -> Readers:
    """Return the readers of each top document: those who may read all documents of its tree."""
    return {
        name: common_readers(manifest.documents, manifest.readers)
        for manifest in manifests
        for name in _top_ids(manifest.tree, manifest.layer_sizes[-1])
    }


def top_documents(nodes: Iterable[Node], readers: Readers | None = None) -> list[Document]:
    """Make a document of each top node, with the tree's name and, if several, a number as id."""
    by_tree = group_nodes(nodes, lambda node: node.tree)
    return [
        Document(
            id=name,
            text=node.text,
            title=str(node.metadata.get("title", "")) or node.name,
            source=tree,
            metadata={TOP_NODE: node.id},
            readers=None if readers is None else readers.get(name, ()),
        )
        for tree, tops in sorted(by_tree.items())
        for name, node in zip(_top_ids(tree, len(tops)), tops, strict=True)
    ]


def _top_ids(tree: str, n_tops: int) -> list[str]:
    if n_tops == 1:
        return [tree]
    names = (f"{tree}#{number}" for number in range(1, n_tops + 1))
    return [shorten_name(name, "top node", name, MAX_ID_BYTES) for name in names]


def published_tops(store: VectorStore) -> list[Node]:
    """Return the top nodes of all trees of a store."""
    by_layer: dict[int, list[str]] = {}
    for manifest in store.manifests():
        by_layer.setdefault(len(manifest.layer_sizes) - 1, []).append(manifest.tree)
    return [
        node
        for layer, trees in sorted(by_layer.items())
        for node in store.nodes(Where(trees=tuple(trees), layers=(layer,)))
    ]


def build_corpus_tree(
    trees: Sequence[Tree],
    settings: Settings | None = None,
    *,
    components: Components | None = None,
    known: KnownContent | None = None,
    previous: Tree | None = None,
) -> Tree:
    """Build the corpus tree over trees that ``build_tree`` returned; arguments are the same."""
    below = Components.from_either(settings, components)
    tops = (node for tree in trees for node in tree.layers[-1].nodes)
    readers = {
        name: common_readers(tree.documents, tree.readers)
        for tree in trees
        for name in _top_ids(tree.name, len(tree.layers[-1].nodes))
    }
    return build_tree(
        top_documents(tops, readers),
        name=CORPUS_TREE_NAME,
        components=below.for_corpus_tree(corpus_tree_settings(below.settings)),
        known=known,
        previous=previous,
    )
