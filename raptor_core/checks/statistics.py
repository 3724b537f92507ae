"""Mean and quantiles of a quantity, as the numbers of a check."""

from collections.abc import Sequence

import numpy as np

DIGITS = 4
"""Decimals of shown values; bounds apply to exact values."""


def distribution(name: str, values: Sequence[float]) -> dict[str, float]:
    """Return mean and interpolated quantiles as ``name_mean``, ``name_p05`` and so on, rounded.

    The result is empty without values, so that no plot shows a 0. Values must be finite.
    """
    if not len(values):
        return {}
    quantiles = np.quantile(values, (0.0, 0.05, 0.5, 0.95, 1.0))
    figures = ("mean", "minimum", "p05", "median", "p95", "maximum")
    return {
        f"{name}_{figure}": round(float(value), DIGITS)
        for figure, value in zip(figures, (np.mean(values), *quantiles), strict=True)
    }
