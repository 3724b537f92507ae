"""Assets of a corpus with their keys, tables and checks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raptor_core.checks.base import CheckInfo, apply_severities
from raptor_core.checks.document_text import document_text, unread_rows
from raptor_core.checks.hallucination import HALLUCINATION
from raptor_core.checks.registry import (
    CLUSTER_CHECKS,
    PUBLISHED_CHECKS,
    layer_checks,
)
from raptor_core.checks.sizes import chunk_length
from raptor_core.checks.stored import check_equal_vectors
from raptor_core.evaluation.asked import UNANSWERED_SHARE
from raptor_core.evaluation.golden import GOLDEN_RETRIEVAL
from raptor_core.evaluation.regression import GOLDEN_REGRESSION
from raptor_core.settings import Settings
from raptor_core.tree.corpus_tree import CORPUS_TREE

if TYPE_CHECKING:
    import dagster as dg

PARTITIONS = "trees"
CHAIN = "raptor"  # the step that makes all assets
BUILD = "build"
SYNC = "sync"  # the job that finds changes, builds and drops
DROP = "drop_partitions"
ROLLBACK = "rollback"  # the job that publishes an earlier build of a tree
APPROVE = "approve"  # the job that publishes a build that waits for it
POOL = "builds"
"""Dagster's pool of builds: its limit bounds the builds that run at once on all machines."""

SOURCE = "source"
TREE = "tree"

MAX_LAYERS = 12  # summary layers that the settings allow

FAILED_AT = "failed_at"
"""Entry in the metadata of an observation: the asset at which the build of a partition failed."""
BUILD_FAILED = "The build of this partition "
"""Beginning of the description of such an observation."""


@dataclass(frozen=True, slots=True)
class ChainAsset:
    """Asset of a corpus.

    Attributes:
        kind: last part of its name, such as "summaries".
        layer: layer of summaries that it belongs to; 0 for all others.
        name: name in the chain, such as "layer_1/summaries".
        key_text: Dagster key as text; the same as the name unless the corpus has a prefix.
    """

    kind: str
    layer: int
    name: str
    key_text: str

    @property
    def key(self) -> dg.AssetKey:
        """Key in Dagster."""
        import dagster as dg

        return dg.AssetKey.from_user_string(self.key_text)

    @property
    def table_path(self) -> tuple[str, ...]:
        """Folders of its tables."""
        return tuple(self.name.split("/"))

    @property
    def min_top_layer(self) -> int:
        """Lowest top layer of a tree that has this asset; clusters need only the layer below."""
        return self.layer - 1 if self.kind == "clusters" else self.layer


@dataclass(frozen=True)
class CorpusNames:
    """Names of one corpus in Dagster, and its assets.

    Attributes:
        corpus: name of the corpus, with which the names of its jobs begin.
        prefix: first parts of all asset keys, such as "docs/handbook".
        has_upstream: whether the documents come from an upstream asset of the team.
    """

    corpus: str = ""
    prefix: str = ""
    has_upstream: bool = False

    def tags(self, step: str, layer: int | None = None) -> dict[str, str]:
        """Return the tags in Dagster of an asset or a job: corpus, step and layer."""
        tags = {"raptor/corpus": self.corpus or CHAIN, "raptor/step": step}
        return tags if layer is None else {**tags, "raptor/layer": str(layer)}

    def full_name(self, word: str) -> str:
        """Return the full name of a job, sensor, pool or other definition of the corpus."""
        return f"{self.corpus}_{word}" if self.corpus else word

    @property
    def partitions_name(self) -> str:
        """Name of the partitions definition."""
        return self.full_name(PARTITIONS)

    def asset(self, kind: str, layer: int | None = None) -> ChainAsset:
        """Return the asset of a kind, in a layer if the chain has one for each layer."""
        name = kind if layer is None else f"layer_{layer}/{kind}"
        shown = f"{self.prefix}/{name}" if self.prefix else name
        return ChainAsset(kind, layer or 0, name, shown)

    @property
    def source(self) -> ChainAsset:
        """Asset of the source."""
        return self.asset(SOURCE)

    @property
    def documents(self) -> ChainAsset:
        """Asset of the documents."""
        return self.asset("documents")

    @property
    def chunks(self) -> ChainAsset:
        """Asset of the chunks."""
        return self.asset("chunks")

    @property
    def tree(self) -> ChainAsset:
        """Asset of the published trees."""
        return self.asset(TREE)

    def embeddings(self, layer: int) -> ChainAsset:
        """Return the asset of a layer's nodes with their vectors."""
        return self.asset("embeddings", layer)

    def clusters(self, layer: int) -> ChainAsset:
        """Return the clusters over ``layer - 1``, one for each summary of this layer."""
        return self.asset("clusters", layer)

    def summaries(self, layer: int) -> ChainAsset:
        """Return the nodes of a layer from 1 on."""
        return self.asset("summaries", layer)

    def findings(self, layer: int) -> ChainAsset:
        """Return the audit of a sample of the summaries, a row for each sentence."""
        return self.asset("findings", layer)

    def node_table_asset(self, layer: int) -> ChainAsset:
        """Return the asset whose table holds a layer's nodes: chunks for layer 0."""
        return self.summaries(layer) if layer else self.chunks

    def chain(self, max_layers: int) -> list[ChainAsset]:
        """Return all assets of the chain in the order in which they are made."""
        parts = (self.clusters, self.summaries, self.findings, self.embeddings)
        above = [part(layer) for layer in range(1, max_layers + 1) for part in parts]
        return [self.documents, self.chunks, self.embeddings(0), *above, self.tree]

    def find_asset(self, key: dg.AssetKey) -> ChainAsset | None:
        """Return the asset with a key in Dagster, None outside of the corpus."""
        shown = key.to_user_string()
        assets = (self.source, *self.chain(MAX_LAYERS))
        return next((asset for asset in assets if asset.key_text == shown), None)

    def parents_by_asset(self, max_layers: int) -> dict[ChainAsset, tuple[ChainAsset, ...]]:
        """Return the assets that each asset of the chain is made of."""
        layers = range(1, max_layers + 1)
        parents: dict[ChainAsset, tuple[ChainAsset, ...]] = {
            self.documents: (self.source,) if self.has_upstream else (),
            self.chunks: (self.documents,),
            self.embeddings(0): (self.chunks,),
            self.tree: tuple(self.embeddings(layer) for layer in (0, *layers)),
        }
        for layer in layers:
            below, summaries = self.embeddings(layer - 1), self.summaries(layer)
            parents[self.clusters(layer)] = (below,)
            parents[summaries] = below, self.clusters(layer)
            parents[self.findings(layer)] = (summaries,)
            parents[self.embeddings(layer)] = summaries, self.findings(layer)
        return parents

    def corpus_tree(self) -> CorpusNames:
        """Return the names of the corpus tree: "corpus_tree/tree", "corpus_tree/layer_1/…"."""
        prefix = f"{self.prefix}/{CORPUS_TREE}" if self.prefix else CORPUS_TREE
        return CorpusNames(self.full_name(CORPUS_TREE), prefix, has_upstream=True)


