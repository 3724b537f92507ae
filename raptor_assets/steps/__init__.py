"""The steps of the chain: each loads, makes one call into ``raptor_core``, saves and records."""

from raptor_assets import keys
from raptor_assets.steps.base import Step
from raptor_assets.steps.findings import FindingsStep
from raptor_assets.steps.layers import ChunksStep, ClustersStep, DocumentsStep, EmbeddingsStep
from raptor_assets.steps.publish import PublishStep
from raptor_assets.steps.report import ReportStep
from raptor_assets.steps.summaries import SummariesStep

_STEPS: dict[str, type[Step]] = {
    "documents": DocumentsStep,
    "chunks": ChunksStep,
    "embeddings": EmbeddingsStep,
    "clusters": ClustersStep,
    "summaries": SummariesStep,
    "findings": FindingsStep,
    "tree": PublishStep,
    "tree_report": ReportStep,
}
"""Step by the last part of its asset's key."""


def build_steps(max_layers: int) -> list[Step]:
    """Return all steps of the chain, in the order of ``keys.chain_keys``."""
    return [_STEPS[key.path[-1]](key) for key in keys.chain_keys(max_layers)]
