"""`raptor build` and `raptor drop`: what they do to a home, and what they say of it."""

import json
import shutil

import pytest
from support.command import Place
from support.openai_faults import Fault
from support.openai_server import FakeOpenAI

pytestmark = pytest.mark.slow

ALL = ["farness/harbour.md", "farness/lighthouse.md", "soup.md"]


def trees(place):
    printed = place.call("status", "--json")
    assert printed.code == 0
    return {tree["tree"]: tree["build_id"] for tree in printed.json["trees"]}


def test_an_edit_rebuilds_only_its_partition_and_the_command_reports_it(own):
    before = trees(own)
    path = own.docs / "soup.md"
    path.write_text(path.read_text() + "\n\nServe it with rye bread and cold butter.\n")
    printed = own.call("build")
    assert printed.code == 0
    assert "partitions: 1 built, 2 unchanged; 1 text embedded, 1 summary written in " in printed.out
    assert f"raptor ui --home {own.home}" in printed.out
    assert "1 of 1 partition published" in printed.err
    after = trees(own)
    assert {name for name in ALL if before[name] != after[name]} == {"soup.md"}


def test_manifests_alone_say_what_is_built(own):
    (own.docs / "soup.md").unlink()
    for lost in ("dagster", "tables", "answers"):
        shutil.rmtree(own.home / lost)
    plan = own.call("plan", "--json").json
    assert (plan["new"], plan["changed"], plan["removed"]) == ([], [], ["soup.md"])
    again = own.call("build", "--json").json
    assert (again["built"], again["dropped"]) == ([], ["soup.md"])
    assert sorted(trees(own)) == ALL[:2]


def test_a_second_source_is_added_and_a_missing_one_is_not(own, tmp_path):
    more = Place(tmp_path / "more")
    more.write("extra.md", "An extra page about ropes.")
    settings = own.settings.read_text()
    missing = own.call("build", tmp_path / "nosuch", "--json")
    assert (missing.code, missing.json["error"]) == (4, "SourceError")
    assert own.settings.read_text() == settings
    added = own.call("build", more.docs, "--json").json
    assert added["built"] == ["extra.md"]
    assert added["unchanged"] == ALL
    assert str(more.docs) in own.settings.read_text()


def test_drop_asks_and_then_removes_vectors_tables_and_partition(own):
    kept = own.call("drop", "soup.md")  # standard input is empty, so nobody says yes
    assert kept.code == 130
    assert sorted(trees(own)) == ALL
    dropped = own.call("drop", "soup.md", "--yes")
    assert (dropped.code, dropped.out) == (0, "dropped soup.md\n")
    status = own.call("status", "--json").json
    assert [tree["tree"] for tree in status["trees"]] == ALL[:2]
    assert status["unpublished"] == []
    assert not list((own.home / "tables").rglob("soup.md*"))


def test_a_failing_partition_exits_with_5_and_is_named(own):
    with FakeOpenAI() as server:
        own.configure(
            f'[summarizer]\nkind = "openai"\nmax_retries = 0\nbase_url = "{server.base_url}"\n'
            "max_fallback = 0.0"
        )
        server.fail(
            Fault.refusing(), times=None, when=lambda body: "lamp" in json.dumps(body["messages"])
        )
        printed = own.call("build")
    assert printed.code == 5
    assert "failed farness/lighthouse.md at layer_1/summaries" in printed.err
    assert "2 built, 1 failed" in printed.out


def test_a_build_ends_with_the_number_of_failed_checks_and_an_error_has_its_code(own):
    own.configure('[checks]\nmin_children = 20\nseverity = { staleness = "off" }')
    printed = own.call("build", "--force")
    assert printed.code == 0
    assert printed.out.splitlines()[-1].startswith("failed checks: ")
    assert "cluster_size 3" in printed.out
    case = '{"question": "Who?", "span": "Nobody was there at all."}'
    (own.home / "golden.jsonl").write_text(case)
    severity = 'severity = { golden_retrieval = "error" }'
    settings = own.settings.read_text()
    own.settings.write_text(settings.replace('severity = { staleness = "off" }', severity))
    own.configure('[checks]\ngolden = "golden.jsonl"')
    failed = own.call("build", "--force")
    assert failed.code == 5
    assert "1 error (golden_retrieval)" in failed.out.splitlines()[-1]
