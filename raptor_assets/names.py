"""Names that Dagster's records have of the chain, for whoever reads them without Dagster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from raptor_core.evaluation.golden import GOLDEN_RETRIEVAL
from raptor_core.evaluation.strategy_check import DEFAULT_STRATEGY
from raptor_core.quality.checks import CheckInfo
from raptor_core.quality.document_text import document_text
from raptor_core.quality.hallucination import audit_check
from raptor_core.quality.registry import LAYER_CHECKS, PUBLISHED_CHECKS
from raptor_core.quality.sizes import chunk_length
from raptor_core.settings import Settings
from raptor_core.tree.corpus_tree import CORPUS_TREE

PARTITIONS = "trees"
CHAIN = "raptor"
"""The step that makes all assets of the chain."""

SOURCE = "source"
DOCUMENTS = "documents"
CHUNKS = "chunks"
TREE = "tree"
REPORT = "tree_report"

MAX_LAYERS = 12
"""Summary layers that the settings allow at the most."""

NOT_EXECUTED = "Not executed."
"""Beginning of a check's description where its asset's build failed before it: it says nothing of
what is published."""

Checks = list[tuple[str, CheckInfo]]
"""Assets as Dagster shows them, as "layer_1/summaries", each with one of its checks."""


@dataclass(frozen=True)
class CorpusNames:
    """What a corpus is called in Dagster; by default as where nothing else is.

    The chain, its tables and its versions go by names of their own, such as "layer_1/summaries".
    They are translated where Dagster is told or asked of them.

    Attributes:
        corpus: name of the corpus, which all but its assets begin with.
        assets: keys of its assets in Dagster, as "handbook/layer_1/summaries", by their own names.
    """

    corpus: str = ""
    assets: Mapping[str, str] = field(default_factory=dict)

    def of(self, word: str) -> str:
        """The corpus's own job, sensor, pool, or whatever else is called so."""
        return f"{self.corpus}_{word}" if self.corpus else word

    @property
    def partitions(self) -> str:
        """Name of the partitions definition."""
        return self.of(PARTITIONS)

    def shown(self, asset: str) -> str:
        """An asset's key in Dagster."""
        return self.assets.get(asset, asset)

    def own(self, key: str) -> str | None:
        """The own name of an asset with this key; None of an asset that is not the corpus's."""
        if not self.assets:
            return key
        return next((asset for asset, shown in self.assets.items() if shown == key), None)

    @property
    def follows(self) -> bool:
        """Whether its documents come from an asset of the team's own."""
        return SOURCE in self.assets

    def corpus_tree(self) -> CorpusNames:
        """Return the names of the corpus tree: "corpus_tree/tree", "corpus_tree/layer_1/…"."""
        prefix = f"{self.shown(TREE).removesuffix(TREE)}{CORPUS_TREE}"
        own = (SOURCE, *chain(MAX_LAYERS))
        return CorpusNames(self.of(CORPUS_TREE), {name: f"{prefix}/{name}" for name in own})


def chain(max_layers: int) -> list[str]:
    """All assets of the chain in the order in which they are made."""
    parts = ("clusters", "summaries", "findings", "embeddings")
    above = [f"layer_{layer}/{part}" for layer in range(1, max_layers + 1) for part in parts]
    return [DOCUMENTS, CHUNKS, "layer_0/embeddings", *above, TREE, REPORT]


def usages(layer: int) -> str:
    """What each summary of a layer was paid for; a table that is no asset."""
    return f"layer_{layer}/usages"


def hand_findings(layer: int) -> str:
    """What people found in a layer's summaries; a table that is no asset."""
    return f"layer_{layer}/findings_by_hand"


def partition_checks(settings: Settings) -> Checks:
    """The checks of every partition, in the order of the chain."""
    layers = range(1, settings.tree.max_layers + 1)
    checks: Checks = [(DOCUMENTS, document_text), (CHUNKS, chunk_length)]
    checks += [(f"layer_{layer}/summaries", check) for layer in layers for check in LAYER_CHECKS]
    audit = audit_check(settings.audit)
    checks += [(f"layer_{layer}/findings", audit) for layer in layers]
    return checks + [(TREE, check) for check in PUBLISHED_CHECKS]


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


def listed(names: Sequence[str], at_most: int) -> str:
    """The first names, and how many more there are."""
    more = len(names) - at_most
    return ", ".join(names[:at_most]) + (f" and {more} more" if more > 0 else "")
