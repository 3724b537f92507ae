"""Candidates of a question with their scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from raptor_core.retrieval.base import Query, Questions
from raptor_core.retrieval.hybrid.groups import Scores, best_means, numbered
from raptor_core.store.base import VectorStore, Where
from raptor_core.store.candidates import Candidate

INSIDE = 512
"""Nodes of the documents that are looked at whole; a longer book shows its best."""

LEADING = 8
"""Summaries whose children are looked at, whichever document they are of."""

BEST_OF_DOCUMENT = 3
"""Chunks that speak for a document."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Nodes and their scores, row for row.

    ``dense`` and ``lexical`` have shape ``(len(nodes),)``. A node that one of the searches did
    not find has the lowest score that it found, or 0 where it found all that match.
    """

    nodes: tuple[Candidate, ...]
    dense: Scores
    lexical: Scores

    @property
    def leaves(self) -> Pool:
        """The chunks among them."""
        return self._of_kind(leaves=True)

    @property
    def summaries(self) -> Pool:
        """The summaries among them."""
        return self._of_kind(leaves=False)

    def _of_kind(self, *, leaves: bool) -> Pool:
        rows = [at for at, node in enumerate(self.nodes) if node.is_leaf is leaves]
        places = np.array(rows, dtype=np.intp)
        nodes = tuple(self.nodes[at] for at in rows)
        return Pool(nodes, self.dense[places], self.lexical[places])


def gather(questions: Questions, query: Query, store: VectorStore) -> list[Pool]:
    """Candidates for each question: found everywhere, then inside the best documents.

    Where the first searches find all that the filter allows, there is no second.
    """
    found = _search(questions, query.where, query.hybrid.candidates, store)
    for row, pool in enumerate(found):
        if pool.is_cut:
            question = questions.one(row)
            for where in _inside(pool.pool(), query):
                pool.add(_search(question, where, INSIDE, store)[0])
    return [pool.pool() for pool in found]


@dataclass(slots=True)
class _Found:
    """What the searches found: nodes and scores by id; ``is_cut`` tells that there may be more."""

    nodes: dict[str, Candidate]
    dense: dict[str, float]
    lexical: dict[str, float]
    is_cut: bool

    def add(self, other: _Found) -> None:
        self.nodes |= other.nodes
        self.dense |= other.dense
        self.lexical |= other.lexical

    def pool(self) -> Pool:
        furthest = min(self.dense.values(), default=0.0)
        least = min(self.lexical.values(), default=0.0) if self.is_cut else 0.0
        return Pool(
            tuple(self.nodes.values()),
            np.array([self.dense.get(name, furthest) for name in self.nodes], dtype=np.float64),
            np.array([self.lexical.get(name, least) for name in self.nodes], dtype=np.float64),
        )


def _search(questions: Questions, where: Where, limit: int, store: VectorStore) -> list[_Found]:
    dense = store.candidates(questions.vectors, limit, where)
    lexical = store.candidates_by_text(questions.texts, limit, where)
    return [
        _Found(
            nodes={hit.candidate.id: hit.candidate for hit in (*near, *matching)},
            dense={hit.candidate.id: hit.score for hit in near},
            lexical={hit.candidate.id: hit.score for hit in matching},
            is_cut=len(near) == limit,
        )
        for near, matching in zip(dense, lexical, strict=True)
    ]


def _inside(pool: Pool, query: Query) -> Iterable[Where]:
    """The best documents, and the children of the best summaries."""
    leaves = pool.leaves
    names = [leaf.documents[0] for leaf in leaves.nodes]
    if names:
        scores = mixed(leaves, query.hybrid.lexical)
        means = best_means(numbered(names), scores, BEST_OF_DOCUMENT).tolist()
        found = sorted(
            zip(dict.fromkeys(names), means, strict=True), key=lambda of: (-of[1], of[0])
        )
        chosen = (name for name, _ in found[: query.hybrid.documents])
        yield replace(query.where, documents=tuple(sorted(chosen)))
    summaries = pool.summaries
    best = np.argsort(-mixed(summaries, query.hybrid.lexical), kind="stable")[:LEADING]
    children = {child for at in best for child in summaries.nodes[at].children}
    if children and query.where.ids is None:
        yield replace(query.where, ids=tuple(sorted(children)))


def mixed(pool: Pool, lexical: float) -> Scores:
    """Dense and lexical scores together; ``lexical`` is the weight of the latter."""
    return (1 - lexical) * standardized(pool.dense) + lexical * standardized(pool.lexical)


def standardized(scores: Scores) -> Scores:
    """Less their mean, by their standard deviation; all 0 where they are all the same."""
    if not len(scores):
        return scores
    spread = float(scores.std())
    centred: Scores = scores - scores.mean()
    return centred / spread if spread > 0 else centred
