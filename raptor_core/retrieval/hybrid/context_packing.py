"""From scores to a context: the best that fits, of several documents, in document order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from raptor_core.retrieval.hybrid.passages import Filling, Passages, cut
from raptor_core.retrieval.hybrid.pool import Numbers, Ranked, Scores, numbered
from raptor_core.store.base import Hit, Where
from raptor_core.store.outlines import Outlines
from raptor_core.store.protocols import Searcher


@dataclass(slots=True)
class Packing:
    """A context that is being filled.

    Attributes:
        budget_tokens: that it may take.
        most: nodes that it may take; None is any number.
        ids, scores: of the nodes that it holds, in the order of their coming.
        n_tokens: of those.
        n_passed_over: summaries and passages that did not fit and were better than one that was
            taken; all of them where none was.
        n_paragraphs: whole paragraphs that it holds.
        why: what each score is made of, by node id.
        cuts: of the chunks that it holds in part, which parts of paragraphs, by node id.
    """

    budget_tokens: int
    most: int | None = None
    ids: list[str] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    n_tokens: int = 0
    n_passed_over: int = 0
    n_paragraphs: int = 0
    why: dict[str, Mapping[str, float]] = field(default_factory=dict)
    cuts: dict[str, slice] = field(default_factory=dict)

    def add_summaries(self, ranked: Ranked, share: float) -> None:
        """Take summaries, best first, while they fit ``share`` of the budget; ties by node id."""
        summaries, scores = ranked.outlines, ranked.scores
        end = round(share * self.budget_tokens)
        most = None if self.most is None else int(share * self.most)
        for at in _best_first(summaries, scores)[:most]:
            if self._is_full() or self.n_tokens + summaries.nodes["n_tokens"][at] > end:
                self.n_passed_over += 1
            else:
                self.n_tokens += int(summaries.nodes["n_tokens"][at])
                self._take(ranked, at, float(scores[at]))

    def add_leaves(
        self,
        leaves: Ranked,
        passages: Passages,
        scores: Scores,
        diversity: float = 0.0,
        max_per_document: int | None = None,
        reread: Scores | None = None,
    ) -> None:
        """Take passages while they fit the budget, always the one that is the best now.

        Where documents compete, the score of a passage falls by ``diversity * log(1 + n)`` once
        ``n`` of its document are taken; after ``max_per_document`` of them no more are.

        Args:
            leaves: the chunks.
            passages, scores: what they are packed in, with a score for each passage.
            reread: what a second look at the passages adds to their scores.
        """
        reread = np.zeros(len(scores)) if reread is None else reread
        scores = scores + reread
        filling = Filling(passages)
        lead = leaves.outlines.take(passages.leading())
        rows = _best_first(lead, scores)
        document = numbered(lead.nodes["document"][rows])
        left = scores[rows].astype(np.float64)
        n_taken = np.zeros(document.max() + 1, dtype=np.int64)
        while not self._is_full():
            now = left - diversity * np.log1p(n_taken)[document]
            fits = filling.n_tokens[rows] <= self.budget_tokens - self.n_tokens
            able = np.where(fits, now, -np.inf)
            best = int(np.argmax(able))
            passed = ~fits & (now > able[best])
            if able[best] == -np.inf:
                self.n_passed_over += 0 if self.ids else int(passed.sum())
                break
            self.n_passed_over += int(passed.sum())
            left[passed] = left[best] = -np.inf
            self.n_tokens += int(filling.n_tokens[rows[best]])
            self.n_paragraphs += int(passages.is_paragraph[rows[best]])
            for chunk in filling.take(rows[best]):
                self._take(leaves, chunk, float(scores[rows[best]]), float(reread[rows[best]]))
            n_taken[document[best]] += 1
            if n_taken[document[best]] == max_per_document:
                left[document == document[best]] = -np.inf
        self.cuts |= {leaves.id(chunk): parts for chunk, parts in filling.cuts().items()}

    def _is_full(self) -> bool:
        return self.most is not None and len(self.ids) >= self.most

    def _take(self, nodes: Ranked, at: int, score: float, reread: float = 0.0) -> None:
        """Note a node, with the score of what it comes for; it may come for several passages."""
        name = nodes.id(at)
        if name not in self.why:
            parts = {part: round(float(given[at]), 6) for part, given in nodes.parts.items()}
            if reread:
                parts["reranker"] = round(reread, 6)
            parts["paragraph"] = round(score - sum(parts.values()), 6)
            self.why[name] = {part: given for part, given in parts.items() if given}
            self.ids.append(name)
            self.scores.append(round(score, 6))

    def hits(self, store: Searcher) -> list[Hit]:
        """What it holds, in document order; without nodes that were removed meanwhile."""
        score_of = dict(zip(self.ids, self.scores, strict=True))
        nodes = store.nodes(Where(ids=tuple(self.ids)))
        shown = [cut(n, self.cuts[n.id]) if n.id in self.cuts else n for n in nodes]
        found = [Hit(node, score_of[node.id], self.why[node.id]) for node in shown]
        return in_document_order(found)


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
