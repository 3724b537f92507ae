"""The asset `tree_report`: when its page is written, what it records, when it goes."""

import json
import os
import re

import pytest
from support.workshop import Workshop, prose

pytestmark = pytest.mark.slow


def page(workshop, partition="a.md"):
    return workshop.home.reports / f"{partition}.html"


def values(path):
    """What the page's script reads."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<script id="data"[^>]*>(.*?)</script>', text, re.DOTALL)[1]
    return json.loads(found)["report"]


def test_a_build_writes_a_page_for_every_partition(pair):
    found = values(page(pair))
    assert found["name"] == "a.md"
    manifest = pair.manifests()["a.md"]
    assert len(found["nodes"]) == sum(manifest.layer_sizes)
    assert found["trees"][0]["build"] == manifest.build_id
    assert found["documents"][0]["x"] == (pair.docs / "a.md").read_text()
    assert found["trees"][0]["change"]["previous"] == ""
    cost = dict(found["cost"])
    assert cost["summaries_made"] == sum(manifest.layer_sizes[1:])
    assert cost["spent_usd"] == 0
    assert "cost" not in pair.metadata("tree", "a.md"), "nothing was paid for"
    metadata = pair.metadata("tree_report", "a.md")
    assert metadata["uri"].endswith("/.raptor/reports/a.md.html")
    assert metadata["n_bytes"] == page(pair).stat().st_size
    assert metadata["n_nodes"] == len(found["nodes"])
    assert metadata["n_findings"] == len(found["findings"]) > 0


def test_an_unchanged_page_is_not_written_again_and_a_deleted_one_is(pair):
    os.utime(page(pair), ns=(1, 1))
    version = pair.data_version("tree_report", "a.md")
    page(pair, "b.md").unlink()
    pair.build(force=True)
    assert page(pair).stat().st_mtime_ns == 1
    assert values(page(pair, "b.md"))["name"] == "b.md"
    assert pair.metadata("tree_report", "a.md")["reused"]
    assert pair.data_version("tree_report", "a.md") == version


def test_an_edit_is_told_as_a_change_with_its_cost(pair):
    before = values(page(pair))
    text = (pair.docs / "a.md").read_text()
    pair.write("a.md", text.replace(".", " indeed.", 1))
    pair.build()
    after = values(page(pair))
    change = after["trees"][0]["change"]
    assert change["previous"] == before["trees"][0]["published"]
    old, new = ({node["id"] for node in found["nodes"]} for found in (before, after))
    assert {node["id"] for node in after["nodes"] if node.get("w")} == new - old
    assert (change["added"], change["removed"]) == (len(new - old), len(old - new))
    assert 0 < dict(after["cost"])["summaries_made"] < dict(before["cost"])["summaries_made"]
    assert pair.metadata("tree_report", "a.md")["n_nodes_new"] == len(new - old)


def test_findings_are_shown_and_make_the_page_new_but_not_the_change(pair):
    before = values(page(pair))
    summaries = {at for at, node in enumerate(before["nodes"]) if node["l"] == 1}
    assert {finding["node"] for finding in before["findings"]} >= summaries
    pair.configure(checks={"audit_rate": 0.0, "audit_minimum": 0})
    pair.build("a.md", force=True)
    after = values(page(pair))
    assert after["findings"] == []
    assert after["cost"] == before["cost"]
    assert after["trees"][0]["change"] == before["trees"][0]["change"]
    assert pair.metadata("tree_report", "a.md")["n_findings"] == 0
    assert not pair.metadata("tree_report", "a.md")["reused"]


def test_a_sharded_partition_has_one_page_of_all_its_trees(tmp_path):
    workshop = Workshop(tmp_path, grouping={"shards": 1})
    for name in ("a.md", "b.md"):
        workshop.write(name, prose(12, seed=len(name)))
    workshop.build()
    single = workshop.access().reports.path("shard-0000", "a.md")
    single.parent.mkdir()
    single.write_text("of an earlier state")
    assert [t["name"] for t in values(page(workshop, "shard-0000"))["trees"]] == ["a.md", "b.md"]
    workshop.write("a.md", prose(14, seed=9))
    workshop.build()
    changes = [t["change"] for t in values(page(workshop, "shard-0000"))["trees"]]
    assert [bool(change["previous"]) for change in changes] == [True, False]
    assert not single.exists()


def test_a_folder_that_cannot_be_written_is_named_and_the_tree_stays_published(tmp_path):
    workshop = Workshop(tmp_path)
    workshop.write("a.md", prose(12, seed=1))
    workshop.home.path.mkdir()
    workshop.home.reports.write_text("a file in the way")
    report = workshop.build()
    assert report.failed["a.md"].asset == "tree_report"
    assert str(workshop.home.reports) in report.failed["a.md"].reason
    assert set(workshop.manifests()) == {"a.md"}
    workshop.home.reports.unlink()
    assert workshop.build("a.md", force=True).built == ["a.md"]
    assert page(workshop).exists()
    assert workshop.build().built == []
