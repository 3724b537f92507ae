"""Encodings of text files: what is declared, what is nearly UTF-8, and what letters tell."""

from contextlib import suppress

import pytest
from support.parsing import read

from raptor_core.checks.document_text import find_odd_text
from raptor_formats.base import UnreadableError
from raptor_formats.encoding.decoding import decode, decode_with_doubts, find_codec

TEXTS = {
    "Finnish: cp1252 iso8859-15": "Hyvää päivää! Tässä on pöytäkirja. Myöhässä olleet jäsenet",
    "Polish: cp1250 iso8859-2": "Wysokość mostu wynosi sześć metrów. Źródło rzeki leży w górach,",
    "German: cp1252 iso8859-1": "Größere Schäden müssen dem Büro gemeldet werden. Für die",
    "Turkish: cp1254 iso8859-9": "Işıklar söndüğünde gemi kıyıya yaklaşıyordu. Kaptan, yağmur",
    "Hungarian: cp1250 iso8859-2": "Őszi esőzések után a folyó vízszintje gyorsan nő. A gátőrök",
    "Czech: cp1250 iso8859-2": "Příliv přichází každý den o něco později. Rybáři čekají v",
    "Slovak: cp1250 iso8859-2": "Každý deň ráno vyšiel strážca k žľabu a zapísal výšku hladiny.",
    "Romanian: cp1250 iso8859-2": "Înălţimea apei a crescut în această dimineaţă. Locuitorii",
    "Croatian: cp1250 iso8859-2": "Čuvar svjetionika bilježi svaku promjenu vjetra. Već treći",
    "French: cp1252 iso8859-15": "À marée haute, la digue protège l'école et le marché. Les",
    "Spanish: cp1252": "¿Cuándo llegará el próximo barco? El capitán respondió que mañana,",
    "Portuguese: cp1252": "A maré não sobe à mesma hora amanhã. Os pescadores já estão prontos,",
    "Swedish: cp1252": "Färjan går från ön klockan åtta. När vågorna är för höga får resenärerna",
    "Danish: cp1252": "Færgen sejler fra øen klokken otte. Når bølgerne er for høje, må de",
    "Icelandic: cp1252": "Það er ekki hægt að sigla í dag því öldurnar eru of háar. Þess vegna",
    "Estonian: cp1257": "Õhtul tõusis tuul ja meri läks rahutuks. Majakavaht süütas tule, et",
    "Lithuanian: cp1257": "Švyturio prižiūrėtojas kiekvieną vakarą įjungia šviesą. Jūra šiąnakt",
    "Russian: cp1251 koi8-r iso8859-5": "Смотритель маяка записывает высоту воды каждое утро.",
    "Ukrainian: cp1251 koi8-u": "Доглядач маяка щоранку записує висоту води. Якщо вітер",
    "Greek: cp1253 iso8859-7": "Ο φύλακας του φάρου γράφει κάθε πρωί το ύψος του νερού. Όταν",
    "Hebrew: cp1255": "שומר המגדלור רושם בכל בוקר את גובה המים. כאשר הרוח מתחזקת הסירות נשארות",
    "Arabic: cp1256": "يسجل حارس المنارة ارتفاع الماء كل صباح. عندما تشتد الرياح تبقى القوارب في",
    "Japanese: cp932 euc_jp iso2022_jp": "灯台の番人は毎朝、水の高さを書き留めます。風が強くなる",
    "Chinese: gb18030": "灯塔的看守人每天早上记录水位。风大的时候，小船都留在港口里，渔民们一边修",
    "Traditional Chinese: big5": "燈塔的看守人每天早上記錄水位。風大的時候，小船都留在港口裡，漁",
    "Korean: cp949": "등대지기는 매일 아침 물의 높이를 적습니다. 바람이 세지면 작은 배들은",
}
CASES = [
    pytest.param(text, page, id=f"{key.partition(':')[0]}-{page}")
    for key, text in TEXTS.items()
    for page in key.partition(": ")[2].split()
]
LANGUAGES = {key.partition(":")[0]: text for key, text in TEXTS.items()}


@pytest.mark.parametrize(("text", "page"), CASES)
def test_an_undeclared_text_is_read_by_the_letters_of_its_language(text, page):
    assert decode(text.encode(page)) == text


OLD_PAGES = {
    "German": "cp437 cp850 mac_roman",
    "Spanish": "cp437 cp850 mac_roman",
    "Swedish": "cp850 mac_roman",
    "Polish": "cp852 mac_latin2",
    "Hungarian": "cp852 mac_latin2",
    "Russian": "cp855 cp866 mac_cyrillic",
    "Greek": "cp737 mac_greek",
    "Turkish": "cp857 mac_turkish",
}


