"""Text formats, read from real files."""

import pytest
from support.parsing import governed, outline, read

from raptor_core.chunking.outline import SectionPaths


class TestText:
    def test_text_is_the_file(self, tmp_path):
        document = read(tmp_path, "a_note-on.tides.txt", "High\ttide.\n\n  Low tide.\n")
        assert document.text == "High\ttide.\n\n  Low tide.\n"
        assert document.id == "a_note-on.tides.txt"
        assert document.title == ""
        assert document.sections == ()
        assert document.metadata == {"folder": ".", "format": "text"}

    def test_newlines_become_line_feeds(self, tmp_path):
        assert read(tmp_path, "a.txt", b"one\r\ntwo\rthree").text == "one\ntwo\nthree"

    def test_control_characters_become_spaces_one_for_one(self, tmp_path):
        raw = "Words and\x00more words\x07 and\x1b more\x85 words."
        document = read(tmp_path, "a.txt", raw)
        assert document.text == "Words and more words  and  more  words."
        assert len(document.text) == len(raw)


OUTLINES = {
    "setext": (
        "Long title\nover two lines\n=====\n\nA.\n\nSub\n---\nB.\n",
        [(1, "Long title over two lines"), (2, "Sub")],
    ),
    "no headings": (
        "# R\n\n```\n# a\n```\n\n    # b\n\n<!--\n# c\n-->\n\n- d\n---\n\n> # e\n\n~~~\n```\n# f",
        [(1, "R")],
    ),
    "inline markup": (
        "# The `load` **function** of [raptor](x.html) &amp; *more* { #the-load }\n\nA.\n",
        [(1, "The load function of raptor & more")],
    ),
    "html": ('<h1 align="center">\n <b>Tide</b> &amp; time\n</h1>\n\nA.\n', [(1, "Tide & time")]),
    "code": ("```python\n# not a heading\nprint(1)\n```", []),
    "rule": ("---\n\n# Title\n\nText: here\n", [(1, "Title")]),
    "long runs": (
        "start\n" * 50 + "\n" + "- item\n" * 50 + "\n\n\n\n## Later\n" + "end\n" * 9,
        [(1, "Later")],
    ),
}


class TestMarkdown:
    @pytest.mark.parametrize("name", OUTLINES)
    def test_headings_are_those_of_commonmark(self, tmp_path, name):
        text, expected = OUTLINES[name]
        document = read(tmp_path, "a.md", text)
        assert (document.text, outline(document)) == (text, expected)
        assert document.title == (expected[0][1] if expected else "")

    def test_sections_nest_and_hold_their_heading(self, tmp_path):
        text = "# Sea\n\nIntro.\n\n## Tides\n\nTide.\n\n### Spring\n\nS.\n\n## Waves\n\nWave.\n"
        document = read(tmp_path, "a.md", text)
        assert document.text == text
        assert document.title == "Sea"
        assert outline(document) == [(1, "Sea"), (2, "Tides"), (3, "Spring"), (2, "Waves")]
        assert governed(document, "Tides").startswith("## Tides")
        assert governed(document, "Tides").endswith("S.\n\n")
        assert SectionPaths(document).path_at(text.index("S.")) == ("Sea", "Tides", "Spring")

    def test_front_matter_gives_title_and_metadata_and_stays_in_the_text(self, tmp_path):
        text = (
            '---\ntitle: "Sea: a guide"\nauthor: Ada # who\nyear: 1999\nweight: 0.5\n'
            "draft: false\ntags: [a, b]\nnested:\n  key: value\n"
            'phone: "+4930123456"\nfax: +4930123457\ncode: "007"\n---\n\n## First\n\nText.\n'
        )
        document = read(tmp_path, "a.md", text)
        assert document.text == text
        assert document.title == "Sea: a guide"
        assert outline(document) == [(1, "First")]
        assert governed(document, "First") == "## First\n\nText.\n"
        own = {k: v for k, v in document.metadata.items() if k not in {"folder", "format"}}
        assert own == {
            "author": "Ada",
            "year": 1999,
            "weight": 0.5,
            "draft": False,
            "tags": ("a", "b"),
            "nested.key": "value",
            "phone": "+4930123456",
            "fax": "+4930123457",
            "code": "007",
        }


class TestRst:
    def test_ranks_follow_the_order_of_adornments(self, tmp_path):
        text = (
            "=====\nGuide\n=====\n\nIntro.\n\nSetup\n-----\n\nDo ``x``.\n\n"
            "The ``run`` :py:func:`call`\n~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n\nC.\n\nUse\n---\n\nD.\n"
        )
        document = read(tmp_path, "a.rst", text)
        assert document.text == text
        assert outline(document) == [(1, "Guide"), (2, "Setup"), (3, "The run call"), (2, "Use")]
        assert document.title == "Guide"
        assert governed(document, "Guide") == text
        assert governed(document, "Use") == "Use\n---\n\nD.\n"

    def test_tables_transitions_and_literal_blocks_are_no_headings(self, tmp_path):
        text = (
            "Title\n=====\n\n====  ====\nA     B\n====  ====\n1     2\n====  ====\n\n----\n\n"
            "Code::\n\n    Not\n    ---\n\nLast line of a\nlonger paragraph\n----------------\n"
        )
        assert outline(read(tmp_path, "a.rst", text)) == [(1, "Title")]


class TestHtml:
    def test_blocks_headings_items_cells_and_code(self, tmp_path):
        page = """<!doctype html><html><head><title>The Sea
          &amp; You</title><style>p {}</style><meta name=author content="Ada"></head>
        <body><nav><a href=/>Home</a><h2>Menu</h2></nav>
        <h1>Sea</h1><p>Salt <b>water</b>,&nbsp;mostly.<br>Deep.</p>
        <script>if (a < b) { alert("<p>no</p>") }</script>
        <h2>Tides</h2><ul><li>Spring<li><p>Neap</p></ul><ol><li>One<li>Two</ol>
        <table><tr><th>Port<th>Height<tr><td>Brest<td>7 m</table>
        <pre>a  b
  c</pre><p hidden>secret<p>End &lt;here&gt;.<!-- not this --></body></html>"""
        document = read(tmp_path, "a.html", page)
        assert document.text == (
            "Sea\n\nSalt water, mostly.\nDeep.\n\nTides\n\n- Spring\n- Neap\n\n1. One\n2. Two"
            "\n\nPort | Height\nBrest | 7 m\n\na  b\n  c\n\nEnd <here>."
        ).replace("- Neap\n\n1.", "- Neap\n1.")
        assert document.title == "The Sea & You"
        assert outline(document) == [(1, "Sea"), (2, "Tides")]
        assert governed(document, "Tides").startswith("Tides\n\n- Spring")
        assert document.metadata["author"] == "Ada"

    @pytest.mark.parametrize(
        ("page", "text"),
        [
            ("<nav>menu<main>text", "text"),
            ("a < b and c > d", "a < b and c > d"),
            ("<p>x</b></i>y</div>z", "xyz"),
            ("<h2> </h2><p>Text.</p>", "Text."),
            ("&#99999999999999999999; x &bogus; &#0;y", "� x &bogus; �y"),
            ("<p>one<div>two</p>three", "one\n\ntwothree"),
            ("<div>" * 5000 + "deep", "deep"),
            ("<td>loose<td>cells", "loose | cells"),
        ],
    )
    def test_broken_markup_loses_no_text(self, tmp_path, page, text):
        assert read(tmp_path, "a.html", page).text == text