CHAIN_NAMES = CorpusNames()
"""Names for a home without a Dagster project; table paths are the same for all corpora."""

WAITING = CHAIN_NAMES.asset("waiting")
"""Table of a partition's build that waits for approval, with its manifests."""

Checks = list[tuple[ChainAsset, CheckInfo]]
"""Assets, each with one of its checks."""


def table_paths() -> list[tuple[str, ...]]:
    """Return the paths of all tables that a partition may have, in the order of the chain."""
    return [asset.table_path for asset in (*CHAIN_NAMES.chain(MAX_LAYERS), WAITING)]


def add_layers_above(chain: Sequence[ChainAsset], shown: Collection[str] | None) -> set[ChainAsset]:
    """Return the assets with these keys (None: all), and the higher layers of complete trees.

    Definitions show the layers that trees had when they were loaded, but a tree may grow. If
    ``tree`` and the clusters above the highest known layer are selected, so are all higher layers.
    """
    chosen = {asset for asset in chain if shown is None or asset.key_text in shown}
    top = max((asset.layer for asset in chosen), default=0)
    kinds = {asset.kind for asset in chosen if asset.layer in (0, top)}
    if {"clusters", TREE} <= kinds:
        chosen |= {asset for asset in chain if asset.min_top_layer >= top}
    return chosen


def corpus_partitions(corpus: str = "") -> dg.DynamicPartitionsDefinition:
    """Return the partitions definition of a corpus, which a team's downstream assets may use."""
    import dagster as dg

    return dg.DynamicPartitionsDefinition(name=CorpusNames(corpus).partitions_name)


def partition_checks(settings: Settings, corpus: CorpusNames = CHAIN_NAMES) -> Checks:
    """Return the enabled checks of partitions, in the order of the chain."""
    layers = range(1, settings.tree.max_layers + 1)
    checks: Checks = [(corpus.documents, document_text), (corpus.chunks, chunk_length)]
    checks += [(corpus.embeddings(0), check_equal_vectors)]
    checks += [(corpus.clusters(n), c) for n in layers for c in CLUSTER_CHECKS]
    of_layers = layer_checks(settings)
    checks += [(corpus.summaries(layer), check) for layer in layers for check in of_layers]
    checks += [(corpus.findings(layer), HALLUCINATION) for layer in layers]
    checks += [(corpus.embeddings(layer), check_equal_vectors) for layer in layers]
    return _with_severities(checks + [(corpus.tree, c) for c in PUBLISHED_CHECKS], settings)


def corpus_checks(settings: Settings, corpus: CorpusNames) -> Checks:
    """Return the checks without partitions: of the source and of all trees."""
    source: Checks = [(corpus.source, unread_rows)] if corpus.has_upstream else []
    return [*_with_severities(source, settings), *checks_of_all_trees(settings, corpus)]


def checks_of_all_trees(settings: Settings, corpus: CorpusNames = CHAIN_NAMES) -> Checks:
    """Return the checks on all trees together: of the golden set, and of kept questions."""
    checks: Checks = []
    if settings.checks.golden is not None:
        checks.append((corpus.tree, GOLDEN_RETRIEVAL))
        if settings.runs.publish == "when_approved":
            checks.append((corpus.tree, GOLDEN_REGRESSION))
    if settings.serving.questions:
        checks.append((corpus.tree, UNANSWERED_SHARE))
    return _with_severities(checks, settings)


def _with_severities(checks: Checks, settings: Settings) -> Checks:
    return [
        (asset, each)
        for asset, check in checks
        for each in apply_severities([check], settings.checks)
    ]


def count_phrase(count: int, noun: str, plural: str = "") -> str:
    """Write a count with its noun, such as "1 partition" or "2,000 partitions"."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def join_first(names: Sequence[str], at_most: int) -> str:
    """Write the first names, and how many more there are."""
    more = len(names) - at_most
    return ", ".join(names[:at_most]) + (f" and {more} more" if more > 0 else "")
