"""The kept catalog comes back as it was; what is wrong with it costs a reading."""

import os
from pathlib import Path

import pytest

from raptor_assets.home.source_state import KEY, keep_look, look
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


def write(path, text, modified=1000.0):
    path.write_text(text)
    os.utime(path, (modified, modified))


def keep(tables, settings):
    """One look that is kept, and what it found."""
    scan = look(tables, settings)
    keep_look(tables, settings, scan)
    return scan


@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_a_damaged_one_is_read_anew_and_mended(tables, settings, damage):
    scan = keep(tables, settings)
    path = Path(tables.path(KEY, "files"))
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:100] if damage == "cut" else data[:50] + b"\xff" + data[51:])
    again = keep(tables, settings)
    assert again.n_read == 40
    assert again.inventory == scan.inventory
    assert look(tables, settings).n_read == 0
