"""Candidates of a question, and their scores from their own text, surroundings and document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.retrieval.base import Query, Questions
from raptor_core.settings.retrieval import HybridSettings
from raptor_core.store.base import Where
from raptor_core.store.outlines import Candidates, Keys, Outlines, Rows, full_id
from raptor_core.store.protocols import Searcher

Scores = NDArray[np.float64]
Numbers = NDArray[np.int64]

Look = tuple[Candidates, Candidates]
"""What a dense and a lexical search found."""

INSIDE = 512
"""Nodes of the documents that are looked at whole; a longer book shows its best."""

LEADING = 8
"""Summaries whose children are looked at, whichever document they are of."""

BEST_OF_DOCUMENT = 3
"""Chunks that speak for a document."""

NAMES = 100_000
"""Names of documents that a process remembers, before it begins anew."""

N_FOLLOWING = 9
LOCAL_LEAD = 0.9
THEMATIC_LEAD = 0.4
"""Leads of the best chunk over the next nine, in standard deviations, of questions about one fact
and about a theme: over the handbook's questions the medians are 1.4 and 0.8."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Nodes and their scores, row for row.

    ``dense`` and ``lexical`` have shape ``(len(outlines.nodes),)``. A node that one of the searches
    did not find has the lowest score that it found, or 0 where it found all that match.
    """

    outlines: Outlines
    dense: Scores
    lexical: Scores

    @property
    def leaves(self) -> Pool:
        """The chunks among them."""
        return self._rows(self.outlines.nodes["layer"] == 0)

    @property
    def summaries(self) -> Pool:
        """The summaries among them."""
        return self._rows(self.outlines.nodes["layer"] != 0)

    def _rows(self, chosen: NDArray[np.bool_]) -> Pool:
        return Pool(self.outlines.take(chosen), self.dense[chosen], self.lexical[chosen])


def gather(questions: Questions, query: Query, store: Searcher) -> list[Pool]:
    """Candidates for each question: found everywhere, then inside the best documents.

    Where the first searches find all that the filter allows, there is no second.
    """
    limit = query.hybrid.candidates
    looks = store.candidates(questions.vectors, questions.texts, limit, query.where)
    return [_gathered(questions.one(row), query, look, store) for row, look in enumerate(looks)]


def _gathered(question: Questions, query: Query, first: Look, store: Searcher) -> Pool:
    """The pool of one question: the best documents, and the children of the best summaries."""
    near, matching = first
    is_cut = len(near.scores) == query.hybrid.candidates
    pool = _pool([first], is_cut=is_cut)
    if not is_cut:
        return pool
    known = np.intersect1d(near.outlines.nodes["high"], matching.outlines.nodes["high"])
    filters = []
    if documents := _best_documents(pool.leaves, query, store):
        filters.append(replace(query.where, documents=documents))
    children = _leading_children(pool.summaries, query)
    unknown = children[~np.isin(children[:, 0], known)]
    if len(unknown) and query.where.ids is None:
        ids = tuple(full_id(*pair) for pair in unknown.tolist())
        filters.append(replace(query.where, ids=ids))
    vectors = np.repeat(question.vectors, len(filters), axis=0)
    looks = store.candidates(vectors, question.texts * len(filters), INSIDE, filters)
    return _pool([first, *looks], is_cut=True)


def _best_documents(leaves: Pool, query: Query, store: Searcher) -> tuple[str, ...]:
    """Names of the documents whose best chunks are the best; ties by name."""
    documents, first, groups = np.unique(
        leaves.outlines.nodes["document"], return_index=True, return_inverse=True
    )
    if not len(documents):
        return ()
    means = best_means(groups, Ranked.of(leaves, query.hybrid.lexical).scores, BEST_OF_DOCUMENT)
    least = np.sort(means)[::-1][: query.hybrid.documents].min()
    chosen = means >= least
    names = _names_of(leaves.outlines.take(first[chosen]), store)
    found = zip(documents[chosen].tolist(), means[chosen].tolist(), strict=True)
    order = sorted((-mean, names[key]) for key, mean in found if key in names)
    return tuple(sorted(name for _, name in order[: query.hybrid.documents]))


_names: dict[int, str] = {}


def _names_of(outlines: Outlines, store: Searcher) -> dict[int, str]:
    """Names of the nodes' documents by their hashes; the store is asked for unknown ones."""
    ids = dict(zip(outlines.nodes["document"].tolist(), outlines.ids(), strict=True))
    known = {key: name for key in ids if (name := _names.get(key))}
    if lacking := {node_id: key for key, node_id in ids.items() if key not in known}:
        nodes = store.nodes(Where(ids=tuple(lacking)))
        known |= {lacking[node.id]: node.documents[0] for node in nodes}
        if len(_names) > NAMES:
            _names.clear()
        _names.update(known)
    return known


def _leading_children(summaries: Pool, query: Query) -> Keys:
    """Both halves of the ids of the children of the best summaries, each once."""
    best = np.argsort(-Ranked.of(summaries, query.hybrid.lexical).scores, kind="stable")[:LEADING]
    return np.unique(summaries.outlines.take(best).children, axis=0)


