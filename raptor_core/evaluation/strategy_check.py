"""The default strategy as a check: against flat retrieval, and against its own past."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean

from raptor_core.evaluation.compare import Comparison, Figure, Line
from raptor_core.quality.checks import CheckInfo, Measured, Verdict
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
) -> Verdict:
    """Whether ``strategy`` is at no budget worse than flat, and not far under ``past`` values.

    It is judged by the first measure that the data set allows and that tells strategies apart:
    worse is where the whole interval of the paired difference is below 0, and the past is of the
    mean over all budgets. ``comparison`` has ``BASELINE`` as its first system, and ``strategy``.
    """
    telling = [name for name in comparison.measures if not name.startswith(NEAR_CHANCE)]
    if not telling:
        told = (
            f"The questions of {comparison.dataset} allow no measure that tells strategies apart."
        )
        return DEFAULT_STRATEGY.verdict(Measured(True, told, {}))
    measure = telling[0]
    lines = [line for line in comparison.lines if line.system == strategy]
    value, flat = _mean(comparison, strategy, measure), _mean(comparison, BASELINE, measure)
    drift = measure_drift(value, past(measure), checks.history_builds)
    worse = [line for line in lines if _highest(line.figures[measure]) < 0]
    fallen = drift.z < -checks.max_drift
    numbers = {measure: round(value, 4), f"{measure}_{BASELINE}": round(flat, 4)}
    if drift.is_known:
        numbers |= {"median": round(drift.median, 4), "z": round(drift.z, 4)}
    summary = _summary(measure, strategy, value, flat, worse)
    if fallen:
        summary += f"; the median of {drift.n} earlier evaluations is {drift.median:.3f}"
    remedy = (
        f"Run `raptor eval retrieval FILE --strategy {BASELINE} --strategy {strategy}`; look at "
        "settings, models and versions that changed, or set retrieval.strategy."
    )
    measured = Measured(not (worse or fallen), f"{summary}.", numbers, remedy=remedy)
    return DEFAULT_STRATEGY.verdict(measured)


def _mean(comparison: Comparison, system: str, measure: str) -> float:
    """Over the budgets."""
    values = [
        line.figures[measure].mean.value for line in comparison.lines if line.system == system
    ]
    return mean(value for value in values if value is not None)


def _highest(figure: Figure) -> float:
    """The upper end of the interval of the difference; 0 where there is none."""
    return (figure.difference.interval.high if figure.difference else None) or 0.0


def _summary(measure: str, strategy: str, value: float, flat: float, worse: Sequence[Line]) -> str:
    told = f"{measure} of {strategy} is {value:.3f} on average over the budgets"
    if strategy != BASELINE:
        told += f", of {BASELINE} {flat:.3f}"
    budgets = ", ".join(f"{line.budget_tokens:,}" for line in worse)
    return f"{told}; it is worse beyond the interval at {budgets} tokens" if worse else told
