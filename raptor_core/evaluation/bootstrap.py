"""Intervals and paired tests by bootstrap over documents.

Questions of one document share its text and its tree, so they are not independent: whole
documents are drawn with replacement, not questions. The draws are always the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

N_SAMPLES = 1000
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and its 95 % interval, bootstrapped over documents.

    All None where it is not defined, as where all claims have the same label.
    """

    value: float | None
    low: float | None
    high: float | None


UNDEFINED = Interval(None, None, None)


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference of two systems on the same questions.

    Attributes:
        interval: of the difference.
        p: two-sided: twice the share of draws on the other side of 0, never under
            2 / (``N_SAMPLES`` + 1). 1 where both are equal on every question.
    """

    interval: Interval
    p: float


@lru_cache(maxsize=4)
def draws(documents: tuple[str, ...]) -> tuple[NDArray[np.int64], ...]:
    """Rows of each bootstrap sample, given the document of each row; no sample without rows."""
    names, document_of = np.unique(documents, return_inverse=True)
    groups = [np.flatnonzero(document_of == at) for at in range(len(names))]
    rng = np.random.default_rng(0)
    return tuple(
        np.concatenate([groups[at] for at in rng.integers(len(groups), size=len(groups))])
        for _ in range(N_SAMPLES if groups else 0)
    )


def bootstrap_interval(value: float, sampled: Sequence[float] | Floats) -> Interval:
    """The interval of a figure from its values on the draws; NaN among them is left out."""
    if np.isnan(value):
        return UNDEFINED
    low, high = np.nanquantile(sampled, [0.025, 0.975])
    return Interval(value, float(low), float(high))


def mean_interval(values: Sequence[float], documents: Sequence[str]) -> Interval:
    """The mean of one value per question; undefined without any."""
    if not values:
        return UNDEFINED
    return bootstrap_interval(float(np.mean(values)), _means(values, documents))


def paired_difference(
    values: Sequence[float], others: Sequence[float], documents: Sequence[str]
) -> Difference:
    """How much higher ``values`` are than ``others``, question by question.

    Raises:
        ValueError: the lengths differ, or there is no question.
    """
    if not len(values) == len(others) == len(documents) > 0:
        raise ValueError(
            f"expected equally many values, got {len(values)}, {len(others)} and {len(documents)}"
        )
    by_question = np.array(values, dtype=float) - np.array(others, dtype=float)
    if not by_question.any():
        return Difference(Interval(0.0, 0.0, 0.0), 1.0)
    sampled = _means(by_question, documents)
    other_side = min(int((sampled <= 0).sum()), int((sampled >= 0).sum()))
    p = min(1.0, 2 * (other_side + 1) / (len(sampled) + 1))
    return Difference(bootstrap_interval(float(by_question.mean()), sampled), p)


def _means(values: Sequence[float] | Floats, documents: Sequence[str]) -> Floats:
    array = np.asarray(values, dtype=float)
    return np.array([array[rows].mean() for rows in draws(tuple(documents))])


def interval_text(figure: Interval, sign: str = "") -> str:
    """A figure with its interval, such as "0.635 [0.581, 0.690]"; empty where it is undefined.

    ``sign`` "+" writes the sign of what is positive, too.
    """
    if figure.value is None:
        return ""
    return f"{figure.value:{sign}.3f} [{figure.low:{sign}.3f}, {figure.high:{sign}.3f}]"