@pytest.mark.parametrize(
    ("language", "page"), [(name, page) for name, of in OLD_PAGES.items() for page in of.split()]
)
def test_a_page_of_dos_or_of_an_old_macintosh_is_a_doubt_or_refused(language, page):
    data = LANGUAGES[language].encode(page)[:60]
    with suppress(UnreadableError):
        assert decode_with_doubts(data).doubt


@pytest.mark.slow
@pytest.mark.parametrize("extension", ["txt", "md", "csv", "html", "rst"])
def test_every_text_format_names_an_encoding_that_was_guessed(tmp_path, extension):
    text = LANGUAGES["Polish"]
    document = read(tmp_path, f"a.{extension}", text.encode("iso8859-2"))
    assert "Wysokość mostu" in document.text
    assert document.metadata["encoding"] == "iso8859-2"


def test_a_named_encoding_overrides_letters_and_declarations(tmp_path):
    data = '<meta charset="cp1252"><p>Zażółć gęślą jaźń</p>'.encode("iso8859-2")
    assert read(tmp_path, "a.html", data, encoding="iso8859-2").text == "Zażółć gęślą jaźń"
    document = read(tmp_path, "b.txt", "Ärger".encode("cp850"), encoding="cp850")
    assert (document.text, document.metadata.get("encoding")) == ("Ärger", None)


def test_a_named_encoding_yields_to_a_byte_order_mark(tmp_path):
    document = read(tmp_path, "a.txt", "Żółw".encode("utf-8-sig"), encoding="cp1252")
    assert document.text == "Żółw"


@pytest.mark.parametrize(
    ("data", "text", "reason"),
    [
        ("Zażółć gęślą jaźń\n".encode() + b"caf\xe9", "Zażółć gęślą jaźń\ncaf\ufffd", "1 of 10"),
        ("naïve déjà".encode()[:-1], "naïve déj\ufffd", "1 of 3"),
        ("Привет, мир".encode() + b"\xff\xfe", "Привет, мир\ufffd\ufffd", "2 of 11"),
    ],
    ids=["another page", "cut", "bad bytes"],
)
def test_nearly_valid_utf8_is_read_and_its_bad_places_are_counted(tmp_path, data, text, reason):
    document = read(tmp_path, "a.txt", data)
    assert document.text == text
    assert find_odd_text(document).reason == (
        f"{reason} characters beyond ASCII are not valid in UTF-8"
    )


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ('<?xml version="1.0" encoding="iso-8859-7"?><p>ώρα</p>'.encode("iso8859-7"), "ώρα"),
        ("# -*- coding: koi8-r -*-\nмир".encode("koi8-r"), "мир"),
        ('<meta charset="x-sjis"><p>海</p>'.encode("cp932"), "海"),
        ('<meta charset="iso-8859-8-i"><p>ים</p>'.encode("iso8859-8"), "ים"),
        ('<meta charset="iso-8859-1"><p>“sea”</p>'.encode("cp1252"), "“sea”"),
        ('<meta charset="iso-8859-1"><p>Żółw</p>'.encode(), "Żółw"),
        ('<meta charset="no-such"><p>Żółw</p>'.encode(), "Żółw"),
        (b'<meta charset="utf_16"><p>sea!</p>', "sea!"),
        (b'<meta charset="u16"><p>sea!</p>', "sea!"),
    ],
    ids=["xml", "comment", "x-", "visual", "wider", "wrong", "unknown", "utf_16", "u16"],
)
def test_a_declaration_counts_unless_the_bytes_are_valid_utf8(tmp_path, data, text):
    extension = "txt" if data.startswith(b"#") else "html"
    document = read(tmp_path, f"a.{extension}", data)
    assert document.text.endswith(text)
    assert "encoding" not in document.metadata


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("language", ["German", "Russian", "Arabic", "Korean"])
def test_wide_texts_without_a_mark_are_read(encoding, language):
    text = LANGUAGES[language]
    assert decode(text.encode(encoding)) == text
    chinese = "灯塔矗立在岩石上。\n每晚"
    assert decode(chinese.encode("utf-16-le")) == chinese


@pytest.mark.parametrize(
    "data",
    [bytes(range(256)) * 4, b"MZ\x90\0\3\0\0\0names\0of\0parts\0" * 9, b"names\1of\2parts\3" * 9],
)
def test_binary_data_is_refused(data):
    with pytest.raises(UnreadableError, match="binary data"):
        decode(data)


@pytest.mark.parametrize(
    ("names", "page"),
    [
        ("windows1251 win-1251 cp-1251 x-windows-1251 x-x-cp1251 ms-cp1251", "cp1251"),
        ("windows-874", "cp874"),
        ("IBM-850", "cp850"),
        ("windows-936", "gb18030"),
    ],
)
def test_every_spelling_of_a_code_page_is_known(names, page):
    assert {find_codec(name) for name in names.split()} == {page}
