"""Windows of texts that are longer than an embedding model reads, so that no part is unseen."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil

import numpy as np

from raptor_core.tokens.base import TokenCounter
from raptor_core.vectors import Vectors

SLACK_TOKENS = 16
"""Tokens by which windows are planned shorter than the limit, as their ends move to spaces."""

WORD_CHARS = 32
"""Distance within which the end of a window moves back to the start of a word."""


def cut_windows(text: str, counter: TokenCounter, max_tokens: int) -> list[str]:
    """Cut a text into windows of about equal length, each of at most ``max_tokens``.

    A text within the limit is one window. Windows begin at words where a space is near.
    """
    spans = list(counter.token_spans(text))
    if len(spans) <= max_tokens:
        return [text]
    n_windows = max(2, ceil(len(spans) / max(1, max_tokens - SLACK_TOKENS)))
    starts = (spans[len(spans) * number // n_windows][0] for number in range(1, n_windows))
    bounds = sorted({0, *(_word_start(text, start) for start in starts), len(text)})
    parts = [text[start:end] for start, end in pairwise(bounds)]
    parts = [part for part in parts if part.strip()]
    if len(parts) < 2:
        return parts or [text]
    return [window for part in parts for window in cut_windows(part, counter, max_tokens)]


def _word_start(text: str, position: int) -> int:
    """Return the start of the word at a position, or the position if that is far."""
    for start in range(position, max(0, position - WORD_CHARS), -1):
        if text[start - 1].isspace():
            return start
    return position


def mean_vectors(vectors: Vectors, sizes: Sequence[int]) -> Vectors:
    """Return the normalized mean of each group of rows; a group of one row stays bit for bit.

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
