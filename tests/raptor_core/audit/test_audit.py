"""Sample of an audit, and the sentences that the overlap judge supports."""

import pytest
from support.trees import leaf, summary

from raptor_core.audit.base import AuditedSummary
from raptor_core.audit.overlap import OverlapJudge
from raptor_core.audit.report import sample

CHILDREN = [
    leaf("a", "Dr. Marchand found that Chamber B warmed to -10.7 degrees in January 2023."),
    leaf("b", "The generator had run for 1,200 hours before it stopped."),
    leaf(
        "d",
        "Nobody heard the alarm, because it rang a telephone that could not "
        "ring, on a mast whose battery had been empty since midnight, while the man who believed "
        "himself on duty sat at home with a working one.",
    ),
    leaf("c", "水位計は五月に測量された。"),
]


def judge(text):
    (found,) = OverlapJudge().judge(
        [AuditedSummary(summary("s", "abdc", text=text), tuple(CHILDREN))]
    )
    return found


def test_a_sample_of_a_layer_has_its_share_or_the_minimum_and_does_not_change():
    nodes = [summary(f"{n}", "ab") for n in range(40)]
    chosen = sample(nodes, 0.1, 3)
    assert len(chosen) == 4
    assert sample(list(reversed(nodes)), 0.1, 3) == list(reversed(chosen))
    assert len(sample(nodes, 0.0, 5)) == 5
    kept = sample([node for node in nodes if node.id != chosen[0].id], 0.1, 3)
    assert {node.id for node in chosen[1:]} <= {node.id for node in kept}


@pytest.mark.parametrize("child", CHILDREN)
def test_a_sentence_taken_from_a_child_is_supported(child):
    (found,) = judge(child.text)
    assert found.judgement == "supported"
    assert found.evidence_child == child.id


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("The generator had run for 1,300 hours before it stopped.", "1,300"),
        ("The telephone rang until Petersen found that the alarm had a battery.", "Petersen"),
        ("Chamber B warmed to -10.7 degrees in January 2024.", "2024"),
    ],
)
def test_a_number_or_name_that_no_child_holds_is_found(text, missing):
    (found,) = judge(text)
    assert found.judgement == "unsupported"
    assert any(missing in item for item in found.missing)


def test_numbers_compare_by_value():
    assert all(
        f.judgement == "supported"
        for f in judge("The generator had run for 1200 hours before it stopped.")
    )


def test_every_sentence_is_judged_on_its_own():
    found = judge(f"{CHILDREN[1].text} Penguins invented the telegraph in Lisbon.")
    assert [finding.judgement for finding in found] == ["supported", "unsupported"]
