"""A home, a place of tables and a collection belong to one corpus; another one is refused."""

import fcntl
from dataclasses import replace

import dagster as dg
import pytest
from support.command import embedder_made_by, raptor
from support.hashing import HashingEmbedder
from support.stand_ins import stand_in
from support.stores import IDENTITY, NEWER, make_tree, open_at, publish
from support.workshop import SMALL, prose

from raptor_assets import build_raptor_corpus
from raptor_assets.assets.names import CorpusNames
from raptor_assets.home.folder import Home
from raptor_assets.local.dagster import open_instance_and_clean_up
from raptor_core.errors import RaptorError, SettingsError, StoreMismatchError
from raptor_core.settings import Settings

__all__ = ["stand_in"]


@pytest.fixture
def home(tmp_path):
    """A home that the corpus "handbook" of a project has built into."""
    home = Home(tmp_path / "home")
    home.write_declaration(CorpusNames("handbook", "handbook"), Settings())
    return home


def files_of(home):
    return {path: path.read_bytes() for path in home.path.rglob("*") if path.is_file()}


def test_another_corpus_is_refused_where_definitions_load(home):
    before = files_of(home)
    with pytest.raises(SettingsError, match=r"belongs to the corpus 'handbook'.*'wiki'.*another"):
        build_raptor_corpus("wiki", home=home.path)
    assert files_of(home) == before
    changed = {"source": {"paths": ["elsewhere"]}, "chunking": {"max_tokens": 50}}
    assert build_raptor_corpus("handbook", home=home.path, key_prefix="docs", **changed)
    home.path.rename(home.path.with_name("moved"))
    assert build_raptor_corpus("handbook", home=home.path.with_name("moved"))


def test_a_home_of_the_command_is_refused_to_a_project(tmp_path):
    home = Home(tmp_path / "home")
    home.create()
    with pytest.raises(SettingsError, match=r"a home of the raptor command.*raptor\.toml"):
        build_raptor_corpus("wiki", home=home.path)
    home.settings_path.rename(tmp_path / "raptor.toml")
    assert build_raptor_corpus("wiki", tmp_path / "raptor.toml", home=home.path)


@pytest.mark.parametrize("command", ["init", "build"])
def test_the_command_writes_no_settings_into_a_home_of_a_project(home, command, tmp_path):
    before = files_of(home)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(prose(9))
    done = raptor(command, tmp_path / "docs", "--home", home.path)
    assert (done.code, "belongs to the corpus 'handbook'" in done.err) == (3, True)
    assert files_of(home) == before


def test_two_new_corpora_of_one_code_location_share_nothing_that_each_writes(tmp_path):
    shared = {
        "home": {"home": tmp_path / "home"},
        "tables.url": {"tables": {"url": "memory://tables"}},
        "store.corpus 'docs'": {
            "store": {"kind": "server", "url": "http://127.0.0.1:1", "corpus": "docs"},
        },
    }
    for place, given in shared.items():
        first = build_raptor_corpus("handbook", **{"home": tmp_path / "a", **given})
        with pytest.raises(SettingsError, match=f"'handbook' and 'wiki' have the same {place}"):
            build_raptor_corpus("wiki", **{"home": tmp_path / "b", **given})
        assert build_raptor_corpus("handbook", **{"home": tmp_path / "a", **given})
        del first


@pytest.mark.slow
def test_a_run_writes_nothing_into_a_home_that_became_another_s(tmp_path):
    """Two projects define a new home at the same time, and one of them builds first."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(prose(16))
    source = {"paths": [str(tmp_path / "docs")]}
    with embedder_made_by(lambda *_: HashingEmbedder()), dg.instance_for_test() as instance:
        corpus = build_raptor_corpus("wiki", home=tmp_path / "home", source=source, **SMALL)
        home = Home(tmp_path / "home")
        home.write_declaration(CorpusNames("handbook"), Settings())
        before = files_of(home)
        instance.add_dynamic_partitions("wiki_trees", ["a.md"])
        job = corpus.resolve_job_def("wiki_build")
        result = job.execute_in_process(
            instance=instance, partition_key="a.md", raise_on_error=False
        )
        (failure,) = result.get_step_failure_events()
        assert "belongs to the corpus 'handbook'" in failure.step_failure_data.error.cause.message
        assert files_of(home) == before


def test_a_collection_on_a_server_belongs_to_the_corpus_that_made_it(stand_in):
    server = {"kind": "server", "url": stand_in.url}
    with open_at(None, **server, owner="handbook") as store:
        publish(store, make_tree())
    for owner, name in (("wiki", "corpus 'wiki'"), ("", "a home of the raptor command")):
        for identity in (IDENTITY, NEWER):
            with pytest.raises(StoreMismatchError, match=f"'handbook'.*{name}.*store\\.corpus"):
                open_at(None, identity=identity, **server, owner=owner)
    with open_at(None, identity=None, **server) as store:  # readers are welcome
        assert store.count() == 15
    other = replace(IDENTITY, corpus="wiki")
    open_at(None, identity=other, corpus="wiki", **server, owner="wiki").close()


LOCKED = {
    "store": lambda path: open_at(path / "store", "edge"),
    "records": lambda path: open_instance_and_clean_up(Home(path / "home")),
}


@pytest.mark.parametrize("locked", LOCKED)
def test_a_disk_that_grants_every_lock_is_refused_with_its_remedy(tmp_path, monkeypatch, locked):
    with open_at(tmp_path / "store", "edge") as opened:
        publish(opened, make_tree())
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    with pytest.raises(RaptorError) as refused, LOCKED[locked](tmp_path):
        pass
    message = str(refused.value)
    assert "grants the same lock twice" in message
    assert "choose a folder on a disk of this machine" in message
    assert str(tmp_path) in message
