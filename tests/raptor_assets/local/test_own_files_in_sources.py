"""Homes, exports, tables and pages in a source never become documents, wherever they stand."""

import json
import shutil

import pandas as pd
import pytest
from support.workshop import Workshop, prose

from raptor_assets.corpus.changes import PartitionChange
from raptor_assets.local.transfer import export_home
from raptor_assets.serving.window import read_report
from raptor_core.documents import load_documents
from raptor_core.errors import EmptySourceError
from raptor_core.report.page import render_report
from raptor_core.settings import SourceSettings
from raptor_core.tables.files import TableStore
from raptor_core.tree.preview import Previews

pytestmark = pytest.mark.slow

DOCUMENTS = {"a.md", "guide/b.md"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A home with a corpus tree and pages, and an export of it."""
    root = tmp_path_factory.mktemp("made")
    workshop = Workshop(root, corpus_tree={"enabled": True, "min_trees": 2})
    for name in DOCUMENTS:
        workshop.write(name, prose(24, seed=len(name)))
    workshop.home.create(sources=[str(workshop.docs)])
    report = workshop.build()
    assert not report.failed
    export_home(workshop.home, workshop.settings, str(root / "export"))
    with workshop.access().store.open() as store:
        for number, name in enumerate(sorted(DOCUMENTS)):
            report = read_report(workshop.home, workshop.settings, store, name, with_map=False)
            (root / f"{number}.html").write_text(render_report(report), encoding="utf-8")
    return root


@pytest.fixture
def docs(made, tmp_path):
    """A source of two documents."""
    shutil.copytree(made / "docs", tmp_path / "docs")
    return tmp_path / "docs"


def put_home(made, docs):
    shutil.copytree(made / ".raptor", docs / "data")


def put_home_with_its_corpus_tree(made, docs):
    put_home(made, docs)
    (docs / "data" / "golden.toml").write_text("")
    folder = docs / "data" / "corpus_tree" / "source"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "documents.jsonl").write_text(json.dumps({"id": "top", "text": "A summary."}))
    (folder / "source.json").write_text(json.dumps({"rows": "documents.jsonl"}))


def put_tables(made, docs):
    shutil.copytree(made / ".raptor" / "tables", docs / "elsewhere" / "parquet")


def put_pages(made, docs):
    for path in made.glob("*.html"):
        shutil.copy(path, docs / f"page of {path.name}")
        shutil.copy(path, docs / f"page of {path.stem}.htm")


def put_page_that_a_browser_saved(made, docs):
    (path, *_) = made.glob("*.html")
    mark = '<meta charset="utf-8">'
    saved = "<!-- saved from url=(0042)file:///home/ada/reports/a.html -->"
    kind = '<meta http-equiv="Content-Type" content="text/html; charset=UTF-8">'
    page = path.read_text().replace("<html", f"{saved}\n<html", 1).replace(mark, kind + mark, 1)
    (docs / "saved.html").write_text(page)


def put_archive(made, docs):
    shutil.make_archive(str(docs / "backup"), "zip", made / "export")


def put_export(made, docs):
    shutil.copytree(made / "export", docs / "backups" / "monday")


def put_export_beside_documents(made, docs):
    shutil.copytree(made / "export", docs, dirs_exist_ok=True)


def put_table_of_a_team(made, docs):
    tables = TableStore(str(docs / "tables"))
    tables.write(["assets", "answers"], "all", pd.DataFrame({"id": ["t"], "text": ["A summary."]}))


PLACES = [
    *(put_home_with_its_corpus_tree, put_tables, put_pages, put_page_that_a_browser_saved),
    *(put_archive, put_export, put_export_beside_documents, put_table_of_a_team),
]


def ids(source, **settings):
    documents = load_documents(source, settings=SourceSettings(**settings)).documents
    return {document.id for document in documents}


@pytest.mark.parametrize("put", PLACES, ids=lambda put: put.__name__)
def test_a_folder_gives_the_same_documents_with_them_as_without(made, docs, put):
    assert ids(docs) == DOCUMENTS
    put(made, docs)
    assert ids(docs) == DOCUMENTS


def test_files_that_are_left_out_are_reported(made, docs, tmp_path):
    put_home(made, docs)
    put_export(made, docs)
    put_pages(made, docs)
    previews = Previews([docs], Workshop(tmp_path / "other").components)
    assert {preview.document for preview in previews} == DOCUMENTS
    assert "is a home of raptor" in next(x.reason for x in previews.omitted if x.name == "data/")
    skipped = {item.reason for item in previews.skipped if not item.kind}
    assert skipped == {"is a page that raptor wrote", "is a table that raptor wrote"}


def test_a_source_that_holds_a_home_beside_documents_says_so_and_loses_none(made, docs):
    shutil.copytree(made / ".raptor", docs, dirs_exist_ok=True)
    with pytest.raises(EmptySourceError, match="keep documents in another folder"):
        load_documents(docs)
    (skipped,) = load_documents(docs, docs / "a.md").skipped
    assert not skipped.is_empty


def test_builds_with_the_home_in_the_source_come_to_rest(tmp_path):
    workshop = Workshop(tmp_path)
    workshop.home = type(workshop.home)(workshop.docs / "data")
    tables = {"url": str(workshop.docs / "parquet")}
    workshop.configure(tables=tables)
    workshop.home.create(sources=[str(workshop.docs)])
    workshop.write("a.md", prose(24, seed=1))
    assert workshop.build().changes.partitions_in(PartitionChange.NEW) == ("a.md",)
    export_home(workshop.home, workshop.settings, str(workshop.docs / "export"))
    for _ in range(2):
        report = workshop.build()
        assert (report.changes.to_build, report.changes.partitions_in(PartitionChange.REMOVED)) == (
            (),
            (),
        )
    assert set(workshop.manifests()) == {"a.md"}


def test_a_table_that_the_source_names_is_read(docs):
    put_table_of_a_team(None, docs)
    (path,) = (docs / "tables").rglob("*.parquet")
    assert ids(path) == {"t"}
    assert ids(f"file://{path}") == {"t"}
    assert ids(docs) == DOCUMENTS
