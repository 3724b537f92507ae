"""Mean and quantiles of a quantity, and the drift of a mean from those of earlier builds.

The drift is a robust z-score by the median and the median absolute deviation (MAD) of earlier
values (Iglewicz and Hoaglin 1993). So a single odd build neither moves the centre nor widens the
spread. The spread is at least a share of the median, since equal builds would have none.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from raptor_core.quality.checks import (
    Check,
    CheckedClusters,
    CheckedLayer,
    CheckMeasurement,
    WorstNode,
)
from raptor_core.settings import CheckSettings

CheckedPart = TypeVar("CheckedPart", CheckedLayer, CheckedClusters)
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


HISTORY_BUILDS = 10
"""Earlier builds of a partition that a layer is compared with."""
MIN_HISTORY = 5
"""Number of earlier values that a drift needs."""
MIN_SPREAD = 0.05
"""Least spread, as a share of the median."""
_NORMAL = 1.4826
"""Standard deviation of a normal distribution over its MAD."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Value compared with ``n`` earlier values.

    ``spread`` estimates a standard deviation, ``z`` is the robust z-score. Both are unknown with
    fewer than ``MIN_HISTORY`` earlier values.
    """

    value: float
    n: int
    median: float = 0.0
    spread: float = 0.0
    z: float = 0.0

    @property
    def is_known(self) -> bool:
        """True if there are enough earlier values."""
        return self.n >= MIN_HISTORY


def measure_drift(value: float, past: Sequence[float], last: int) -> Drift:
    """Compute the robust z-score of ``value`` against the ``last`` of ``past``, within 1000."""
    kept = list(past)[-last:]
    if len(kept) < MIN_HISTORY:
        return Drift(value, len(kept))
    median = statistics.median(kept)
    mad = statistics.median(abs(old - median) for old in kept)
    spread = max(_NORMAL * mad, MIN_SPREAD * abs(median))
    z = (value - median) / spread if spread else 1000.0 * np.sign(value - median)
    return Drift(value, len(kept), median, spread, float(np.clip(z, -1000.0, 1000.0)))


def measure_mean_drift(
    checked: CheckedPart, check: Check[[CheckedPart]], mean: str
) -> CheckMeasurement:
    """Measure the drift of ``mean``, one of the numbers of a check."""
    measured = check.measure(checked)
    value, checks = measured.numbers.get(mean), checked.settings.checks
    if value is None:
        return CheckMeasurement(True, "Nothing to compare.", {})
    past = [means[check.name] for means in checked.past if check.name in means]
    drift = measure_drift(value, past, HISTORY_BUILDS)
    return evaluate_drift(f"The layer's {mean.replace('_', ' ')}", drift, checks, measured.worst)


def evaluate_drift(
    label: str, drift: Drift, checks: CheckSettings, worst: Iterable[WorstNode] = ()
) -> CheckMeasurement:
    """Judge a drift by ``max_drift``; ``label`` names the value in a sentence."""
    numbers = {"value": round(drift.value, DIGITS), "earlier_builds": float(drift.n)}
    if not drift.is_known:
        summary = (
            f"{label} is {drift.value:.3g}; {drift.n} of {MIN_HISTORY} earlier builds are known."
        )
        return CheckMeasurement(True, summary, numbers)
    numbers |= {
        "median": round(drift.median, DIGITS),
        "spread": round(drift.spread, DIGITS),
        "z": round(drift.z, DIGITS),
    }
    summary = (
        f"{label} is {drift.value:.3g}, {drift.z:+.1f} robust standard deviations from the median "
        f"{drift.median:.3g} of {drift.n} earlier builds (at most {checks.max_drift:g})."
    )
    remedy = (
        "Compare documents and settings with the build before; where the change is meant, it "
        "passes once it is the rule, or raise checks.max_drift."
    )
    return CheckMeasurement(abs(drift.z) <= checks.max_drift, summary, numbers, worst, remedy)
