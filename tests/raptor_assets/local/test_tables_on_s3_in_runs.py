"""A home whose tables lie on an S3 server: what teams do with it."""

import pytest
from support.command import Place, embedder_made_by
from support.hashing import HashingEmbedder
from support.object_store import SECRET, forget_connections
from support.workshop import prose, settings_text

pytestmark = pytest.mark.slow


@pytest.fixture
def bucket(s3):
    return s3.new_bucket()


@pytest.fixture
def place(bucket, tmp_path):
    """A home with one document and its tables in the bucket."""
    made = Place(tmp_path)
    made.write("a.md", prose(8, seed=1))
    made.home.mkdir()
    made.settings.write_text(settings_text(made.docs, tables={"url": f"s3://{bucket}/raptor"}))
    return made


def test_build_rebuild_query_report_and_drop(s3, place, bucket, tmp_path):
    place.write("b.md", prose(8, seed=2))
    embedder = HashingEmbedder()
    with embedder_made_by(lambda *_: embedder):
        assert place.call("build", "--json").json["built"] == ["a.md", "b.md"]
        first = s3.keys(bucket)
        assert not list((place.home / "tables").rglob("*.parquet"))
        made = embedder.n_embedded
        assert place.call("build", "--json").json["unchanged"] == ["a.md", "b.md"]
        assert embedder.n_embedded == made
        place.write("b.md", prose(8, seed=2) + "\n\nA lighthouse burned rape oil.")
        assert place.call("build", "--json").json["built"] == ["b.md"]
        found = place.call("query", "lighthouse rape oil", "--top-k", "1", "--json").json
        assert "rape oil" in found["nodes"][0]["text"]
        tree = place.call("tree", "b.md", "--json")
        assert tree.code == 0, tree
        page = tmp_path / "b.html"
        report = place.call("report", "b.md", "--output", page)
        assert report.code == 0, report
        assert "rape oil" in page.read_text()
        assert place.call("status", "--json", "--cost").json["costs"].keys() == {"a.md", "b.md"}
        assert place.call("drop", "b.md", "--yes").code == 0
    left = s3.keys(bucket)
    assert any("/a.md" in key for key in left)
    assert not any("/b.md" in key for key in left)
    assert left < first


def test_a_server_that_is_gone_stops_the_build_before_anything_is_lost(place, monkeypatch):
    with embedder_made_by(lambda *_: HashingEmbedder()):
        assert place.call("build").code == 0
        place.write("a.md", prose(9))
        with monkeypatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
            forget_connections()
            failed = place.call("build")
            assert failed.code == 1, failed
            assert "does not answer" in failed.err
            assert SECRET not in failed.out + failed.err
            assert place.call("query", "river", "--json").json["nodes"]
        forget_connections()
        assert place.call("build", "--json").json["built"] == ["a.md"]
