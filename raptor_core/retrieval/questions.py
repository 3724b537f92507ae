"""Questions as the embedder reads them, follow-ups, and the warning of one that nothing answers.

Of the segments of a long question the best is searched for. Their mean would be further from the
answer: in 3,200 characters of chatter one sentence asks. The best node of a question without an
answer, or in a language that no document has, is no nearer than those of everyday sentences.
``docs/research.md`` has the figures.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from raptor_core.models.embedding.base import Embedder, SegmentingEmbedder
from raptor_core.retrieval.base import Query, Questions, Retrieval
from raptor_core.retrieval.general.wording import is_courtesy, read_wording
from raptor_core.store.base import Where
from raptor_core.store.lexical import tokens
from raptor_core.store.store import VectorStore
from raptor_core.text.words import words
from raptor_core.vectors import Vectors


@dataclass(frozen=True, slots=True)
class QuestionSegments:
    """Questions and the segments of each, with a vector for each segment.

    Attributes:
        texts: the questions.
        segments: segments of each question; one that the embedder reads whole is a single segment.
        vectors: vectors of all segments, in order, shape ``(n_segments, n_dims)``.
    """

    texts: tuple[str, ...]
    segments: tuple[tuple[str, ...], ...]
    vectors: Vectors

    @classmethod
    def embed(
        cls, embedder: Embedder, questions: Sequence[str], history: Sequence[str] = ()
    ) -> "QuestionSegments":
        """Cut questions into the segments that the embedder reads, and embed these.

        A question that leans on ``history`` is read with terms of it.
        """
        cut = embedder.segments if isinstance(embedder, SegmentingEmbedder) else lambda text: [text]
        segments = tuple(tuple(cut(follow_up(question, history))) for question in questions)
        vectors = embedder.embed_queries([segment for part in segments for segment in part])
        return cls(tuple(questions), segments, vectors)

    def best(self, store: VectorStore, where: Where) -> Questions:
        """Return the segment of each question that is nearest to any node; the first of equals."""
        texts, rows = [], []
        ends = accumulate(map(len, self.segments))
        for segments, end in zip(self.segments, ends, strict=True):
            start = end - len(segments)
            number = 0
            if len(segments) > 1:
                hits = store.search(self.vectors[start:end], 1, where)
                scores = [nearest[0].score if nearest else -1.0 for nearest in hits]
                number = scores.index(max(scores))
            texts.append(segments[number])
            rows.append(start + number)
        return Questions(tuple(texts), self.vectors[rows])

    def label(self, retrievals: Sequence[Retrieval], notes: Sequence[str]) -> list[Retrieval]:
        """Return the retrievals under the questions, with notes, also where segments were read."""
        labels = zip(self.texts, self.segments, retrievals, notes, strict=True)
        return [
            replace(
                retrieval,
                question=text,
                note="; ".join(
                    [*_notes(text, segments, retrieval), *filter(None, (note, retrieval.note))]
                ),
            )
            for text, segments, retrieval, note in labels
        ]


def _notes(question: str, segments: Sequence[str], retrieval: Retrieval) -> Iterator[str]:
    read = follow_up(question, retrieval.query.history)
    if read != question:
        yield f"the question was read as {read!r}"
    if len(segments) > 1:
        yield _note(len(segments))


def _note(n_segments: int) -> str:
    return (
        f"the question is longer than the embedder reads at once: of {n_segments} parts the "
        "one that matches best was searched for; ask a shorter question"
    )


LAST_TURNS = 3
"""Number of turns before a question whose terms may join it."""

MAX_TERMS = 6
"""Number of terms that join a question that leans on the turns before it."""

MAX_FRAGMENT_NAMES = 3
"""Number of names in a fragment, such as "And the blue seal?"."""


def follow_up(question: str, history: Sequence[str]) -> str:
    """Return a question that leans on the turns before it with terms of these.

    Any other question, one that asks for something general, and a turn that only thanks or greets
    are returned as they are. Names for pronouns were tried and found less.

    Args:
        question: the question.
        history: turns before it, questions or answers, the last one at the end; empty ones and
            those that only thank or greet are left out.
    """
    if is_courtesy(question) or not _leans(question):
        return question
    turns = [turn for turn in history if turn.strip() and not is_courtesy(turn)]
    turns = turns[: -LAST_TURNS - 1 : -1]
    own = read_wording(question).names
    terms = dict.fromkeys(term for turn in turns for term in read_wording(turn).names)
    joined = [term for term in terms if term not in own][:MAX_TERMS]
    return f"{question} ({', '.join(joined)})" if joined else question


def _leans(question: str) -> bool:
    """Return whether a question is a fragment, or names hardly anything and refers to it."""
    wording = read_wording(question)
    n_names = len(wording.names)
    if wording.new or (not wording.names and wording.is_generic):
        return False
    start = " ".join(words(question.casefold()))
    goes_on = not wording.verb and start.startswith(tuple(wording.join))
    if goes_on or any(" " in phrase for phrase in wording.join):
        return n_names <= MAX_FRAGMENT_NAMES
    if n_names > 1 or wording.is_generic:
        return False
    return not n_names or not wording.verb or bool(wording.refer)


EVERYDAY = (
    "How long does an egg boil?",
    "Who won the football match on Sunday?",
    "Plant the roses in spring.",
    "The train to the coast leaves at noon.",
    "My tooth hurts when I drink cold water.",
    "What does a new roof cost?",
    "The court dismissed the appeal.",
    "Feed the cat twice a day.",
    "Which key opens the cellar door?",
    "The choir sang in the old church.",
    "It will rain in the mountains tomorrow.",
    "Paint the fence before winter.",
    "Wann öffnet das Museum?",
    "¿Cuánto cuesta el billete?",
    "Le marché est fermé le lundi.",
    "Где находится аптека?",
)
"""Sentences that show how near the best node is by chance."""

SPREADS = 3.0
"""Median absolute deviations over the median of the everyday scores up to which chance reaches."""

KNOWN_SHARE = 0.75
"""Share of a question's longer words in the context from which it is taken for answered."""

