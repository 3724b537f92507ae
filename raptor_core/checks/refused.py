"""Check that counts summaries to which the model gave no complete answer (law 9)."""

from raptor_core.checks.base import CheckedLayer, CheckMeasurement, WorstNode, check
from raptor_core.identity import CUT_OFF, FALLBACK


@check(
    "model_answers",
    "warn",
    "Summaries that were written extractively, since the model gave no usable answer, and "
    "summaries whose answers were cut off, or whose texts were too long for the model together.",
)
def model_answers(layer: CheckedLayer) -> CheckMeasurement:
    """Measure the numbers of marked summaries; any that the model did not write is reported."""
    refused = [node for node in layer.summaries if FALLBACK in node.quality]
    cut = [node for node in layer.summaries if CUT_OFF in node.quality]
    n_checked = len(layer.summaries)
    numbers = {"summaries": n_checked, "fallback": len(refused), "cut_off": len(cut)}
    summary = f"The model wrote all of {n_checked} summaries."
    if refused:
        summary = (
            f"{len(refused)} of {n_checked} summaries were written extractively, since the model "
            "gave no usable answer."
        )
    if cut:
        summary += f" {len(cut)} end where their answer was cut off, or were written in parts."
    worst = [
        *(WorstNode.of(node, 1.0, "written extractively") for node in refused),
        *(WorstNode.of(node, 0.5, "its answer was cut off, or written in parts") for node in cut),
    ]
    remedy = (
        "Run `raptor build` again, which asks the model again; if it refuses again, read the "
        "chunks, set the offending one aside (`raptor curate set-aside`), or try another "
        "summarizer.model."
    )
    return CheckMeasurement(not refused, summary, numbers, worst, remedy)
