"""Preparation of questions (long ones, follow-ups), and warnings if probably nothing answers them.

Of a long question only the segment nearest to any node is searched for, because in 3,200 characters
of chatter one sentence asks, and the mean of all segments would be further from the answer. If a
question has no answer, or is in a language that no document has, its best node is no nearer than
the best nodes of unrelated everyday sentences. docs/research.md has the figures.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from raptor_core.models.embedding.base import Embedder, SegmentingEmbedder
from raptor_core.retrieval.base import Query, Questions, Retrieval
from raptor_core.retrieval.general.wording import is_courtesy, read_wording
from raptor_core.store.base import Where
from raptor_core.store.lexical import words_cut_to_stems
from raptor_core.store.store import VectorStore
from raptor_core.text.words import words
from raptor_core.vectors import Vectors


@dataclass(frozen=True, slots=True)
class QuestionSegments:
    """Questions and the segments of each, with a vector for each segment.

    Attributes:
        texts: the questions.
        segments: segments of each question; a short question is a single segment.
        vectors: vectors of all segments, in order, shape ``(n_segments, n_dims)``.
    """

    texts: tuple[str, ...]
    segments: tuple[tuple[str, ...], ...]
    vectors: Vectors

    @classmethod
    def embed(
        cls, embedder: Embedder, questions: Sequence[str], history: Sequence[str] = ()
    ) -> "QuestionSegments":
        """Divide questions into segments that the embedder can read, and embed these.

        Terms of ``history`` are added to follow-up questions; see ``complete_follow_up``.
        """
        cut = embedder.segments if isinstance(embedder, SegmentingEmbedder) else lambda text: [text]
        segments = tuple(
            tuple(cut(complete_follow_up(question, history))) for question in questions
        )
        vectors = embedder.embed_queries([segment for part in segments for segment in part])
        return cls(tuple(questions), segments, vectors)

    def nearest_segments(self, store: VectorStore, where: Where) -> Questions:
        """Return the segment of each question that is nearest to any node."""
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

    def restore_questions_add_notes(
        self, retrievals: Sequence[Retrieval], notes: Sequence[str]
    ) -> list[Retrieval]:
        """Return the retrievals with the original questions and with notes about them."""
        labels = zip(self.texts, self.segments, retrievals, notes, strict=True)
        return [
            replace(
                retrieval,
                question=text,
                note="; ".join(
                    [
                        *_retrieval_notes(text, segments, retrieval),
                        *filter(None, (note, retrieval.note)),
                    ]
                ),
            )
            for text, segments, retrieval, note in labels
        ]


def _retrieval_notes(question: str, segments: Sequence[str], retrieval: Retrieval) -> Iterator[str]:
    read = complete_follow_up(question, retrieval.query.history)
    if read != question:
        yield f"the question was read as {read!r}"
    if len(segments) > 1:
        yield _segments_note(len(segments))


def _segments_note(n_segments: int) -> str:
    return (
        f"the question is longer than the embedder's limit: of {n_segments} parts, only the one "
        "that matches best was searched for; ask a shorter question"
    )


LAST_MESSAGES = 3
"""Number of messages before a question whose terms may be added to it."""

MAX_TERMS = 6
"""Maximum number of terms that are added to a follow-up question."""

MAX_FRAGMENT_NAMES = 3
"""Maximum number of names in a fragment, such as "And the blue seal?"."""


def complete_follow_up(question: str, history: Sequence[str]) -> str:
    """Add terms of the conversation to a question that cannot be understood without it.

    Any other question, also a general one, and a message that only thanks or greets are returned
    unchanged. Replacing pronouns by names was tried, and found fewer answers.

    Args:
        history: earlier questions and answers, the latest last; those that are empty, or only
            thank or greet, are ignored.
    """
    messages = [m for m in history if m.strip() and not is_courtesy(m)][: -LAST_MESSAGES - 1 : -1]
    if not messages or is_courtesy(question) or not _is_follow_up(question):
        return question
    own = read_wording(question).names
    terms = dict.fromkeys(term for message in messages for term in read_wording(message).names)
    joined = [term for term in terms if term not in own][:MAX_TERMS]
    return f"{question} ({', '.join(joined)})" if joined else question


def _is_follow_up(question: str) -> bool:
    """Return whether a question is a fragment, or names hardly anything but refers to something."""
    wording = read_wording(question)
    n_names = len(wording.names)
    if wording.new or (not wording.names and wording.is_generic):
        return False
    start = " ".join(words(question.casefold()))
    is_continued = not wording.verb and start.startswith(tuple(wording.join))
    if is_continued or any(" " in phrase for phrase in wording.join):
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
"""Unrelated sentences, whose best nodes show how near a node is by chance."""

CHANCE_DEVIATIONS = 3.0
"""Chance scores reach this many median absolute deviations above their median."""

ANSWERED_SHARE = 0.75
"""Minimum share of a question's longer words in a context that probably answers it."""

SHORT_WORD_CHARS = 3
"""Length up to which words are too common to show whether a context answers a question."""

NOTE = (
    "nothing in the searched documents is nearer to the question than chance: they may not answer "
    "it, or not be in its language"
)


_vector_cache: dict[tuple[str, int], Vectors] = {}


def _everyday_vectors(embedder: Embedder, n_dims: int) -> Vectors:
    """Return the vectors of ``EVERYDAY``, which are computed once in a process."""
    key = (embedder.fingerprint, n_dims)
    if key not in _vector_cache:
        _vector_cache[key] = embedder.embed_queries(EVERYDAY)
    return _vector_cache[key]


def chance_hit_warnings(
    questions: Questions,
    retrievals: list[Retrieval],
    query: Query,
    store: VectorStore,
    embedder: Embedder,
) -> list[str]:
    """Return a warning for each question that is no nearer to any node than chance, or ""."""
    notes = [""] * len(retrievals)
    doubtful = [
        row
        for row, (text, retrieval) in enumerate(zip(questions.texts, retrievals, strict=True))
        if retrieval.hits
        and not _is_general(text, retrieval)
        and not _context_has_most_words(text, retrieval)
    ]
    if not doubtful:
        return notes
    vectors = questions.vectors
    everyday = _everyday_vectors(embedder, vectors.shape[1])
    rows = np.concatenate([vectors[doubtful], everyday])
    best = [nearest[0].score if nearest else -1.0 for nearest in store.search(rows, 1, query.where)]
    chance = np.array(best[len(doubtful) :])
    median = float(np.median(chance))
    limit = median + CHANCE_DEVIATIONS * float(np.median(abs(chance - median)))
    for row, score in zip(doubtful, best, strict=False):
        notes[row] = NOTE if score <= limit else ""
    return notes


def _is_general(question: str, retrieval: Retrieval) -> bool:
    return retrieval.kind == "general" or read_wording(question).is_generic


def _context_has_most_words(question: str, retrieval: Retrieval) -> bool:
    """Return whether the context contains most of the question's longer words."""
    sought = {
        t for t in words_cut_to_stems(question) if len(t) > SHORT_WORD_CHARS or not t.isascii()
    }
    if not sought:
        return False
    texts = (f"{hit.node.context}\n{hit.node.text}" for hit in retrieval.hits)
    return len(
        sought.intersection(*[words_cut_to_stems("\n".join(texts))])
    ) >= ANSWERED_SHARE * len(sought)
