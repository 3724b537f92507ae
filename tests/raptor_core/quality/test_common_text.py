"""One pass counts lines and languages of most documents, and finds documents that differ."""

from hypothesis import given
from hypothesis import strategies as st

from raptor_core.documents.base import Document, Section
from raptor_core.quality.document_text import (
    CommonText,
    document_text,
    find_foreign_text,
)
from raptor_core.settings import CheckSettings

ENGLISH = "The lamp of the tower was lit by the keeper, and it burned for most of the night. "
GERMAN = "Die Lampe des Turms wurde von dem Wärter angezündet, und sie brannte die ganze Nacht. "
GREEK = "Ο φάρος άναψε το βράδυ και έκαιγε όλη τη νύχτα πάνω από τη θάλασσα. "
FOOT = "Copyright 1998 by the keepers"


def counted(documents):
    common = CommonText()
    for document in documents:
        common.add(document)
    return common


def pages(n_pages, text=ENGLISH, foot="", name="page"):
    return [
        Document(f"{name}{at}.md", f"Text {chr(97 + at) * 3} begins. {text * 3}\n{foot}")
        for at in range(n_pages)
    ]


def test_documents_in_another_language_than_the_rest_are_told():
    mixed = [*pages(38), *pages(1, GERMAN, name="leuchtturm"), *pages(1, GREEK, name="faros")]
    common = counted(mixed)
    found = [odd for odd in (find_foreign_text(page, common, 0.9) for page in mixed) if odd]
    assert [odd.document_id for odd in found] == ["leuchtturm0.md", "faros0.md"]
    assert found[0].reason == "in German, as 2.5 % of 40 documents; most: English"
    assert found[1].reason.startswith("in Greek")


def test_where_no_language_prevails_or_documents_are_few_none_is_foreign():
    for mixed in ([*pages(20), *pages(20, GERMAN)], [*pages(17), *pages(1, GERMAN)]):
        common = counted(mixed)
        assert not any(find_foreign_text(page, common, 0.9) for page in mixed)


def test_lines_that_equally_many_documents_have_come_in_their_order():
    lines = [f"{word} of the tower and of its keepers" for word in ("Lamp", "Oil", "Bell", "Log")]
    common = counted(pages(30, foot="\n".join(lines)))
    assert list(common.repeated_lines(0.5)) == lines


def test_lines_that_most_documents_have_are_told_with_their_share():
    documents = pages(30, foot=FOOT)
    common = counted(documents)
    assert common.repeated_lines(0.5) == {"Copyright 0 by the keepers": 30}
    found = document_text(documents[:1], common, CheckSettings())
    assert (found.passed, found.numbers["repeated_lines"]) == (False, 1.0)
    assert found.numbers["repeated_share"] > 0.05
    told = "Lines that most of 30 documents have (1): 'Copyright 0 by the keepers' in 30."
    assert found.summary == told
    assert document_text(documents[:1], common, CheckSettings(max_repeated=0.2)).passed


def test_headings_that_documents_share_are_no_boilerplate():
    text = f"Description of it\n{ENGLISH}"
    heading = Section("Description of it", 1, 0, len(text))
    documents = [Document(f"{at}.md", text[: 60 + at], sections=(heading,)) for at in range(30)]
    assert "Description of it" not in counted(documents).repeated_lines(0.5)


@given(st.lists(st.booleans(), min_size=20, max_size=300))
def test_no_line_of_more_than_the_share_is_lost(has_foot):
    documents = [
        Document(f"{at}", f"a line of number {'x' * at}\n{FOOT if has else ''}")
        for at, has in enumerate(has_foot)
    ]
    common = counted(documents)
    is_common = sum(has_foot) > 0.5 * len(has_foot)
    # An early or a late line may be counted short by a bucket in twenty, never long.
    found = common.repeated_lines(0.45 if is_common else 0.5)
    assert ("Copyright 0 by the keepers" in found) == is_common


def test_counts_are_kept_and_taken_up_again():
    common = counted([*pages(30, foot=FOOT), *pages(1, GERMAN)])
    again = CommonText.of(common.counts())
    assert again.repeated_lines(0.5) == common.repeated_lines(0.5)
    assert again.main_language(0.9) == "English"
    assert again.n_documents == 31
