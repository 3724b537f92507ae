"""Scans of a source: what is read, what the catalog holds, and that nothing is missed."""

import json
import os
import time

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from raptor_core.documents import (
    Catalog,
    Document,
    DocumentEntry,
    FileReading,
    Skipped,
    load_documents,
    parser_fingerprint,
)
from raptor_core.documents import scan_source as scan_at
from raptor_core.documents.sources.local import LocalSource
from raptor_core.documents.sources.remote import RemoteSource
from raptor_core.identity import digest
from raptor_core.settings import SourceSettings

NOW = time.time()
LATER = NOW + 3600


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "docs"
    for name in ("a.md", "b.txt", "sub/c.md"):
        write(root / name, f"Text of {name}.")
    return root


@pytest.fixture
def memory():
    files = fsspec.filesystem("memory")
    files.pipe({"/kb/a.md": b"First.", "/kb/b.md": b"Other."})
    yield files
    files.rm("/", recursive=True)


@pytest.fixture
def reads(monkeypatch):
    """Ids of the files that were read."""
    names = []
    for source in (LocalSource, RemoteSource):
        original = source._read

        def counted(self, file, original=original):
            names.append(file.id)
            return original(self, file)

        monkeypatch.setattr(source, "_read", counted)
    return names


def write(path, text, modified=1000.0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (modified, modified))


def of(path, **values):
    return SourceSettings(paths=(str(path),), **values)


def at(moment):
    return lambda: moment


def scan_source(settings, catalog=None, *, clock=lambda: LATER):
    """A scan long after the files were written, if nothing else is asked for."""
    return scan_at(settings, catalog, clock=clock)


def ids(scan):
    return [entry.id for entry in scan.inventory.documents]


def hashes(scan):
    return {entry.id: entry.content_hash for entry in scan.inventory.documents}


def test_new_and_removed_files_cost_no_other_reading(folder, reads):
    first = scan_source(of(folder))
    (folder / "b.txt").unlink()
    write(folder / "d.md", "New.")
    reads.clear()
    second = scan_source(of(folder), first.catalog)
    assert reads == ["d.md"]
    assert ids(second) == ["a.md", "d.md", "sub/c.md"]
    assert len(second.catalog) == 3


def stamped(memory, moment):
    """Make every file look as if it had been written at one moment."""
    from datetime import UTC, datetime

    for file in memory.store.values():
        file.created = file.modified = datetime.fromtimestamp(moment, tz=UTC)


def test_a_write_in_the_same_tick_of_the_clock_is_found(memory, reads):
    kb = of("memory://kb")
    stamped(memory, NOW)
    first = scan_source(kb, clock=at(NOW))
    memory.pipe("/kb/a.md", b"Fresh.")  # as long as it was
    stamped(memory, NOW)
    second = scan_source(kb, first.catalog, clock=at(NOW + 1))
    assert hashes(second) != hashes(first)
    third = scan_source(kb, second.catalog, clock=at(NOW + 30))
    assert third.inventory == second.inventory
    reads.clear()
    scan_source(kb, third.catalog, clock=at(NOW + 60))
    assert reads == []


def test_a_storage_s_own_version_is_believed(memory, reads, monkeypatch):
    versions = {"/kb/a.md": "1", "/kb/b.md": "1"}
    found = type(memory).find

    def with_etags(self, *args, **kwargs):
        listed = found(self, *args, **kwargs)
        return {path: {**info, "ETag": versions[path]} for path, info in listed.items()}

    monkeypatch.setattr(type(memory), "find", with_etags)
    kb = of("memory://kb")
    stamped(memory, NOW)
    first = scan_source(kb, clock=at(NOW))
    reads.clear()
    assert scan_source(kb, first.catalog, clock=at(NOW)).n_read == 0
    versions["/kb/b.md"] = "2"
    scan_source(kb, first.catalog, clock=at(NOW))
    assert reads == ["b.md"]


def test_an_unreadable_file_is_tried_and_reported_at_every_scan(folder, monkeypatch):
    write(folder / "bad.md", "\x00\x01\x02" * 500)
    original = LocalSource._read

    def refused(self, file):
        from raptor_formats.base import UnreadableError

        if file.id == "b.txt":
            raise UnreadableError("cannot be read: no")
        return original(self, file)

    monkeypatch.setattr(LocalSource, "_read", refused)
    first = scan_source(of(folder))
    assert ids(first) == ["a.md", "sub/c.md"]
    second = scan_source(of(folder), first.catalog)
    assert [item.name for item in second.inventory.skipped] == ["b.txt", "bad.md"]
    monkeypatch.setattr(LocalSource, "_read", original)
    third = scan_source(of(folder), second.catalog)
    assert (ids(third), third.n_read) == (["a.md", "b.txt", "sub/c.md"], 1)


def test_a_catalog_is_good_for_the_same_fields_only():
    def given_by(**values):
        return parser_fingerprint(SourceSettings(**values))

    assert given_by(paths=("a",), max_removed=0.9) == given_by(paths=("b",), exclude=("c",))
    table = {"table": "t"}
    assert given_by(tables=({"url": "sqlite://", **table},)) == given_by(
        tables=({"url_env": "X", **table},)
    )
    different = [{}, {"text_field": "body"}, {"max_file_mb": 1}, {"encoding": "cp1250"}]
    different.append({"tables": ({"url": "sqlite://", **table, "text_field": "body"},)})
    assert len({given_by(**values) for values in different}) == 5


NAMES = ["a.md", "b.md", "sub/a.md", "t.jsonl"]
ACTS = st.tuples(
    st.sampled_from(["write", "touch", "remove", "rename"]),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.sampled_from(["aa", "bb", "ccc"]),
)


@pytest.mark.slow
@examples(60)
@given(st.lists(ACTS, min_size=1, max_size=12))
def test_a_catalog_never_changes_what_is_found(tmp_path_factory, acts):
    root = tmp_path_factory.mktemp("docs")
    write(root / "stays.md", "Stays.")
    catalog = Catalog()
    for act, name, other, text in acts:
        path = root / name
        if act == "write":
            write(path, json.dumps({"id": name + text, "text": text}))
        elif path.exists() and act == "touch":
            os.utime(path)
        elif path.exists() and act == "remove":
            path.unlink()
        elif path.exists():
            (root / other).parent.mkdir(exist_ok=True)
            path.rename(root / other)
        scan = scan_at(of(root), catalog)
        catalog = scan.catalog
        assert scan.inventory == scan_source(of(root)).inventory
    found = [(e.id, e.content_hash, e.version) for e in scan.inventory.documents]
    documents = load_documents(root).documents
    assert found == [(d.id, d.content_hash, d.version) for d in documents]


TEXTS = st.text(st.characters(), max_size=12)
"""Lone surrogates and NUL included."""


def entry(name, text=""):
    return DocumentEntry.from_document(Document(name, text or name))


def reading(*named, skipped=()):
    return FileReading(digest("stamp"), digest("content"), True, tuple(named), tuple(skipped))


@examples(30)
@given(st.lists(st.tuples(TEXTS, TEXTS)), st.lists(st.builds(Skipped, TEXTS, TEXTS, st.booleans())))
def test_a_reading_in_a_row_is_read_as_it_was(named, skipped):
    pairs = [(name, entry(document_id)) for name, document_id in named]
    catalog, copy = Catalog({b"a": reading(*pairs, skipped=skipped)}), Catalog()
    copy.add_rows(catalog.rows())
    assert copy == catalog
    assert copy[b"a"].document_ids == [found.id for _, found in pairs]
