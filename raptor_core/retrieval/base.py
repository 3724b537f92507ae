"""Queries, retrievals, the interface of a strategy, and filling of a token budget.

Strategies are in ``hybrid`` and ``paper``; ``retriever`` lists them. Read ``paper`` next, which has
the simpler ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, Protocol
from unicodedata import category

from raptor_core.errors import QuestionError, SettingsError
from raptor_core.nodes import Node
from raptor_core.settings import Settings
from raptor_core.settings.retrieval import HybridSettings, RerankerSettings
from raptor_core.store.base import Hit, Where
from raptor_core.store.store import VectorStore
from raptor_core.tracing import span
from raptor_core.vectors import Vectors

LAYER_TOP_K = 20
"""Number of nodes that a traversal keeps of each layer, unless the query sets ``top_k``."""

SHORT_NODE_TOKENS = 32
"""Size of a short node. The first search asks for as many nodes of this size as fit."""

CANDIDATES_PER_NODE = 2
"""Candidates for each node of ``top_k``, because some nodes do not fit into the budget."""

MAX_CANDIDATES = 1000
"""Number of candidates after which a search ends, even if none of them fits into the budget."""


Kind = Literal["auto", "detail", "general"]
"""Kind of a question; see ``Query.kind``."""

Scope = Literal["trees", "corpus", "both"]
"""Corpora of a home that are searched; see ``Query.scope``."""

RANK_SHIFT = 60
"""Constant of reciprocal rank fusion (Cormack et al. 2009)."""


@dataclass(frozen=True, slots=True)
class Query:
    """Parameters of a retrieval, except for the question.

    Attributes:
        strategy: a name in ``STRATEGIES``.
        budget_tokens: maximum tokens of the context; nodes that do not fit are skipped.
        top_k: maximum number of nodes, of each layer in a traversal. None is limited only by the
            budget, and is 20 in a traversal.
        where: filter on trees, documents, layers and metadata.
        start_layer: traversal only: first layer; None is the top layer of each tree.
        n_layers: traversal only: number of layers; None continues down to the leaves.
        threshold: traversal only: minimum cosine similarity of the nodes kept on each layer. None
            keeps the best ``top_k``.
        max_per_document: hybrid only: maximum number of chunks of a document; None is no limit.
        hybrid: hybrid only: weights of its signals.
        reranker: hybrid only: model that sorts the best chunks of a detail question again.
        scope: homes only: search the trees, the corpus tree ("corpus"), or both.
        kind: whether the question is about a detail, or is general, so that the context of hybrid
            covers the whole text; "auto" decides by its words.
        summary_share: collapsed and traversal only: maximum share of the budget for summaries, if
            the question is about a detail. With 1, searches work as in the paper.
        history: earlier messages of the conversation, the latest last; see ``complete_follow_up``.
    """

    strategy: str = "hybrid"
    budget_tokens: int = 2000
    top_k: int | None = None
    where: Where = field(default_factory=Where)
    start_layer: int | None = None
    n_layers: int | None = None
    threshold: float | None = None
    max_per_document: int | None = None
    hybrid: HybridSettings = field(default_factory=HybridSettings)
    reranker: RerankerSettings = field(default_factory=RerankerSettings)
    scope: Scope = "trees"
    kind: Kind = "auto"
    summary_share: float = 0.25
    history: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_history(self.history)

    @property
    def nodes_per_layer(self) -> int:
        """Number of nodes per layer in a traversal: ``top_k``, or 20."""
        return self.top_k or LAYER_TOP_K

    @classmethod
    def from_settings(cls, settings: Settings) -> "Query":
        """Return the query that the settings describe."""
        defaults = settings.retrieval
        return cls(
            strategy=defaults.strategy,
            budget_tokens=defaults.budget_tokens,
            top_k=defaults.top_k or None,
            max_per_document=defaults.max_per_document or None,
            summary_share=defaults.summary_share,
            reranker=defaults.reranker,
        )


def check_history(history: Sequence[str]) -> tuple[str, ...]:
    """Return the messages before a question; raise SettingsError if it is a single text."""
    if isinstance(history, str):
        raise SettingsError(
            f"history: expected a list of messages, got the text {history!r:.60}; write "
            "history=[...]"
        )
    return tuple(history)


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions and their vectors, shape ``(len(texts), n_dims)``."""

    texts: tuple[str, ...]
    vectors: Vectors

    def select(self, *rows: int) -> "Questions":
        """Return the questions of some rows, with vectors of shape ``(len(rows), n_dims)``."""
        texts = tuple(self.texts[row] for row in rows)
        return Questions(texts, self.vectors[list(rows)])


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The result of a retrieval.

    Attributes:
        hits: retrieved nodes in the strategy's order.
        n_tokens: tokens of the hits, at most ``query.budget_tokens``.
        n_candidates: number of nodes that were considered.
        n_passed_over: number of candidates that did not fit into the budget.
        kind: "detail" or "general"; empty if the strategy treats all questions alike.
        reason: why the question is of this kind.
        note: a warning, such as that no document has the metadata that the query filters by.
        id: id of the question, if a server keeps it.
    """

    question: str
    query: Query
    hits: tuple[Hit, ...]
    n_tokens: int
    n_candidates: int
    n_passed_over: int
    kind: str = ""
    reason: str = ""
    note: str = ""
    id: str = ""

    def __repr__(self) -> str:
        spent = f"{self.n_tokens} of {self.query.budget_tokens} tokens"
        return f"<Retrieval {self.question!r}: {len(self.hits)} hits, {spent}>"

    @property
    def without_wordless_hits(self) -> "Retrieval":
        """This retrieval without nodes that have neither letters nor digits."""
        hits = tuple(filter(has_words, self.hits))
        if len(hits) == len(self.hits):
            return self
        return replace(self, hits=hits, n_tokens=sum(hit.node.n_tokens for hit in hits))

    @property
    def context(self) -> str:
        """Texts of the hits, separated by blank lines, or by line ends within a paragraph.

        Rows of a table follow the names of the columns.
        """
        nodes = [hit.node for hit in self.hits]
        texts = [nodes[0].shown_text] if nodes else []
        for node, following in pairwise(nodes):
            is_same = shares_paragraph(node, following)
            texts.append("\n" if is_same else "\n\n")
            texts.append(following.text if is_same else following.shown_text)
        return "".join(texts)

    @property
    def explanation(self) -> str:
        """The note, or else, if there are no hits, the reason and a remedy."""
        if self.hits or self.note:
            return self.note
        if self.n_passed_over:
            return f"no node fits into {self.query.budget_tokens} tokens; raise budget_tokens"
        filters: dict[str, object] = dict(self.query.where.conditions)
        if self.query.threshold is not None:
            filters["threshold"] = self.query.threshold
        if not filters:
            return "no node matches the question; use other words, or another strategy"
        named = ", ".join(f"{name} {_describe_filter(value)}" for name, value in filters.items())
        return f"no node matches {named}; omit a filter, or list the trees to see their names"

    @property
    def hits_by_score(self) -> list[Hit]:
        """Hits by score, best first; hits of equal score keep their order."""
        return sorted(self.hits, key=lambda hit: -hit.score)


def _describe_filter(value: object) -> str:
    """Describe a filter in words."""
    if isinstance(value, Where):
        return ", ".join(
            f"{name} {_describe_filter(part)}" for name, part in value.conditions.items()
        )
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Invisible characters that Unicode counts as letters or symbols."""


