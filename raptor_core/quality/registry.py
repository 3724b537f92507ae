"""The lists of checks: on a layer, on the finished trees, on what the store holds of them."""

from __future__ import annotations

from raptor_core.quality.checks import (
    Check,
    CheckedLayer,
    CheckedTrees,
    CheckInfo,
    LayerMeans,
    Verdict,
)
from raptor_core.quality.duplicates import near_duplicates
from raptor_core.quality.injection import prompt_injection
from raptor_core.quality.junk import junk_text, truncation
from raptor_core.quality.languages import language_switch
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
)
TREE_CHECKS: tuple[Check[[CheckedTrees]], ...] = (
    shrink,
    tree_coverage,
    prompt_injection,
)
STORE_CHECKS: tuple[CheckInfo, ...] = (embedding, store, staleness)
PUBLISHED_CHECKS: tuple[CheckInfo, ...] = (*TREE_CHECKS, *STORE_CHECKS)
"""On the finished trees, then on what the store holds of them."""


def layer_verdicts(layer: CheckedLayer) -> list[Verdict]:
    """Verdicts on one layer of summaries, in the order of LAYER_CHECKS."""
    return [check(layer) for check in LAYER_CHECKS]


def tree_verdicts(checked: CheckedTrees) -> list[Verdict]:
    """Verdicts on whole trees, in the order of TREE_CHECKS."""
    return [check(checked) for check in TREE_CHECKS]


def layer_means(layer: CheckedLayer) -> LayerMeans:
    """The means of a layer that later builds are compared with; none where nothing is measured."""
    of_check = ((compression_ratio, "ratio_mean"), (cluster_size, "children_mean"))
    means = {check.name: check.measure(layer).numbers.get(mean) for check, mean in of_check}
    return {name: mean for name, mean in means.items() if mean is not None}
