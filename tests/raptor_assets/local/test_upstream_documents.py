"""A corpus whose documents an asset of the team's own gives."""

from types import SimpleNamespace

import dagster as dg
import pandas as pd
import pytest
from support.team import Team, follow
from support.workshop import prose

from raptor_assets.corpus.upstream import to_rows
from raptor_core import Document
from raptor_core.errors import SourceError
from raptor_core.settings import Settings

pytestmark = [
    pytest.mark.slow,
    # Resolving a sensor's jobs hands on a parameter that is in beta and not used here.
    pytest.mark.filterwarnings("ignore:Parameter `owners` of initializer:dagster.BetaWarning"),
]

UNCHANGED = "no file changed since the last request"


def test_partitions_of_the_upstream_are_one_source(tmp_path):
    regions = dg.StaticPartitionsDefinition(["north", "south"])

    @dg.asset(partitions_def=regions)
    def reports(context: dg.AssetExecutionContext):
        return [Document(id=context.partition_key, text=prose(8), title="A report")]

    team = Team(tmp_path, reports)
    for region in ("north", "south"):
        team.materialize(["reports"], partition_key=region)
    assert follow(team)["dagster/row_count"] == 2
    team.tick()
    assert sorted(team.instance.get_dynamic_partitions("wiki_trees")) == ["north", "south"]


def test_rows_of_what_teams_have():
    page = SimpleNamespace(id="p", page_content="Text.", metadata={"page": 3})

    def rows(value):
        return list(to_rows(value, Settings()))

    assert rows([page]) == [{"id": "p", "text": "Text.", "metadata": {"page": 3}}]
    assert rows({"text": "One."}) == [{"text": "One."}]
    assert rows({"2026-11-01": [{"text": "One."}], "2026-11-02": [{"text": "Two."}]}) == [
        {"text": "One."},
        {"text": "Two."},
    ]
    (row,) = rows([Document("d", "Text.", metadata={"readers": "ana"}, readers=("*",))])
    assert (row["readers"], row["metadata"]) == (("*",), {"readers": "ana"})  # a conflict is seen
    with pytest.raises(SourceError, match="several columns like 'readers'"):
        rows(pd.DataFrame([["One.", "ana", "*"]], columns=["text", "readers", "readers"]))
    with pytest.raises(SourceError, match="gave str; expected a data frame"):
        rows("a text")


def test_what_a_data_frame_lacks_is_null_and_not_a_text_like_nan():
    frame = pd.DataFrame(
        [
            {"id": "a", "text": "One.", "title": None, "year": 1999, "day": pd.Timestamp(0)},
            {"id": "b", "text": "Two.", "title": "B", "year": None, "day": pd.NaT},
        ]
    )
    first, second = to_rows(frame, Settings())
    assert (first["title"], first["year"]) == (None, 1999)
    assert second == {"id": "b", "text": "Two.", "title": "B", "year": None, "day": None}


class Pages:
    """A team whose asset gives a data frame of four pages, all built; its columns may change."""

    def __init__(self, root, **options):
        self.rows = {f"page-{n}": prose(8, seed=n) for n in range(4)}
        self.columns = ["id", "text"]

        @dg.asset
        def pages() -> pd.DataFrame:
            return pd.DataFrame(list(self.rows.items()), columns=self.columns)

        self.team = Team(root, pages, **options)
        assert "wiki/source was not materialized yet" in self.team.tick()
        self.first = self.follow()
        self.team.tick()

    def follow(self, **config):
        self.team.materialize(["pages"])
        run_config = {"ops": {"wiki_source": {"config": config}}}
        return self.team.materialize(["wiki", "source"], run_config=run_config)

    @property
    def published(self):
        return set(self.team.instance.get_dynamic_partitions("wiki_trees"))

    @property
    def kept(self):
        files = sorted((self.team.home / "source").iterdir())
        return {file.name: file.read_bytes() for file in files}


def test_a_data_frame_rebuilds_exactly_what_changed_and_losses_wait_for_a_person(tmp_path):
    pages = Pages(tmp_path)
    assert (pages.first["dagster/row_count"], pages.first["partitions_new"]) == (4, 4)
    assert pages.published == set(pages.rows)
    found = pages.follow()  # nothing changed
    assert [found[f"partitions_{kind}"] for kind in ("new", "changed", "removed")] == [0, 0, 0]
    assert pages.team.tick() == UNCHANGED
    pages.rows["page-1"] += "\n\nThe lantern was lit again."
    assert pages.follow()["partitions_changed"] == 1
    assert pages.team.tick() == ["page-1"]

    before, kept, rows = pages.published, pages.kept, pages.rows
    pages.rows = {}
    message = pages.follow()
    assert "upstream asset pages: it gave no row" in message
    assert "documents.jsonl" not in message
    pages.rows, pages.columns = rows, ["id", "body"]
    assert "without the column 'text'" in (message := pages.follow())
    assert "its columns: id, body" in message
    pages.rows, pages.columns = {"page-0": rows["page-0"]}, ["id", "text"]
    message = pages.follow()
    assert "3 of 4 published documents are gone" in message
    assert "confirm_removal: true" in message
    assert pages.kept == kept
    assert "pages was materialized after wiki/source" in pages.team.tick()
    assert pages.published == before
    assert pages.follow(confirm_removal=True)["partitions_removed"] == 3
    assert pages.team.tick() == [None]  # the drop job
    assert pages.published == {"page-0"}


def test_a_sync_refuses_documents_that_are_older_than_the_upstream_asset(tmp_path):
    rows = {"a": prose(6, seed=1)}

    @dg.asset
    def pages():
        return [{"id": key, "text": text} for key, text in rows.items()]

    team = Team(tmp_path, pages)
    sync = team.definitions.resolve_job_def("wiki_sync")

    def launch():
        done = sync.execute_in_process(instance=team.instance, raise_on_error=False)
        failures = done.get_step_failure_events() if not done.success else ()
        return [f.step_failure_data.user_failure_data.description for f in failures]

    (reason,) = launch()
    assert "wiki/source was not materialized yet" in reason
    assert "job over both" in reason
    team.materialize(["pages"])
    follow(team)
    assert launch() == []
    rows["b"] = prose(6, seed=2)
    team.materialize(["pages"])
    (reason,) = launch()
    assert "pages was materialized after wiki/source" in reason
    assert "pages was materialized after wiki/source" in team.tick()
    follow(team)
    assert launch() == []
    assert set(team.instance.get_dynamic_partitions("wiki_trees")) == {"a", "b"}


def test_a_folder_is_named_in_the_metadata(tmp_path):
    place = tmp_path / "day-1"
    place.mkdir()
    (place / "a.md").write_text(f"# A heading\n\n{prose(12)}")

    @dg.asset
    def download():
        return dg.MaterializeResult(metadata={"folder": str(place)})

    team = Team(tmp_path, download, upstream_path="folder")
    error = follow(team)
    assert "download was not materialized yet" in error
    team.materialize(["download"])
    assert follow(team)["paths"] == [str(place)]
    team.tick()
    assert team.instance.get_dynamic_partitions("wiki_trees") == ["a.md"]
