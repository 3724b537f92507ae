"""The checks there are, and the verdicts on a layer, on a tree and on what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from raptor_core.audit.base import Judge
from raptor_core.audit.report import audit
from raptor_core.nodes import Node
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
from raptor_core.quality.hallucination import HALLUCINATION, evaluate_audit
from raptor_core.quality.junk import JUNK, evaluate_junk, measure_junk
from raptor_core.quality.shrink import SHRINK, evaluate_shrink, measure_shrink
from raptor_core.quality.stored import STORE, evaluate_store, measure_store
from raptor_core.quality.verdicts import Verdict
from raptor_core.settings.models import Settings
from raptor_core.store.base import Manifest

LAYER_CHECKS = (COVERAGE, TOKEN_BUDGET, JUNK, COMPRESSION, CLUSTER_SIZE, HALLUCINATION)
TREE_CHECKS = (SHRINK, COVERAGE)
STORE_CHECKS = (STORE,)


def layer_verdicts(
    nodes: Sequence[Node], below: Mapping[str, Node], settings: Settings, judge: Judge
) -> list[Verdict]:
    """Verdicts on one layer of summaries, of one or more trees, in the order of LAYER_CHECKS.

    ``below`` maps id to node of the layer below, in order of position. An empty layer passes.
    """
    checks = settings.checks
    clusters = measure_cluster_size(nodes, below, settings.clustering.max_tokens)
    audited = audit(nodes, below, judge, checks.audit_rate, checks.audit_minimum)
    return [
        evaluate_coverage(measure_coverage(nodes, below)),
        evaluate_token_budget(clusters),
        evaluate_junk(measure_junk(nodes, below)),
        evaluate_compression(measure_compression(nodes, below), checks),
        evaluate_cluster_size(clusters, checks),
        evaluate_audit(audited, checks),
    ]


def tree_verdicts(layers: Sequence[Sequence[Node]]) -> list[Verdict]:
    """Verdicts on whole trees, in the order of TREE_CHECKS; ``layers`` are leaves first."""
    return [
        evaluate_shrink(measure_shrink(layers)),
        evaluate_coverage(measure_tree_coverage(layers)),
    ]


def store_verdict(
    manifest: Manifest | None,
    live_ids: Iterable[str],
    staged_ids: Iterable[str],
    expected_ids: Iterable[str],
) -> Verdict:
    """Verdict on what the store holds of one published tree.

    For a partition of several trees, hand their ``measure_store`` to ``evaluate_store``.
    """
    return evaluate_store([measure_store(manifest, live_ids, staged_ids, expected_ids)])
