"""Letters, fields, paragraphs, pages and sections of PDF files, by hand and of a producer."""

import pytest
from fpdf import FPDF
from support.hashing import HashingEmbedder
from support.printed import lines_at, outline_of, pdf_of, text_at

from raptor_core.checks.document_text import find_odd_text
from raptor_core.documents import load_documents
from raptor_core.documents.base import Document
from raptor_core.models.reading.reader import Passage
from raptor_core.retrieval import Query, Retriever
from raptor_core.settings import Settings
from raptor_core.tree.build import build_tree
from raptor_core.tree.components import Components
from raptor_formats.base import UnreadableError
from raptor_formats.pdf.parser import parse_pdf

BODY = [
    "The keeper wrote down the wind and the oil of every week, and",
    "nobody ever asked him to read it aloud in the long years that",
    "followed. He kept the book dry, and he kept the windows clean.",
]
PARAGRAPHS = b"".join(lines_at(50, top, BODY) for top in (560, 500, 440, 380, 320))


def text_of(*pages, **parts):
    return parse_pdf(pdf_of(*pages, **parts)).text


def titles_of(*pages, **parts):
    parsed = parse_pdf(pdf_of(*pages, **parts))
    return [(part.title, parsed.text[part.start :][:12]) for part in parsed.sections]


class TestParagraphs:
    def test_divided_words_end_no_paragraph(self):
        lines = [
            "the engines that the harbour had ordered in the au-",
            "tumn came by the last steamer, which also brought ma-",
            "chines for the new mill and the long expected let-",
            "ters of the inspector.",
        ]
        columns = lines_at(50, 600, lines) + lines_at(270, 600, lines)
        text = text_of(columns)
        assert "\n" not in text.split("inspector.")[0]
        assert "in the autumn came by the last steamer, which also brought machines for" in text
        assert "-" not in text

    def test_a_hyphen_stays_between_numbers_names_and_where_the_file_writes_it(self):
        lines = [
            "the line was built in the years of peace from 1871-",
            "1874 by an engineer of the school of Anglo-",
            "Saxon masters, who was a well-",
            "known man. The well-known man died there.",
        ]
        text = text_of(lines_at(50, 600, lines))
        assert "1871-1874" in text
        assert "Anglo-Saxon" in text
        assert "a well-known man" in text

    def test_a_sentence_and_a_divided_word_go_on_across_pages(self):
        first, second = BODY[:2], ["followed. He kept the book dry, and he kept the win-"]
        pages = [
            lines_at(50, 600, part) for part in (first, second, ["dows clean. Then he slept."])
        ]
        parsed = parse_pdf(pdf_of(*pages))
        assert "years that followed. He" in parsed.text
        assert "kept the windows clean." in parsed.text
        assert [parsed.text[start:][:6] for start in parsed.page_starts] == [
            "The ke",
            "follow",
            "dows c",
        ]

    def test_lines_of_chinese_and_japanese_have_no_space_between_them(self):
        lines = ["灯塔看守人每周都记录风和", "油以及经过的船只从不间断"]
        assert text_of(lines_at(50, 600, lines)) == "".join(lines)


class TestLetters:
    @pytest.mark.parametrize(
        ("base", "accent", "composed"), [("u", "¨", "für"), ("a", "´", "fár"), ("e", "ˆ", "fêr")]
    )
    def test_an_accent_that_is_drawn_over_a_letter_belongs_to_it(self, base, accent, composed):
        """TeX draws the accent, moves back and draws the letter."""
        drawn = text_at(50, 600, "f") + text_at(53.9, 600, accent)
        assert text_of(drawn + text_at(53, 600, base) + text_at(58.6, 600, "r")) == composed

    def test_a_sign_that_stands_beside_a_letter_is_no_accent(self):
        assert text_of(text_at(50, 600, "a^b and ~user")) == "a^b and ~user"

    def test_private_use_glyphs_are_omitted_and_reported_once(self):
        formula = "\ue0a1\ue0a2\ue0a3\ue0a4"
        parsed = parse_pdf(pdf_of(lines_at(50, 600, [*BODY, f"x{formula}y"])))
        assert parsed.metadata["unknown_glyphs"] == len(formula)
        assert parsed.text.endswith("xy")
        odd = find_odd_text(Document("a.pdf", parsed.text * 2, metadata=parsed.metadata))
        assert odd is not None
        assert odd.reason.endswith("% of the glyphs are unreadable and were omitted")

    def test_a_private_letter_before_an_item_is_its_bullet(self):
        parsed = parse_pdf(pdf_of(lines_at(50, 600, ["\uf0b7 灯塔", "\uf0a7 看守人"])))
        assert parsed.text.split() == ["•", "灯塔", "•", "看守人"]
        assert "unknown_glyphs" not in parsed.metadata


