"""Files of a home that were lost or changed on disk are reported and mended, never misread."""

import random
import shutil

import pytest
from support.homes import copy_home, put_back
from support.workshop import Workshop, prose

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_core.errors import DamagedTableError, RaptorError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A home with two published trees, what readers see of it, and a copy of its files."""
    root = tmp_path_factory.mktemp("damaged")
    workshop = Workshop(root)
    workshop.write("a.md", prose(40, seed=1))
    workshop.write("b.md", prose(40, seed=2))
    assert workshop.build().succeeded
    copy_home(workshop.home.path, root / "copy")
    return workshop, seen(workshop), root / "copy"


@pytest.fixture
def home(kept):
    """The workshop as it was built, and what readers saw then."""
    workshop, before, copy = kept
    workshop.write("a.md", prose(40, seed=1))
    workshop.write("b.md", prose(40, seed=2))
    put_back(workshop.home.path, copy)
    return workshop, before


def seen(workshop):
    with workshop.access().store.open() as store:
        nodes = store.nodes()
        vectors = store.vectors(node.embedding_key for node in nodes)
        builds = [(manifest.tree, manifest.build_id) for manifest in store.manifests()]
    return nodes, {key: vector.tobytes() for key, vector in vectors.items()}, builds


def change(path, bit=64):
    """Flip one bit in the middle of what is not zero in a file."""
    data = bytearray(path.read_bytes())
    filled = [at for at, byte in enumerate(data) if byte]
    data[filled[len(filled) // 2]] ^= bit
    path.write_bytes(data)


def engine_file(workshop, name):
    """The file of the engine with this name that holds most."""
    found = [path for path in workshop.home.embedded_store_path.rglob(name) if path.is_file()]
    return max(found, key=lambda path: len(path.read_bytes().rstrip(b"\0")))


def test_a_store_that_was_lost_is_built_again_from_the_tables(home):
    workshop, before = home
    shutil.rmtree(workshop.home.embedded_store_path)
    report = workshop.build()
    assert (report.built, report.failed) == (["a.md", "b.md"], {})
    assert report.n_produced_by_asset["layer_1/summaries"] == 0
    assert seen(workshop) == before
    assert workshop.build().built == []


@pytest.mark.rare
def test_a_store_put_back_from_an_older_copy_is_brought_up_to_date(home, tmp_path):
    workshop, _ = home
    copy_home(workshop.home.embedded_store_path, tmp_path / "older")
    workshop.write("a.md", prose(40, seed=3))
    workshop.build()
    after = seen(workshop)
    put_back(workshop.home.embedded_store_path, tmp_path / "older")
    assert workshop.build().built == ["a.md"]
    assert seen(workshop)[2] == after[2]


def test_nodes_that_the_engine_lost_are_missed_by_the_next_build(home):
    workshop, before = home
    path = engine_file(workshop, "*id_tracker.mappings")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert seen(workshop) != before
    report = workshop.build()
    assert report.built
    assert report.succeeded
    assert seen(workshop) == before


def test_a_table_that_changed_is_named_and_made_anew_once_it_is_removed(home):
    workshop, before = home
    tables = sorted(workshop.home.tables.rglob("*.parquet"))
    assert len(tables) > 12
    rng = random.Random(1)
    for path in tables:
        change(path, 1 << rng.randrange(8))
    with pytest.raises(DamagedTableError, match="force"):
        workshop.access().tables.read(CHAIN_NAMES.documents.table_path, "a.md")
    report = workshop.build(force=True)
    assert set(report.failed) == {"a.md", "b.md"}
    for path in tables:
        path.unlink()
    report = workshop.build(force=True)
    assert (report.built, report.failed) == (["a.md", "b.md"], {})
    assert seen(workshop) == before
    tables = workshop.access().tables
    assert len(tables.read(CHAIN_NAMES.documents.table_path, "a.md"))


@pytest.mark.parametrize(
    "name", ["identity.json", pytest.param("version.info", marks=pytest.mark.rare)]
)
def test_a_damaged_file_of_the_store_is_named_and_nothing_is_published(home, name):
    workshop, before = home
    path = next(workshop.home.embedded_store_path.rglob(name))
    whole = path.read_bytes()
    path.write_bytes(b"\xff" * max(200, len(whole)))
    workshop.write("a.md", prose(40, seed=4))
    try:
        report = workshop.build()
        refusal = " ".join(failure.reason for failure in report.failed.values())
        assert not report.built
    except RaptorError as error:
        refusal = str(error)
    assert str(workshop.home.embedded_store_path) in refusal
    path.write_bytes(whole)
    assert seen(workshop)[0] == before[0]
    assert workshop.build().built == ["a.md"]


def test_an_engine_that_does_not_open_is_made_anew_by_the_remedy_of_the_error(home):
    workshop, before = home
    next(workshop.home.embedded_store_path.rglob("segment.json")).write_text("{")
    with pytest.raises(RaptorError, match=r"move \S*qdrant/corpus away"):
        workshop.build()
    shutil.rmtree(workshop.home.embedded_store_path / "corpus")
    report = workshop.build()
    assert report.built == ["a.md", "b.md"]
    assert report.n_produced_by_asset["layer_1/summaries"] == 0
    assert seen(workshop) == before
