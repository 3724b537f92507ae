"""Audits of a sample: nothing is judged twice, and parents are searched for unsupported content."""

from dataclasses import replace

import pytest
from support.trees import by_id, leaf, summary

from raptor_core.audit.base import AuditedSummary, SentenceFinding
from raptor_core.audit.overlap import OverlapJudge
from raptor_core.audit.report import Audit, RememberingJudge, measure_propagation, run_audits
from raptor_core.audit.revising import BATCH_ANSWERS, RevisingSummarizer
from raptor_core.models.money.usage import Usage
from raptor_core.models.summarizing.base import FailedSummary, Summary, SummaryRequest
from raptor_core.quality.hallucination import evaluate_audit
from raptor_core.settings import Settings
from raptor_core.tables.values import audit_to_table, known_findings, table_to_findings
from raptor_core.tree.components import Components

LEAVES = [leaf("a", "The ferry sank near Kverndal."), leaf("b", "Its bell was found in 1931.")]
TRUE = summary("true", "ab", text="The ferry sank. Its bell was found in 1931.")
FALSE = summary("false", "ab", text="The ferry sank. Captain Holloway rescued 84 sheep.")


class Counting(OverlapJudge):
    def __init__(self):
        super().__init__()
        self.asked = []
        self.sizes = []

    def judge(self, summaries):
        self.asked += [item.node.id for item in summaries]
        self.sizes.append(len(summaries))
        return super().judge(summaries)


def audit(*nodes, judge=None, known=None):
    (report,) = run_audits([Audit(nodes, by_id(*LEAVES), known or {})], judge or Counting(), 1.0, 0)
    return report


def test_a_report_counts_nodes_and_sentences():
    report = audit(TRUE, FALSE)
    assert report.unsupported_nodes == ["false"]
    assert (len(report.findings), len(report.unsupported), report.n_judged) == (4, 1, 2)
    assert report.unsupported_share == 0.5
    assert audit().unsupported_share == 0


def test_findings_survive_a_table_and_are_not_sought_again():
    judge = Counting()
    report = audit(TRUE, FALSE, judge=judge)
    table = audit_to_table(report)
    assert table_to_findings(table) == report.findings
    again = audit(TRUE, FALSE, judge=judge, known=known_findings(table))
    assert judge.asked == ["true", "false"]
    assert (again.n_judged, again.by_node) == (0, report.by_node)


def test_a_changed_text_child_or_judge_is_judged_again():
    judge = Counting()
    known = known_findings(audit_to_table(audit(TRUE, FALSE, judge=judge)))
    audit(TRUE, replace(FALSE, text="The ferry sank near Kverndal."), judge=judge, known=known)
    assert judge.asked[2:] == ["false"]
    judge.version = "other"
    audit(TRUE, FALSE, judge=judge, known=known)
    assert judge.asked[3:] == ["true", "false"]


def test_a_known_finding_is_told_of_the_node_that_has_the_text_now():
    judge = Counting()
    known = known_findings(audit_to_table(audit(FALSE, judge=judge)))
    moved = replace(FALSE, id="elsewhere")
    report = audit(moved, judge=judge, known=known)
    assert {finding.node_id for finding in report.findings} == {"elsewhere"}
    assert judge.asked == ["false"]


def test_equal_summaries_of_two_nodes_are_judged_once_and_told_of_both():
    judge = Counting()
    report = audit(FALSE, replace(FALSE, id="twin"), judge=judge)
    assert judge.asked in (["twin"], ["false"])
    assert sorted(report.unsupported_nodes) == ["false", "twin"]
    table = audit_to_table(report)
    assert len(table) == 4
    assert [len(found) for found in known_findings(table).values()] == [2]


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
    blocking = Settings.model_validate({"audit": {"on_unsupported": "block"}})
    assert evaluate_audit(report, blocking).severity == "warn"
    audit(TRUE, judge=judge, known=known_findings(audit_to_table(report)))
    assert judge.asked == ["true", "true"]


@pytest.mark.parametrize(("action", "severity"), [("report", "warn"), ("block", "error")])
def test_the_check_fails_over_the_bound_and_blocks_where_asked(action, severity):
    settings = Settings.model_validate({"audit": {"on_unsupported": action}})
    verdict = evaluate_audit(audit(TRUE, FALSE), settings)
    assert (verdict.passed, verdict.severity) == (False, severity)
    assert verdict.worst[0].text == "Captain Holloway rescued 84 sheep."
    assert "84" in verdict.worst[0].why
    assert evaluate_audit(audit(TRUE), settings).passed


def test_what_a_parent_repeats_is_counted():
    findings = audit(TRUE, FALSE).findings
    silent = summary("p", ["true", "false"], text="A ferry sank.", layer=2)
    repeating = summary("q", ["false"], text="Captain Holloway is famous.", layer=2)
    for above, traceable, repeated in (
        ([], 0, 0),
        ([silent], 1, 0),
        ([silent, repeating], 1, 1),
        ([replace(repeating, children=("true",))], 0, 0),
    ):
        found = measure_propagation(findings, [(node.text, node.children) for node in above])
        assert (found.n_traceable, found.n_repeated) == (traceable, repeated)