def field(kind, value, more=b""):
    return (
        b"<</Type/Annot/Subtype/Widget/Rect[50 500 250 520]/F 4/FT/%s/T(%s)/V(%s)"
        b"/DA(/F1 10 Tf 0 g)%s>>" % (kind, value or b"f", value, more)
    )


def form_of(*fields):
    """The parts of a file with a form, whose fields are indirect objects."""
    numbers = b" ".join(b"%d 0 R" % (7 + at) for at in range(len(fields)))
    form = b"/AcroForm<</Fields[%s]/DR<</Font<</F1 3 0 R>>>>/DA(/F1 10 Tf 0 g)>>" % numbers
    return {"annotations": [numbers], "objects": fields, "catalog": form}


class TestFieldsAndComments:
    def test_values_of_fields_are_read(self):
        choice = field(b"Ch", b"Skerryvore", b"/Ff 131072/Opt[(Skerryvore)(Bell Rock)]")
        text = text_of(text_at(50, 600, "Name"), **form_of(field(b"Tx", b"Ada Stevenson"), choice))
        assert text.split("\n")[0] == "Name"
        assert "Ada Stevenson" in text
        assert text.count("Skerryvore") == 1

    def test_hidden_fields_and_passwords_are_not_read(self):
        secret = field(b"Tx", b"swordfish", b"/Ff 8192")
        hidden = field(b"Tx", b"internal").replace(b"/F 4", b"/F 2")
        text = text_of(text_at(50, 600, "Name"), **form_of(secret, hidden))
        assert "swordfish" not in text
        assert "internal" not in text

    def test_comments_are_paragraphs_at_the_end_of_their_page(self):
        note = b"<</Type/Annot/Subtype/%s/Rect[50 500 250 520]/F %d/Contents(%s)>>"
        notes = [
            note % (b"Text", 4, b"Check this date."),
            note % (b"FreeText", 4, b"Written in 1841."),
            note % (b"Text", 2, b"Hidden remark."),
            note % (b"Link", 4, b"Go to page 2."),
        ]
        text = text_of(text_at(50, 600, "Bell Rock."), annotations=notes)
        assert text.split("\n\n") == ["Bell Rock.", "Check this date.", "Written in 1841."]


class TestOutline:
    def test_entries_are_placed_by_their_height_if_the_page_has_other_words(self):
        page = lines_at(50, 650, BODY) + lines_at(50, 500, ["Lamps and oil.", *BODY[1:]])
        objects = outline_of(("Start", "0/XYZ 50 670 0"), ("Light", "0/XYZ 50 515 0"), n_pages=1)
        assert titles_of(page, objects=objects, catalog=b"/Outlines 7 0 R") == [
            ("Start", "The keeper w"),
            ("Light", "Lamps and oi"),
        ]

    def test_words_confirm_the_place_near_the_height(self):
        rows = ["Oil", "was dear.", "Oil", "was cheap."]
        page = b"".join(
            text_at(50, top, row) for top, row in zip((650, 630, 400, 380), rows, strict=True)
        )
        for view in ("XYZ 50 412 0", "FitH 412", "FitR 50 300 200 412"):
            objects = outline_of(("1 Oil", f"0/{view}"), n_pages=1)
            parsed = parse_pdf(pdf_of(page, objects=objects, catalog=b"/Outlines 7 0 R"))
            assert [part.start for part in parsed.sections] == [parsed.text.rindex("Oil")]


class TestHeadingsBySize:
    def test_lines_that_are_12_percent_larger_are_headings(self):
        assert titles_of(text_at(50, 600, "Of lamps", 11.2) + PARAGRAPHS) == [
            ("Of lamps", "Of lamps\n\nTh"),
        ]

    def test_a_wrapped_heading_is_one(self):
        heading = lines_at(50, 640, ["On the lamps of", "the northern lights"], 14)
        ((title, _),) = titles_of(heading + PARAGRAPHS)
        assert title == "On the lamps of the northern lights"

    @pytest.mark.parametrize(
        "line",
        [
            *("= (x + 1)", "12 + 7", "keeper@lights.example", "www.lights.example"),
            *("Harbour Street 12", "20457 Hamburg", "Edinburgh EH2 4NN", "Tel. +44 131 496 0000"),
        ],
    )
    def test_formulas_and_addresses_are_none(self, line):
        assert titles_of(text_at(50, 600, line, 14) + PARAGRAPHS) == []


