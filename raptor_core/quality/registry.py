"""The checks there are, and the verdicts on a layer, on a tree and on what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from raptor_core.nodes import Node, Tree
from raptor_core.quality.cluster_size import (
    CLUSTER_SIZE,
    TOKEN_BUDGET,
    evaluate_cluster_size,
    evaluate_token_budget,
    measure_cluster_size,
)
from raptor_core.quality.compression import COMPRESSION, evaluate_compression, measure_compression
from raptor_core.quality.coverage import (
    COVERAGE,
    evaluate_coverage,
    measure_coverage,
    measure_tree_coverage,
)
from raptor_core.quality.distribution import DIGITS
from raptor_core.quality.embedded import EMBEDDING
from raptor_core.quality.history import (
    CLUSTER_SIZE_DRIFT,
    COMPRESSION_DRIFT,
    evaluate_drift,
    measure_drift,
)
from raptor_core.quality.injection import (
    PROMPT_INJECTION,
    evaluate_injection,
    measure_injection,
)
from raptor_core.quality.junk import JUNK, evaluate_junk, measure_junk
from raptor_core.quality.language_switch import (
    LANGUAGE_SWITCH,
    evaluate_languages,
    measure_languages,
)
from raptor_core.quality.near_duplicates import (
    NEAR_DUPLICATES,
    DuplicateReport,
    evaluate_near_duplicates,
    measure_near_duplicates,
)
from raptor_core.quality.shrink import SHRINK, evaluate_shrink, measure_shrink
from raptor_core.quality.staircase import STAIRCASE, evaluate_staircase, measure_staircase
from raptor_core.quality.staleness import STALENESS
from raptor_core.quality.stored import STORE, evaluate_store, measure_store
from raptor_core.quality.truncation import TRUNCATION, evaluate_truncation, measure_truncation
from raptor_core.quality.verdicts import CheckInfo, Verdict
from raptor_core.settings import CheckSettings, Settings
from raptor_core.store.base import Manifest

LAYER_CHECKS = (
    COVERAGE,
    TOKEN_BUDGET,
    JUNK,
    TRUNCATION,
    COMPRESSION,
    COMPRESSION_DRIFT,
    CLUSTER_SIZE,
    CLUSTER_SIZE_DRIFT,
    LANGUAGE_SWITCH,
    NEAR_DUPLICATES,
)
TREE_CHECKS = (SHRINK, COVERAGE, STAIRCASE, NEAR_DUPLICATES, PROMPT_INJECTION)
STORE_CHECKS = (EMBEDDING, STORE, STALENESS)
PUBLISHED_CHECKS = tuple({check.name: check for check in (*TREE_CHECKS, *STORE_CHECKS)}.values())
"""On the finished trees, then on what the store holds of them."""

LayerMeans = Mapping[str, float]
"""Means of one layer in one build, by name: what its later builds are compared with."""


def layer_verdicts(
    nodes: Sequence[Node],
    below: Mapping[str, Node],
    settings: Settings,
    past: Sequence[LayerMeans] = (),
    *,
    quotes: bool = False,
) -> list[Verdict]:
    """Verdicts on one layer of summaries, of one or more trees, in the order of LAYER_CHECKS.

    ``below`` maps id to node of the layer below, in order of position; ``past`` are the means of
    earlier builds, oldest first. An empty layer passes. ``quotes`` says that the summaries are
    their children's own sentences: no model made junk of them or cut them, whatever they look like.
    """
    checks = settings.checks
    clusters = measure_cluster_size(nodes, below, settings.clustering.max_tokens)
    judged = () if quotes else nodes
    cut = measure_truncation(judged, below, settings.summarizer.max_tokens)
    compression = evaluate_compression(measure_compression(nodes, below), checks)
    cluster_size = evaluate_cluster_size(clusters, checks)
    found = [
        evaluate_coverage(measure_coverage(nodes, below)),
        evaluate_token_budget(clusters),
        evaluate_junk(measure_junk(judged, below)),
        evaluate_truncation(cut),
        compression,
        _drift(COMPRESSION_DRIFT, "ratio_mean", compression, past, checks),
        cluster_size,
        _drift(CLUSTER_SIZE_DRIFT, "children_mean", cluster_size, past, checks),
        evaluate_languages(measure_languages(nodes, below), checks),
        evaluate_near_duplicates(measure_near_duplicates(nodes, checks), checks),
    ]
    return located(found, nodes)


def layer_means(nodes: Sequence[Node], below: Mapping[str, Node]) -> LayerMeans:
    """The means of a layer that later builds are compared with; none where nothing is measured."""
    ratio = measure_compression(nodes, below).ratio
    children = measure_cluster_size(nodes, below, 0).children
    measured = {COMPRESSION.name: ratio, CLUSTER_SIZE.name: children}
    return {name: round(found.mean, DIGITS) for name, found in measured.items() if found.n}


def tree_verdicts(trees: Sequence[Tree], settings: Settings) -> list[Verdict]:
    """Verdicts on whole trees, in the order of TREE_CHECKS."""
    depth = max((len(tree.layers) for tree in trees), default=0)
    layers = [
        [node for tree in trees if number < len(tree.layers) for node in tree.layers[number].nodes]
        for number in range(depth)
    ]
    checks = settings.checks
    twins = DuplicateReport(0, ())
    for layer in (layer for tree in trees for layer in tree.layers):
        twins += measure_near_duplicates(layer.nodes, checks, layer.vectors)
    found = [
        evaluate_shrink(measure_shrink(layers)),
        evaluate_coverage(measure_tree_coverage(layers)),
        evaluate_staircase(measure_staircase(layers, settings.tree.top_nodes), checks),
        evaluate_near_duplicates(twins, checks),
        evaluate_injection(measure_injection(chain.from_iterable(layers)), checks),
    ]
    return located(found, chain.from_iterable(layers))


def located(verdicts: Iterable[Verdict], nodes: Iterable[Node]) -> list[Verdict]:
    """The verdicts with the trees of their worst nodes, looked up among ``nodes``."""
    given = list(verdicts)
    wanted = {worst.node_id for v in given for worst in v.worst}
    trees = {node.id: node.tree for node in nodes if node.id in wanted} if wanted else {}
    return [
        replace(v, worst=tuple(replace(w, tree=trees.get(w.node_id, w.tree)) for w in v.worst))
        for v in given
    ]


def _drift(
    check: CheckInfo,
    mean: str,
    now: Verdict,
    past: Sequence[LayerMeans],
    checks: CheckSettings,
) -> Verdict:
    """The ``mean`` among a verdict's numbers against earlier builds."""
    before = [means[now.name] for means in past if now.name in means]
    value = now.numbers.get(mean)
    drift = None if value is None else measure_drift(value, before, checks.history_builds)
    return evaluate_drift(check, f"The layer's {mean.replace('_', ' ')}", drift, checks, now.worst)


def store_verdict(
    manifest: Manifest | None,
    live_ids: Iterable[str],
    expected_ids: Iterable[str],
) -> Verdict:
    """Verdict on what the store holds of one published tree.

    For a partition of several trees, hand their ``measure_store`` to ``evaluate_store``.
    """
    return evaluate_store([measure_store(manifest, live_ids, expected_ids)])
