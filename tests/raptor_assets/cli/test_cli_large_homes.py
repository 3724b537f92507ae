"""A home of many trees is shown by partition, and each tree by the page of its partition."""

import re

import pytest
from support.browser import chromium
from support.command import raptor
from support.serving import serving

from raptor_assets.home.folder import Home
from raptor_assets.serving.window import corpus_values
from raptor_core.store import open_store
from raptor_core.store.store import VectorStore

pytestmark = [pytest.mark.slow, pytest.mark.rare]

N_DOCUMENTS = 24


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    root = tmp_path_factory.mktemp("large")
    (root / "docs").mkdir()
    for at in range(N_DOCUMENTS):
        text = f"# Gauge {at}\n\nGauge {at} stood {at + 3} feet above the quay in {1800 + at}."
        (root / "docs" / f"gauge-{at:02d}.md").write_text(text)
    home = root / "home"
    assert raptor("init", root / "docs", "--home", home).code == 0
    settings = home / "raptor.toml"
    settings.write_text(settings.read_text().replace("[grouping]", "[grouping]\nshards = 3"))
    assert raptor("build", "--home", home, "--json").code == 0
    return home


@pytest.fixture
def limited(monkeypatch, large):
    """The home, which has more trees than are listed."""
    for module in ("raptor_assets.local.status", "raptor_assets.serving.window"):
        monkeypatch.setattr(f"{module}.LISTED_TREES", N_DOCUMENTS - 1)
    return large


@pytest.fixture
def unread(monkeypatch):
    """Manifests and titles that are read, by the number of trees asked for; None is all."""
    asked = []

    def counting(method):
        def read(store, trees=None):
            asked.append(None if trees is None else len(trees))
            return method(store, trees)

        return read

    for name in ("manifests", "titles"):
        monkeypatch.setattr(VectorStore, name, counting(getattr(VectorStore, name)))
    return asked


def test_status_of_a_large_home_lists_partitions_and_reads_no_manifest(limited, unread):
    values = raptor("status", "--json", "--check", "--home", limited).json
    assert unread == []
    assert values["trees"] == []
    assert values["n_trees"] == N_DOCUMENTS
    assert [part["name"] for part in values["partitions"]] == [f"shard-000{n}" for n in range(3)]
    assert sum(part["n_trees"] for part in values["partitions"]) == N_DOCUMENTS
    assert all(part["checks"] for part in values["partitions"])
    printed = raptor("status", "--home", limited).out
    assert "gauge-00.md" not in printed
    assert f"{N_DOCUMENTS} trees, {N_DOCUMENTS} nodes" in printed


def test_status_says_that_the_store_and_the_tables_differ(limited, monkeypatch):
    monkeypatch.setattr("raptor_assets.local.status.LISTED_TREES", N_DOCUMENTS - 2)
    home, settings = Home.open(limited)
    with open_store(settings.store, home.qdrant) as store:
        removed = store.manifests()[0]
        nodes = store.nodes()
        vectors = store.vectors(node.embedding_key for node in nodes)
        store.drop(removed.tree)
    try:
        printed = raptor("status", "--home", limited).out
    finally:
        kept = [node for node in nodes if node.tree == removed.tree]
        with open_store(settings.store, home.qdrant) as store:
            store.publish(removed, kept, vectors)
    assert "the store contains 1 fewer trees than the tables" in printed
    assert "differ" not in raptor("status", "--home", limited).out


def test_the_corpus_page_lists_partitions_and_reads_the_trees_of_one(limited, unread):
    home, settings = Home.open(limited)
    with open_store(settings.store, home.qdrant) as store:
        overview = corpus_values(home, settings, store)
        assert unread == [0]
        unread.clear()
        part = corpus_values(home, settings, store, "shard-0001")
    counts = {row["name"]: row["n_trees"] for row in overview["trees"]}
    assert sum(counts.values()) == N_DOCUMENTS
    assert unread == [counts["shard-0001"]] * 2
    assert len(part["trees"]) == counts["shard-0001"]
    assert {row["partition"] for row in part["trees"]} == {"shard-0001"}
    assert all(row["title"].startswith("Gauge ") and row["checks"] for row in part["trees"])


def test_a_partition_is_read_in_a_browser_tree_by_tree(large):
    with serving(large) as address, chromium() as browser:
        page = browser.new_page()
        page.goto(f"{address}/#corpus=shard-0001")
        page.locator(".tree-row").first.wait_for()
        row = page.locator(".tree-row").first.inner_text()
        assert re.match(r"Gauge \d+\ngauge-\d+.md\n", row)
        assert re.search(r"checks of its partition( failed)?\n0 USD for its last build", row)
        told = page.locator(".failed .meta").all_inner_texts()
        assert len(set(told)) == len(told)
        page.get_by_role("link", name="All partitions").click()
        page.locator(".tree-row").nth(N_DOCUMENTS - 1).wait_for()
