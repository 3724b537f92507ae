"""Refused summaries in runs: published with a warning, asked again, and chunks set aside."""

import re

import pytest
from support.openai_faults import Fault
from support.openai_server import FakeOpenAI
from support.workshop import TWO_LAYERS, Workshop, prose

from raptor_assets.cli.commands.curate import SPAN
from raptor_assets.home.source_state import rescan
from raptor_assets.local.curate import Author, Curator
from raptor_assets.local.forecast import forecast
from raptor_assets.serving.window import read_report
from raptor_core.errors import CurationError
from raptor_core.identity import FALLBACK
from raptor_core.report.data import report_values
from raptor_core.store.base import Where

pytestmark = pytest.mark.slow


@pytest.fixture
def server():
    with FakeOpenAI() as fake:
        yield fake


def paying(tmp_path, server, **summarizer):
    endpoint = {"kind": "openai", "model": "writer", "base_url": server.base_url}
    workshop = Workshop(
        tmp_path,
        summarizer={**endpoint, "max_retries": 0, **summarizer},
        clustering={"method": "raptor"},
        **TWO_LAYERS,
    )
    workshop.write("a.md", f"Nobody may read of the zyzzyva. {prose(24)}")
    workshop.write("b.md", prose(24, seed=1))
    server.fail(Fault.filtered(), times=None, when=lambda body: "zyzzyva" in str(body))
    return workshop


def refused(workshop):
    with workshop.access().store.open() as store:
        nodes = store.nodes(Where(trees=("a.md", "b.md")))
    return [node for node in nodes if FALLBACK in node.quality]


def planned(workshop):
    scan = rescan(workshop.access().tables, workshop.settings.source)
    return forecast(workshop.home, workshop.settings, scan, components=workshop.components)


def test_a_tree_with_a_refused_summary_is_published_marked_and_asked_again(tmp_path, server):
    workshop = paying(tmp_path, server)
    assert workshop.build().succeeded
    nodes = refused(workshop)
    assert nodes
    with workshop.access().store.open() as store:
        report = read_report(workshop.home, workshop.settings, store, "a.md", with_map=False)
    of_page = report_values(report)["nodes"]
    shown = {node["id"] for node in of_page if node.get("f") == "fallback"}
    assert shown == {node.id for node in nodes}
    changes = planned(workshop).changes
    assert (changes.refused, changes.to_build) == ({"a.md"}, ())  # the sensor asks for nothing
    n_before = server.n_requests
    assert workshop.build().built == ["a.md"]
    assert server.n_requests == n_before + len(nodes)
    assert refused(workshop) == nodes
    server.stop_failing()
    n_calls, n_before = planned(workshop).plan.summary_usage.calls, server.n_requests
    assert workshop.build().built == ["a.md"]
    assert server.n_requests - n_before == n_calls > 1
    assert not refused(workshop)
    assert workshop.build().built == []


@pytest.mark.rare
def test_a_chunk_is_set_aside_by_its_characters_before_anything_is_published(tmp_path, server):
    workshop = paying(tmp_path, server, max_fallback=0.0)
    report = workshop.build()
    assert report.built == ["b.md"]
    reason = report.failed["a.md"].reason
    assert "set-aside DOCUMENT:START-END" in reason
    first = re.search(r"over the chunks (\S+),", reason)[1]
    document, start, end = SPAN.fullmatch(first).groups()
    assert (document, start) == ("a.md", "0")
    workshop.home.settings_path.write_text("", encoding="utf-8")
    curator, author = Curator(workshop.home.path), Author("Ines")
    with pytest.raises(CurationError, match=r"no build made a chunk of 'a\.md'"):
        curator.set_span_aside(document, 1, int(end), author)
    decision = curator.set_span_aside(document, int(start), int(end), author)
    assert "zyzzyva" in decision.about
    assert workshop.build().built == ["a.md"]
