"""Files of local models, whose digests are part of what a summary depends on."""

import pytest

from raptor_core.errors import ModelError
from raptor_core.models.local.engine import shared_engine
from raptor_core.models.local.files import digest_size_and_file_ends
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


@pytest.mark.parametrize("place", [4, -1])
def test_files_of_one_size_differ_by_their_beginning_and_their_end(tmp_path, place):
    content = bytearray(b"GGUF" + bytes(3 * 2**20))
    first = digest_size_and_file_ends(str(write_gguf(tmp_path / "m.gguf", content)))
    content[place] = 1
    assert digest_size_and_file_ends(str(write_gguf(tmp_path / "n.gguf", content))) != first


def test_a_summary_depends_on_the_file_and_not_on_its_path(model, tmp_path):
    def fingerprints(path):
        components = Components(settings(path))
        return components.summarizer.fingerprint, components.settings_fingerprint

    first = fingerprints(model)
    assert fingerprints(model.rename(tmp_path / "moved.gguf")) == first
    changed = fingerprints(write_gguf(model, b"other"))
    assert all(one != other for one, other in zip(first, changed, strict=True))


def test_settings_without_the_file_serve_readers_and_fail_writers(tmp_path):
    gone = settings(tmp_path / "gone.gguf")
    assert Components(gone).settings_fingerprint
    with pytest.raises(ModelError, match=r"summarizer\.model .* there is no file"):
        _ = Components(gone).summarizer


@pytest.mark.parametrize("content", [b"", b"PK\3\4" * 20])
def test_a_file_that_is_no_gguf_is_refused_in_words(model, content):
    model.write_bytes(content)
    with pytest.raises(ModelError, match=r"summarizer\.model: .*m\.gguf is not a GGUF file"):
        _ = Components(settings(model)).summarizer


def test_a_model_that_llama_cpp_cannot_load_is_an_error_in_words(model):
    with pytest.raises(ModelError, match=r"cannot load .* tokens of context"):
        shared_engine(settings(model).summarizer)
