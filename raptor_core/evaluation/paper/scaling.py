"""What a build takes by length of the document: tokens (Figure 5) and seconds (Figure 6)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.documents.base import Document
from raptor_core.evaluation.index import Index
from raptor_core.models.summarizing.prompts import prompt_overhead, prompt_tokens
from raptor_core.nodes import Node
from raptor_core.settings import SummarizerSettings
from raptor_core.tree.build import build_tree
from raptor_core.tree.components import Components

MAX_TOKENS = 80_000
"""The longest document of Figure 6."""

N_PREFIXES = 6

Progress = Callable[[int], None]
"""Called before each timed build with the tokens of its document."""


@dataclass(frozen=True, slots=True)
class TokenPoint:
    """The tokens of a tree's leaves, and those of the calls that write its summaries.

    ``prompt_tokens`` and ``completion_tokens`` are what a chat endpoint would be asked and would
    answer, by the tree's own counter; an answer that was refused and asked for again is not among
    them.
    """

    document_tokens: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class TimePoint:
    """A document's tokens, and the seconds of a build over it from scratch."""

    document_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Slope:
    """A straight line by least squares.

    Attributes:
        per_thousand: rise for each 1,000 tokens of the document.
        r_squared: share of the variance that the line explains; 1 where all values are equal.
        n: points.
    """

    per_thousand: float
    r_squared: float
    n: int


def token_points(index: Index) -> list[TokenPoint]:
    """A point for each tree, shortest first; nothing is built."""
    nodes = index.store.nodes()
    by_id = {node.id: node for node in nodes}
    overhead = _overhead(index.components)
    by_tree: dict[str, list[Node]] = {}
    for node in nodes:
        by_tree.setdefault(node.tree, []).append(node)
    points = []
    for tree_nodes in by_tree.values():
        summaries = [node for node in tree_nodes if not node.is_leaf]
        asked = ([by_id[child].n_tokens for child in node.children] for node in summaries)
        points.append(
            TokenPoint(
                document_tokens=sum(node.n_tokens for node in tree_nodes if node.is_leaf),
                prompt_tokens=sum(prompt_tokens(counts, overhead) for counts in asked),
                completion_tokens=sum(node.n_tokens for node in summaries),
            )
        )
    return sorted(points, key=lambda point: point.document_tokens)


def calls_nothing(components: Components) -> bool:
    """Whether a build asks no endpoint, so that building once more costs time alone."""
    settings = components.settings
    return "openai" not in (settings.summarizer.kind, settings.embedder.kind)


def time_builds(
    documents: Sequence[Document], components: Components, progress: Progress | None = None
) -> list[TimePoint]:
    """Build prefixes of the longest document from scratch, shortest first.

    The shortest is built once before, so that models are loaded.

    Raises:
        RaptorError: as a build raises.
    """
    parts = list(_prefixes(documents, components))
    for _, part in parts[:1]:
        build_tree([part], components=components)
    points = []
    for n_tokens, part in parts:
        if progress:
            progress(n_tokens)
        started = time.perf_counter()
        build_tree([part], components=components)
        points.append(TimePoint(n_tokens, time.perf_counter() - started))
    return points


def fit_slope(lengths: Sequence[int], values: Sequence[float]) -> Slope | None:
    """The straight line through values by length; None with fewer than two lengths."""
    if len(set(lengths)) < 2:
        return None
    x, y = np.array(lengths, dtype=float), np.array(values, dtype=float)
    across = x - x.mean()
    slope = float(across @ y / (across @ across))
    left = float(((y - y.mean() - slope * across) ** 2).sum())
    spread = float(((y - y.mean()) ** 2).sum())
    return Slope(1000 * slope, 1 - left / spread if spread else 1.0, len(x))


def _prefixes(
    documents: Sequence[Document], components: Components
) -> Iterator[tuple[int, Document]]:
    """Equal steps up to the longest document, or ``MAX_TOKENS`` of it; no two the same."""
    counts = components.counter.count([document.text for document in documents])
    longest = documents[int(np.argmax(counts))]
    spans = components.counter.token_spans(longest.text)[:MAX_TOKENS]
    sizes = {len(spans) * step // N_PREFIXES for step in range(1, N_PREFIXES + 1)}
    for size in sorted(sizes - {0}):
        yield size, Document(longest.id, longest.text[: spans[size - 1][1]], longest.title)


def _overhead(components: Components) -> int:
    """Tokens of the prompt around the children; for the extractive summarizer, if it were asked."""
    given: SummarizerSettings = components.settings.summarizer
    return prompt_overhead(given.model_copy(update={"kind": "openai"}), components.counter)
