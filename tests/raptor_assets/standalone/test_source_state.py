"""The kept catalog comes back as it was, in parts; what is wrong with it costs a reading."""

import os
from pathlib import Path

import pandas as pd
import pytest

from raptor_assets.project import source_state
from raptor_assets.project.source_state import KEY, keep_look, load_catalog, look, save_catalog
from raptor_core.documents import Catalog, parser_fingerprint, scan_source
from raptor_core.settings import SourceSettings
from raptor_core.tables.files import TableStore

pytestmark = pytest.mark.usefixtures("later")


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(40):
        write(folder / f"{number}.txt", f"Number {number}.")
    return folder


@pytest.fixture
def settings(docs):
    return SourceSettings(paths=(str(docs),))


@pytest.fixture
def tables(tmp_path):
    return TableStore(str(tmp_path / "tables"))


@pytest.fixture
def in_parts(monkeypatch):
    """Few readings are many."""
    monkeypatch.setattr(source_state, "PART_DOCUMENTS", 8)


def write(path, text, modified=1000.0):
    path.write_text(text)
    os.utime(path, (modified, modified))


def kept(tables):
    """Bytes of the tables by name."""
    folder = Path(tables.path(KEY, "files")).parent
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def keep(tables, settings):
    """One look that is kept, and what it found."""
    scan = look(tables, settings)
    keep_look(tables, settings, scan)
    return scan


def test_what_was_kept_comes_back(tables, settings):
    scan = keep(tables, settings)
    assert load_catalog(tables, settings) == scan.catalog
    assert list(kept(tables)) == ["files.parquet"]
    again = look(tables, settings)
    assert (again.n_read, again.is_new) == (0, False)
    assert again.inventory == scan.inventory


@pytest.mark.usefixtures("in_parts")
def test_a_large_one_is_in_parts_and_an_edit_writes_one_of_them(tables, settings, docs):
    scan = keep(tables, settings)
    before = kept(tables)
    assert len(before) == 8
    assert load_catalog(tables, settings) == scan.catalog
    write(docs / "7.txt", "Edited.", 2000.0)
    scan = keep(tables, settings)
    assert scan.n_read == 1
    after = kept(tables)
    assert sum(after[name] != before[name] for name in before) == 1
    assert load_catalog(tables, settings) == scan.catalog


@pytest.mark.usefixtures("in_parts")
def test_it_grows_into_more_parts_and_never_into_fewer(tables, settings, docs):
    for path in sorted(docs.iterdir())[2:]:
        path.rename(path.with_suffix(".away"))
    keep(tables, settings.model_copy(update={"include": ("*.txt",)}))
    assert len(kept(tables)) == 1
    for path in docs.glob("*.away"):
        path.rename(path.with_suffix(".txt"))
    scan = keep(tables, settings)
    assert len(kept(tables)) == 8
    assert load_catalog(tables, settings) == scan.catalog
    for path in sorted(docs.iterdir())[2:]:
        path.unlink()
    scan = keep(tables, settings)
    assert len(kept(tables)) == 8
    assert load_catalog(tables, settings) == scan.catalog
    assert len(scan.catalog) == 2


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_damaged_part_is_read_anew_and_mended(tables, settings, is_first, damage):
    scan = keep(tables, settings)
    parts = kept(tables)
    others = parts.keys() - {"files.parquet"}
    name = "files.parquet" if is_first else max(others, key=lambda part: len(parts[part]))
    path = Path(tables.path(KEY, name.removesuffix(".parquet")))
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:100] if damage == "cut" else data[:50] + b"\xff" + data[51:])
    again = keep(tables, settings)
    assert 0 < again.n_read <= (40 if is_first else 20)
    assert again.inventory == scan.inventory
    assert look(tables, settings).n_read == 0


def test_a_catalog_of_an_earlier_version_is_none(tables, settings):
    frame = pd.DataFrame([("0" * 32, "[]")], columns=["file", "reading"])
    tables.write(KEY, "files", frame, {"parsers": "of then"})
    assert load_catalog(tables, settings) == Catalog()
    keep(tables, settings)
    assert look(tables, settings).n_read == 0


def test_other_fields_make_it_worthless(tables, settings):
    keep(tables, settings)
    other = settings.model_copy(update={"text_field": "body"})
    assert parser_fingerprint(other) != parser_fingerprint(settings)
    assert look(tables, other).n_read == 40


@pytest.mark.usefixtures("in_parts")
def test_of_two_processes_each_keeps_what_it_read(tables, settings, docs):
    keep(tables, settings)
    before = load_catalog(tables, settings)
    write(docs / "7.txt", "Edited by one.", 2000.0)
    first = scan_source(settings, before)
    write(docs / "8.txt", "Edited by the other.", 2000.0)
    write(docs / "7.txt", "Edited by one, again.", 3000.0)
    second = scan_source(settings, before)
    save_catalog(tables, settings, second.catalog, before)
    save_catalog(tables, settings, first.catalog, before)
    last = look(tables, settings)
    assert last.n_read <= 2
    assert last.inventory == second.inventory


@pytest.mark.usefixtures("in_parts")
def test_keeping_a_look_reads_no_part_but_the_first(tables, settings, docs, monkeypatch):
    keep(tables, settings)
    write(docs / "7.txt", "Edited.", 2000.0)
    scan = look(tables, settings)
    names, read = [], TableStore.read
    monkeypatch.setattr(TableStore, "read", lambda self, *v: names.append(v[-1]) or read(self, *v))
    keep_look(tables, settings, scan)
    assert names == ["files"]
    assert load_catalog(tables, settings) == scan.catalog


def test_a_look_without_changes_writes_nothing(tables, settings, monkeypatch):
    keep(tables, settings)
    monkeypatch.setattr(TableStore, "write", None)
    keep(tables, settings)


def test_the_next_catalog_is_the_given_one_where_nothing_changed(settings):
    first = scan_source(settings)
    assert first.is_new
    assert scan_source(settings, first.catalog).catalog is first.catalog
