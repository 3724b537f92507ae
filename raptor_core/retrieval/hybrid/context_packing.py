"""From scores to a context: the best that fits, of several documents, in document order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from raptor_core.retrieval.hybrid.groups import Numbers, Scores, numbered
from raptor_core.store.base import Hit, Where
from raptor_core.store.outlines import Outlines, full_id
from raptor_core.store.store import VectorStore


@dataclass(slots=True)
class Packing:
    """A context that is being filled.

    Attributes:
        budget_tokens: that it may take.
        most: nodes that it may take; None is any number.
        ids, scores: of the nodes that it holds, in the order of their coming.
        n_tokens: of those.
        n_passed_over: nodes that did not fit and were better than one that was taken; all of them
            where none was.
    """

    budget_tokens: int
    most: int | None = None
    ids: list[str] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    n_tokens: int = 0
    n_passed_over: int = 0

    def add_summaries(self, summaries: Outlines, scores: Scores, share: float) -> None:
        """Take summaries, best first, while they fit ``share`` of the budget; ties by node id."""
        end = round(share * self.budget_tokens)
        most = None if self.most is None else int(share * self.most)
        for at in _best_first(summaries, scores)[:most]:
            if self._is_full() or self.n_tokens + summaries.nodes["n_tokens"][at] > end:
                self.n_passed_over += 1
            else:
                self._take(summaries, scores, at)

    def add_leaves(
        self,
        leaves: Outlines,
        scores: Scores,
        diversity: float = 0.0,
        max_per_document: int | None = None,
    ) -> None:
        """Take chunks while they fit the budget, always the one that is the best now.

        Where documents compete, the score of a chunk falls by ``diversity * log(1 + n)`` once
        ``n`` of its document are taken; after ``max_per_document`` of them no more are.
        """
        if not len(scores):
            return
        rows = _best_first(leaves, scores)
        document = numbered(leaves.nodes["document"][rows])
        left = scores[rows].astype(np.float64)
        n_taken = np.zeros(document.max() + 1, dtype=np.int64)
        n_tokens = leaves.nodes["n_tokens"][rows]
        while not self._is_full():
            now = left - diversity * np.log1p(n_taken)[document]
            fits = n_tokens <= self.budget_tokens - self.n_tokens
            able = np.where(fits, now, -np.inf)
            best = int(np.argmax(able))
            passed = ~fits & (now > able[best])
            if able[best] == -np.inf:
                self.n_passed_over += 0 if self.ids else int(passed.sum())
                return
            self.n_passed_over += int(passed.sum())
            left[passed] = left[best] = -np.inf
            self._take(leaves, scores, rows[best])
            n_taken[document[best]] += 1
            if n_taken[document[best]] == max_per_document:
                left[document == document[best]] = -np.inf

    def _is_full(self) -> bool:
        return self.most is not None and len(self.ids) >= self.most

    def _take(self, nodes: Outlines, scores: Scores, at: int) -> None:
        node = nodes.nodes[at]
        self.ids.append(full_id(int(node["high"]), int(node["low"])))
        self.scores.append(round(float(scores[at]), 6))
        self.n_tokens += int(node["n_tokens"])

    def hits(self, store: VectorStore) -> list[Hit]:
        """What it holds, in document order; without nodes that were removed meanwhile."""
        score_of = dict(zip(self.ids, self.scores, strict=True))
        nodes = store.nodes(Where(ids=tuple(self.ids)))
        return in_document_order([Hit(node, score_of[node.id]) for node in nodes])


def _best_first(nodes: Outlines, scores: Scores) -> Numbers:
    """Rows by score, then by node id."""
    return np.lexsort((nodes.nodes["low"], nodes.nodes["high"], -scores))


def in_document_order(hits: Sequence[Hit]) -> list[Hit]:
    """The document of the best hit first; within a document as it reads, summaries before."""
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
