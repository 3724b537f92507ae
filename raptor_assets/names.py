"""Names that Dagster's records have of the chain, for whoever reads them without Dagster."""

from __future__ import annotations

from raptor_core.evaluation.golden_check import GOLDEN_RETRIEVAL
from raptor_core.evaluation.strategy_check import DEFAULT_STRATEGY
from raptor_core.quality.chunk_length import chunk_length
from raptor_core.quality.document_text import DOCUMENT_TEXT
from raptor_core.quality.hallucination import audit_check
from raptor_core.quality.registry import LAYER_CHECKS, PUBLISHED_CHECKS
from raptor_core.quality.verdicts import CheckInfo
from raptor_core.settings import Settings

PARTITIONS = "trees"
DOCUMENTS = "documents"
CHUNKS = "chunks"
TREE = "tree"
REPORT = "tree_report"

NOT_EXECUTED = "Not executed."
"""Beginning of a check's description where its asset's build failed before it: it says nothing of
what is published."""

Checks = list[tuple[str, CheckInfo]]
"""Assets as Dagster shows them, as "layer_1/summaries", each with one of its checks."""


def summaries(layer: int) -> str:
    """The summary nodes of a layer, from 1."""
    return f"layer_{layer}/summaries"


def findings(layer: int) -> str:
    """What the audit found in a layer's summaries."""
    return f"layer_{layer}/findings"


def partition_checks(settings: Settings) -> Checks:
    """The checks of every partition, in the order of the chain."""
    layers = range(1, settings.tree.max_layers + 1)
    found: Checks = [(DOCUMENTS, DOCUMENT_TEXT), (CHUNKS, chunk_length)]
    found += [(summaries(layer), check) for layer in layers for check in LAYER_CHECKS]
    found += [(findings(layer), audit_check(settings.audit)) for layer in layers]
    return found + [(TREE, check) for check in PUBLISHED_CHECKS]


def layer_of(asset: str) -> int:
    """The layer of summaries that an asset is of; 0 of those that every tree has."""
    layer, _, _ = asset.rpartition("/")
    return int(layer.removeprefix("layer_")) if layer.startswith("layer_") else 0


def golden_checks(settings: Settings) -> Checks:
    """The check on all published trees together, where the settings name a golden set."""
    return [] if settings.checks.golden is None else [(TREE, GOLDEN_RETRIEVAL)]


def dataset_checks(settings: Settings) -> Checks:
    """The check of each data set that the settings name."""
    return [(f"evaluation/{name}", DEFAULT_STRATEGY) for name in settings.evaluation.datasets]


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number of things, such as "1 partition" or "2,000 partitions"."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