class TestFilesWithoutText:
    IMAGE = b"q 100 0 0 100 50 500 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q"

    @pytest.mark.parametrize(
        ("page", "parts"),
        [
            (IMAGE, {}),
            (b"", form_of(field(b"Tx", b""))),
            (text_at(50, 600, "\ue0a1\ue0a2"), {}),
            (b"", {}),
        ],
    )
    def test_they_are_named_with_a_remedy(self, page, parts):
        with pytest.raises(UnreadableError, match="contains no text; it needs OCR first"):
            parse_pdf(pdf_of(page, **parts))


SENTENCES = [
    f"The keeper of light {n} wrote down wind, oil and ships of week {n * 7}." for n in range(40)
]


class Printed(FPDF):
    """Pages with a running head and a counted foot."""

    def header(self):
        self.set_font("Helvetica", size=9)
        self.cell(0, 8, "Yearbook of the lights", align="C", new_x="LMARGIN", new_y="NEXT")

    def footer(self):
        self.set_y(-15)
        self.set_font("Helvetica", size=9)
        self.cell(0, 8, f"{self.page_no()}", align="C")


def printed(pages, *, running=True):
    """A PDF of so many pages of lines."""
    pdf = Printed() if running else FPDF()
    for lines in pages:
        pdf.add_page()
        pdf.set_font("Helvetica", size=11)
        for line in lines:
            pdf.cell(0, 6, line, new_x="LMARGIN", new_y="NEXT")
    return bytes(pdf.output())


def test_glyphs_that_are_placed_without_spaces_are_words():
    """XeTeX and others write no spaces: a gap between two glyphs is all that there is."""
    line = b"BT /F1 12 Tf 50 600 Td [(This)-333(second)-333(set)-333(of)-333(files)]TJ ET"
    assert parse_pdf(pdf_of(line)).text == "This second set of files"


def test_running_lines_go_and_no_line_of_the_text():
    pages = [SENTENCES[at : at + 8] for at in range(0, 40, 8)]
    pages[2] = [*pages[2], "It burned down at the end of the year", "1984"]
    parsed = parse_pdf(printed(pages))
    assert "Yearbook" not in parsed.text
    assert not any(paragraph in {"1", "2", "3", "4", "5"} for paragraph in parsed.text.split("\n"))
    for line in (line for page in pages for line in page):
        assert line in parsed.text
    assert parsed.metadata["pages"] == 5


def test_a_file_that_is_encrypted_with_an_empty_password_is_read():
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    pdf.cell(0, 10, "Open to all.")
    pdf.set_encryption(owner_password="owner", user_password="")
    assert parse_pdf(bytes(pdf.output())).text == "Open to all."


@pytest.mark.slow
def test_a_chunk_knows_its_pages(tmp_path):
    (tmp_path / "lights.pdf").write_bytes(
        printed([SENTENCES[at : at + 8] for at in range(0, 40, 8)])
    )
    (document,) = load_documents(tmp_path).documents
    settings = Settings.model_validate({"chunking": {"max_tokens": 60}})
    components = Components(settings, embedder=HashingEmbedder())
    tree = build_tree([document], components=components)
    for leaf in tree.layers[0].nodes:
        first, last = leaf.metadata["page"], leaf.metadata["last_page"]
        found = [n // 8 + 1 for n, line in enumerate(SENTENCES) if line in leaf.text]
        assert (first, last) == (min(found), max(found))
    (hit, *_) = Retriever.from_trees([tree], components).search("week 140", Query("flat")).hits
    first, last = hit.node.pages
    assert Passage.from_node(hit.node).place.endswith(
        f", page {first}" if first == last else f", pages {first}-{last}"
    )


def test_an_outline_that_goes_round_in_circles_ends():
    entry = b"<</Title(Lamps)/Parent 7 0 R/Next 8 0 R/First 8 0 R/Dest[9 0 R/XYZ 0 0 0]>>"
    outline = b"<</Type/Outlines/First 8 0 R/Last 8 0 R/Count 1>>"
    page = text_at(50, 600, "Lamps burn")
    parsed = parse_pdf(pdf_of(page, objects=(outline, entry), catalog=b"/Outlines 7 0 R"))
    assert parsed.text == "Lamps burn"
    assert [section.title for section in parsed.sections] == ["Lamps"]
