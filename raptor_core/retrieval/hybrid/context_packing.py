"""Filling of a context with the best summaries and passages that fit, in document order.

Scores come from ``scoring``, passages from ``passages``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from raptor_core.nodes import Node
from raptor_core.retrieval.base import sort_by_document
from raptor_core.retrieval.hybrid.passages import ContextParts, Passages, cut_chunk
from raptor_core.retrieval.hybrid.scoring import Numbers, RankedNodes, Scores, group_numbers
from raptor_core.store.base import Hit, Where
from raptor_core.store.outlines import Outlines
from raptor_core.store.store import VectorStore

MIN_PASSAGE_TOKENS = 8
"""Minimum tokens, about five words, of a passage after a better one did not fit."""


@dataclass(slots=True)
class ContextPacking:
    """A context that is being filled.

    Attributes:
        budget_tokens: maximum tokens of the context.
        max_nodes: maximum number of nodes; None is no limit.
        ids: ids of its nodes, in the order in which they were added.
        scores: scores of its nodes, in the same order.
        n_tokens: tokens of its nodes.
        n_passed_over: number of summaries and passages that did not fit, with higher scores than
            one that was added later; if none was added, all of them.
        why: parts of each score, by node id.
        kept_parts: parts of those chunks that are not added completely, by node id.
        read_nodes: chunks whose texts were read, by node id; all others are as stored.
    """

    budget_tokens: int
    max_nodes: int | None = None
    ids: list[str] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    n_tokens: int = 0
    n_passed_over: int = 0
    why: dict[str, Mapping[str, float]] = field(default_factory=dict)
    kept_parts: dict[str, slice] = field(default_factory=dict)
    read_nodes: Mapping[str, Node] = field(default_factory=dict)

    def add_summaries(self, ranked: RankedNodes) -> None:
        """Add the summaries that fit, best first; ties are broken by node id."""
        summaries, scores = ranked.outlines, ranked.scores
        for row in _rows_best_first(summaries, scores):
            n_tokens = self.n_tokens + summaries.nodes["n_tokens"][row]
            if self._is_full() or n_tokens > self.budget_tokens:
                self.n_passed_over += 1
            else:
                self.n_tokens += int(summaries.nodes["n_tokens"][row])
                self._add(ranked, row, float(scores[row]))

    def add_leaves(
        self,
        leaves: RankedNodes,
        passages: Passages,
        diversity: float = 0.0,
        max_per_document: int | None = None,
    ) -> None:
        """Add passages greedily, the best first, until none fits.

        A fragment of a few words is skipped after a better passage did not fit. A passage that no
        part of its score supports is added only if a number of nodes is requested or nothing else
        fits. If ``n`` passages of a document are in the context, the scores of its others decrease
        by ``diversity * log(1 + n)``.

        Args:
            leaves: the chunks.
            passages: the passages that the chunks form.
            diversity: weight of the penalty for passages of the same document.
            max_per_document: maximum number of passages of a document; None is no limit.
        """
        scores = passages.mean_scores(leaves.scores)
        filling = ContextParts(passages)
        first_chunks = leaves.outlines.select_rows(passages.first_chunks())
        rows = _rows_best_first(first_chunks, scores)
        document = group_numbers(first_chunks.nodes["document"][rows])
        is_unsupported = ~passages.contain_any_chunk(leaves.is_supported)[rows] & (
            self.max_nodes is None
        )
        is_fragment = filling.n_tokens[rows] < MIN_PASSAGE_TOKENS
        open_scores = scores[rows].astype(np.float64)
        n_added = np.zeros(document.max() + 1, dtype=np.int64)
        while not self._is_full():
            current = open_scores - diversity * np.log1p(n_added)[document]
            fits = filling.n_tokens[rows] <= self.budget_tokens - self.n_tokens
            # Fragments such as "Mira," must not fill the space for which a better one is too long.
            best_unfit = np.where(fits, -np.inf, current).max()
            allowed = ~is_fragment | ((self.n_passed_over == 0) & (current >= best_unfit))
            allowed &= ~is_unsupported
            if self.ids or (fits & allowed).any():
                fits &= allowed
            fitting = np.where(fits, current, -np.inf)
            best = int(np.argmax(fitting))
            passed_over = ~fits & (current > fitting[best])
            if fitting[best] == -np.inf:
                self.n_passed_over += 0 if self.ids else int(passed_over.sum())
                break
            self.n_passed_over += int(passed_over.sum())
            open_scores[passed_over] = open_scores[best] = -np.inf
            passage = rows[best]
            self.n_tokens += int(filling.n_tokens[passage])
            for chunk in filling.add_passage(passage):
                self._add(leaves, chunk, float(scores[passage]))
            n_added[document[best]] += 1
            if n_added[document[best]] == max_per_document:
                open_scores[document == document[best]] = -np.inf
        self.kept_parts |= {
            leaves.node_id(chunk): parts for chunk, parts in filling.incomplete_chunks().items()
        }

    def _is_full(self) -> bool:
        return self.max_nodes is not None and len(self.ids) >= self.max_nodes

    def _add(self, nodes: RankedNodes, row: int, score: float) -> None:
        """Record a node with the score of its summary or of its first passage."""
        node_id = nodes.node_id(row)
        if node_id not in self.why:
            parts = {
                part: round(float(scores[row]), 6) for part, scores in nodes.score_parts.items()
            }
            parts["paragraph"] = round(score - sum(parts.values()), 6)
            self.why[node_id] = {part: value for part, value in parts.items() if value}
            self.ids.append(node_id)
            self.scores.append(round(score, 6))

    def read_hits(self, store: VectorStore) -> list[Hit]:
        """Return the nodes in document order, without any that were removed in the meantime."""
        score_of = dict(zip(self.ids, self.scores, strict=True))
        nodes = store.nodes(Where(ids=tuple(self.ids)))
        cuts, read = self.kept_parts, self.read_nodes
        nodes = [cut_chunk(read.get(n.id, n), cuts[n.id]) if n.id in cuts else n for n in nodes]
        return sort_by_document([Hit(node, score_of[node.id], self.why[node.id]) for node in nodes])


def _rows_best_first(nodes: Outlines, scores: Scores) -> Numbers:
    """Return the rows by score, then by node id."""
    return np.lexsort((nodes.nodes["low"], nodes.nodes["high"], -scores))
