"""Comparison of two answers to a golden set: did a build make retrieval worse?

``golden.py`` measures the reports, ``bootstrap.py`` has the tests.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from raptor_core.checks.base import CheckInfo, CheckMeasurement, CheckResult, WorstNode
from raptor_core.evaluation.bootstrap import Difference, format_interval, paired_difference
from raptor_core.evaluation.golden import GoldenReport, GoldenResult

MAX_P = 0.05
"""Highest probability of a false alarm, over all figures together."""
_NAMED = 3

GOLDEN_REGRESSION = CheckInfo(
    "golden_regression",
    "warn",
    "Whether the golden set's questions get significantly worse answers from builds that wait for "
    "approval than from what is published.",
)


@dataclass(frozen=True)
class Regression:
    """Answers to the same questions before and after, paired by question.

    Questions of one document are drawn together, because they share its tree.
    """

    before: GoldenReport
    after: GoldenReport

    @cached_property
    def differences(self) -> dict[str, Difference]:
        """Mean differences (after minus before) by figure, without figures that no question has."""
        figures: dict[str, list[tuple[float, float, str]]] = {}
        for old, new in zip(self.before.results, self.after.results, strict=True):
            earlier = _figures(old)
            for name, value in _figures(new).items():
                figures.setdefault(name, []).append(
                    (value, earlier[name], old.question.bootstrap_unit)
                )
        return {name: paired_difference(*zip(*of, strict=True)) for name, of in figures.items()}

    @property
    def significant_losses(self) -> list[str]:
        """Figures that are significantly lower: one-sided, corrected for their number."""
        most = 2 * MAX_P / max(1, len(self.differences))
        lower = {n: d for n, d in self.differences.items() if (d.interval.value or 0) < 0}
        return [name for name, difference in lower.items() if difference.p_value <= most]

    @property
    def worse_answers(self) -> list[tuple[GoldenResult, GoldenResult]]:
        """Questions with a worse answer, before and after; those that are now missed come first."""
        pairs = zip(self.before.results, self.after.results, strict=True)
        lower = [
            pair for pair in pairs if _is_any_figure_lower(_figures(pair[1]), _figures(pair[0]))
        ]
        return sorted(lower, key=lambda pair: (pair[1].rank > 0, pair[0].rank))

    def describe(self) -> str:
        """Describe the differences in one sentence."""
        texts = [
            f"{name.replace('_', ' ')} {format_interval(difference.interval, '+')}"
            for name, difference in self.differences.items()
        ]
        verdict = (
            f"significantly worse: {', '.join(self.significant_losses)}"
            if self.significant_losses
            else "no loss"
        )
        return f"{', '.join(texts)} ({verdict.replace('_', ' ')})."


def evaluate_regression(regression: Regression) -> CheckResult:
    """Check that no figure is significantly lower."""
    numbers = {f"{n}_difference": d.interval.value or 0 for n, d in regression.differences.items()}
    worst = [
        WorstNode(
            "",
            after.question.text,
            float(after.rank),
            f"rank {_describe_rank(before)} → {_describe_rank(after)}",
        )
        for before, after in regression.worse_answers
    ]
    named = "; ".join(f"“{node.text}”" for node in worst[:_NAMED])
    remedy = (
        f"Worse answers: {named}. `raptor eval golden --baseline published` lists all. Correct the "
        "documents or settings, or lower checks.severity of this check to approve anyhow."
    )
    passed = not regression.significant_losses
    measured = CheckMeasurement(passed, regression.describe(), numbers, worst, remedy)
    return GOLDEN_REGRESSION.make_result(measured)


def _describe_rank(hit: GoldenResult) -> str:
    return str(hit.rank or "missed")


def _figures(hit: GoldenResult) -> dict[str, float]:
    figures = {"hit_rate": float(hit.rank > 0), "mrr": 1 / hit.rank if hit.rank else 0.0}
    recalls = {
        "evidence_recall": hit.found_evidence_share,
        "document_recall": hit.found_document_share,
    }
    return figures | {name: value for name, value in recalls.items() if value is not None}


def _is_any_figure_lower(after: Mapping[str, float], before: Mapping[str, float]) -> bool:
    return any(value < before[name] for name, value in after.items())
