"""Corpus tree: a tree whose documents are the top nodes of the published trees.

The code of ordinary trees builds, anchors, checks and publishes it. It has a separate store, so
that no search of ordinary trees finds a text twice. Each leaf is one top node, and its metadata
names that node.
"""

from collections.abc import Iterable, Sequence

from raptor_core.chunking.base import Chunk
from raptor_core.documents.base import Document
from raptor_core.identity import MAX_ID_BYTES, fingerprint, shorten_name
from raptor_core.nodes import TOP_NODE, Node, Tree, grouped
from raptor_core.settings import CorpusTreeGrouping, Settings, SourceSettings
from raptor_core.store.base import Where
from raptor_core.store.store import VectorStore
from raptor_core.tree.build import build_tree
from raptor_core.tree.cache import Known
from raptor_core.tree.components import Components
from raptor_core.tree.custom_components import counter_of

CORPUS_TREE = "corpus_tree"
"""Folder of the corpus tree in a home, and first part of its asset keys."""
CORPUS_TREE_NAME = CorpusTreeGrouping.corpus_name
"""Name of the corpus tree and of its partition; sources refuse documents of this name."""
TREE = "raptor_tree"
"""Metadata key of a leaf: the tree of its top node, next to ``TOP_NODE``."""


class WholeDocuments:
    """Chunker of the corpus tree: every document is one chunk."""

    def __init__(self, settings: Settings) -> None:
        self._counter = counter_of(settings)

    @property
    def fingerprint(self) -> str:
        """See ``Chunker``."""
        return fingerprint("whole documents", {"version": 1})

    def chunk(self, document: Document) -> list[Chunk]:
        """See ``Chunker.chunk``."""
        text = document.text.strip()
        if not text:
            return []
        start = document.text.index(text)
        return [Chunk(text, start, start + len(text), self._counter.count([text])[0])]


def corpus_tree_settings(settings: Settings) -> Settings:
    """Return the settings of the corpus tree over the trees of ``settings``."""
    longest = max(settings.chunking.max_tokens, settings.summarizer.max_tokens)
    corpus = f"{settings.store.corpus}_{CORPUS_TREE}"
    parts = {
        "source": SourceSettings(max_removed=1.0),  # top nodes go with their trees
        "grouping": CorpusTreeGrouping(),
        "chunking": settings.chunking.model_copy(
            update={"max_context_tokens": 0, "max_tokens": longest}
        ),
        "components": settings.components.model_copy(
            update={"chunker": f"{__name__}:{WholeDocuments.__name__}"}
        ),
        "store": settings.store.model_copy(update={"corpus": corpus}),
        "checks": settings.checks.model_copy(update={"golden": None}),
        "corpus_tree": settings.corpus_tree.model_copy(update={"enabled": False}),
    }
    if settings.tables.url:
        url = f"{settings.tables.url.rstrip('/')}/{CORPUS_TREE}"
        parts["tables"] = settings.tables.model_copy(update={"url": url})
    return settings.model_copy(update=parts)


def top_documents(nodes: Iterable[Node]) -> list[Document]:
    """Make a document of each top node, named by its tree, with a number if there are several."""
    by_tree = grouped(nodes, lambda node: node.tree)
    return [
        Document(
            id=tree if len(tops) == 1 else _top_id(tree, number),
            text=node.text,
            title=str(node.metadata.get("title", "")) or node.name,
            source=tree,
            metadata={TREE: tree, TOP_NODE: node.id},
        )
        for tree, tops in sorted(by_tree.items())
        for number, node in enumerate(tops, 1)
    ]


def _top_id(tree: str, number: int) -> str:
    name = f"{tree}#{number}"
    return shorten_name(name, "top node", name, MAX_ID_BYTES)


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
    known: Known | None = None,
    previous: Tree | None = None,
) -> Tree:
    """Build the corpus tree of trees that ``build_tree`` returned."""
    below = Components.either(settings, components)
    tops = (node for tree in trees for node in tree.layers[-1].nodes)
    return build_tree(
        top_documents(tops),
        name=CORPUS_TREE_NAME,
        components=below.above(corpus_tree_settings(below.settings)),
        known=known,
        previous=previous,
    )
