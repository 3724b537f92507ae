"""Audits of a sample: nothing is judged twice."""

from dataclasses import replace

import pytest
from support.trees import by_id, leaf, summary
from support.word_judge import WordJudge

from raptor_core.audit.base import SentenceFinding
from raptor_core.audit.report import LayerToAudit, run_audits
from raptor_core.checks.base import apply_severities
from raptor_core.checks.hallucination import evaluate_audit
from raptor_core.settings import CheckSettings, Settings
from raptor_core.tables.values import audit_to_table, findings_by_audit_key, table_to_findings

LEAVES = [leaf("a", "The ferry sank near Kverndal."), leaf("b", "Its bell was found in 1931.")]
TRUE = summary("true", "ab", text="The ferry sank. Its bell was found in 1931.")
FALSE = summary("false", "ab", text="The ferry sank. Captain Holloway rescued 84 sheep.")


class Counting(WordJudge):
    def __init__(self):
        super().__init__()
        self.asked = []

    def judge(self, summaries):
        self.asked += [item.node.id for item in summaries]
        return super().judge(summaries)


def audit(*nodes, judge=None, known=None):
    (report,) = run_audits(
        [LayerToAudit(nodes, by_id(*LEAVES), known or {})], judge or Counting(), 1.0, 0
    )
    return report


def test_findings_survive_a_table_and_are_not_sought_again():
    judge = Counting()
    report = audit(TRUE, FALSE, judge=judge)
    table = audit_to_table(report)
    assert table_to_findings(table) == report.findings
    again = audit(TRUE, FALSE, judge=judge, known=findings_by_audit_key(table))
    assert judge.asked == ["true", "false"]
    assert (again.n_judged, again.findings_by_node) == (0, report.findings_by_node)


def test_a_changed_text_child_or_judge_is_judged_again():
    judge = Counting()
    known = findings_by_audit_key(audit_to_table(audit(TRUE, FALSE, judge=judge)))
    audit(TRUE, replace(FALSE, text="The ferry sank near Kverndal."), judge=judge, known=known)
    assert judge.asked[2:] == ["false"]
    judge.version = "other"
    audit(TRUE, FALSE, judge=judge, known=known)
    assert judge.asked[3:] == ["true", "false"]


def test_a_known_finding_is_told_of_the_node_that_has_the_text_now():
    judge = Counting()
    known = findings_by_audit_key(audit_to_table(audit(FALSE, judge=judge)))
    moved = replace(FALSE, id="elsewhere")
    report = audit(moved, judge=judge, known=known)
    assert {finding.node_id for finding in report.findings} == {"elsewhere"}
    assert judge.asked == ["false"]


def test_equal_summaries_of_two_nodes_are_judged_once_and_told_of_both():
    judge = Counting()
    report = audit(FALSE, replace(FALSE, id="twin"), judge=judge)
    assert judge.asked in (["twin"], ["false"])
    assert sorted(report.unsupported_node_ids) == ["false", "twin"]
    table = audit_to_table(report)
    assert len(table) == 4
    assert [len(found) for found in findings_by_audit_key(table).values()] == [2]


def test_what_was_not_judged_is_asked_again_and_never_counts_as_unsupported():
    class Mute(Counting):
        def judge(self, summaries):
            super().judge(summaries)
            return [
                [SentenceFinding(item.node.id, "?", "not judged", 0.0, reason="no answer")]
                for item in summaries
            ]

    judge = Mute()
    report = audit(TRUE, judge=judge)
    verdict = evaluate_audit(report, Settings())
    assert (report.unsupported_share, verdict.passed, verdict.severity) == (0, False, "warn")
    assert "no answer" in verdict.summary
    blocking = CheckSettings(severity={"hallucination_audit": "error"})
    assert [found.severity for found in apply_severities([verdict], blocking)] == ["warn"]
    audit(TRUE, judge=judge, known=findings_by_audit_key(audit_to_table(report)))
    assert judge.asked == ["true", "true"]


@pytest.mark.parametrize("severity", ["warn", "error"])
def test_the_check_fails_over_the_bound_and_blocks_where_asked(severity):
    settings = Settings(checks={"severity": {"hallucination_audit": severity}})
    (verdict,) = apply_severities([evaluate_audit(audit(TRUE, FALSE), settings)], settings.checks)
    assert (verdict.passed, verdict.severity) == (False, severity)
    assert verdict.worst[0].text == "Captain Holloway rescued 84 sheep."
    assert "84" in verdict.worst[0].why
    assert evaluate_audit(audit(TRUE), settings).passed
