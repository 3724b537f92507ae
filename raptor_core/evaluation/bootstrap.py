"""Intervals and paired tests by bootstrap over documents.

Questions of one document share its text and its tree, so they are not independent. Therefore whole
documents are drawn with replacement, not questions. The draws are always the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

N_SAMPLES = 1000
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its 95 % interval, bootstrapped over documents; None where undefined.

    With a single document there is no interval, because every draw is that document.
    """

    value: float | None
    low: float | None
    high: float | None


UNDEFINED = Interval(None, None, None)


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean difference of two systems on the same questions.

    Attributes:
        p_value: two-sided p-value: twice the share of draws on the opposite side of 0, at least
            2 / (``N_SAMPLES`` + 1) and at least 2 / 2 ** n_documents, the lowest that the signs of
            so few documents can give. It is 1 if both are equal on every question.
    """

    interval: Interval
    p_value: float


@lru_cache(maxsize=4)
def draw_bootstrap_rows(documents: tuple[str, ...]) -> tuple[NDArray[np.int64], ...]:
    """Draw the rows of each bootstrap sample from the document of each row."""
    names, document_of = np.unique(documents, return_inverse=True)
    groups = [np.flatnonzero(document_of == at) for at in range(len(names))]
    rng = np.random.default_rng(0)
    return tuple(
        np.concatenate([groups[at] for at in rng.integers(len(groups), size=len(groups))])
        for _ in range(N_SAMPLES if groups else 0)
    )


def bootstrap_interval(
    value: float, sampled: Sequence[float] | Floats, documents: Sequence[str]
) -> Interval:
    """Compute the interval of a figure from its values on the draws, without NaN."""
    if np.isnan(value):
        return UNDEFINED
    if len(set(documents)) == 1:
        return Interval(value, None, None)
    low, high = np.nanquantile(sampled, [0.025, 0.975])
    return Interval(value, float(low), float(high))


def mean_interval(values: Sequence[float], documents: Sequence[str]) -> Interval:
    """Compute the mean of one value for each question, with its interval."""
    if not values:
        return UNDEFINED
    return bootstrap_interval(
        float(np.mean(values)), _resampled_means(values, documents), documents
    )


def paired_difference(
    values: Sequence[float], baseline: Sequence[float], documents: Sequence[str]
) -> Difference:
    """Compute the mean of ``values`` less ``baseline``; raise ValueError if the lengths differ."""
    if not len(values) == len(baseline) == len(documents) > 0:
        raise ValueError(
            f"expected equally many values, got {len(values)}, {len(baseline)} and {len(documents)}"
        )
    by_question = np.array(values, dtype=float) - np.array(baseline, dtype=float)
    if not by_question.any():
        return Difference(Interval(0.0, 0.0, 0.0), 1.0)
    sampled = _resampled_means(by_question, documents)
    opposite = min(int((sampled <= 0).sum()), int((sampled >= 0).sum()))
    least = 2.0 ** (1 - len(set(documents)))
    p = min(1.0, max(least, 2 * (opposite + 1) / (len(sampled) + 1)))
    return Difference(bootstrap_interval(float(by_question.mean()), sampled, documents), p)


def _resampled_means(values: Sequence[float] | Floats, documents: Sequence[str]) -> Floats:
    array = np.asarray(values, dtype=float)
    return np.array([array[rows].mean() for rows in draw_bootstrap_rows(tuple(documents))])


def format_interval(figure: Interval, sign: str = "") -> str:
    """Format a figure with its interval, such as "0.635 [0.581, 0.690]"; omit undefined parts.

    With the ``sign`` "+", positive numbers get a sign, too.
    """
    if figure.value is None:
        return ""
    if figure.low is None:
        return f"{figure.value:{sign}.3f}"
    return f"{figure.value:{sign}.3f} [{figure.low:{sign}.3f}, {figure.high:{sign}.3f}]"