def require_words(question: str) -> None:
    """Raise QuestionError if a question has neither letters, digits nor pictographs."""
    for character in question:
        kind = category(character)
        if (kind[0] in "LN" or kind == "So") and character not in _BLANK_LETTERS:
            return
    raise QuestionError(
        f"expected a question with at least one word, got {question!r:.60}; ask with a word"
    )


def shares_paragraph(node: Node, following: Node) -> bool:
    """Return whether ``following`` is the next chunk and continues a paragraph of ``node``."""
    if not node.paragraphs or not following.paragraphs or node.documents != following.documents:
        return False
    distance = following.position - node.position
    return distance == 1 and node.paragraphs[-1][0] == following.paragraphs[0][0]


class Strategy(Protocol):
    """Interface of a strategy, which selects nodes for the context of each question."""

    def retrieve(self, questions: Questions, query: Query, store: VectorStore) -> list[Retrieval]:
        """Return a retrieval for each question, in order."""


def sort_by_document(hits: Sequence[Hit]) -> list[Hit]:
    """Sort hits by document, the one with the best hit first, and within a document by position.

    At the same position, summaries come first.
    """
    best: dict[str, float] = {}
    for hit in hits:
        name = hit.node.documents[0]
        best[name] = max(best.get(name, hit.score), hit.score)
    return sorted(
        hits,
        key=lambda hit: (
            -best[hit.node.documents[0]],
            hit.node.documents[0],
            hit.node.position,
            -hit.node.layer,
            hit.node.id,
        ),
    )