def _pool(looks: Sequence[Look], *, is_cut: bool) -> Pool:
    """What the searches found, each node once, in the order of first coming."""
    finds = [found for look in looks for found in look]
    every = Outlines.joined([found.outlines for found in finds])
    _, first, numbers = np.unique(every.nodes["high"], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows = np.argsort(order)[numbers]
    ends = np.cumsum([len(found.scores) for found in finds])
    places = np.split(rows, ends[:-1])

    def scores(search: int) -> Scores:
        given = np.full(len(first), np.nan)
        for at, found in list(zip(places, finds, strict=True))[search::2]:
            given[at] = found.scores
        return given

    dense, lexical = scores(0), scores(1)
    furthest = np.nanmin(dense) if np.isfinite(dense).any() else 0.0
    least = np.nanmin(lexical) if is_cut and np.isfinite(lexical).any() else 0.0
    return Pool(
        every.take(first[order]),
        np.where(np.isnan(dense), furthest, dense),
        np.where(np.isnan(lexical), least, lexical),
    )


@dataclass(frozen=True, eq=False)
class Ranked:
    """Nodes, and the parts of their scores by name, each of shape ``(len(outlines.nodes),)``."""

    outlines: Outlines
    parts: Mapping[str, Scores]

    @classmethod
    def of(cls, pool: Pool, lexical: float) -> Ranked:
        """Nodes by their own text; ``lexical`` is the weight of the lexical score."""
        dense, words = standardized(pool.dense), standardized(pool.lexical)
        return cls(pool.outlines, {"dense": (1 - lexical) * dense, "lexical": lexical * words})

    @property
    def scores(self) -> Scores:
        """All parts together."""
        return sum(self.parts.values(), np.zeros(len(self.outlines.nodes)))

    def id(self, row: int) -> str:
        """Id of a node."""
        node = self.outlines.nodes[row]
        return full_id(int(node["high"]), int(node["low"]))


def surrounded(leaves: Ranked, weights: HybridSettings) -> Ranked:
    """Chunks with what surrounds them added to their own scores, in standard deviations."""
    nodes, own = leaves.outlines.nodes, leaves.scores
    near = np.zeros(len(own))
    places = _places(nodes, len(weights.neighbours))
    for at, weight in enumerate(weights.neighbours, 1):
        near += weight * _neighbours(places, own, at)
    parts = {**leaves.parts, "neighbours": near}
    documents = numbered(nodes["document"])
    if weights.document and documents.any():
        means = best_means(documents, own, BEST_OF_DOCUMENT)[documents]
        parts["document"] = weights.document * means
    return Ranked(leaves.outlines, parts)


def _places(leaves: Rows, apart: int) -> Numbers:
    """Numbers that differ by the distance of chunks of one document, by over ``apart`` else."""
    positions = leaves["position"].astype(np.int64)
    places: Numbers = numbered(leaves["place"]) * (positions.max() + 1 + apart) + positions
    return places


def _neighbours(places: Numbers, own: Scores, distance: int) -> Scores:
    """The better of the chunks ``distance`` before and after; the lowest of all for none."""
    order = np.argsort(places)
    ascending = places[order]
    best = np.full(len(own), own.min())
    for wanted in (places - distance, places + distance):
        row = np.minimum(np.searchsorted(ascending, wanted), len(own) - 1)
        there = ascending[row] == wanted
        best[there] = np.maximum(best[there], own[order[row[there]]])
    return best


def theme(own: Scores) -> float:
    """From 0 for a question about one fact to 1 for one about a theme.

    A fact stands in one chunk, which leads; what a theme asks for stands in many, near in score.

    Args:
        own: standardized scores of the chunks by their own text, in any order.
    """
    if len(own) < 2:
        return 0.0
    best = np.sort(own)[::-1][: N_FOLLOWING + 1]
    lead = float(best[0] - best[1:].mean())
    return float(np.clip((LOCAL_LEAD - lead) / (LOCAL_LEAD - THEMATIC_LEAD), 0.0, 1.0))


def standardized(scores: Scores) -> Scores:
    """Less their mean, by their standard deviation; all 0 where they are all the same."""
    if not len(scores):
        return scores
    spread = float(scores.std())
    centred: Scores = scores - scores.mean()
    return centred / spread if spread > 0 else centred


def numbered(names: NDArray[Any]) -> Numbers:
    """A number for each name, equal for equal ones, from 0 without a gap."""
    numbers: Numbers = np.unique(names, return_inverse=True)[1]
    return numbers


def best_means(groups: Numbers, scores: Scores, n_best: int) -> Scores:
    """The mean of the best scores of each group, shape ``(groups.max() + 1,)``.

    ``groups`` are numbers without a gap, row for row.
    """
    if not len(groups):
        return np.zeros(0)
    order = np.lexsort((-scores, groups))
    sizes = np.bincount(groups)
    starts = np.cumsum(sizes) - sizes
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    best = order[rank < n_best]
    sums = np.bincount(groups[best], weights=scores[best])
    means: Scores = sums / np.minimum(sizes, n_best)
    return means
