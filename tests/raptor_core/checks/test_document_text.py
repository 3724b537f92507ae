"""The check finds documents whose text was read wrongly, and no others."""

import pytest

from raptor_core.checks.document_text import (
    document_text,
    find_odd_text,
)
from raptor_core.documents.base import Document
from raptor_core.settings import CheckSettings

PROSE = "The second set of files is called the archive, and it holds what was written before. " * 4
GLUED = " ".join(
    f"Thissecondsetof{word}iscalledthearchive and it holds what was written."
    for word in PROSE.split()
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (GLUED, "letters in glued words"),
        (PROSE.replace("s", "\ufffd"), "characters that stand for no letter"),
        (PROSE.replace("e", "\ue012"), "characters that stand for no letter"),
        ("1953 12.5 17.25 | 0.004 - - - 88 " * 20, "characters that are not letters"),
    ],
)
def test_a_text_that_was_read_wrongly_is_reported_with_a_piece_of_it(text, reason):
    odd = find_odd_text(Document("a.pdf", f"{PROSE[:30]}{text}"))
    assert odd is not None
    assert reason in odd.reason
    assert odd.excerpt in f"{PROSE[:30]}{text}"


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        "水位計は五月に測量され、高さは七メートルである。" * 20,
        "Die Donaudampfschifffahrtsgesellschaft fuhr im Sommer jeden Tag flussabwärts. " * 20,
        "कुछ शब्द यहाँ लिखे गए हैं और वे पढ़े जा सकते हैं। " * 10,
        "def read_the_whole_page(self, pages_of_document): return parse_html(data) # ok\n" * 6,
        "12 34 56",
    ],
)
def test_prose_of_any_script_code_and_short_texts_are_left_in_peace(text):
    assert find_odd_text(Document("a.md", text)) is None


def test_pages_that_hold_hardly_any_text_are_reported():
    odd = find_odd_text(Document("a.pdf", PROSE, metadata={"pages": 40}))
    assert odd is not None
    assert odd.reason == "7 characters on each of 40 pages"


def test_many_pages_without_any_text_are_reported():
    text = f"{PROSE}\n\n\n\n{PROSE}"
    second = len(PROSE) + 2
    odd = find_odd_text(Document("a.pdf", text, pages=(0, second, second + 2)))
    assert odd is not None
    assert odd.reason == "no text on 1 of 3 pages"
    starts = (0, second, second + 2, *range(second + 100, second + 400, 100))
    assert find_odd_text(Document("a.pdf", text, pages=starts)) is None


def test_the_verdict_names_the_documents_up_to_a_bound():
    documents = [Document("a.pdf", GLUED), Document("b.md", PROSE)]
    found = document_text(documents, CheckSettings())
    assert (found.passed, found.severity) == (False, "warn")
    assert "a.pdf: " in found.summary
    assert [worst.tree for worst in found.worst] == ["a.pdf"]
    assert found.numbers == {"documents": 2.0, "odd": 1.0, "odd_share": 0.5}
    half = CheckSettings(max_odd_documents=0.5)
    assert document_text(documents, half).passed