def has_words(hit: Hit) -> bool:
    """Return whether a node has letters or digits; symbols alone answer no question."""
    return any(map(str.isalnum, hit.node.text))


def fit_budget(
    question: str, query: Query, candidates: Sequence[Hit], max_nodes: int | None = None
) -> Retrieval:
    """Take candidates in order, at most ``max_nodes``, and skip those that do not fit.

    Summaries over their share are skipped, too, and do not count as passed over.
    """
    hits: list[Hit] = []
    spent = skipped = of_summaries = 0
    for hit in filter(has_words, candidates):
        if len(hits) == max_nodes:
            break
        size, above = hit.node.n_tokens, 0 if hit.node.is_leaf else hit.node.n_tokens
        if spent + size > query.budget_tokens:
            skipped += 1
        elif not above or of_summaries + above <= query.summary_share * query.budget_tokens:
            hits.append(hit)
            spent, of_summaries = spent + size, of_summaries + above
    return Retrieval(question, query, tuple(hits), spent, len(candidates), skipped)


@span("packing")
def fit_budgets(
    questions: Questions,
    query: Query,
    candidates: Sequence[Sequence[Hit]],
    max_nodes: int | None = None,
) -> list[Retrieval]:
    """Apply ``fit_budget`` to the candidates of each question."""
    pairs = zip(questions.texts, candidates, strict=True)
    return [fit_budget(question, query, hits, max_nodes) for question, hits in pairs]


def join_retrievals(parts: Sequence[Retrieval]) -> Retrieval:
    """Join the retrievals of a question from several corpora.

    Scores of different corpora have no common scale, so hits are scored by rank (reciprocal rank
    fusion). The hits of the last corpus come first. A leaf of the corpus tree is dropped if the top
    node that it copies is also a hit. Notes are kept only if all retrievals have the same.
    """
    if len(parts) == 1:
        return parts[0]
    query, question = parts[0].query, parts[0].question
    ids = {hit.node.id for part in parts for hit in part.hits}
    ranked = [
        replace(hit, score=1 / (RANK_SHIFT + rank))
        for part in parts
        for rank, hit in enumerate(part.hits_by_score, 1)
        if hit.node.copied_node_id not in ids
    ]
    max_nodes = None if query.strategy == "traversal" else query.top_k
    best = fit_budget(question, query, sorted(ranked, key=lambda hit: -hit.score), max_nodes)
    chosen = {hit.node.id: hit for hit in best.hits}
    order = [hit.node.id for part in reversed(parts) for hit in part.hits]
    return replace(
        best,
        hits=tuple(chosen[name] for name in order if name in chosen),
        n_candidates=sum(part.n_candidates for part in parts),
        n_passed_over=best.n_passed_over + sum(part.n_passed_over for part in parts),
        kind=parts[0].kind,
        reason=parts[0].reason,
        note=parts[0].note if len({part.note for part in parts}) == 1 else "",
    )


def fill_budgets(
    questions: Questions, query: Query, search: Callable[[int], Sequence[Sequence[Hit]]]
) -> list[Retrieval]:
    """Search for more and more candidates, until each context has ``top_k`` nodes or is full.

    ``search`` returns candidates for each question, best first; its argument is their maximum.
    """
    limit = max(LAYER_TOP_K, query.budget_tokens // SHORT_NODE_TOKENS)
    if query.top_k:
        limit = query.top_k * CANDIDATES_PER_NODE
    complete: dict[int, Retrieval] = {}
    while len(complete) < len(questions.texts):
        retrievals = fit_budgets(questions, query, search(limit), query.top_k)
        # Complete ones are not replaced, so that questions of a batch do not change each other.
        for row, retrieval in enumerate(retrievals):
            if _is_complete(retrieval, limit):
                complete.setdefault(row, retrieval)
        limit *= 4
    return [complete[row] for row in range(len(questions.texts))]


def _is_complete(retrieval: Retrieval, limit: int) -> bool:
    """Return whether more than ``limit`` candidates would not change a retrieval.

    If a node did not fit, the context is full. But if no node fits at all, the nearest ones may be
    too long for a small budget, and a later one may fit.
    """
    if retrieval.n_candidates < limit:
        return True
    if not retrieval.hits:
        return limit >= MAX_CANDIDATES
    return bool(retrieval.query.top_k or retrieval.n_passed_over)
