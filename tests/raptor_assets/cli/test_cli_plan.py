"""`raptor plan`: what it foretells, and that it writes nothing."""

import pytest

pytestmark = pytest.mark.slow


def files(place):
    return {path: path.stat().st_mtime_ns for path in place.home.rglob("*.parquet")}


def test_the_plan_of_an_edit_is_what_the_build_then_makes(own):
    assert own.call("plan", "--json").json["trees"] == []
    lighthouse = own.docs / "farness" / "lighthouse.md"
    lighthouse.write_text(lighthouse.read_text().replace("Tom Ferris", "Thomas Ferris"))
    before = files(own)
    plan = own.call("plan", "--json").json
    assert files(own) == before
    assert (plan["changed"], plan["exact"]) == (["farness/lighthouse.md"], True)
    (tree,) = plan["trees"]
    assert (tree["action"], tree["n_leaves_added"], tree["n_leaves_removed"]) == ("rebuild", 1, 1)
    assert plan["summaries"]["calls"] >= plan["lower_bound"] >= 1
    assert plan["summaries_range"] == [plan["summaries"]["calls"]] * 2
    assert f"(at least {plan['lower_bound']})" in own.call("plan").out
    built = own.call("build", "--json").json
    assert built["n_summarized"] == plan["summaries"]["calls"]
    assert own.call("plan", "--json").json["changed"] == []


def test_a_plan_has_a_cost_where_a_price_is_set_and_names_the_missing_price_elsewhere(own):
    own.configure('[summarizer]\nkind = "openai"\nmodel = "some-chat"')
    plan = own.call("plan")
    assert 'not known; set [prices."some-chat"] in the settings' in plan.out
    text = own.settings.read_text()
    own.settings.write_text(text + '\n[prices."some-chat"]\ninput = 1.0\noutput = 2.0\n')
    plan = own.call("plan", "--json").json
    tokens = plan["summaries"]["prompt_tokens"] + 2 * plan["summaries"]["completion_tokens"]
    assert plan["cost"]["usd"] == pytest.approx(tokens / 1e6)


def test_a_document_in_a_script_that_the_model_does_not_know_is_named_before_a_build(own):
    own.write("thai.md", "ผู้ดูแลประภาคารจุดตะเกียงทุกเย็นและจดบันทึกไว้ " * 20)
    odd = own.call("plan", "--json").json["odd"]
    assert list(odd) == ["thai.md"]
    assert "embedder.model" in odd["thai.md"]
    assert "BAAI/bge-m3" in own.call("plan").err
    previews = own.call("documents", "--json").json["documents"]
    doubts = {preview["document"]: preview["doubt"] for preview in previews}
    assert doubts["thai.md"] == odd["thai.md"]
    assert [name for name, doubt in doubts.items() if doubt] == ["thai.md"]
