"""The steps of the chain: each loads, makes one call into ``raptor_core``, saves and records."""

from collections.abc import Iterable

from raptor_assets.assets.names import ChainAsset
from raptor_assets.chain.steps.base import Step
from raptor_assets.chain.steps.findings import FindingsStep
from raptor_assets.chain.steps.layers import ChunksStep, ClustersStep, DocumentsStep, EmbeddingsStep
from raptor_assets.chain.steps.publish import PublishStep
from raptor_assets.chain.steps.summaries import SummariesStep

_STEPS: dict[str, type[Step]] = {
    "documents": DocumentsStep,
    "chunks": ChunksStep,
    "embeddings": EmbeddingsStep,
    "clusters": ClustersStep,
    "summaries": SummariesStep,
    "findings": FindingsStep,
    "tree": PublishStep,
}
"""Step by the kind of its asset."""


def build_steps(chain: Iterable[ChainAsset]) -> list[Step]:
    """Return the steps of the assets, in their order."""
    return [_STEPS[asset.kind](asset) for asset in chain]
