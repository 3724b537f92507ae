"""The second hop, from rare names in the best chunk to other chunks that contain them.

If an answer needs two passages, the second one is often not similar to the question: it is about a
person or thing that only the first one mentions. A name is a word in any script that few chunks
contain. A hop helps with short documents; in long ones, names lead to other parts of the same
document. ``gathering`` searches for names, ``scoring`` weights them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.nodes import Node
from raptor_core.retrieval.hybrid.scoring import Scores
from raptor_core.store.base import Where
from raptor_core.store.lexical import query_vector
from raptor_core.store.outlines import Candidates, CandidateSearch, Outlines, split_id
from raptor_core.text.words import folded_words, is_split_into_pairs, words

N_NAMES = 10
"""Number of words of the best chunk to search for; most of them are too common."""

N_PAIRS = 40
"""The same for scripts whose words are pairs of letters, in which no capitals show names."""

BEST_CHUNK_SHARE = 0.1
"""Share of the highest score by names that the best chunk itself gets.

With 0.5 instead, more questions about a line of a reference page are answered (.775 instead of .75
at 60 tokens), but fewer that need two passages (.623 instead of .643 of MuSiQue at 400 tokens).
"""

MAX_NAME_CHUNKS = 20
"""Maximum number of chunks that contain a name; a more frequent word is not a name."""


@dataclass(frozen=True, slots=True)
class SecondHop:
    """Words of the best chunk that may be names and are not in the question."""

    chunk: Node
    names: tuple[str, ...]

    @classmethod
    def from_chunk(cls, chunk: Node, question: str) -> "SecondHop":
        """Select words of a chunk, first those with a capital or a digit, then the longest."""
        question_vector = query_vector(question)
        question_terms = set(question_vector.indices) if question_vector else set()
        may_be_name: dict[str, bool] = {}
        for original in words(f"{chunk.label}\n{chunk.text}"):
            has_capital = original != original.lower() or any(map(str.isdigit, original))
            for word in folded_words(original):
                may_be_name[word] = may_be_name.get(word, False) or has_capital
        ranked = sorted(may_be_name, key=lambda word: (not may_be_name[word], -len(word)))
        vectors = ((word, query_vector(word)) for word in ranked)
        new = [
            word for word, vector in vectors if vector and question_terms.isdisjoint(vector.indices)
        ]
        is_in_pairs = len(new) > 0 and is_split_into_pairs(new[0])
        return cls(chunk, tuple(new[: N_PAIRS if is_in_pairs else N_NAMES]))

    def name_searches(self, where: Where) -> list[CandidateSearch]:
        """Return for each word a search for the chunks that contain it, if they are few."""
        leaves = where.narrow(layers=(0,))
        return [
            CandidateSearch(word, MAX_NAME_CHUNKS, leaves, only_rare=True) for word in self.names
        ]

    def score_by_names(self, name_hits: Sequence[Candidates], outlines: Outlines) -> Scores:
        """Return the scores of nodes by the names that they share with the best chunk.

        Only other documents get scores, because neighbours and the same document have their own
        parts of the score. The best chunk gets ``BEST_CHUNK_SHARE`` of the highest score, so that
        it stays ahead of most others.

        Args:
            name_hits: results of ``name_searches``.
            outlines: the nodes, including all results.
        """
        ids = outlines.nodes["high"]
        order = np.argsort(ids)
        scores = np.zeros(len(ids))
        for candidates in name_hits:
            rows = order[np.searchsorted(ids, candidates.outlines.nodes["high"], sorter=order)]
            scores[rows] += candidates.scores
        is_best = ids == split_id(self.chunk.id)[0]
        documents = outlines.nodes["document"]
        scores[np.isin(documents, documents[is_best])] = 0.0
        scores[is_best] = BEST_CHUNK_SHARE * scores.max()
        return scores
