"""Mean and quantiles of a quantity, and a robust z-score of a mean against those of earlier builds.

The median and the median absolute deviation (MAD) of earlier values, as in Iglewicz and Hoaglin
(1993): one odd build neither moves the centre nor widens the spread. Builds that hardly differ
would make every change a drift, so the spread is at least a share of the median.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.quality.checks import Check, CheckedLayer, Measured, WorstNode
from raptor_core.settings import CheckSettings

DIGITS = 4
"""Decimals that people are shown; bounds are applied to the exact values."""


def distribution(name: str, values: Sequence[float]) -> dict[str, float]:
    """Mean and linearly interpolated quantiles as ``name_mean``, ``name_p05`` and so on, rounded.

    Nothing without values: a plotted 0 would be a claim. They are finite, and in any order.
    """
    if not len(values):
        return {}
    quantiles = np.quantile(values, (0.0, 0.05, 0.5, 0.95, 1.0))
    figures = ("mean", "minimum", "p05", "median", "p95", "maximum")
    return {
        f"{name}_{figure}": round(float(value), DIGITS)
        for figure, value in zip(figures, (np.mean(values), *quantiles), strict=True)
    }


MIN_HISTORY = 5
"""Earlier values without which nothing is said."""
MIN_SPREAD = 0.05
"""Spread that is assumed at the least, as a share of the median."""
_NORMAL = 1.4826
"""MAD times this is the standard deviation of what is distributed normally."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A value against the ``n`` before it, whose spread stands for a standard deviation.

    ``z`` is the robust z-score. With fewer than ``MIN_HISTORY`` earlier values nothing is known.
    """

    value: float
    n: int
    median: float = 0.0
    spread: float = 0.0
    z: float = 0.0

    @property
    def is_known(self) -> bool:
        """Whether there are earlier values enough to say anything."""
        return self.n >= MIN_HISTORY


def measure_drift(value: float, past: Sequence[float], last: int) -> Drift:
    """The robust z-score of ``value`` against the ``last`` of the ``past`` values, oldest first.

    All values are finite. Where all past ones are 0, so is the z-score of 0, and that of any other
    value has no bound; it is 1000 then.
    """
    kept = list(past)[-last:]
    if len(kept) < MIN_HISTORY:
        return Drift(value, len(kept))
    median = statistics.median(kept)
    mad = statistics.median(abs(old - median) for old in kept)
    spread = max(_NORMAL * mad, MIN_SPREAD * abs(median))
    z = (value - median) / spread if spread else 1000.0 * np.sign(value - median)
    return Drift(value, len(kept), median, spread, float(np.clip(z, -1000.0, 1000.0)))


def measure_mean_drift(layer: CheckedLayer, now: Check[[CheckedLayer]], mean: str) -> Measured:
    """Whether ``mean``, among the numbers of the check ``now``, is near that of earlier builds."""
    measured = now.measure(layer)
    value, checks = measured.numbers.get(mean), layer.settings.checks
    if value is None:
        return Measured(True, "Nothing to compare.", {})
    past = [means[now.name] for means in layer.past if now.name in means]
    drift = measure_drift(value, past, checks.history_builds)
    return evaluate_drift(f"The layer's {mean.replace('_', ' ')}", drift, checks, measured.worst)


def evaluate_drift(
    what: str, drift: Drift, checks: CheckSettings, worst: Iterable[WorstNode] = ()
) -> Measured:
    """Whether a mean is within ``max_drift`` of earlier ones; ``what`` names it in a sentence."""
    numbers = {"value": round(drift.value, DIGITS), "earlier_builds": float(drift.n)}
    if not drift.is_known:
        told = f"{what} is {drift.value:.3g}; {drift.n} of {MIN_HISTORY} earlier builds are known."
        return Measured(True, told, numbers)
    numbers |= {
        "median": round(drift.median, DIGITS),
        "spread": round(drift.spread, DIGITS),
        "z": round(drift.z, DIGITS),
    }
    summary = (
        f"{what} is {drift.value:.3g}, {drift.z:+.1f} robust standard deviations from the median "
        f"{drift.median:.3g} of {drift.n} earlier builds (at most {checks.max_drift:g})."
    )
    remedy = (
        "Compare documents and settings with the build before; where the change is meant, it "
        "passes once it is the rule, or raise checks.max_drift."
    )
    return Measured(abs(drift.z) <= checks.max_drift, summary, numbers, worst, remedy)
