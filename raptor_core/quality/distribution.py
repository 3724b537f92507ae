"""Mean and quantiles of one measured quantity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DIGITS = 4
"""Decimals that people are shown; bounds are applied to the exact values."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Of ``n`` values; all numbers are 0 when there is none."""

    n: int
    mean: float
    minimum: float
    p05: float
    median: float
    p95: float
    maximum: float

    def numbers(self, name: str) -> dict[str, float]:
        """The figures under ``name_mean``, ``name_p05`` and so on, rounded; nothing without values.

        A figure that nothing was measured for is left out, since a plotted 0 would be a claim.
        """
        if not self.n:
            return {}
        figures = ("mean", "minimum", "p05", "median", "p95", "maximum")
        return {f"{name}_{figure}": round(getattr(self, figure), DIGITS) for figure in figures}


def distribution(values: Sequence[float]) -> Distribution:
    """Mean and linearly interpolated quantiles of finite ``values``, in any order."""
    if not len(values):
        return Distribution(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    data = np.asarray(values, dtype=np.float64)
    quantiles = [float(q) for q in np.quantile(data, (0.0, 0.05, 0.5, 0.95, 1.0))]
    return Distribution(len(data), float(data.mean()), *quantiles)
