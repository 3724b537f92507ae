"""`raptor eval golden` on the home that is built once."""

import json

import pytest

pytestmark = pytest.mark.slow

QUESTIONS = [
    {"question": "Who lit the lamp in 1872?", "expected": ["farness/lighthouse.md"]},
    {
        "question": "When was the breakwater begun?",
        "span": "The breakwater was begun in 1890 and finished in 1903 at three times its price.",
        "expected": "farness/harbour.md",
    },
    {"question": "How long are crabs boiled?", "expected": "soup.md", "tree": "soup.md"},
]


@pytest.fixture
def golden(tmp_path):
    def write(*cases):
        path = tmp_path / "golden.jsonl"
        path.write_text("".join(json.dumps(case) + "\n" for case in cases or QUESTIONS))
        return path

    return write


def test_the_figures_and_every_rank_are_printed_as_json(built, golden):
    printed = built.call("eval", "golden", golden(), "--json")
    assert printed.code == 0
    found = printed.json
    assert (found["questions"], found["hit_rate"], found["missed"]) == (3, 1.0, 0)
    assert found["evidence_recall"] > 0.9
    assert found["mrr"] > 0.6
    assert [case["line"] for case in found["cases"]] == [1, 2, 3]
    assert all(case["rank"] >= 1 for case in found["cases"])
    assert found["cases"][1]["expected"] == ["farness/harbour.md"]


def test_a_hit_rate_below_the_bound_exits_with_5_and_above_it_with_0(built, golden):
    wrong = {"question": "Who lit the lamp in 1872?", "expected": ["soup.md"]}
    path = golden(QUESTIONS[0], wrong)
    options = (path, "--json", "--top-k", "1", "--min-hit-rate")
    assert built.call("eval", "golden", *options, "0.5").code == 0
    printed = built.call("eval", "golden", *options, "0.6")
    assert printed.code == 5
    assert printed.json["hit_rate"] == 0.5
    printed = built.call("eval", "golden", path, "--top-k", "1", "--min-hit-rate", "0.6")
    assert (printed.code, "below 0.6" in printed.err) == (5, True)
    assert "missed" in printed.out
