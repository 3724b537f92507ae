"""Lists of the checks on a layer, on finished trees, and on the store."""

from __future__ import annotations

from raptor_core.quality.checks import (
    Check,
    CheckedLayer,
    CheckedTrees,
    CheckInfo,
    CheckResult,
    LayerMeans,
)
from raptor_core.quality.coverage import summary_coverage
from raptor_core.quality.duplicates import near_duplicates
from raptor_core.quality.injection import prompt_injection
from raptor_core.quality.junk import junk_text, truncation
from raptor_core.quality.languages import language_switch
from raptor_core.quality.refused import model_answers
from raptor_core.quality.sizes import (
    cluster_size,
    cluster_size_drift,
    compression_drift,
    compression_ratio,
    token_budget,
)
from raptor_core.quality.stored import embedding, staleness, store
from raptor_core.quality.structure import coverage, shrink, tree_coverage

LAYER_CHECKS: tuple[Check[[CheckedLayer]], ...] = (
    coverage,
    token_budget,
    junk_text,
    truncation,
    compression_ratio,
    compression_drift,
    cluster_size,
    cluster_size_drift,
    language_switch,
    near_duplicates,
    model_answers,
)
VECTOR_CHECKS: tuple[Check[[CheckedLayer]], ...] = (summary_coverage,)
"""Checks on a layer of summaries that need its vectors."""
TREE_CHECKS: tuple[Check[[CheckedTrees]], ...] = (
    shrink,
    tree_coverage,
    prompt_injection,
)
STORE_CHECKS: tuple[CheckInfo, ...] = (embedding, store, staleness)
PUBLISHED_CHECKS: tuple[CheckInfo, ...] = (*TREE_CHECKS, *STORE_CHECKS)
"""Checks on finished trees, then on what the store holds of them."""


def check_layer(layer: CheckedLayer) -> list[CheckResult]:
    """Return the results on one layer of summaries, in the order of LAYER_CHECKS."""
    return [check(layer) for check in LAYER_CHECKS]


def check_trees(checked: CheckedTrees) -> list[CheckResult]:
    """Return the results on whole trees, in the order of TREE_CHECKS."""
    return [check(checked) for check in TREE_CHECKS]


def layer_means(layer: CheckedLayer) -> LayerMeans:
    """Return the means of a layer for comparison with later builds; empty if it has none."""
    sources = ((compression_ratio, "ratio_mean"), (cluster_size, "children_mean"))
    means = {check.name: check.measure(layer).numbers.get(mean) for check, mean in sources}
    return {name: mean for name, mean in means.items() if mean is not None}
