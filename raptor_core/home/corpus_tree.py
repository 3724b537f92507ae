"""Answers about the whole corpus: from the corpus tree and the trees, or from a layer of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from raptor_core.errors import SettingsError
from raptor_core.home.corpus_retriever import CorpusTreeRetriever
from raptor_core.home.store_retriever import StoreRetriever
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.usage import cost_usd, price_of
from raptor_core.models.reading.reader import Answer, Passage, read_parts
from raptor_core.nodes import Node, grouped
from raptor_core.retrieval import Query
from raptor_core.retrieval.general import decide
from raptor_core.retrieval.general.wording import exhaustive_kind
from raptor_core.settings import Settings
from raptor_core.store.base import Where
from raptor_core.tree.corpus_tree import CORPUS_TREE_NAME, TREE
from raptor_core.tree.custom_components import reader_of

VIEW_SHARE = 0.25
"""Share of a context for nodes of the corpus tree, as a view of all documents."""

MAX_PARTS = 8
"""Maximum number of parts that the layer is cut into."""

_PROMPT_TOKENS = 160
"""Estimated tokens of the reader's instructions."""

_ASKED = {"count": "a count", "list": "a complete list", "extreme": "the extreme"}


@dataclass(frozen=True)
class CorpusAnswerPlan:
    """Plan of an answer about the corpus: the nodes to read and the cost, before any call.

    ``layer`` is the most detailed one that fits into ``MAX_PARTS`` contexts; None for a search.
    ``parts`` are its nodes in document order, cut into contexts. There is a call for each part,
    and one to join several answers. Tokens and ``usd`` are estimated maxima; ``usd`` is None
    without a price. ``reads`` names what is read; ``caution`` is empty, or says that the question
    needs every passage, and what helps.
    """

    layer: int | None
    parts: tuple[tuple[Node, ...], ...]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    reads: str
    caution: str = ""

    @property
    def nodes(self) -> list[Node]:
        """All nodes to read."""
        return [node for part in self.parts for node in part]


def refuse_narrowing(names: Iterable[str]) -> None:
    """Raise SettingsError for names of filters: an answer about the whole corpus is from it all."""
    if refused := ", ".join(names):
        raise SettingsError(
            f"an answer about the whole corpus reads all of it, and takes no {refused}; "
            "omit them, or ask with the scope trees"
        )


def plan_layer(
    nodes: Sequence[Node], settings: Settings, budget_tokens: int, layers: Sequence[int] = ()
) -> CorpusAnswerPlan:
    """Plan an answer from a layer of the corpus tree, in contexts of ``budget_tokens``.

    ``nodes`` are all of the corpus tree; empty ``layers`` are all layers.

    Raises:
        SettingsError: the corpus tree has none of ``layers``.
    """
    members = grouped(nodes, lambda node: node.layer)
    cut = {n: _parts(members[n], budget_tokens) for n in members if not layers or n in layers}
    if not cut:
        raise SettingsError(
            f"expected a layer of the corpus tree, 0 to {max(members)}, got "
            f"{', '.join(map(str, layers))}; name one of these, or none"
        )
    layer = min((n for n, parts in cut.items() if len(parts) <= MAX_PARTS), default=max(cut))
    reads = f"the {len(members[layer])} nodes of layer {layer} of the corpus tree"
    return _plan(layer, cut[layer], settings, reads)


def plan_search(
    question: str, query: Query, trees: StoreRetriever, corpus_tree: CorpusTreeRetriever
) -> CorpusAnswerPlan:
    """Plan an answer from one context: a search in the corpus tree, and one in the trees.

    A question that names nothing in the texts is answered from the corpus tree alone. For others
    ``VIEW_SHARE`` of the budget goes to the corpus tree.
    """
    query = replace(query, scope="trees", where=Where(), top_k=None)
    decision = trees.read(lambda store: decide(question, query, store))
    budget = query.budget_tokens
    names_nothing = decision.is_general and not decision.documents
    view = replace(query, budget_tokens=budget if names_nothing else round(VIEW_SHARE * budget))
    nodes = [hit.node for hit in corpus_tree.search(question, view).hits]
    if not names_nothing:
        rest = replace(query, budget_tokens=budget - sum(node.n_tokens for node in nodes))
        tops = {node.stands_for for node in nodes}
        hits = trees.search(question, rest).hits
        nodes += [hit.node for hit in hits if hit.node.id not in tops]
    kind, caution = exhaustive_kind(question), ""
    if kind:
        caution = (
            f"this question asks for {_ASKED[kind]} over all documents, and summaries leave "
            "passages out: the answer holds for the documents that were read. A search with the "
            "scope trees, a high token budget and top_k shows the passages to go through"
        )
    documents = {m.tree: set(m.documents) for m in StoreRetriever.manifests(trees)}
    reads = _documents_read(nodes, documents)
    return _plan(None, (tuple(nodes),), trees.settings, reads, caution)


