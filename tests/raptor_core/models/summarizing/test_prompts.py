"""Prompts of the chat summarizer, and their lengths."""

import re

import pytest
from pydantic import ValidationError
from support.word_counter import WordCounter

from raptor_core.models.summarizing.prompts import prompt_of, prompt_overhead, prompt_tokens
from raptor_core.settings import Settings, SummarizerSettings


@pytest.mark.parametrize("prompt", ["bounded", "paper", "simple"])
def test_a_prompt_is_its_childrens_tokens_and_the_words_around_them(prompt):
    part = Settings.model_validate({"summarizer": {"kind": "openai", "prompt": prompt}}).summarizer
    overhead = prompt_overhead(part, WordCounter())
    assert 15 < overhead < 90
    assert prompt_tokens((10, 20, 30), overhead) == 60 + overhead + 2
    assert prompt_overhead(Settings().summarizer, WordCounter()) == 0
    assert prompt_tokens((10, 20, 30), 0) == 60


def own(**given):
    return Settings.model_validate({"summarizer": {"kind": "openai", **given}}).summarizer


def test_words_of_ones_own_take_the_place_of_the_prompts():
    given = own(user_prompt="In {max_words} words: {context}", system_prompt="Be brief.")
    prompt = prompt_of(given)
    question = prompt.question(["A {max_words} lamp.", "A bell."], 100)
    assert question.startswith("In 60 words: <excerpts>")
    assert "A {max_words} lamp.\n\nA bell." in question
    assert "Write at most" not in question
    assert prompt.system.startswith("Be brief.\n")
    assert "data" in prompt.system
    bare = prompt_of(own(user_prompt="Sum up: {context}", prompt="paper"))
    assert bare.question(["A lamp."], 100) == "Sum up: A lamp."
    versions = {
        prompt.version,
        bare.version,
        prompt_of(own()).version,
        prompt_of(own(prompt="paper")).version,
    }
    assert len(versions) == 4


@pytest.mark.parametrize(
    ("prompt", "told"), [("Sum up.", "must contain {context}"), ("{context} in {words}", "{words}")]
)
def test_a_prompt_without_the_text_or_with_an_unknown_place_is_refused(prompt, told):
    with pytest.raises(ValidationError, match=re.escape(told)):
        own(user_prompt=prompt)


def test_titles_are_asked_for_only_where_they_are_wanted():
    plain, titled = (
        prompt_of(SummarizerSettings(kind="openai", titles=titles)) for titles in (False, True)
    )
    assert "title" not in plain.question(["a"], 200)
    assert titled.question(["a"], 200).startswith(plain.question(["a"], 200))
    assert "title" in titled.question(["a"], 200)
    assert titled.version != plain.version
