"""Digests of the files of local models, which are part of what a summary depends on."""

import hashlib

import pytest

from raptor_core.errors import ModelError
from raptor_core.home.folder import HomeFolder
from raptor_core.models.local.engine import engine_of
from raptor_core.models.local.records import digest_of, read_digests, resolve_models
from raptor_core.settings import Settings
from raptor_core.tree.components import Components


def write_gguf(path, content=b""):
    path.write_bytes(b"GGUF" + content)
    return path


def settings(path, **values):
    return Settings(
        summarizer={"kind": "local", "model": str(path), **values}, tokens={"counter": "words"}
    )


@pytest.fixture
def model(tmp_path):
    return write_gguf(tmp_path / "m.gguf")


def test_a_digest_is_kept_in_the_home_until_the_file_changes(model, tmp_path):
    records = tmp_path / "models.json"
    first = digest_of(model, records)
    assert first == hashlib.sha256(model.read_bytes()).hexdigest()
    assert list(read_digests(records).values()) == [first]
    write_gguf(model, b"other")
    assert digest_of(model, records) == hashlib.sha256(model.read_bytes()).hexdigest() != first


def test_a_home_knows_the_digest_of_its_model(model, tmp_path):
    home = HomeFolder.at(tmp_path)
    assert home.resolve(settings(model)).summarizer.sha256 == digest_of(model)
    assert read_digests(home.models)


def test_a_summary_depends_on_the_file_and_not_on_its_path(model, tmp_path):
    first = Components(settings(model))
    moved = Components(settings(model.rename(tmp_path / "moved.gguf")))
    changed = Components(settings(write_gguf(model, b"other")))
    assert moved.summarizer.fingerprint == first.summarizer.fingerprint
    assert moved.settings_fingerprint == first.settings_fingerprint
    assert changed.summarizer.fingerprint != first.summarizer.fingerprint
    assert changed.settings_fingerprint != first.settings_fingerprint


def test_settings_without_the_file_serve_readers_and_fail_writers(tmp_path):
    gone = settings(tmp_path / "gone.gguf")
    assert resolve_models(gone) == gone
    with pytest.raises(ModelError, match=r"summarizer\.model .* there is no file"):
        _ = Components(gone).summarizer


def test_another_file_than_the_expected_one_is_not_loaded(model):
    with pytest.raises(ModelError, match="expected 0000"):
        engine_of(settings(model, sha256="0" * 64).summarizer)
