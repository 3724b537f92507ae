"""Check of the default strategy against flat retrieval and against earlier evaluations."""

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
    "its earlier evaluations on this data set.",
)

CONTENT_RECALL = "content_recall"
"""Measure of general questions, which name no evidence."""
NEAR_CHANCE = "option_stand_in"
"""Prefix of measures in which no strategy differs beyond chance; the check ignores them."""
Past = Callable[[str], Sequence[float]]
"""Earlier values of a measure, oldest first."""


def evaluate_strategy(
    comparison: Comparison, strategy: str, checks: CheckSettings, past: Past
) -> CheckResult:
    """Check a strategy against flat retrieval at each budget, and against earlier values.

    The first measure that distinguishes strategies counts, and for general questions also the
    content recall. A strategy is worse where the whole interval of the paired difference is below
    0.

    ``comparison`` has ``BASELINE`` as its first system. ``past`` returns earlier means over all
    budgets.
    """
    measures = [name for name in comparison.measures if not name.startswith(NEAR_CHANCE)]
    if not measures:
        reason = f"The questions of {comparison.dataset} allow no measure that compares strategies."
        return DEFAULT_STRATEGY.result(CheckMeasurement(True, reason, {}))
    passed = True
    numbers: dict[str, float] = {}
    summaries = []
    for measure in dict.fromkeys((measures[0], *({CONTENT_RECALL} & {*measures}))):
        result = _evaluate(comparison, strategy, measure, checks, past)
        passed &= result.passed
        numbers |= result.numbers
        summaries.append(result.summary)
    remedy = (
        f"Run `raptor eval retrieval FILE --strategy {BASELINE} --strategy {strategy}`; look at "
        "settings, models and versions that changed, or set retrieval.strategy."
    )
    measured = CheckMeasurement(passed, " ".join(summaries), numbers, remedy=remedy)
    return DEFAULT_STRATEGY.result(measured)


def _evaluate(
    comparison: Comparison, strategy: str, measure: str, checks: CheckSettings, past: Past
) -> CheckMeasurement:
    """Check one measure of a strategy."""
    lines = [line for line in comparison.lines if measure in line.figures]
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
        numbers |= {f"{measure}_median": round(drift.median, 4), f"{measure}_z": round(drift.z, 4)}
    summary = f"{measure} of {strategy} is {value:.3f} on average over the budgets"
    if strategy != BASELINE:
        summary += f", of {BASELINE} {flat:.3f}"
    if worse:
        summary += f"; it is worse beyond the interval at {', '.join(worse)} tokens"
    if fallen:
        summary += f"; the median of {drift.n} earlier evaluations is {drift.median:.3f}"
    return CheckMeasurement(not (worse or fallen), f"{summary}.", numbers)