SHORT_WORD_CHARS = 3
"""Longest word that is common enough to say nothing about an answer."""

NOTE = (
    "nothing in the searched documents is nearer to the question than chance: they may not answer "
    "it, or not be in its language"
)


_vector_cache: dict[tuple[str, int], Vectors] = {}


def _everyday_vectors(embedder: Embedder, n_dims: int) -> Vectors:
    """Return the vectors of ``EVERYDAY``, which a process embeds once."""
    key = (embedder.fingerprint, n_dims)
    if key not in _vector_cache:
        _vector_cache[key] = embedder.embed_queries(EVERYDAY)
    return _vector_cache[key]


def warn_of_chance(
    questions: Questions,
    retrievals: list[Retrieval],
    query: Query,
    store: VectorStore,
    embedder: Embedder,
) -> list[str]:
    """Return a note for each question that is no nearer to any node than chance, else ""."""
    notes = [""] * len(retrievals)
    doubtful = [
        row
        for row, (text, retrieval) in enumerate(zip(questions.texts, retrievals, strict=True))
        if retrieval.hits and not _is_general(text, retrieval) and not _has_words(text, retrieval)
    ]
    if not doubtful:
        return notes
    vectors = questions.vectors
    everyday = _everyday_vectors(embedder, vectors.shape[1])
    rows = np.concatenate([vectors[doubtful], everyday])
    best = [nearest[0].score if nearest else -1.0 for nearest in store.search(rows, 1, query.where)]
    chance = np.array(best[len(doubtful) :])
    median = float(np.median(chance))
    reach = median + SPREADS * float(np.median(abs(chance - median)))
    for row, score in zip(doubtful, best, strict=False):
        notes[row] = NOTE if score <= reach else ""
    return notes


def _is_general(question: str, retrieval: Retrieval) -> bool:
    return retrieval.kind == "general" or read_wording(question).is_generic


def _has_words(question: str, retrieval: Retrieval) -> bool:
    """Return whether the context has most of the question's longer words."""
    sought = {t for t in tokens(question) if len(t) > SHORT_WORD_CHARS or not t.isascii()}
    if not sought:
        return False
    texts = (f"{hit.node.context}\n{hit.node.text}" for hit in retrieval.hits)
    return len(sought.intersection(*[tokens("\n".join(texts))])) >= KNOWN_SHARE * len(sought)