def _documents_read(nodes: Sequence[Node], documents: Mapping[str, set[str]]) -> str:
    """Return in words how many of the documents, by tree, are in a context, and how."""
    passages = [node for node in nodes if node.tree != CORPUS_TREE_NAME]
    tops = [str(n.metadata[TREE]) for n in nodes if n.tree == CORPUS_TREE_NAME and n.is_leaf]
    detailed = {document for node in passages if node.is_leaf for document in node.documents}
    below = {document for node in passages for document in node.documents}
    read = below.union(*(documents.get(tree, set()) for tree in tops))
    n_documents = len(set().union(*documents.values()))
    return (
        f"{len(read)} of {n_documents} documents, {len(detailed)} of them in detail, "
        "and the others through summaries"
    )


def _plan(
    layer: int | None,
    parts: tuple[tuple[Node, ...], ...],
    settings: Settings,
    reads: str,
    caution: str = "",
) -> CorpusAnswerPlan:
    reader = settings.reader
    between = len(parts) * reader.max_tokens if len(parts) > 1 else 0
    calls = len(parts) + bool(between)
    n_tokens = sum(node.n_tokens for part in parts for node in part)
    read = n_tokens + between + calls * _PROMPT_TOKENS
    usd = cost_usd(price_of(reader, settings), read, calls * reader.max_tokens)
    return CorpusAnswerPlan(
        layer, parts, calls, read, calls * reader.max_tokens, usd, reads, caution
    )


def _parts(nodes: Sequence[Node], budget_tokens: int) -> tuple[tuple[Node, ...], ...]:
    parts: list[list[Node]] = []
    room = 0
    for node in nodes:
        if not parts or node.n_tokens > room:
            parts.append([])
            room = budget_tokens
        parts[-1].append(node)
        room -= node.n_tokens
    return tuple(map(tuple, parts))


def answer_by(plan: CorpusAnswerPlan, question: str, settings: Settings) -> Answer:
    """Answer a question by a plan, within the budget of the settings.

    Raises:
        MissingKeyError: the reader has no key.
        EndpointError: the reader failed.
        BudgetError: the budget ends first.
        SettingsError: the budget is in dollars, and the reader's model has no price.
    """
    read_by = reader_of(settings, Ledger(settings.budget, settings.prices))
    parts = [[Passage.from_node(node) for node in part] for part in plan.parts]
    return read_parts(read_by, question, parts)


def summary_answer(
    plan: CorpusAnswerPlan, nodes: Sequence[Node], budget_tokens: int
) -> tuple[Answer, list[Node]]:
    """Return what fits the budget as the answer without a reader, and its nodes.

    It is the plan's nodes, or else the most detailed layer of ``nodes``, all of the corpus tree.
    """
    shown = plan.nodes
    if sum(node.n_tokens for node in shown) > budget_tokens:
        layers = grouped(nodes, lambda node: node.layer)
        sizes = {n: sum(node.n_tokens for node in members) for n, members in layers.items()}
        shown = layers[min((n for n in sizes if sizes[n] <= budget_tokens), default=max(sizes))]
    lines = [
        f"{node.name}: {node.text} [{number}]" if node.name else f"{node.text} [{number}]"
        for number, node in enumerate(shown, 1)
    ]
    answer = Answer("\n\n".join(lines), tuple(Passage.from_node(node) for node in shown))
    return answer, list(shown)
