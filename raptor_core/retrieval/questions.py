"""Questions as the embedder reads them: a long one in windows, of which the best is searched for.

The mean of the windows would be further from the answer: in 3,200 characters of chatter one
sentence asks. ``docs/research.md`` has the figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from raptor_core.models.embedding.base import Embedder, WindowingEmbedder
from raptor_core.retrieval.base import Questions, Retrieval
from raptor_core.store.base import Where
from raptor_core.store.store import VectorStore
from raptor_core.vectors import Vectors


@dataclass(frozen=True, slots=True)
class QuestionWindows:
    """Questions and the windows of each, with a vector for each window.

    Attributes:
        texts: the questions.
        windows: windows of each question; one that the embedder reads whole is a single window.
        vectors: vectors of all windows, in order, shape ``(n_windows, n_dims)``.
    """

    texts: tuple[str, ...]
    windows: tuple[tuple[str, ...], ...]
    vectors: Vectors

    @classmethod
    def embed(cls, embedder: Embedder, questions: Sequence[str]) -> "QuestionWindows":
        """Cut questions into the windows that the embedder reads, and embed these."""
        cut = embedder.windows if isinstance(embedder, WindowingEmbedder) else lambda text: [text]
        windows = tuple(tuple(cut(question)) for question in questions)
        vectors = embedder.embed_queries([window for part in windows for window in part])
        return cls(tuple(questions), windows, vectors)

    def best(self, store: VectorStore, where: Where) -> Questions:
        """Return the window of each question that is nearest to any node; the first of equals."""
        texts, rows = [], []
        ends = accumulate(map(len, self.windows))
        for windows, end in zip(self.windows, ends, strict=True):
            start = end - len(windows)
            number = 0
            if len(windows) > 1:
                hits = store.search(self.vectors[start:end], 1, where)
                scores = [nearest[0].score if nearest else -1.0 for nearest in hits]
                number = scores.index(max(scores))
            texts.append(windows[number])
            rows.append(start + number)
        return Questions(tuple(texts), self.vectors[rows])

    def label(self, retrievals: Sequence[Retrieval], notes: Sequence[str]) -> list[Retrieval]:
        """Return the retrievals under the questions, with notes, also where windows were read."""
        labels = zip(self.texts, self.windows, retrievals, notes, strict=True)
        return [
            replace(
                retrieval,
                question=text,
                note="; ".join(filter(None, (_note(len(windows)), note, retrieval.note))),
            )
            for text, windows, retrieval, note in labels
        ]


def _note(n_windows: int) -> str:
    if n_windows == 1:
        return ""
    return (
        f"the question is longer than the embedder reads at once: of {n_windows} parts the "
        "one that matches best was searched for; ask a shorter question"
    )
