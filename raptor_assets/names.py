"""Names of a corpus's assets, tables and checks, without Dagster.

``keys`` makes asset keys of them. ``CorpusNames`` translates the chain's names, such as
"layer_1/summaries", to those of a corpus in Dagster.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from raptor_core.evaluation.golden import GOLDEN_RETRIEVAL
from raptor_core.quality.checks import CheckInfo
from raptor_core.quality.document_text import document_text, unread_rows
from raptor_core.quality.hallucination import audit_check
from raptor_core.quality.registry import (
    LAYER_CHECKS,
    PUBLISHED_CHECKS,
    VECTOR_CHECKS,
    cluster_checks,
)
from raptor_core.quality.sizes import chunk_length
from raptor_core.quality.stored import embedding
from raptor_core.settings import Settings
from raptor_core.tree.corpus_tree import CORPUS_TREE

PARTITIONS = "trees"
CHAIN = "raptor"  # the step that makes all assets
BUILD = "build"
SYNC = "sync"  # the job that finds changes, builds and drops
DROP = "drop_partitions"
SOURCE = "source"
DOCUMENTS = "documents"
CHUNKS = "chunks"
TREE = "tree"
REPORT = "tree_report"

MAX_LAYERS = 12  # summary layers that the settings allow
NOT_EXECUTED = "Not executed."
"""Beginning of a check's description when its asset's build failed before the check."""

Checks = list[tuple[str, CheckInfo]]
"""Names of assets, such as "layer_1/summaries", each with one of its checks."""


@dataclass(frozen=True)
class CorpusNames:
    """Names of one corpus in Dagster: its prefix, and keys of assets by the chain's names."""

    corpus: str = ""
    assets: Mapping[str, str] = field(default_factory=dict)

    def of(self, word: str) -> str:
        """Return the corpus's name for a job, a sensor, a pool or another definition."""
        return f"{self.corpus}_{word}" if self.corpus else word

    @property
    def partitions(self) -> str:
        """Name of the partitions definition."""
        return self.of(PARTITIONS)

    def shown(self, asset: str) -> str:
        """Return the key in Dagster of one of the chain's assets."""
        return self.assets.get(asset, asset)

    def asset_of(self, key: str) -> str | None:
        """Return the chain's name of the asset with this key, None outside of the corpus."""
        if not self.assets:
            return key
        return next((asset for asset, shown in self.assets.items() if shown == key), None)

    @property
    def follows(self) -> bool:
        """Whether the documents come from an upstream asset of the team."""
        return SOURCE in self.assets

    def corpus_tree(self) -> "CorpusNames":
        """Return the names of the corpus tree: "corpus_tree/tree", "corpus_tree/layer_1/…"."""
        prefix = f"{self.shown(TREE).removesuffix(TREE)}{CORPUS_TREE}"
        assets = {name: f"{prefix}/{name}" for name in (SOURCE, *chain(MAX_LAYERS))}
        return CorpusNames(self.of(CORPUS_TREE), assets)


def _of_layer(table: str) -> Callable[[int], str]:
    return lambda layer: f"layer_{layer}/{table}"


embeddings = _of_layer("embeddings")  # a layer's nodes with their vectors
clusters = _of_layer("clusters")  # over layer ``layer - 1``, one for each summary of this layer
summaries = _of_layer("summaries")  # nodes of a layer from 1 on
findings = _of_layer("findings")  # audit of a sample of the summaries, a row for each sentence
manual_findings = _of_layer("findings_by_hand")  # findings of people in summaries; no asset


def nodes(layer: int) -> str:
    """Name the table that holds a layer's nodes: chunks for layer 0, else summaries."""
    return summaries(layer) if layer else CHUNKS


def chain(max_layers: int) -> list[str]:
    """Return all assets of the chain in the order in which they are made."""
    parts = (clusters, summaries, findings, embeddings)
    above = [part(layer) for layer in range(1, max_layers + 1) for part in parts]
    return [DOCUMENTS, CHUNKS, embeddings(0), *above, TREE, REPORT]


def layer_of(asset: str) -> int:
    """Return the layer of summaries that an asset belongs to; 0 for all others."""
    layer, _, _ = asset.rpartition("/")
    return int(layer.removeprefix("layer_")) if layer.startswith("layer_") else 0


def partition_checks(settings: Settings) -> Checks:
    """Return the checks of every partition, in the order of the chain."""
    layers = range(1, settings.tree.max_layers + 1)
    checks: Checks = [(DOCUMENTS, document_text), (CHUNKS, chunk_length)]
    checks += [(embeddings(0), embedding)]
    checks += [(clusters(n), check) for n in layers for check in cluster_checks(settings.checks)]
    checks += [(summaries(layer), check) for layer in layers for check in LAYER_CHECKS]
    audit = audit_check(settings.audit)
    checks += [(findings(layer), audit) for layer in layers]
    on_vectors: tuple[CheckInfo, ...] = embedding, *VECTOR_CHECKS
    checks += [(embeddings(layer), check) for layer in layers for check in on_vectors]
    return checks + [(TREE, check) for check in PUBLISHED_CHECKS]


def corpus_checks(settings: Settings, corpus: CorpusNames) -> Checks:
    """Return the checks without partitions: of the source and of the golden set."""
    source: Checks = [(SOURCE, unread_rows)] if corpus.follows else []
    return [*source, *golden_checks(settings)]


def golden_checks(settings: Settings) -> Checks:
    """Return the check of the golden set on all published trees, if the settings name one."""
    return [] if settings.checks.golden is None else [(TREE, GOLDEN_RETRIEVAL)]


def counted(count: int, noun: str, plural: str = "") -> str:
    """Write a count with its noun, such as "1 partition" or "2,000 partitions"."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def listed(names: Sequence[str], at_most: int) -> str:
    """Write the first names, and how many more there are."""
    more = len(names) - at_most
    return ", ".join(names[:at_most]) + (f" and {more} more" if more > 0 else "")
