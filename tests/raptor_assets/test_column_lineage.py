"""Where the columns of assets come from, and the documents: what catalogs of data read."""

import pytest

from raptor_assets import keys, names
from raptor_assets.metadata import documents_metadata
from raptor_assets.specs import column_lineage, column_schema
from raptor_core.documents.base import Corpus, Document


def columns_of(key):
    source = key.to_user_string() == names.SOURCE
    return {"text"} if source else {column.name for column in column_schema(key).columns}


@pytest.mark.parametrize("follows", [False, True])
def test_columns_come_from_columns_that_stand_upstream(follows):
    corpus = names.CorpusNames("handbook")
    for key, upstream in keys.dependencies(3, follows=follows).items():
        lineage = column_lineage(key, upstream, corpus).deps_by_column
        assert bool(lineage) == bool(upstream)
        shown = {keys.shown(corpus, parent): columns_of(parent) for parent in upstream}
        assert lineage.keys() <= columns_of(key)
        for dep in (dep for column in lineage.values() for dep in column):
            assert dep.column_name in shown[dep.asset_key]


@pytest.mark.parametrize(
    ("paths", "source", "uri"),
    [
        (["/srv/docs"], "a b/c.md", "file:///srv/docs/a%20b/c.md"),
        (["/srv/docs/c.md"], "c.md", "file:///srv/docs/c.md"),
        (["s3://bucket/docs/"], "c.md", "s3://bucket/docs/c.md"),
        (["https://example.org/c.html"], "https://example.org/c.html", None),
        (["/srv/docs", "/srv/more"], "c.md", ""),
        (["/srv/docs"], "", ""),
    ],
)
def test_a_partitions_only_document_has_the_uri_of_its_file(paths, source, uri):
    trees = {"t": [Document("c", "text", source=source)]}
    metadata = documents_metadata(trees, Corpus([]), paths)
    assert metadata.get("uri", "") == (source if uri is None else uri)


def test_a_partition_of_several_documents_has_no_uri():
    trees = {"t": [Document(name, "text", source=f"{name}.md") for name in "ab"]}
    assert "uri" not in documents_metadata(trees, Corpus([]), ["/srv/docs"])
