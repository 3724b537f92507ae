"""Asset keys, their order and their dependencies, and the partitions that all of them share.

The keys are the chain's own and are made from ``names``. A corpus with a name has other keys in
Dagster, see ``CorpusNames``.
"""

from collections.abc import Sequence

import dagster as dg

from raptor_assets import names

POOL = "builds"
"""Dagster's pool of builds: its limit bounds the builds that run at once on all machines."""


def of(name: str) -> dg.AssetKey:
    """Return the asset key of a name, such as "layer_1/summaries"."""
    return dg.AssetKey.from_user_string(name)


def corpus_partitions(corpus: str = "") -> dg.DynamicPartitionsDefinition:
    """Return the partitions of a corpus (``grouping``), for a team's assets downstream of it."""
    return dg.DynamicPartitionsDefinition(name=names.CorpusNames(corpus).partitions)


def shown(corpus: names.CorpusNames, key: dg.AssetKey) -> dg.AssetKey:
    """Return the key in Dagster of one of the chain's keys."""
    return of(corpus.shown(key.to_user_string()))


def chain_key(corpus: names.CorpusNames, key: dg.AssetKey) -> dg.AssetKey | None:
    """Return the chain's key of a key in Dagster, None outside of the corpus."""
    name = corpus.asset_of(key.to_user_string())
    return None if name is None else of(name)


def chain_keys(max_layers: int) -> tuple[dg.AssetKey, ...]:
    """Return all keys of the chain in the order in which the assets are made."""
    return tuple(map(of, names.chain(max_layers)))


def needed_layer(key: dg.AssetKey) -> int:
    """Return the least top layer of trees with this asset; clusters need only the layer below."""
    layer = names.layer_of(key.to_user_string())
    return layer - 1 if key == of(names.clusters(layer)) else layer


def table_paths() -> list[Sequence[str]]:
    """Return the paths of all tables that a partition may have, in the order of the chain."""
    layers = range(1, names.MAX_LAYERS + 1)
    more = [names.manual_findings(layer) for layer in layers]
    return [name.split("/") for name in (*names.chain(names.MAX_LAYERS), *more)]


def dependencies(
    max_layers: int, *, follows: bool = False
) -> dict[dg.AssetKey, tuple[dg.AssetKey, ...]]:
    """Return the upstream keys of each asset; with ``follows`` the documents have one, too."""
    layers = range(1, max_layers + 1)
    documents = [names.SOURCE] if follows else []
    upstream: dict[str, list[str]] = {
        names.DOCUMENTS: documents,
        names.CHUNKS: [names.DOCUMENTS],
        names.embeddings(0): [names.CHUNKS],
        names.TREE: [names.embeddings(layer) for layer in (0, *layers)],
        names.REPORT: [names.TREE],
    }
    for layer in layers:
        below = names.embeddings(layer - 1)
        upstream[names.clusters(layer)] = [below]
        upstream[names.summaries(layer)] = [below, names.clusters(layer)]
        upstream[names.findings(layer)] = [names.summaries(layer)]
        upstream[names.embeddings(layer)] = [names.summaries(layer), names.findings(layer)]
    return {of(name): tuple(map(of, parents)) for name, parents in upstream.items()}


def group_name(key: dg.AssetKey) -> str:
    """Return the group that shows an asset: "source", its layer, or "published"."""
    groups = {names.DOCUMENTS: "source", names.CHUNKS: "layer_0"}
    groups |= dict.fromkeys((names.TREE, names.REPORT), "published")
    return groups.get(key.to_user_string(), key.path[0])
