"""The interface of an embedder, and code that all share: deduplication, segments, validation."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from math import ceil
from typing import Protocol, runtime_checkable

import numpy as np

from raptor_core.errors import ModelError
from raptor_core.identity import fingerprint
from raptor_core.settings.models import EmbedderSettings
from raptor_core.tokens.base import TokenCounter
from raptor_core.vectors import Vectors


class Embedder(Protocol):
    """Interface of a model that computes unit vectors of texts; threads may share one object."""

    @property
    def model(self) -> str:
        """Name of the model, for messages."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model, its revision and everything that changes its vectors."""

    @property
    def n_dims(self) -> int:
        """Number of dimensions of a vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts in order, shape ``(len(texts), n_dims)``, float32, unit norm.

        Each distinct text is computed only once.

        Raises:
            ModelError: the model failed, or its vectors are not finite.
            EndpointError: the endpoint failed.
        """

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of questions, for which some models need another prefix."""


@runtime_checkable
class BatchEmbedder(Protocol):
    """Interface of an embedder whose batches are saved one by one, because each costs money."""

    def embed_batches(self, texts: Sequence[str]) -> Iterator[tuple[int, Vectors]]:
        """Yield batches in any order: the row of the first text, and the vectors as in ``embed``.

        A failure is raised after all other open batches have arrived.
        """


@runtime_checkable
class SegmentingEmbedder(Protocol):
    """Interface of an embedder that divides long texts into segments."""

    def segments(self, text: str) -> list[str]:
        """Return the segments of a text, the mean of whose vectors is its vector."""


PROBE = "The lighthouse keeper wrote the depth of the harbour into a blue notebook."
"""Text whose vector shows whether a name still refers to the same model."""

N_PROBED = 32
"""Number of dimensions of the probe's vector that a store keeps."""


@runtime_checkable
class ProbedEmbedder(Protocol):
    """Interface of an embedder whose fingerprint covers its model's name, but not the weights."""

    def probe(self) -> tuple[float, ...]:
        """Return the vector of ``PROBE``, of any length, which is computed once."""


class PrefixingEmbedder:
    """Base class of embedders with prefixes.

    A text over the model's limit is embedded in segments, each with the prefix. Its vector is the
    normalized mean of the segments' vectors. Subclasses implement ``_encode``, which embeds
    distinct texts, and ``_limit``, which returns the tokenizer and the limit.
    """

    def __init__(self, settings: EmbedderSettings, kind: str, **values: str) -> None:
        """Compute the fingerprint from the kind, the values and the prefixes."""
        self._settings = settings
        prefixes = settings.model_dump(include={"query_prefix", "passage_prefix"})
        self.fingerprint = fingerprint(kind, values | prefixes)

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._settings.model

    @property
    def n_dims(self) -> int:
        """Number of dimensions of a vector."""
        raise NotImplementedError

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of texts; see ``Embedder.embed``."""
        return self._embed(texts, self._settings.passage_prefix)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of questions; see ``Embedder.embed_queries``."""
        return self._embed(texts, self._settings.query_prefix)

    def segments(self, text: str) -> list[str]:
        """Return the segments of a text; see ``SegmentingEmbedder``."""
        limit = self._text_limit
        # A token has at least one byte, so shorter texts need not be tokenized.
        if limit is None or len(text.encode(errors="replace")) <= limit[1]:
            return [text]
        return cut_segments(text, *limit)

    @cached_property
    def _text_limit(self) -> tuple[TokenCounter, int] | None:
        """Return the tokenizer, and the limit minus the longer of the prefixes."""
        if (limit := self._limit()) is None:
            return None
        counter, max_tokens = limit
        prefixes = (self._settings.passage_prefix, self._settings.query_prefix)
        return counter, max(1, max_tokens - max(counter.count(prefixes)))

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        segments = {text: self.segments(text) for text in dict.fromkeys(texts)}
        parts = [prefix + segment for text in texts for segment in segments[text]]
        vectors = embed_distinct(parts, self._encode, self.n_dims, self.model)
        return normalized_group_means(vectors, [len(segments[text]) for text in texts])

    def _limit(self) -> tuple[TokenCounter, int] | None:
        """Return the model's tokenizer and its limit in tokens; None if they are unknown."""
        return None

    def _encode(self, texts: Sequence[str]) -> Vectors:
        raise NotImplementedError


