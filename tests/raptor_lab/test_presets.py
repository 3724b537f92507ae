"""Presets to compare with, by name like those of the core."""

import pytest
from support.hashing import HashingEmbedder

from raptor_assets.home.settings_file import to_settings_text
from raptor_core.documents.base import Document
from raptor_core.errors import SettingsError
from raptor_core.models.summarizing.prompts import make_prompt
from raptor_core.settings import Settings, load_settings, preset, with_preset
from raptor_core.tree.build import build_tree
from raptor_core.tree.components import Components


def test_a_preset_over_settings_leaves_what_it_does_not_name():
    own = Settings.model_validate({"chunking": {"max_tokens": 50, "max_context_tokens": 7}})
    found = with_preset(own, "simple")
    assert (found.chunking.max_tokens, found.chunking.max_context_tokens) == (200, 0)
    assert found.components.clusterer.endswith("_gmm")
    assert with_preset(own, "default") == own
    assert with_preset(Settings(), "simple") == preset("simple")
    small = {part: {"max_tokens": 120} for part in ("chunking", "summarizer")}
    own = Settings.model_validate(small | {"clustering": {"max_tokens": 300}})
    with pytest.raises(SettingsError, match=r"preset 'simple' over the settings: .*two nodes"):
        with_preset(own, "simple")


def test_a_settings_file_may_begin_with_it(tmp_path):
    path = tmp_path / "raptor.toml"
    path.write_text(to_settings_text(sources=[], preset="simple", group_by="document"))
    assert load_settings(path, {}) == preset("simple")


def test_a_chat_model_over_the_preset_is_asked_the_recipes_prompt_or_yours():
    chat = {"kind": "openai", "model": "small", "max_tokens": 300}
    summarizer = with_preset(Settings.model_validate({"summarizer": chat}), "simple").summarizer
    assert (summarizer.kind, summarizer.max_tokens) == ("openai", 200)
    head = "Summarize the following text, capturing the key information and main points:"
    question = make_prompt(summarizer).format_user_message(["One.", "Two."], 200)
    assert question == f"{head}\n\nOne.\n\nTwo.\n\nSummary:"
    question = make_prompt(summarizer).format_user_message(["a" * 2000, "b" * 2000], 200)
    assert question == f"{head}\n\n{'a' * 2000}\n\n{'b' * 998}\n\nSummary:"
    chat["user_prompt"] = "In short:\n{context}"
    summarizer = with_preset(Settings.model_validate({"summarizer": chat}), "simple").summarizer
    assert make_prompt(summarizer).format_user_message(["One."], 200) == "In short:\nOne."


TOPICS = ("tide gauges", "seed vaults", "research vessels", "night watches")


def prose(n_paragraphs):
    return "\n\n".join(
        " ".join(
            f"Entry {n}.{s} is about {TOPICS[n % 4]}, their keepers and the weather of that week."
            for s in range(9)
        )
        for n in range(n_paragraphs)
    )


@pytest.fixture(scope="module")
def components():
    return Components(preset("simple"), embedder=HashingEmbedder())


@pytest.fixture(scope="module")
def tree(components):
    return build_tree([Document("log.md", prose(60))], components=components)


@pytest.mark.slow
def test_leaves_are_the_recipes_windows_of_two_hundred_words(tree):
    words = prose(60).split()
    windows = [words[at : at + 200] for at in range(0, len(words), 200)]
    assert [leaf.text.split() for leaf in tree.layers[0].nodes] == windows
