"""Audits in real runs: findings as rows, and what follows from them."""

import json

import pytest
from support.openai_server import FakeOpenAI, default_answer
from support.summarizers import ScriptedSummarizer
from support.word_judge import WordJudge
from support.workshop import Workshop, prose

from raptor_assets.home.source_state import rescan
from raptor_assets.local.forecast import forecast_build
from raptor_assets.local.status import read_costs
from raptor_core.models.summarizing.base import Summary
from raptor_core.settings.base import BudgetSettings
from raptor_core.store.base import Where
from raptor_core.tables.values import table_to_findings

pytestmark = pytest.mark.slow

LIE = "Professor Quillfeather counted 7341 whales."


class LyingSummarizer(ScriptedSummarizer):
    """Adds a lie to summaries of children with a word."""

    def __init__(self, word):
        super().__init__()
        self.word = word

    def summarize(self, requests):
        by_key = {request.key: request for request in requests}
        for answer in super().summarize(requests):
            request = by_key[answer.key]
            lies = self.word in " ".join(request.texts)
            yield Summary(answer.key, f"{answer.text} {LIE}") if lies else answer


class CountingJudge(WordJudge):
    def __init__(self):
        super().__init__()
        self.n_judged = 0

    def judge(self, summaries):
        self.n_judged += len(summaries)
        return super().judge(summaries)


def lying(tmp_path, severity="warn"):
    made = Workshop(
        tmp_path,
        components={"summarizer": LyingSummarizer("zebra"), "judge": CountingJudge()},
        checks={
            "audit_rate": 1.0,
            "max_unsupported": 0.05,
            "severity": {"hallucination_audit": severity},
        },
    )
    made.judge = made.parts_given["judge"]
    made.summarizer = made.parts_given["summarizer"]
    made.write("a.md", prose(24, seed=1).replace("castle", "zebra", 1))
    made.write("b.md", prose(24, seed=2))
    return made


def findings(workshop, partition, layer=1):
    tables = workshop.access().tables
    return table_to_findings(tables.read([f"layer_{layer}", "findings"], partition))


def lies(workshop):
    """Summaries of layer 1 with the lie; one above them has it from its child."""
    with workshop.access().store.open() as store:
        return [n for n in store.nodes(Where(trees=("a.md",), layers=(1,))) if LIE in n.text]


def found_by_search(workshop, texts):
    with workshop.access().store.open() as store:
        vectors = workshop.embedder.embed(texts)
        dense = {hit.node.id for hits in store.search(vectors, 100) for hit in hits}
        return dense | {hit.node.id for hits in store.search_text(texts, 100) for hit in hits}


UNTOUCHED = ("layer_0/embeddings", "layer_1/summaries", "layer_1/embeddings", "tree")


def test_findings_are_rows_with_what_is_missing_and_are_judged_once(tmp_path):
    workshop = lying(tmp_path)
    assert workshop.build().built == ["a.md", "b.md"]
    wrong = [f for f in findings(workshop, "a.md") if f.judgement == "unsupported"]
    assert {finding.sentence for finding in wrong} == {LIE}
    assert {"7341", "Quillfeather"} <= set(wrong[0].missing)
    assert {finding.node_id for finding in wrong} == {n.id for n in lies(workshop)}
    assert all(finding.judgement == "supported" for finding in findings(workshop, "b.md"))
    metadata = workshop.metadata("layer_1/findings", "a.md")
    assert metadata["n_audited"] == metadata["n_summaries"] == metadata["n_judged"] > 1
    assert metadata["n_unsupported"] == len(wrong)
    assert LIE in metadata["unsupported_sentences"]
    tree = workshop.metadata("tree", "a.md")
    assert tree["summaries_unsupported"] >= len(wrong)
    assert found_by_search(workshop, [LIE]) >= {node.id for node in lies(workshop)}

    before, n_judged = findings(workshop, "a.md"), workshop.judge.n_judged
    versions = {key: workshop.data_version(key, "a.md") for key in ("layer_1/findings", *UNTOUCHED)}
    workshop.build(force=True)
    assert workshop.judge.n_judged == n_judged
    assert findings(workshop, "a.md") == before
    assert workshop.metadata("layer_1/findings", "a.md")["reused"]
    workshop.configure(checks={"audit_rate": 0.1, "audit_minimum": 1})
    workshop.build(force=True)
    changed = {key for key in versions if workshop.data_version(key, "a.md") != versions[key]}
    assert changed == {"layer_1/findings"}


def planned(workshop):
    scan = rescan(workshop.access().tables, workshop.settings.source)
    home, settings = workshop.home, workshop.settings
    return forecast_build(home, settings, scan, components=workshop.components).plan


def test_what_a_run_was_paid_for_is_in_its_tags_and_in_the_cost_of_its_trees(tmp_path):
    judged = json.dumps({"unsupported": []})

    def answer(body):
        return judged if "response_format" in body else default_answer(body)

    with FakeOpenAI(answer=answer) as server:
        endpoint = {"base_url": server.base_url}
        workshop = Workshop(
            tmp_path,
            summarizer={"kind": "openai", "model": "org/writer", **endpoint},
            audit={"judge": "llm", "model": "auditor", **endpoint},
            prices={"auditor": {"input": 1.0, "output": 1.0}},
        )
        workshop.write("a.md", prose(24, seed=1))
        first = planned(workshop)
        report = workshop.build()
        asked = [body["model"] for body in server.bodies]
        findings = workshop.metadata("layer_1/findings", "a.md")
        tree = workshop.metadata("tree", "a.md")
        costs = read_costs(workshop.home, workshop.settings, ["a.md"])
        assert planned(workshop).audit_usage.calls == 0
        audit = {"judge": "llm", "model": "another", **endpoint}
        writer = {"kind": "openai", "model": "org/writer", **endpoint}
        prices = {name: {"input": 1.0, "output": 1.0} for name in ("auditor", "another")}
        workshop.configure(summarizer=writer, audit=audit, prices=prices)
        second = planned(workshop)
        workshop.build()
        asked_again = [body["model"] for body in server.bodies[len(asked) :]]
    assert first.audit_usage.calls == asked.count("auditor") > 0
    assert first.max_audit_usage.calls == 3 * first.audit_usage.calls
    assert second.audit_usage.calls == asked_again.count("another") == len(asked_again)
    assert second.cost.usd == second.audit_usage.usd > 0
    assert second.exceeded_limits(BudgetSettings(calls=second.audit_usage.calls - 1)) == ("calls",)
    assert report.built == ["a.md"]
    with workshop.instance() as instance:
        tags = instance.get_run_by_id(report.run_ids[0]).tags
    n_audits, n_summaries = asked.count("auditor"), asked.count("org/writer")
    assert tags["raptor/paid-audits-auditor"].startswith(f"{n_audits} calls, ")
    assert tags["raptor/paid-audits-auditor"].endswith(" USD")
    assert tags["raptor/paid-summaries-org-writer"].startswith(f"{n_summaries} calls, ")
    assert "USD" not in tags["raptor/paid-summaries-org-writer"]
    assert (findings["calls"], findings["judge"][:5]) == (findings["n_judged"], "llm 1")
    assert tree["audit_calls"] == n_audits
    assert "usd_spent" not in tree
    assert costs["a.md"]["calls"] == n_audits + n_summaries
    assert costs["a.md"]["spent_usd"] is None
