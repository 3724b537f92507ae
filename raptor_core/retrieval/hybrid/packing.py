"""From scores to a context: the best that fits, of several documents, in document order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from raptor_core.retrieval.hybrid.groups import Scores, numbered
from raptor_core.store.base import Hit
from raptor_core.store.candidates import Candidate


@dataclass(slots=True)
class Packing:
    """A context that is being filled.

    Attributes:
        budget_tokens: that it may take.
        most: nodes that it may take; None is any number.
        hits: what it holds, in the order of its coming.
        n_tokens: of those.
        n_passed_over: nodes that did not fit and were better than one that was taken; all of them
            where none was.
    """

    budget_tokens: int
    most: int | None = None
    hits: list[Hit] = field(default_factory=list)
    n_tokens: int = 0
    n_passed_over: int = 0

    def add_summaries(self, summaries: Sequence[Candidate], scores: Scores, share: float) -> None:
        """Take summaries, best first, while they fit ``share`` of the budget; ties by node id."""
        end = round(share * self.budget_tokens)
        most = None if self.most is None else int(share * self.most)
        order = sorted(range(len(summaries)), key=lambda at: (-scores[at], summaries[at].id))
        for at in order[:most]:
            self._take(summaries[at], scores[at], end)

    def add_leaves(
        self,
        leaves: Sequence[Candidate],
        scores: Scores,
        diversity: float = 0.0,
        max_per_document: int | None = None,
    ) -> None:
        """Take chunks while they fit the budget, always the one that is the best now.

        Where documents compete, the score of a chunk falls by ``diversity * log(1 + n)`` once
        ``n`` of its document are taken; after ``max_per_document`` of them no more are.
        """
        if not leaves:
            return
        rows = sorted(range(len(leaves)), key=lambda at: (-scores[at], leaves[at].id))
        document = numbered([leaves[at].documents[0] for at in rows])
        left = scores[rows].astype(np.float64)
        n_taken = np.zeros(document.max() + 1, dtype=np.int64)
        n_tokens = np.array([leaves[at].n_tokens for at in rows])
        while not self._is_full():
            now = left - diversity * np.log1p(n_taken)[document]
            fits = n_tokens <= self.budget_tokens - self.n_tokens
            able = np.where(fits, now, -np.inf)
            best = int(np.argmax(able))
            passed = ~fits & (now > able[best])
            if able[best] == -np.inf:
                self.n_passed_over += 0 if self.hits else int(passed.sum())
                return
            self.n_passed_over += int(passed.sum())
            left[passed] = left[best] = -np.inf
            self._take(leaves[rows[best]], scores[rows[best]], self.budget_tokens)
            n_taken[document[best]] += 1
            if n_taken[document[best]] == max_per_document:
                left[document == document[best]] = -np.inf

    def _is_full(self) -> bool:
        return self.most is not None and len(self.hits) >= self.most

    def _take(self, node: Candidate, score: float, end: int) -> bool:
        if self._is_full() or self.n_tokens + node.n_tokens > end:
            self.n_passed_over += 1
            return False
        self.hits.append(Hit(node.read(), round(float(score), 6)))
        self.n_tokens += node.n_tokens
        return True


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
