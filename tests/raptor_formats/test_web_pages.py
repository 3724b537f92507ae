"""Content of pages without what stands around it, hidden text, and odd characters."""

import pytest

from raptor_formats.markup.html import parse_html
from raptor_formats.text import clean_text

CONTENT = "<h1>Tides{anchor}</h1><p>The sea rises <a href=x>twice a day</a>.</p>"
READ = "Tides\n\nThe sea rises twice a day."
SPHINX = """<body><div class="related" role="navigation"><h3>Navigation</h3><a>next</a></div>
<div class="document"><div class="body" role="main">{content}</div></div>
<div class="sphinxsidebar" role="navigation"><h3>This Page</h3><a>Show Source</a></div>
<div class="footer">&copy; Copyright 2026. Created using Sphinx.</div></body>"""
DOCBOOK = """<body id="docContent"><div class="navheader"><table><tr><td>Prev</td><td>Up</td>
<td>Next</td></tr></table></div><div class="sect1">{content}</div>
<div class="NAVFOOTER"><table><tr><td>Home</td></tr></table></div></body>"""
MKDOCS = """<body><div class="navbar fixed-top"><a class="navbar-brand">Site</a></div>
<div class="bs-sidebar" role="complementary"><ul><li>Tides</li></ul></div>
<div role="main">{content}</div><footer><p>Built with MkDocs.</p></footer>
<div class="modal" role="dialog"><h4>Keyboard Shortcuts</h4></div></body>"""
HUGO = """<body><nav id="sidebar"><ul><li>Home</li></ul></nav><section id="body">
<div id="top-bar"><a class="github-link"><span>Edit this page</span></a>
<div id="breadcrumbs"><a>Home</a> &gt; Tides</div></div>{content}</section></body>"""
WIKI = """<body class="mediawiki cpp-navbar"><div id="siteSub">From the wiki</div>
<a class="mw-jump-link">Jump to search</a>{content}
<div class="printfooter">Retrieved from</div><div id="catlinks">Category: Sea</div></body>"""
PAGES = {"sphinx": SPHINX, "docbook": DOCBOOK, "mkdocs": MKDOCS, "hugo": HUGO, "wiki": WIKI}
ANCHORS = {
    "sphinx": '<a class="headerlink" href="#t">¶</a>',
    "docbook": '<a id="T"></a>',
    "mkdocs": '<a href="#t">#</a>',
    "hugo": '<span><a href="#t">🔗</a></span>',
    "wiki": '<span class="mw-editsection">[<a>edit</a>]</span>',
}


def read(page, **how):
    return parse_html(page.encode(), **how).text


@pytest.mark.parametrize("maker", PAGES)
def test_the_content_is_read_and_nothing_around_it(maker):
    parsed = parse_html(PAGES[maker].format(content=CONTENT).format(anchor=ANCHORS[maker]).encode())
    assert parsed.text == READ
    assert [section.title for section in parsed.sections] == ["Tides"]


@pytest.mark.parametrize("maker", PAGES)
def test_reading_a_whole_page_keeps_navigation_and_footers(maker):
    page = PAGES[maker].format(content=CONTENT).format(anchor=ANCHORS[maker])
    whole = read(page, is_whole=True)
    assert len(whole.split()) > len(READ.split()) + 1
    assert set(READ.split()) - {"Tides"} <= set(whole.split())


@pytest.mark.parametrize(
    "content",
    [
        "<main><p>Sea</p><aside class=sidebar>Note</aside><footer>Sources</footer></main>",
        "<article><p>Sea</p><aside role=doc-footnote>Note</aside><div class=footer>Sources</div>",
        "<div role=main><p>Sea</p><ul class=menu><li>Note</ul><p class=copyright>Sources</div>",
        "<div class=toc><p>Sea</p><p>Note</p><p>Sources</p></div>",
        '<div class="with-sidebar no-footer"><p>Sea<p>Note<p>Sources</div>',
        "<p>Sea</p><p>see <a>edit</a> # Note</p><pre>Sources</pre>",
        "<header><h1>Sea</h1></header><p>Note<p>Sources",
    ],
)
def test_notes_and_footers_of_the_content_are_content(content):
    found = read(content)
    assert all(word in found for word in ("Sea", "Note", "Sources"))


