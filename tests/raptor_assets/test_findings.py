"""Verdicts as Dagster records and shows them."""

import dagster as dg
import pytest

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.chain.events import evaluation, past_top
from raptor_core.checks.base import CheckResult, WorstNode
from raptor_core.checks.registry import LAYER_CHECKS

FAILED = CheckResult(
    "junk_text",
    False,
    "error",
    "1 of 4 summaries is junk.",
    {"junk": 1.0},
    (WorstNode("node-1", "I am sorry | but <b>", 1.0, "refusal"),),
    "Look at the endpoint.",
)


def test_a_failure_shows_numbers_worst_nodes_and_the_remedy():
    found = evaluation(CHAIN_NAMES.summaries(1).key, "a.md", FAILED, blocking=True)
    assert (found.partition, found.passed, found.blocking) == ("a.md", False, True)
    assert found.severity == dg.AssetCheckSeverity.ERROR
    assert found.description == "1 of 4 summaries is junk. Look at the endpoint."
    assert found.metadata["junk"].value == 1.0
    assert found.metadata["remedy"].value == "Look at the endpoint."
    table = found.metadata["worst_nodes"].value
    assert "node" in table
    assert "<b>" not in table


@pytest.mark.parametrize(("severity", "shown"), [("error", "ERROR"), ("warn", "WARN")])
def test_the_severity_is_the_checks(severity, shown):
    verdict = CheckResult("cluster_size", True, severity, "Fine.", {})
    assert (
        evaluation(CHAIN_NAMES.summaries(2).key, "p", verdict, blocking=False).severity.value
        == shown
    )


def test_a_layer_that_no_tree_has_any_more_passes_every_check_and_says_why():
    found = past_top([check.name for check in LAYER_CHECKS])
    assert [verdict.name for verdict in found] == [check.name for check in LAYER_CHECKS]
    assert all(verdict.passed and "above the top" in verdict.summary for verdict in found)
