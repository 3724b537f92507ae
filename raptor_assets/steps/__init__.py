"""The steps of the chain: each loads, makes one call into ``raptor_core``, saves and records."""

from __future__ import annotations

from raptor_assets import keys
from raptor_assets.steps.base import Step
from raptor_assets.steps.layers import ChunksStep, ClustersStep, DocumentsStep, EmbeddingsStep
from raptor_assets.steps.publish import PublishStep
from raptor_assets.steps.report import ReportStep
from raptor_assets.steps.summaries import FindingsStep, SummariesStep

__all__ = ["Step", "build_steps"]


def build_steps(max_layers: int) -> list[Step]:
    """All steps of the chain, in the order of ``keys.chain_keys``."""
    steps: list[Step] = [DocumentsStep(), ChunksStep(), EmbeddingsStep(0)]
    for layer in range(1, max_layers + 1):
        steps += [ClustersStep(layer), SummariesStep(layer)]
        steps += [FindingsStep(layer), EmbeddingsStep(layer)]
    steps += [PublishStep(), ReportStep()]
    if [step.key for step in steps] != list(keys.chain_keys(max_layers)):
        raise AssertionError("the steps and the keys of the chain differ")
    return steps