def test_a_bar_that_was_left_open_does_not_swallow_the_content():
    assert read("<div class=navbar><a>Home</a><main><p>Sea.</p></main>") == "Sea."


def test_spans_that_a_style_makes_lines_are_not_glued_together():
    lines = '<span class="t-lines"><span>rbegin</span><span>crbegin</span></span>'
    assert read(f"<p>{lines} goes back</p>") == "rbegin\ncrbegin goes back"
    assert read(f"<table><tr><td>{lines}</td><td>back</td></tr></table>") == "rbegin crbegin | back"


@pytest.mark.parametrize(
    "unseen",
    [
        '<p style="color: red; DISPLAY : none !important">unseen</p>',
        '<div style="visibility:hidden"><p>unseen <b>too</b></p></div>',
        '<p style="display /* for now */ : none">unseen</p>',
        '<p style="visibility: collapse">unseen</p>',
        '<section style="content-visibility:hidden"><p>unseen</p></section>',
        "<dialog><p>unseen</p></dialog>",
        "<p hidden>unseen</p>",
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


FORMULAS = {
    "<mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>": "E=mc^2",
    "<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mrow><mn>2</mn><mi>a</mi></mrow></mfrac>": (
        "(a+b)/(2a)"
    ),
    "<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>": "√(x+1)",
    "<mroot><mi>x</mi><mn>3</mn></mroot>": "3√x",
    "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>"
    "<msub><mi>x</mi><mi>i</mi></msub>": "∑_(i=1)^nx_i",
    "<mi>sin</mi>\n <mi>x</mi><mtext>if</mtext><mi>x</mi>": "sin x if x",
    "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd>"
    "<mtd><mn>4</mn></mtd></mtr></mtable>": "1, 2; 3, 4",
    "<semantics><mi>x</mi><annotation>\\x</annotation></semantics>": "x",
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_are_read_in_their_sentence(formula):
    page = f"<p>It is <b>said</b> that <math>{formula}</math>, always.</p>"
    assert read(page) == f"It is said that {FORMULAS[formula]}, always."
    prefixed = page.replace("<m", "<m:m").replace("</m", "</m:m")
    assert read(prefixed) == read(page)


def test_a_formula_in_two_forms_is_read_once():
    math = "<math alttext='x'><mi>x</mi></math>"
    katex = f"<span class=katex><span class=katex-mathml>{math}</span>"
    assert read(f"<p>{katex}<span class=katex-html>x</span></span> is it.</p>") == "x is it."
    assert read("<p><span class=katex-html>x</span> is it.</p>") == "x is it."
    wiki = f"<span class=mwe-math-mathml-a11y style='display: none;'>{math}</span><img alt=x>"
    assert read(f"<p>{wiki} is it.</p>") == "x is it."
    assert read("<p>It is <math alttext='y'><mspace/></math>.</p>") == "It is y."
    assert read(f"<p>It is <math hidden>{math}</math>.</p>") == "It is ."


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (
            "<tr><th rowspan=2>To<th colspan=2>At<tr><th>In<th>On<tr><td rowspan=2>Y<td>7<tr><td>6",
            "To | At\nTo | In | On\nY | 7\nY | 6",
        ),
        (
            "<tr><td>a<td rowspan=3 colspan=2><b>long</b> way<td>b<tr><td>c<td>d<tr><td>e",
            "a | long way | b\nc | long way | d\ne | long way",
        ),
        ("<tr><td rowspan=0>x<td>1<tr><td>2<tr><td>3", "x | 1\nx | 2\nx | 3"),
        ("<tr><td rowspan=x>a<td rowspan=-1>b<tr><td>c", "a | b\nc"),
        (f"<tr><td rowspan=2>{'a' * 300}<td>1<tr><td>2", f"{'a' * 300} | 1\n| 2"),
    ],
)
def test_the_label_of_a_cell_that_reaches_down_stands_in_each_row(rows, text):
    assert read(f"<table>{rows}</table>") == text


def test_a_page_of_nothing_but_pictures_is_read_by_their_alternative_texts():
    page = "<nav><img alt=Logo></nav><p><img src=a.png alt='A mill\nby the sea'><img src=b.png></p>"
    assert read(page) == "Logo\n\nA mill by the sea"
    assert read(f"{page}<p>A text.</p>") == "A text."
    assert read(page, is_whole=True, with_pictures=False) == ""
