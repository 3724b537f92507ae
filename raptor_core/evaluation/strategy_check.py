"""The default strategy as a check: against flat retrieval, and against its own past."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean

from raptor_core.evaluation.compare import Comparison
from raptor_core.quality.checks import CheckInfo, CheckMeasurement, CheckResult
from raptor_core.quality.statistics import measure_drift
from raptor_core.settings import CheckSettings

BASELINE = "flat"
"""The strategy that needs no tree; the first of the comparison."""

DEFAULT_STRATEGY = CheckInfo(
    "default_strategy",
    "warn",
    "Whether the default strategy is worse than flat retrieval beyond the interval, or far under "
    "its own earlier evaluations on this data set.",
)

NEAR_CHANCE = "option_stand_in"
"""Measures that no strategy differs in beyond chance: none is judged by them."""

Past = Callable[[str], Sequence[float]]
"""Earlier values of a measure, oldest first."""


def evaluate_strategy(
    comparison: Comparison, strategy: str, checks: CheckSettings, past: Past
) -> CheckResult:
    """Whether ``strategy`` is at no budget worse than flat, and not far under ``past`` values.

    It is judged by the first measure that the data set allows and that tells strategies apart:
    worse is where the whole interval of the paired difference is below 0, and the past is of the
    mean over all budgets. ``comparison`` has ``BASELINE`` as its first system, and ``strategy``.
    """
    lines = comparison.lines
    telling = [name for name in comparison.measures if not name.startswith(NEAR_CHANCE)]
    if not telling:
        told = (
            f"The questions of {comparison.dataset} allow no measure that tells strategies apart."
        )
        return DEFAULT_STRATEGY.result(CheckMeasurement(True, told, {}))
    measure = telling[0]
    value, flat = (
        mean(line.figures[measure].mean.value or 0.0 for line in lines if line.system == system)
        for system in (strategy, BASELINE)
    )
    drift = measure_drift(value, past(measure), checks.history_builds)
    worse = [
        f"{line.budget_tokens:,}"
        for line in lines
        if line.system == strategy
        and (difference := line.figures[measure].difference)
        and (difference.interval.high or 0.0) < 0
    ]
    fallen = drift.z < -checks.max_drift
    numbers = {measure: round(value, 4), f"{measure}_{BASELINE}": round(flat, 4)}
    if drift.is_known:
        numbers |= {"median": round(drift.median, 4), "z": round(drift.z, 4)}
    summary = f"{measure} of {strategy} is {value:.3f} on average over the budgets"
    if strategy != BASELINE:
        summary += f", of {BASELINE} {flat:.3f}"
    if worse:
        summary += f"; it is worse beyond the interval at {', '.join(worse)} tokens"
    if fallen:
        summary += f"; the median of {drift.n} earlier evaluations is {drift.median:.3f}"
    remedy = (
        f"Run `raptor eval retrieval FILE --strategy {BASELINE} --strategy {strategy}`; look at "
        "settings, models and versions that changed, or set retrieval.strategy."
    )
    measured = CheckMeasurement(not (worse or fallen), f"{summary}.", numbers, remedy=remedy)
    return DEFAULT_STRATEGY.result(measured)
