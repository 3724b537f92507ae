"""A corpus whose chunks an upstream asset of the team gives."""

import dagster as dg
import pandas as pd
import pytest
from support.team import Team, follow
from support.workshop import TWO_LAYERS, prose

from raptor_assets import RaptorCorpusComponent
from raptor_core import Query
from raptor_core.home import HomeRetriever
from raptor_core.store.base import Where

pytestmark = [
    pytest.mark.slow,
    # Resolving a sensor's jobs hands on a parameter that is in beta and not used here.
    pytest.mark.filterwarnings("ignore:Parameter `owners` of initializer:dagster.BetaWarning"),
]

N_CHUNKS = 16
UNCHANGED = "no file changed since the last request"
PAGES = ("page-0", "page-1", "page-2")


class Splits:
    """A team whose asset gives the chunks of three pages as a data frame, last chunk first."""

    def __init__(self, root):
        self.rows = [
            {
                "document": f"page-{page}",
                "id": f"{page}:{position}",
                "position": position,
                "text": f"{prose(2, seed=100 * page + position)} Entry {position}.",
                "title": f"Page {page}",
                "heading": f"Part {position // 4}",
                "readers": ["group:sea"],
            }
            for page in range(3)
            for position in reversed(range(N_CHUNKS))
        ]

        @dg.asset
        def chunks() -> pd.DataFrame:
            return pd.DataFrame(self.rows)

        self.team = Team(root, chunks, "chunks", **TWO_LAYERS)

    def follow(self):
        self.team.materialize(["chunks"])
        return follow(self.team)

    def row(self, name):
        (row,) = (row for row in self.rows if row["id"] == name)
        return row

    def counts(self, page):
        """Computed vectors and written summaries of a page's latest build, by layer."""

        def number(kind, layer, name):
            key = dg.AssetKey(["wiki", f"layer_{layer}", kind])
            query = dg.AssetRecordsFilter(key, asset_partitions=[page])
            (record,) = self.team.instance.fetch_materializations(query, limit=1).records
            return record.asset_materialization.metadata[name].value

        embedded = [number("embeddings", layer, "n_computed") for layer in range(3)]
        return embedded, [number("summaries", layer, "n_made") for layer in (1, 2)]

    def read(self, call):
        """Return what a call gets from a retriever over the published trees."""
        retriever = HomeRetriever(self.team.home)
        try:
            return call(retriever)
        finally:
            retriever.close()

    def leaves(self, page):
        return [n for n in self.read(lambda home: home.nodes(page)) if n.is_leaf]


@pytest.fixture
def splits(tmp_path):
    splits = Splits(tmp_path)
    followed = splits.follow()
    assert (followed["dagster/row_count"], followed["partitions_new"]) == (3, 3)
    splits.team.tick()
    return splits


def test_leaves_are_the_chunks_in_order_and_an_edit_rebuilds_its_ancestors_alone(splits):
    for number, page in enumerate(PAGES):
        rows = [splits.row(f"{number}:{position}") for position in range(N_CHUNKS)]
        leaves = splits.leaves(page)
        assert [leaf.text for leaf in leaves] == [row["text"] for row in rows]
        assert {leaf.metadata["title"] for leaf in leaves} == {f"Page {number}"}
        for name, column in (("chunk_id", "id"), ("heading", "heading")):
            assert [leaf.metadata[name] for leaf in leaves] == [row[column] for row in rows]
        assert splits.counts(page) == ([16, 4, 1], [4, 1])

    query = Query(where=Where(metadata={"chunk_id": "2:7"}))
    (hit,) = splits.read(lambda home: home.search("Entry", query)).hits
    assert hit.node.text == splits.row("2:7")["text"]
    (span,) = splits.read(lambda home: home.trace(hit.node.id)).spans
    assert (span.document, span.chunk_id) == ("page-2", "2:7")

    splits.rows.reverse()  # another order of rows is no change
    assert splits.follow()["partitions_changed"] == 0
    assert splits.team.tick() == UNCHANGED

    before = {page: splits.counts(page) for page in ("page-0", "page-2")}
    splits.row("1:5")["text"] = "The lantern was lit again."
    assert splits.follow()["partitions_changed"] == 1
    assert splits.team.tick() == ["page-1"]
    assert splits.counts("page-1") == ([1, 1, 1], [1, 1])
    assert {page: splits.counts(page) for page in before} == before
    texts = {leaf.metadata["chunk_id"]: leaf.text for leaf in splits.leaves("page-1")}
    assert texts["1:5"] == "The lantern was lit again."
    assert len(texts) == N_CHUNKS

    # Another id is another leaf of the same text, which calls no model.
    splits.row("1:5")["id"] = "renamed"
    assert splits.follow()["partitions_changed"] == 1
    splits.team.tick()
    assert splits.counts("page-1") == ([0, 0, 0], [0, 0])
    assert splits.leaves("page-1")[5].metadata["chunk_id"] == "renamed"


def test_rows_that_name_no_chunk_fail_and_the_last_source_stays(tmp_path):
    splits = Splits(tmp_path)
    splits.follow()
    kept = (splits.team.home / "source" / "documents.jsonl").read_bytes()
    splits.row("0:3")["document"] = None
    row = 1 + splits.rows.index(splits.row("0:3"))
    assert f"upstream asset chunks: row {row} has the document None" in splits.follow()
    for row in splits.rows:
        del row["position"]
    message = splits.follow()
    assert "row 1 lacks 'position'; a chunk has id, document, position and text" in message
    assert "its columns: document, id, text" in message
    assert (splits.team.home / "source" / "documents.jsonl").read_bytes() == kept


@pytest.mark.parametrize("parameter", ["chunks", "upstream"])
def test_a_component_names_an_asset_by_its_key(tmp_path, parameter):
    @dg.asset(key_prefix="team")
    def pages():
        return []

    component = RaptorCorpusComponent(name="wiki", home=str(tmp_path), **{parameter: "team/pages"})
    corpus = dg.build_defs_for_component(component)
    graph = dg.Definitions.merge(dg.Definitions([pages]), corpus).resolve_asset_graph()
    assert graph.get(dg.AssetKey(["wiki", "source"])).parent_keys == {pages.key}
