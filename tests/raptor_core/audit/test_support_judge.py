"""Judge by doubts: sentences that it rejects, and sentences that it accepts."""

from dataclasses import replace

import pytest
from support.trees import leaf, summary

from raptor_core.audit import make_judge
from raptor_core.audit.base import SummaryToAudit
from raptor_core.settings import AuditSettings

PUMP = leaf(
    "pump",
    "The harbour pump failed on 14 March because silt had blocked its intake. Engineer Oduya "
    "replaced the filter, and the pump was running again after three hours.",
)
BRIDGE = leaf(
    "bridge",
    "Traffic over the northern bridge increased by 12 percent after the toll was abolished. "
    "The council did not extend the night ferry.",
)


@pytest.fixture(scope="module")
def judge():
    return make_judge(AuditSettings())


def verdicts(judge, text, children=(PUMP, BRIDGE)):
    (found,) = judge.judge([SummaryToAudit(summary("s", "pb", text=text), tuple(children))])
    return found


@pytest.mark.parametrize(
    "text",
    [
        "Silt in the intake made the harbour pump fail in March.",
        "Oduya replaced the filter.",
        "The pump ran again after 3 hours.",
        "More traffic crossed the northern bridge once the toll was abolished.",
        "The night ferry was not extended.",
        PUMP.text,
    ],
)
def test_what_the_children_say_is_supported(judge, text):
    found = verdicts(judge, text)
    assert [finding.judgement for finding in found] == ["supported"] * len(found)


@pytest.mark.parametrize(
    ("text", "missing", "reason"),
    [
        ("The harbour pump failed on 17 March because of silt.", "17", "number"),
        ("Later that day Engineer Hallström replaced the filter.", "Hallström", "name"),
        (
            "Traffic over the northern bridge decreased after the toll was abolished.",
            "decreased",
            "opposite",
        ),
        ("Penguins are excellent swimmers and live in large colonies.", "Penguins", "like it"),
        (
            "Engineer Oduya, a sister of the builder, replaced the filter.",
            "sister",
            "relation",
        ),
    ],
)
def test_what_no_child_says_is_found_with_its_reason(judge, text, missing, reason):
    (found,) = verdicts(judge, text)
    assert found.judgement == "unsupported"
    assert missing in found.missing
    assert reason in found.reason
    assert found.score < verdicts(judge, PUMP.text)[0].score


@pytest.mark.parametrize(
    ("child", "claim", "judgement"),
    [
        ("Oduya is the niece of Ms Lund.", "Ms Lund is the aunt of Oduya.", "supported"),
        ("Oduya and Lund are siblings.", "Lund is the sister of Oduya.", "supported"),
        ("Oduya and Lund are twins.", "Lund is the brother of Oduya.", "supported"),
        ("Lund and Oduya were newlyweds.", "Lund is the wife of Oduya.", "supported"),
        ("Lund has two kids, Ada and Oduya.", "Oduya is the daughter of Lund.", "supported"),
        ("Oduya has two grandchildren.", "Oduya is a granny.", "supported"),
        ("Oduya and Lund are siblings.", "Lund is the wife of Oduya.", "unsupported"),
        ("Oduya and Lund are colleagues.", "Lund is the sister of Oduya.", "unsupported"),
    ],
)
def test_a_relation_may_be_named_by_any_word_for_it(judge, child, claim, judgement):
    (found,) = verdicts(judge, claim, (PUMP, summary("kin", "pb", text=child)))
    assert found.judgement == judgement


def test_what_one_layer_invents_is_no_source_for_the_next(judge):
    below = summary("below", "p", text="Engineer Hallström replaced the filter of the pump.")
    top = summary("top", ["below"], text=below.text, layer=2)
    for leaves, judgement in (((), "supported"), ((PUMP.text,), "unsupported")):
        ((found,),) = judge.judge([SummaryToAudit(top, (below,), leaves)])
        assert found.judgement == judgement
        assert found.evidence_child == "below"


CODES = (
    "The alarm E-1047 of the pump is explained at https://docs.pump.example/alarms/1047, and "
    "max_tokens is set in release 1.10.2. Mail ops@pump.example with the part number RX23."
)


@pytest.mark.parametrize(
    ("code", "altered"),
    [
        ("E-1047", "E-1074"),
        ("E-1047", "E1047"),
        ("https://docs.pump.example/alarms/1047", "https://docs.pump.example/alarms"),
        ("max_tokens", "max_token"),
        ("1.10.2", "1.2.10"),
        ("ops@pump.example", "op@pump.example"),
        ("RX23", "RX32"),
    ],
)
def test_a_code_is_supported_character_for_character(judge, code, altered):
    child = replace(PUMP, text=CODES)
    right, wrong = (
        verdicts(judge, f"The pump is described by {text} in these notes.", [child])[0]
        for text in (code, altered)
    )
    assert altered in wrong.missing
    assert wrong.judgement == "unsupported"
    assert "code or address" in wrong.reason
    assert "code or address" not in right.reason


def test_without_children_nothing_is_supported_and_a_blank_summary_has_no_sentence(judge):
    assert [f.judgement for f in verdicts(judge, "The pump failed.", ())] == ["unsupported"]
    assert verdicts(judge, "  \n ") == []


def test_summaries_are_judged_alike_alone_and_together(judge):
    pairs = [
        SummaryToAudit(summary(f"s{at}", "pb", text=text), (PUMP, BRIDGE))
        for at, text in enumerate(["The pump failed on 17 March.", "The toll was abolished.", ""])
    ]
    assert judge.judge(pairs) == [judge.judge([pair])[0] for pair in pairs]
    assert judge.judge([]) == []
