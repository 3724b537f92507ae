"""Text that readers of pages and books do not see, and text that they see in odd places."""

import pytest

from raptor_core.documents.formats.html import parse_html
from raptor_core.documents.formats.parsed import clean_text


@pytest.mark.parametrize(
    "unseen",
    [
        '<p style="color: red; DISPLAY : none !important">unseen</p>',
        '<div style="visibility:hidden"><p>unseen <b>too</b></p></div>',
        '<span style="display:none">unseen</span>',
        '<p style="display /* for now */ : none">unseen</p>',
        '<p style="visibility: collapse">unseen</p>',
        '<section style="content-visibility:hidden"><p>unseen</p></section>',
        "<dialog><p>unseen</p></dialog>",
        "<p hidden>unseen</p>",
        "<noframes><p>unseen <b>tags</b></p></noframes>",
        "<noscript><p>unseen</p></noscript>",
        "<template><p>unseen</p></template>",
    ],
)
@pytest.mark.parametrize("is_whole", [True, False])
def test_what_readers_of_a_page_do_not_see_is_left_out(unseen, is_whole):
    page = f"<p>Seen.</p>{unseen}<p>Seen too.</p>"
    assert parse_html(page.encode(), is_whole=is_whole).text == "Seen.\n\nSeen too."


@pytest.mark.parametrize(
    "seen",
    [
        '<p style="display:block">seen</p>',
        '<p style="--display:none-of-these">seen</p>',
        '<p aria-hidden="true">seen</p>',
        "<dialog open><p>seen</p></dialog>",
        '<input style="display:none"><p>seen</p>',
    ],
)
def test_what_readers_see_stays(seen):
    assert parse_html(seen.encode()).text == "seen"


def test_a_page_that_a_script_shows_is_read():
    assert parse_html(b'<body style="visibility:hidden"><p>seen</p></body>').text == "seen"


@pytest.mark.parametrize(
    ("ruby", "text"),
    [
        ("<ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>です", "漢字(かんじ)です"),
        ("<ruby>東<rt>とう</rt>京<rt>きょう</rt></ruby>へ", "東京(とうきょう)へ"),
        ("<ruby>無<rt></rt></ruby>い", "無い"),
    ],
)
def test_a_gloss_follows_its_word_in_brackets(ruby, text):
    assert parse_html(ruby.encode()).text == text


@pytest.mark.parametrize("char", ["\xad", "\u200b", "\u2060", "\ufeff"])
@pytest.mark.parametrize("n_chars", [1, 3])
def test_invisible_characters_in_words_are_removed(char, n_chars):
    assert clean_text(f"light{char * n_chars}house") == "lighthouse"
    page = f"<p>light&#{ord(char)};house</p>"
    assert parse_html(page.encode()).text == "lighthouse"


@pytest.mark.parametrize("text", ["می\u200cخواهم", "👩\u200d👧", "ភាសា\u200bខ្មែរ", "ภาษา\u200bไทย"])
def test_joiners_and_borders_of_words_stay(text):
    assert clean_text(text) == text


def test_colours_of_a_terminal_are_removed():
    assert clean_text("\x1b[1;31mThe tide\x1b[0m rises\x1b[K.") == "The tide rises."
