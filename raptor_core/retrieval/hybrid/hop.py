"""The second hop: rare names of the best chunk lead to chunks that share them.

Where an answer needs two passages, the second is often not like the question: it is about a person
or thing that only the first one names. A name is a word that few chunks hold, in any script. A hop
helps among short documents; among long ones the names of a chunk lead to other parts of its
document. The search for names is part of ``gathering``, their weight of ``scoring``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.nodes import Node
from raptor_core.retrieval.hybrid.scoring import Scores
from raptor_core.store.base import Where
from raptor_core.store.lexical import query_vector
from raptor_core.store.outlines import Candidates, CandidateSearch, Outlines, halves
from raptor_core.text.words import folded_words, is_paired, words

N_NAMES = 10
"""Number of words of the best chunk that are searched for; most of them are too common."""

N_PAIRS = 40
"""The same number for scripts whose words are pairs of letters, none of which is marked."""

KEPT = 0.1
"""Share of the highest score by names that the best chunk itself gets.

More answers more questions for one line of a reference page (0.5: .775 against .75 at 60 tokens)
and fewer that need two passages (.623 against .643 of MuSiQue's answers at 400 tokens).
"""

MAX_HOLDERS = 20
"""Maximum number of chunks that hold a name; a word in more of them is no name."""


@dataclass(frozen=True, slots=True)
class Hop:
    """Words of the best chunk that the question lacks and that may be names."""

    chunk: Node
    names: tuple[str, ...]

    @classmethod
    def of(cls, chunk: Node, question: str) -> "Hop":
        """Select words of a chunk: those with a capital or a digit first, then the longest."""
        known = query_vector(question)
        question_terms = set(known.indices) if known else set()
        looks_like_name: dict[str, bool] = {}
        for original in words(f"{chunk.label}\n{chunk.text}"):
            is_marked = original != original.lower() or any(map(str.isdigit, original))
            for word in folded_words(original):
                looks_like_name[word] = looks_like_name.get(word, False) or is_marked
        ranked = sorted(looks_like_name, key=lambda word: (not looks_like_name[word], -len(word)))
        vectors = ((word, query_vector(word)) for word in ranked)
        new = [
            word for word, vector in vectors if vector and question_terms.isdisjoint(vector.indices)
        ]
        is_in_pairs = len(new) > 0 and is_paired(new[0])
        return cls(chunk, tuple(new[: N_PAIRS if is_in_pairs else N_NAMES]))

    def searches(self, where: Where) -> list[CandidateSearch]:
        """Return a search for the chunks that hold each word, if they are few."""
        leaves = where.narrowed(layers=(0,))
        return [CandidateSearch(word, MAX_HOLDERS, leaves, only_rare=True) for word in self.names]

    def scores(self, holders: Sequence[Candidates], outlines: Outlines) -> Scores:
        """Return the scores of nodes by the names that they share with the best chunk.

        Names lead to other documents: neighbours and the document have parts of their own. The best
        chunk itself gets ``KEPT`` of the highest score, so that it stays ahead of most of them.

        Args:
            holders: answers to ``searches``.
            outlines: the nodes; all holders are among them.
        """
        ids = outlines.nodes["high"]
        order = np.argsort(ids)
        scores = np.zeros(len(ids))
        for candidates in holders:
            rows = order[np.searchsorted(ids, candidates.outlines.nodes["high"], sorter=order)]
            scores[rows] += candidates.scores
        is_best = ids == halves(self.chunk.id)[0]
        documents = outlines.nodes["document"]
        scores[np.isin(documents, documents[is_best])] = 0.0
        scores[is_best] = KEPT * scores.max()
        return scores
