"""Asset keys, their order and their dependencies, and the partitions that all of them share.

These are the chain's own keys; a corpus with a name has others in Dagster, see ``CorpusNames``.
"""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from raptor_assets import names

POOL = "builds"
"""Dagster's pool of builds. Its limit says how many builds run at once on all machines. Times the
calls that one build has under way, it bounds the calls to an endpoint."""

SOURCE = dg.AssetKey(names.SOURCE)
DOCUMENTS = dg.AssetKey(names.DOCUMENTS)
CHUNKS = dg.AssetKey(names.CHUNKS)
TREE = dg.AssetKey(names.TREE)
REPORT = dg.AssetKey(names.REPORT)


def corpus_partitions(corpus: str = "") -> dg.DynamicPartitionsDefinition:
    """Partitions of a corpus, each of which holds one tree or more (``grouping`` settings).

    For assets of a team's own that stand downstream of it.
    """
    return dg.DynamicPartitionsDefinition(name=names.CorpusNames(corpus).partitions)


def shown(corpus: names.CorpusNames, key: dg.AssetKey) -> dg.AssetKey:
    """The key in Dagster of one of the chain's own."""
    return dg.AssetKey.from_user_string(corpus.shown(key.to_user_string()))


def own(corpus: names.CorpusNames, key: dg.AssetKey) -> dg.AssetKey | None:
    """The chain's own key of one in Dagster; None where it is not an asset of the corpus."""
    name = corpus.own(key.to_user_string())
    return None if name is None else dg.AssetKey.from_user_string(name)


def evaluation(dataset: str) -> dg.AssetKey:
    """What was measured on a data set; no part of the chain."""
    return dg.AssetKey(["evaluation", dataset])


def embeddings(layer: int) -> dg.AssetKey:
    """The nodes of a layer with their vectors, not yet published."""
    return dg.AssetKey([f"layer_{layer}", "embeddings"])


def clusters(layer: int) -> dg.AssetKey:
    """The clusters over layer ``layer - 1`` that layer ``layer`` is made of."""
    return dg.AssetKey([f"layer_{layer}", "clusters"])


def summaries(layer: int) -> dg.AssetKey:
    """The summary nodes of a layer, from 1."""
    return dg.AssetKey([f"layer_{layer}", "summaries"])


def findings(layer: int) -> dg.AssetKey:
    """What the audit found in a sample of a layer's summaries, a row for each sentence."""
    return dg.AssetKey([f"layer_{layer}", "findings"])


def nodes(layer: int) -> dg.AssetKey:
    """The table that holds a layer's nodes: chunks for layer 0, summaries above."""
    return summaries(layer) if layer else CHUNKS


def needed_layer(key: dg.AssetKey) -> int:
    """The top that a partition's highest tree has at the least, where it has this asset.

    A layer's clusters stand over the layer below, and say why a tree ended there.
    """
    layer = names.layer_of(key.to_user_string())
    return layer - 1 if key == clusters(layer) else layer


def chain_keys(max_layers: int) -> tuple[dg.AssetKey, ...]:
    """All assets of the chain in the order in which they are made."""
    return tuple(map(dg.AssetKey.from_user_string, names.chain(max_layers)))


def table_paths() -> list[Sequence[str]]:
    """Paths of all tables that a partition may have, in the order in which they are made."""
    layers = range(1, names.MAX_LAYERS + 1)
    beside = [named(layer) for layer in layers for named in (names.usages, names.hand_findings)]
    return [name.split("/") for name in (*names.chain(names.MAX_LAYERS), *beside)]


def dependencies(
    max_layers: int, *, follows: bool = False
) -> dict[dg.AssetKey, tuple[dg.AssetKey, ...]]:
    """What each asset of the chain is made from; ``follows`` where documents come from an asset."""
    made_from: dict[dg.AssetKey, tuple[dg.AssetKey, ...]] = {
        DOCUMENTS: (SOURCE,) if follows else (),
        CHUNKS: (DOCUMENTS,),
        embeddings(0): (CHUNKS,),
    }
    for layer in range(1, max_layers + 1):
        made_from[clusters(layer)] = (embeddings(layer - 1),)
        made_from[summaries(layer)] = (embeddings(layer - 1), clusters(layer))
        made_from[findings(layer)] = (summaries(layer),)
        made_from[embeddings(layer)] = (summaries(layer), findings(layer))
    made_from[TREE] = tuple(embeddings(layer) for layer in range(max_layers + 1))
    made_from[REPORT] = (TREE,)
    return made_from


def group_name(key: dg.AssetKey) -> str:
    """Name of the group that shows an asset: the source, its layer, or what is published."""
    if key == DOCUMENTS:
        return "source"
    if key in {TREE, REPORT}:
        return "published"
    return "layer_0" if key == CHUNKS else key.path[0]