def embed_distinct(
    texts: Sequence[str], encode: Callable[[Sequence[str]], Vectors], n_dims: int, model: str
) -> Vectors:
    """Embed each distinct text once; return all vectors, ``(len(texts), n_dims)``, unit norm.

    ``encode`` receives the texts longest first. So batches need little padding, and a batch that
    does not fit into memory fails at once.

    Raises:
        ModelError: a vector is zero, not finite, or has a wrong length.
    """
    if not texts:
        return np.zeros((0, n_dims), dtype=np.float32)
    distinct = sorted(set(texts), key=lambda text: (-len(text), text))
    vectors = encode(distinct)
    if vectors.shape != (len(distinct), n_dims):
        raise ModelError(
            f"embedding model {model!r} gave vectors of shape {vectors.shape} for "
            f"{len(distinct)} texts; expected {(len(distinct), n_dims)}"
        )
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    bad = np.flatnonzero(~np.isfinite(norms[:, 0]) | (norms[:, 0] == 0))
    if bad.size:
        raise ModelError(
            f"embedding model {model!r} gave {bad.size} vectors that are zero or not finite; "
            f"the first is of the text {distinct[int(bad[0])][:80]!r}"
        )
    row = {text: index for index, text in enumerate(distinct)}
    unit: Vectors = (vectors / norms).astype(np.float32, copy=False)
    ordered: Vectors = unit[[row[text] for text in texts]]
    return ordered


SLACK_TOKENS = 16
"""Tokens that segments stay below the limit at first, because their ends then move to spaces."""

WORD_CHARS = 32
"""Maximum distance by which the end of a segment moves back to the start of a word."""


def cut_segments(text: str, counter: TokenCounter, max_tokens: int) -> list[str]:
    """Divide a text into segments of about equal length, each of at most ``max_tokens``.

    A text within the limit is one segment. Segments begin at the start of a word if it is near.
    """
    spans = list(counter.token_spans(text))
    if len(spans) <= max_tokens:
        return [text]
    n_segments = max(2, ceil(len(spans) / max(1, max_tokens - SLACK_TOKENS)))
    starts = (spans[len(spans) * number // n_segments][0] for number in range(1, n_segments))
    bounds = sorted({0, *(_word_start(text, start) for start in starts), len(text)})
    parts = [text[start:end] for start, end in pairwise(bounds)]
    parts = [part for part in parts if part.strip()]
    if len(parts) < 2:
        return parts or [text]
    return [segment for part in parts for segment in cut_segments(part, counter, max_tokens)]


def _word_start(text: str, position: int) -> int:
    """Return the start of the word at a position, or the position itself if that is far away."""
    for start in range(position, max(0, position - WORD_CHARS), -1):
        if text[start - 1].isspace():
            return start
    return position


def normalized_group_means(vectors: Vectors, sizes: Sequence[int]) -> Vectors:
    """Return the normalized mean of each group of rows; the row of a group of one is unchanged.

    Args:
        vectors: unit vectors, group after group, shape ``(sum(sizes), n_dims)``.
        sizes: number of rows of each group.

    Returns:
        Unit vectors of shape ``(len(sizes), n_dims)``.
    """
    if len(vectors) == len(sizes):
        return vectors
    groups = np.split(vectors, np.cumsum(sizes)[:-1])
    return np.stack([group[0] if len(group) == 1 else _unit_mean(group) for group in groups])


def _unit_mean(vectors: Vectors) -> Vectors:
    mean = vectors.mean(axis=0)
    unit: Vectors = (mean / np.linalg.norm(mean)).astype(np.float32, copy=False)
    return unit