class Scripted:
    """Answers from a list for each key, and keeps the requests."""

    fingerprint = "scripted"

    def __init__(self, **answers):
        self.answers = answers
        self.requests = []

    def summarize(self, requests):
        for request in requests:
            self.requests.append(request)
            text = self.answers[request.key].pop(0)
            usage = Usage(calls=1, prompt_tokens=10)
            if text is None:
                yield FailedSummary(request.key, request.name, "down", usage)
            else:
                yield Summary(request.key, text, usage)


def revised(*answers):
    inner = Scripted(k=list(answers))
    texts = tuple(node.text for node in LEAVES)
    request = SummaryRequest("k", "node k", texts, (5, 6), None)
    (answer,) = RevisingSummarizer(inner, Counting()).summarize([request])
    return answer, inner.requests


def test_a_summary_without_fault_is_kept_as_it_is():
    answer, requests = revised(TRUE.text)
    assert (answer.text, answer.usage.calls, len(requests)) == (TRUE.text, 1, 1)


def test_a_faulty_one_is_asked_for_again_with_its_faults():
    answer, requests = revised(FALSE.text, TRUE.text)
    assert (answer.text, answer.usage.calls) == (TRUE.text, 2)
    (told,) = requests[1].objections
    assert told.startswith("Captain Holloway rescued 84 sheep.")
    assert "84" in told.partition("(")[2]


@pytest.mark.parametrize("second", [FALSE.text + " It sang.", "Zeppelins flew over Paris.", None])
def test_a_second_answer_that_is_no_better_or_failed_leaves_the_first(second):
    answer, _ = revised(FALSE.text, second)
    assert (answer.text, answer.usage.calls) == (FALSE.text, 2)


def test_a_failure_is_handed_on():
    answer, requests = revised(None)
    assert (answer.reason, len(requests)) == ("down", 1)


def test_many_answers_are_judged_together():
    n_answers = 2 * BATCH_ANSWERS + 1
    inner = Scripted(**{f"k{at}": [TRUE.text] for at in range(n_answers)})
    texts = tuple(node.text for node in LEAVES)
    requests = [SummaryRequest(f"k{at}", "node", texts, (5, 6), None) for at in range(n_answers)]
    judge = Counting()
    answers = list(RevisingSummarizer(inner, judge).summarize(requests))
    assert [answer.key for answer in answers] == [request.key for request in requests]
    assert judge.sizes == [BATCH_ANSWERS, BATCH_ANSWERS, 1]


def test_texts_that_were_judged_are_not_judged_under_another_name():
    inner = Counting()
    judge = RememberingJudge(inner)
    (before,) = judge.judge([AuditedSummary(FALSE, tuple(LEAVES))])
    renamed = [replace(node, id=f"new-{node.id}") for node in (FALSE, *LEAVES)]
    (after,) = judge.judge([AuditedSummary(renamed[0], tuple(renamed[1:]))])
    assert inner.asked == ["false"]
    assert [found.node_id for found in after] == ["new-false"] * len(before)
    assert [found.judgement for found in after] == [found.judgement for found in before]
    evidence = [found.evidence_child for found in before if found.evidence]
    assert [found.evidence_child for found in after if found.evidence] == [
        f"new-{name}" for name in evidence
    ]


def test_what_could_not_be_judged_is_asked_again():
    class Failing(Counting):
        def judge(self, summaries):
            super().judge(summaries)
            return [[SentenceFinding(i.node.id, "?", "not judged", 0.0)] for i in summaries]

    inner = Failing()
    judge = RememberingJudge(inner)
    item = AuditedSummary(TRUE, tuple(LEAVES))
    judge.judge([item])
    assert not judge.known
    judge.judge([item])
    assert inner.asked == ["true", "true"]


def test_quotations_are_not_revised():
    audit = {"on_unsupported": "resummarize", "judge": "overlap"}
    chat = {"kind": "openai", "model": "small"}
    quoting = Components(Settings.model_validate({"audit": audit}))
    writing = Components(Settings.model_validate({"audit": audit, "summarizer": chat}))
    assert not isinstance(quoting.summarizer, RevisingSummarizer)
    assert isinstance(writing.summarizer, RevisingSummarizer)


def test_the_judge_is_part_of_the_fingerprint():
    first, second = Counting(), Counting()
    second.version = "other"
    inner = Scripted()
    assert RevisingSummarizer(inner, first).fingerprint != inner.fingerprint
    assert (
        RevisingSummarizer(inner, first).fingerprint
        != RevisingSummarizer(inner, second).fingerprint
    )
