"""Change, cost and findings of a build: recorded with its trees, shown on their pages."""

import pytest

from raptor_assets.serving.window import read_report
from raptor_core.report.data import report_values

pytestmark = pytest.mark.slow


def values(workshop, tree="a.md"):
    """What the page of a tree shows."""
    with workshop.access().store.open() as store:
        report = read_report(workshop.home, workshop.settings, store, tree, with_map=False)
    return report_values(report)


def test_a_first_build_has_a_cost_and_no_change(pair):
    found, manifest = values(pair), pair.manifests()["a.md"]
    assert found["trees"][0]["build"] == manifest.build_id
    assert len(found["nodes"]) == sum(manifest.layer_sizes)
    assert found["trees"][0]["change"]["previous"] == ""
    cost = dict(found["cost"])
    assert cost["summaries_made"] == sum(manifest.layer_sizes[1:])
    assert cost["spent_usd"] == 0
    assert "cost" not in pair.metadata("tree", "a.md"), "nothing was paid for"


def test_change_and_cost_are_those_of_the_last_build_that_changed_the_tree(pair):
    before = values(pair)
    pair.build(force=True)
    again = values(pair)
    assert again["cost"] == before["cost"]
    assert again["trees"][0]["change"] == before["trees"][0]["change"]
    text = (pair.docs / "a.md").read_text()
    pair.write("a.md", text.replace(".", " indeed.", 1))
    pair.build()
    after = values(pair)
    change = after["trees"][0]["change"]
    assert change["previous"] == again["trees"][0]["published"]
    old, new = ({node["id"] for node in found["nodes"]} for found in (before, after))
    assert {node["id"] for node in after["nodes"] if node.get("w")} == new - old
    assert (change["added"], change["removed"]) == (len(new - old), len(old - new))
    assert 0 < dict(after["cost"])["summaries_made"] < dict(before["cost"])["summaries_made"]
    assert values(pair, "b.md")["trees"][0]["change"]["previous"] == ""
