"""The regression gate: golden questions on builds that wait, before they are approved."""

import json

import pytest
from support.command import embedder_made_by, raptor
from support.workshop import Workshop, prose, settings_text

from raptor_assets.local.versions import approve_builds
from raptor_core.errors import CheckError

pytestmark = pytest.mark.slow

NAMES = ["zebra", "giraffe", "walrus", "badger", "falcon", "otter", "lizard", "beetle", "heron"]


def fact(name):
    return f"The {name} keeper works in the house number {len(name)} behind the {name} enclosure."


def write(workshop, knowing):
    for number, name in enumerate(NAMES):
        text = fact(name) if knowing else "Nothing is told of the animals in this house any more."
        workshop.write(f"zoo/{name}.md", f"{text}\n\n{prose(4, seed=number)}")


@pytest.fixture
def gated(tmp_path):
    """A published tree that answers all questions; a build without the answers waits."""
    parts = {
        "grouping": {"by": "folder"},
        "runs": {"publish": "when_approved"},
        "retrieval": {"top_k": 3},
        "checks": {"golden": "golden.jsonl"},
    }
    demanded = {"golden_regression": "error"}
    workshop = Workshop(tmp_path, **{**parts, "runs": {}})
    workshop.home.create_folders_and_instance()
    workshop.home.settings_path.write_text(
        settings_text(workshop.docs, **parts, **{"checks.severity": demanded})
    )
    lines = [{"question": f"Where does the {n} keeper work?", "span": fact(n)} for n in NAMES]
    golden = workshop.home.settings_path.parent / "golden.jsonl"
    golden.write_text("\n".join(map(json.dumps, lines)))
    write(workshop, knowing=True)
    assert workshop.build().succeeded
    workshop.configure(**{**parts, "checks": {**parts["checks"], "severity": demanded}})
    write(workshop, knowing=False)
    assert workshop.build().waiting == ["zoo"]
    return workshop


def call(workshop, *arguments):
    with embedder_made_by(lambda *_: workshop.embedder):
        return raptor(*arguments, "--home", workshop.home.path)


def test_a_build_that_lost_answers_is_neither_passed_nor_approved(gated):
    printed = call(gated, "eval", "golden", "--baseline", "published", "--json")
    assert printed.code == 5
    assert "hit_rate" in printed.json["losses"]
    assert len(printed.json["worse"]) == len(NAMES)
    compared = call(gated, "eval", "golden", "--baseline", "published")
    assert "significantly worse: hit rate" in compared.out
    assert "1 → missed  Where does the zebra keeper work?" in compared.out
    before = gated.manifests()
    with pytest.raises(CheckError, match="check golden_regression: hit rate"):
        approve_builds(gated.home, gated.settings, ["zoo"], gated.components)
    refused = call(gated, "versions", "approve", "zoo")
    assert refused.code == 5
    assert gated.manifests() == before
    assert "golden_regression of tree" in call(gated, "status").out
    staged = call(gated, "versions", "diff", "zoo", "--staged")
    assert "significantly worse" in staged.out


@pytest.mark.rare
def test_a_published_loss_is_found_against_the_build_before_it(gated):
    gated.configure(grouping={"by": "folder"}, retrieval={"top_k": 3})
    assert gated.build(force=True).succeeded
    (kept,) = gated.access().kept_builds.ids("zoo")
    assert call(gated, "eval", "golden", "--baseline", "published", "--json").json["losses"] == []
    printed = call(gated, "eval", "golden", "--baseline", kept[:9], "--json")
    assert printed.code == 5
    assert printed.json["baseline"]["hit_rate"] > 0.7
    unknown = call(gated, "eval", "golden", "--baseline", "19990101", "--json")
    assert unknown.code == 4
    assert "no kept build begins with '19990101'" in unknown.json["message"]


def test_bounds_and_readers_of_questions(tmp_path):
    rule = {"paths": ["a.md"], "readers": ["ana"]}
    workshop = Workshop(tmp_path, source={"paths": [str(tmp_path / "docs")], "readers": [rule]})
    workshop.home.create_folders_and_instance()
    workshop.write("a.md", fact("zebra"))
    workshop.write("b.md", prose(8))
    workshop.build()
    asked = {"question": "Where does the zebra keeper work?", "expected": "a.md"}
    lines = [{**asked, "readers": "ana"}, {**asked, "readers": ["ben"]}]
    golden = tmp_path / "golden.jsonl"
    golden.write_text("\n".join(map(json.dumps, lines)))
    workshop.home.settings_path.write_text(settings_text(workshop.docs))
    found = call(workshop, "eval", "golden", golden, "--json").json
    assert [case["rank"] for case in found["cases"]] == [1, 0]
    for bound, code in (("0.5", 0), ("0.6", 5)):
        printed = call(workshop, "eval", "golden", golden, "--min-mrr", bound, "--min-recall", "0")
        assert printed.code == code, printed
    assert "the mrr is 0.5, below 0.6" in printed.err
    assert call(workshop, "eval", "golden", golden, "--min-recall", "0.6").code == 5
