"""Search over the corpus tree of a home, and through it over the trees below.

Answers about the whole corpus are in ``corpus_tree``; building the corpus tree is in
``raptor_core.tree.corpus_tree``.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from raptor_core.errors import UnknownTreeError
from raptor_core.home.published import corpus_tree_folder, has_corpus_tree
from raptor_core.home.store_retriever import StoreRetriever
from raptor_core.nodes import Node
from raptor_core.retrieval import Family, Query, Retrieval, Trace
from raptor_core.retrieval.trace import nodes_under
from raptor_core.tree.corpus_tree import TREE

Result = TypeVar("Result")

ROUTED_TREES = 5
"""Maximum number of top nodes under which a search goes on below the corpus tree."""

MANY_TOKENS = 1_000_000
"""Budget without effect, for a search whose texts are not read."""


class CorpusTreeRetriever(StoreRetriever):
    """Search over the corpus tree of a home; its leaves are the top nodes of the home's trees.

    Args:
        trees: search over the home's trees.

    Raises:
        UnknownTreeError: the home has no corpus tree; the message says how to build one.
    """

    def __init__(self, trees: StoreRetriever) -> None:
        corpus = trees.settings.corpus_tree
        if not has_corpus_tree(trees.home, trees.settings):
            hint = "set enabled = true under [corpus_tree] in the settings, and run `raptor build`"
            if corpus.enabled:
                hint = (
                    f"it needs {corpus.min_trees} published trees; add documents, and run "
                    "`raptor build`"
                )
            raise UnknownTreeError(f"there is no corpus tree: {hint}")
        home, settings = corpus_tree_folder(trees.home, trees.settings)
        super().__init__(home, settings, trees.components.above(settings))
        self._trees = trees

    def search_below(self, questions: Sequence[str], query: Query) -> list[Retrieval]:
        """Search the trees that the corpus tree leads to, a question at a time.

        Trees that were dropped since the corpus tree was built give no hits.
        """
        strategy = "traversal" if query.strategy == "traversal" else "flat"
        start = Query(strategy, MANY_TOKENS, top_k=ROUTED_TREES)
        retrievals = []
        for question, routes in zip(questions, self.search_many(questions, start), strict=True):
            leaves = (hit.node for hit in routes.ranked if hit.node.is_leaf)
            trees = tuple(dict.fromkeys(str(leaf.metadata[TREE]) for leaf in leaves))
            below = replace(query, where=query.where.narrowed(trees=trees), scope="trees")
            required = query.where.trees or ()
            retrievals += self._trees.search_required([question], below, required)
        return retrievals

    def search_within(self, question: str, node_id: str, query: Query | None = None) -> Retrieval:
        """Retrieve from the trees that have a top node under a node of the corpus tree."""
        nodes = self.read(lambda store: nodes_under(store, node_id))
        trees = tuple(dict.fromkeys(str(node.metadata[TREE]) for node in nodes if node.is_leaf))
        query = query or self.query
        below = replace(query, where=query.where.narrowed(trees=trees), scope="trees")
        return self._trees.search_required([question], below, ())[0]

    def trace(self, node_id: str) -> Trace:
        """Return the exact spans of the documents under a node of the corpus tree."""
        above = super().trace(node_id)
        leaves = self.nodes_of([span.node_id for span in above.spans])
        traces = (_read_below(leaf, self._trees.trace) for leaf in leaves)
        spans = {span.node_id: span for trace in traces for span in trace.spans}
        return Trace(above.node, tuple(spans.values()))

    def family(self, node_id: str) -> Family:
        """Return a node with its parents and children; the child of a leaf is its top node."""
        family = super().family(node_id)
        if not family.node.stands_for:
            return family
        return replace(family, children=(_read_below(family.node, self._trees.family).node,))


def _read_below(leaf: Node, read: Callable[[str], Result]) -> Result:
    """Return the result of ``read`` for the top node that is a leaf of the corpus tree."""
    try:
        return read(leaf.stands_for)
    except UnknownTreeError as error:
        raise UnknownTreeError(
            f"the tree {leaf.metadata[TREE]!r} under this node was dropped or rebuilt after the "
            "corpus tree; the next `raptor build` updates the corpus tree"
        ) from error
