"""A report is a single file with all its values, and no text in it becomes markup or script."""

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest
from support.report_cases import (
    HOSTILE,
    LEAVES,
    document_of,
    leaf,
    lighthouse,
    node_id,
    summary,
    tree_of,
)

from raptor_core.audit.base import SentenceFinding
from raptor_core.documents.base import Document
from raptor_core.report.data import (
    layer_statistics,
    published_findings,
    reassemble_documents,
    settings_text,
)
from raptor_core.report.layout import compute_node_points, first_parent_indices
from raptor_core.report.page import json_for_script_element, render_report
from raptor_core.report.values import RebuildChange, Report
from raptor_core.settings import Settings


class Elements(HTMLParser):
    """Start tags with their attributes, and what the elements with ids hold."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.texts = {}
        self._id = None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._id = dict(attributes).get("id")

    def handle_endtag(self, tag):
        self._id = None

    def handle_data(self, text):
        self.texts[self._id] = self.texts.get(self._id, "") + text


def values_of(report):
    return json.loads(Elements(render_report(report)).texts["data"])["report"]


def shown_text(values, number):
    """A node's text as the page's script finds it, counted in UTF-16 units."""
    node = values["nodes"][number]
    if "x" in node:
        return node["x"]
    units = values["documents"][node["d"]]["x"].encode("utf-16-le", "surrogatepass")
    return units[2 * node["s"] : 2 * node["e"]].decode("utf-16-le", "surrogatepass")


def test_the_page_loads_nothing_and_allows_only_its_own_script():
    page = render_report(lighthouse())
    elements = Elements(page)
    policy = next(a["content"] for t, a in elements.tags if t == "meta" and "http-equiv" in a)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    script = zlib.decompress(base64.b64decode(elements.texts["packed"])).decode()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy
    assert not re.search(r"https?://|@import|url\(", script)
    sources = [a[name] for _, a in elements.tags for name in ("src", "href") if name in a]
    assert all(source.startswith(("#", "data:,")) for source in sources)
    assert not re.search(r"https?://|@import|url\(", page.replace(elements.texts["data"], ""))
    assert not [a for _, a in elements.tags if any(name.startswith("on") for name in a)]


def test_hostile_text_neither_ends_the_data_nor_adds_an_element():
    tree = tree_of([leaf("a", "Text.", 0)])
    hostile, plain = render_report(lighthouse()), render_report(Report("t", (tree,)))
    assert [tag for tag, _ in Elements(hostile).tags] == [tag for tag, _ in Elements(plain).tags]
    assert shown_text(values_of(lighthouse()), 3) == HOSTILE
    raw = Elements(hostile).texts["data"]
    assert not set("<>&\u2028\u2029") & set(raw)


def test_a_hostile_name_stays_text_in_the_title():
    tree = tree_of([leaf("a", "Text.", 0)], name="<script>alert(1)</script>")
    page = render_report(Report(tree.name, (tree,)))
    assert "<title>&lt;script&gt;alert(1)&lt;/script&gt; · RAPTOR report</title>" in page


@pytest.mark.parametrize("text", ["\ud800 alone", "pair \ud83d\ude00", "a\x00b", "\u2028", "</"])
def test_any_text_survives_the_way_through_json_and_utf_8(text):
    written = json_for_script_element({"x": text}).encode("utf-8")
    found = json.loads(written)["x"].encode("utf-16-le", "surrogatepass")
    assert found == text.encode("utf-16-le", "surrogatepass")
    assert not set(b"<>&") & set(written)


def test_spans_are_found_in_the_document_past_characters_of_two_units():
    report = lighthouse()
    values = values_of(report)
    assert [shown_text(values, number) for number in range(len(LEAVES))] == LEAVES
    assert all("x" not in node for node in values["nodes"][: len(LEAVES)])


def test_a_leaf_whose_document_changed_or_is_unknown_keeps_its_own_text():
    document, leaves = document_of(["One.", "Two."])
    changed = Document("d.md", "Onx. Two.", title="New")
    for documents in ((changed,), ()):
        values = values_of(Report("t", (tree_of(leaves, *documents),)))
        assert [node["x"] for node in values["nodes"]] == ["One.", "Two."]
    assert "x" not in values_of(Report("t", (tree_of(leaves, document),)))["nodes"][0]


def test_layer_statistics_are_means_over_summaries():
    report = lighthouse()
    leaves, first, top = layer_statistics(report.trees[0].nodes)
    assert (leaves["nodes"], first["nodes"], top["nodes"]) == (4, 2, 1)
    assert (leaves["children"], first["children"]) == (None, 2.5)
    assert (leaves["parents"], first["parents"], top["parents"]) == (1.25, 1.0, None)
    tokens = [node.n_tokens for node in report.trees[0].nodes if node.layer == 1]
    assert first["tokens"] == sum(tokens)
    assert top["compression"] == pytest.approx(top["tokens"] / first["tokens"])
    assert leaves["compression"] is None


def test_findings_of_unknown_nodes_are_omitted_and_unknown_evidence_is_blanked():
    report = lighthouse()
    stranger = SentenceFinding(node_id("elsewhere"), "Gone.", "unsupported", 0.0)
    lost = SentenceFinding(
        report.findings[0].node_id, "x", "unsupported", 0.0, (), stranger.node_id
    )
    more = Report("t", report.trees, (*report.findings, stranger, lost))
    found = values_of(more)["findings"]
    assert len(found) == len(report.findings) + 1
    nodes = report.trees[0].nodes
    assert nodes[found[0]["node"]].id == report.findings[0].node_id
    assert nodes[found[0]["child"]].id == report.findings[0].evidence_child
    assert found[-1]["child"] == -1


def test_findings_on_the_text_of_another_build_are_left_out():
    below = leaf("c", "The lamp was lit. It burned oil.", 0)
    node = summary("s", "It was lit. It burned oil.", 1, [below])
    texts = [
        ("It burned oil.", "It burned oil."),
        ("It was dark.", ""),
        ("It was lit.", "At dusk."),
    ]
    findings = [
        SentenceFinding(node.id, text, "supported", 1.0, (), below.id, evidence)
        for text, evidence in texts
    ]
    assert published_findings(findings, [below, node]) == (findings[0],)
    assert published_findings(findings, [below]) == ()


def test_the_text_of_a_document_is_that_of_its_chunks_at_their_places():
    leaves = [leaf("a", "One.", 3), leaf("b", "Two.", 8), leaf("c", "Five.", 40)]
    (document,) = reassemble_documents([*leaves, summary("s", "All.", 1, leaves)])
    assert document.text == f"\n\n\nOne.\nTwo.\n\n…{'':23}\n\nFive."
    assert all(document.text[n.start : n.end] == n.text for n in leaves)


def test_new_nodes_are_marked_and_gone_ones_counted():
    report = lighthouse()
    ids = [node.id for node in report.trees[0].nodes]
    change = RebuildChange("2026-11-01T00:00:00+00:00", (ids[0],), 2)
    tree = tree_of(list(report.trees[0].nodes), change=change)
    values = values_of(Report("t", (tree,)))
    assert [node.get("w", 0) for node in values["nodes"]] == [1, 0, 0, 0, 0, 0, 0]
    assert values["trees"][0]["change"]["removed"] == 2


def test_settings_are_toml_without_secrets():
    import tomllib

    settings = Settings.model_validate(
        {
            "summarizer": {"kind": "openai", "base_url": "https://me:secret@host/v1"},
            "source": {"paths": ["s3://key:secret@bucket"]},
            "store": {"kind": "server", "url": "https://qdrant"},
        }
    )
    text = settings_text(settings)
    assert "secret" not in text
    found = tomllib.loads(text)
    assert found["chunking"]["max_tokens"] == settings.chunking.max_tokens
    assert found["summarizer"]["base_url"] == "https://***@host/v1"


def many(n_leaves):
    """A tree of short texts with vectors in clusters; seven children to a summary."""
    document, below = document_of([f"Leaf {at}." for at in range(n_leaves)])
    nodes, layer = list(below), 0
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_leaves // 300 + 2, 32))
    rows = centres[np.arange(n_leaves) // 300] + rng.normal(scale=0.5, size=(n_leaves, 32))
    vectors = dict(zip([node.embedding_key for node in below], rows, strict=True))
    while len(below) > 7:
        layer += 1
        groups = [below[at : at + 7] for at in range(0, len(below), 7)]
        below = [summary(f"{layer}.{n}", f"Of {n}.", layer, of) for n, of in enumerate(groups)]
        for node, of in zip(below, groups, strict=True):
            vectors[node.embedding_key] = sum(vectors[child.embedding_key] for child in of)
        nodes += below
    units = {key: (row / np.linalg.norm(row)).astype(np.float32) for key, row in vectors.items()}
    return nodes, document, units


@pytest.mark.slow
def test_the_same_nodes_stand_in_the_same_places_and_near_their_parents():
    nodes, _, vectors = many(5_000)
    points = compute_node_points(nodes, vectors)
    assert points.tobytes() == compute_node_points(nodes, vectors).tobytes()
    assert (points.min(), points.max()) == (0.0, 1.0)
    parents = first_parent_indices(nodes)
    leaves = np.array([node.is_leaf for node in nodes]) & (parents >= 0)
    gaps = np.linalg.norm(points[leaves] - points[parents[leaves]], axis=1)
    assert np.median(gaps) < 0.05


def test_a_node_without_a_vector_has_a_place():
    nodes = lighthouse().trees[0].nodes
    assert np.isfinite(compute_node_points(nodes, {})).all()
