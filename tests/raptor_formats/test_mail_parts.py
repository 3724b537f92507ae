"""Parts and charsets of mails."""

import base64
import quopri
from email.message import EmailMessage

import pytest

from raptor_core.documents.parsing.mailbox import read_mailbox
from raptor_core.documents.parsing.names import TableOrigin
from raptor_core.settings import SourceSettings
from raptor_formats.mail import MAX_FIELD_CHARS, parse_eml

POLISH = "Zażółć gęślą jaźń, a źródło rzeki leży w górach i płynie szybciej wiosną."


def message(subject="The tide"):
    mail = EmailMessage()
    mail["Subject"], mail["From"] = subject, "Ada <ada@example.org>"
    return mail


def part(charset, body, kind="text/plain"):
    head = f"Subject: x\nContent-Type: {kind}; charset={charset}\nContent-Transfer-Encoding: 8bit"
    return head.encode() + b"\n\n" + body


def test_an_endless_subject_is_cut_between_words():
    mail = message("ebb and flow " * 4000)
    mail.set_content("The tide rose.")
    title = parse_eml(mail.as_bytes()).title
    assert 7_000 < len(title) <= MAX_FIELD_CHARS
    assert set(title.split()) == {"ebb", "and", "flow"}


def test_texts_around_a_picture_are_all_read():
    mail = message()
    mail.set_content("Seen from the north:\n")
    mail.add_attachment(b"x", maintype="image", subtype="png", filename="sea.png")
    mail.add_attachment("Seen from the south.\n", disposition="inline")
    mail.add_attachment("<p>And <b>above</b>.</p>", subtype="html", disposition="inline")
    parsed = parse_eml(mail.as_bytes())
    assert parsed.text == "Seen from the north:\n\nSeen from the south.\n\nAnd above."
    assert parsed.metadata["attachments"] == "sea.png"


@pytest.mark.parametrize("disposition", ["inline", "attachment"])
def test_a_forwarded_message_is_a_section(disposition):
    first, second, outer = message("Low tide"), message("High tide"), message("Fwd")
    first.set_content("It falls at six.\n")
    second.set_content("It rises at noon.\n")
    second.add_attachment(first, disposition=disposition)
    outer.set_content("See below.\n")
    outer.add_attachment(second, disposition=disposition)
    parsed = parse_eml(outer.as_bytes())
    assert parsed.text.startswith("See below.\n\nHigh tide\n\nFrom: Ada <ada@example.org>\n\nIt ri")
    assert parsed.text.endswith("Low tide\n\nFrom: Ada <ada@example.org>\n\nIt falls at six.")
    assert [(s.level, s.title) for s in parsed.sections] == [(1, "High tide"), (2, "Low tide")]


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [("base64", base64.encodebytes), ("Quoted-Printable", quopri.encodestring)],
)
def test_a_forwarded_message_may_be_encoded_as_a_whole(encoding, encode):
    inner = message("Ebbe – low tide")
    inner.set_content(f"It falls at six. {POLISH}\n", cte="8bit")
    inner.add_attachment("It is high at noon.\n", disposition="inline")
    body = encode(inner.as_bytes()).decode()
    outer = (
        "Subject: Fwd\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n"
        f"Content-Type: message/rfc822\nContent-Transfer-Encoding: {encoding}\n\n{body}\n--b--\n"
    )
    parsed = parse_eml(outer.encode())
    assert parsed.text == (
        f"Ebbe – low tide\n\nFrom: Ada <ada@example.org>\n\nIt falls at six. {POLISH}\n\n"
        "It is high at noon."
    )


@pytest.mark.parametrize(
    ("charset", "page", "text"),
    [
        ("x-unknown", "utf-8", "Żółw"),
        ("unknown-8bit", "cp1250", POLISH),
        ("us-ascii", "iso8859-2", POLISH),
        ("iso-8859-8-i", "iso8859-8", "שומר המגדלור"),
        ("x-sjis", "cp932", "灯台の番人"),
        ("gb2312", "gb18030", "灯塔的看守人镕"),
        ("iso-8859-1", "cp1252", "“sea” – 5 €"),
    ],
)
def test_unknown_visual_and_narrow_charsets_are_read(charset, page, text):
    for kind in ("text/plain", "text/html"):
        assert parse_eml(part(charset, text.encode(page), kind)).text == text


def test_a_guess_is_named_and_a_named_encoding_counts_where_none_is_declared():
    data = b"Subject: x\n\n" + POLISH.encode("iso8859-2")
    assert parse_eml(data).metadata["encoding"] == "iso8859-2"
    assert parse_eml(b"Subject: x\n\n" + "für".encode("cp850"), "cp850").text == "für"
    assert parse_eml(part("utf-8", "für".encode()), "cp850").text == "für"


@pytest.mark.parametrize(
    "subject",
    ["Größe der Bücher für Schüler".encode("cp1252"), b"=?x-cp1252?Q?Gr=F6=DFe_der?= B=?x?Q??="],
)
def test_subjects_in_8_bits_or_of_odd_charsets_are_read(subject):
    assert parse_eml(b"Subject: " + subject + b"\n\nText").title.startswith("Größe der")


def parts_of(kind, *parts):
    """A message of these parts, each with its own header."""
    body = "".join(f"\n--A\n{part}" for part in parts)
    return f'Subject: x\nContent-Type: multipart/{kind}; boundary="A"\n{body}\n--A--\n'.encode()


def test_every_text_of_related_parts_is_read_whichever_is_first():
    picture = "Content-Type: image/png\nContent-ID: <i>\n\nx"
    page = "Content-Type: text/html\n\n<p>Seen.</p>"
    file = 'Content-Type: application/pdf\nContent-Disposition: attachment; filename="b.pdf"\n\nx'
    signature = "Content-Type: text/plain\n\nSigned."
    parsed = parse_eml(parts_of("related", picture, page, file, signature))
    assert (parsed.text, parsed.metadata["attachments"]) == ("Seen.\n\nSigned.", "b.pdf")


def test_a_line_that_begins_with_from_does_not_divide_a_message():
    first = b"From a@b Mon\nSubject: One\n\nHello.\n\nFrom here on it rises.\nAnd falls.\n\n"
    second = b"From a@b Mon\nSubject: Two\n\nBye\n"
    mails = list(read_mailbox(first + second, TableOrigin("a", "a", {}), SourceSettings()))
    texts = [document.text for _, document in mails]
    assert texts == ["Hello.\n\nFrom here on it rises.\nAnd falls.", "Bye"]
