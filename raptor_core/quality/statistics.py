"""Mean and quantiles of a quantity, and a robust z-score of a mean against those of earlier builds.

The median and the median absolute deviation (MAD) of earlier values, as in Iglewicz and Hoaglin
(1993): one odd build neither moves the centre nor widens the spread. Builds that hardly differ
would make every change a drift, so the spread is at least a share of the median.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.quality.checks import Check, CheckedLayer, Measured, WorstNode
from raptor_core.settings import CheckSettings

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


MIN_HISTORY = 5
"""Earlier values without which nothing is said."""
MIN_SPREAD = 0.05
"""Spread that is assumed at the least, as a share of the median."""
_NORMAL = 1.4826
"""MAD times this is the standard deviation of what is distributed normally."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A value against the ``n`` before it, whose spread stands for a standard deviation.

    ``z`` is the robust z-score, 0 with fewer than ``MIN_HISTORY`` earlier values.
    """

    value: float
    n: int
    median: float
    spread: float
    z: float

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
    if not kept:
        return Drift(value, 0, value, 0.0, 0.0)
    median = statistics.median(kept)
    mad = statistics.median(abs(old - median) for old in kept)
    spread = max(_NORMAL * mad, MIN_SPREAD * abs(median))
    if len(kept) < MIN_HISTORY or value == median:
        return Drift(value, len(kept), median, spread, 0.0)
    z = (value - median) / spread if spread else math.copysign(1000.0, value - median)
    return Drift(value, len(kept), median, spread, max(-1000.0, min(z, 1000.0)))


def measure_mean_drift(layer: CheckedLayer, now: Check[CheckedLayer], mean: str) -> Measured:
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
