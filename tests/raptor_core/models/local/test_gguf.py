"""Headers of GGUF files, and what is said about files that cannot be used."""

import pytest
from support.gguf import CHAT, write_gguf

from raptor_core.errors import ModelError
from raptor_core.models.local.gguf import ModelHeader, read_header


def test_a_header_is_read_past_its_lists(tmp_path):
    values = {"tokenizer.ggml.tokens": ["<s>", "the", "é"], **CHAT}
    path = write_gguf(tmp_path / "m.gguf", values)
    assert read_header(str(path), "x") == ModelHeader("Tiny", path.stat().st_size, 2048)


def test_a_model_without_a_name_has_that_of_its_file(tmp_path):
    values = {name: value for name, value in CHAT.items() if name != "general.name"}
    assert read_header(str(write_gguf(tmp_path / "m.gguf", values)), "x").name == "m"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda path: path.unlink(), ["there is no file", "m.gguf", "path of a GGUF file"]),
        (lambda path: path.write_bytes(b"PK\3\4" * 20), ["is no GGUF file", "begin with GGUF"]),
        (lambda path: path.write_bytes(b""), ["is no GGUF file"]),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), ["damaged", "fetch it again"]),
        (lambda path: write_gguf(path, CHAT, version=9), ["its version is 9"]),
        (lambda path: write_gguf(path, {"a": "b"}), ["no chat template", "instruct"]),
        (lambda path: write_gguf(path, {**CHAT, "split.count": 3}), ["one of 3 parts", "--merge"]),
    ],
)
def test_a_file_that_is_no_chat_model_is_refused_in_words(tmp_path, change, words):
    path = write_gguf(tmp_path / "m.gguf", CHAT)
    change(path)
    with pytest.raises(ModelError) as error:
        read_header(str(path), "summarizer.model")
    assert [word for word in ["summarizer.model", *words] if word not in str(error.value)] == []
