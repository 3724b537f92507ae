"""Words, stems and ends of sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raptor_core.text.sentence_ends import ends_in_unmarked_script, ends_sentence
from raptor_core.text.vocabulary import stem
from raptor_core.text.words import find_words, folded_words, words


@given(st.text())
def test_words_are_spans_in_order_of_letters_digits_and_marks(text):
    matches = find_words(text)
    assert [match[0] for match in matches] == words(text)
    assert all(text[match.start() : match.end()] == match[0] for match in matches)
    covered = {at for match in matches for at in range(*match.span())}
    assert {at for at, c in enumerate(text) if c.isalnum()} <= covered


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max_tokens of O'Brien", ["max", "tokens", "of", "o", "brien"]),
        ("हिन्दी भाषा।", ["हिन्दी", "भाषा"]),
        ("GPT4を使う", ["gpt4", "を使", "使う"]),
        ("KBS는 猫", ["kbs", "는", "猫"]),
    ],
)
def test_words_are_folded_and_unspaced_scripts_give_pairs(text, expected):
    assert folded_words(text) == expected


@pytest.mark.parametrize(
    "forms",
    [
        ("sibling", "siblings"),
        ("woman", "women"),
        ("wife", "wives"),
        ("analysis", "analyses"),
        ("movie", "movies"),
        ("family", "families"),
        ("virus", "viruses"),
        ("stop", "stopped", "stopping", "stops"),
    ],
)
def test_the_inflections_of_a_word_have_one_stem(forms):
    assert len(set(map(stem, forms))) == 1


@pytest.mark.parametrize(
    "text", ["Done.", "Done.”", "done! [12]", "終わり。", "終わり。」", "किया।", "شد؟"]
)
def test_a_mark_ends_a_sentence_before_closers_and_citations(text):
    assert ends_sentence(f"{text} ")


def test_thai_and_lao_end_a_sentence_without_a_mark():
    assert ends_in_unmarked_script("ระดับน้ำ ")
    assert not ends_in_unmarked_script("Done")
    assert not ends_in_unmarked_script("")
