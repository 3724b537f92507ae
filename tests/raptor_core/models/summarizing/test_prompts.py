"""Prompts, and how long they are."""

import pytest
from support.word_counter import WordCounter

from raptor_core.models.summarizing.prompts import prompt_overhead, prompt_tokens
from raptor_core.settings import Settings


@pytest.mark.parametrize("prompt", ["bounded", "paper", "simple"])
def test_a_prompt_is_its_childrens_tokens_and_the_words_around_them(prompt):
    part = Settings.model_validate({"summarizer": {"kind": "openai", "prompt": prompt}}).summarizer
    overhead = prompt_overhead(part, WordCounter())
    assert 15 < overhead < 90
    assert prompt_tokens((10, 20, 30), overhead) == 60 + overhead + 2
    assert prompt_overhead(Settings().summarizer, WordCounter()) == 0
    assert prompt_tokens((10, 20, 30), 0) == 60
