"""The lists of checks, by what they are applied to."""

from dataclasses import replace

from raptor_core.checks import sizes
from raptor_core.checks.base import (
    Check,
    CheckedClusters,
    CheckedLayer,
    CheckedTrees,
    CheckInfo,
    CheckResult,
)
from raptor_core.checks.coverage import summary_coverage
from raptor_core.checks.facts import foreign_facts
from raptor_core.checks.injection import prompt_injection
from raptor_core.checks.junk import junk_text, model_answers
from raptor_core.checks.languages import language_switch
from raptor_core.checks.stored import staleness
from raptor_core.checks.structure import (
    check_child_links,
    check_shrinking_layers,
    unreadable_nodes,
)
from raptor_core.settings import Settings

CLUSTER_CHECKS: tuple[Check[[CheckedClusters]], ...] = (
    sizes.token_budget,
    sizes.cluster_size,
)
LAYER_CHECKS: tuple[Check[[CheckedLayer]], ...] = (
    check_child_links,
    junk_text,
    foreign_facts,
    sizes.compression_ratio,
    language_switch,
    summary_coverage,
    model_answers,
)
TREE_CHECKS: tuple[Check[[CheckedTrees]], ...] = (
    check_shrinking_layers,
    prompt_injection,
    unreadable_nodes,
)
PUBLISHED_CHECKS: tuple[CheckInfo, ...] = (*TREE_CHECKS, staleness)
"""Checks on finished trees, and then on what is published of them."""


def layer_checks(settings: Settings) -> list[Check[[CheckedLayer]]]:
    """Return LAYER_CHECKS; invented facts only warn where the settings only report them."""
    warns = settings.summarizer.foreign_facts == "report"
    quiet = replace(foreign_facts, severity="warn")
    return [quiet if warns and check is foreign_facts else check for check in LAYER_CHECKS]


def check_layer(layer: CheckedLayer) -> list[CheckResult]:
    """Run ``LAYER_CHECKS`` on a layer of summaries."""
    return [check(layer) for check in layer_checks(layer.settings)]


def check_trees(checked: CheckedTrees) -> list[CheckResult]:
    """Run ``TREE_CHECKS`` on finished trees."""
    return [check(checked) for check in TREE_CHECKS]
