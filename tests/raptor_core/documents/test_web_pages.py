"""What stands around the content of a page is left out, and nothing of the content."""

import pytest

from raptor_core.documents.formats.html import parse_html

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
def test_a_whole_page_is_read_with_what_stands_around(maker):
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


def test_a_teaser_in_a_sidebar_is_no_content():
    page = "<main><p>Sea.</p></main><aside><article><p>Also read this.</p></article></aside>"
    assert read(page) == "Sea."


def test_a_table_of_contents_is_navigation():
    toc = '<div class="toc"><p><b>Table of Contents</b></p><dl class="toc"><dt>Ebb</dt></dl></div>'
    assert read(DOCBOOK.format(content=f"<h1>Tides</h1>{toc}<p>They rise.</p>")) == (
        "Tides\n\nThey rise."
    )


def test_spans_that_a_style_makes_lines_are_not_glued_together():
    lines = '<span class="t-lines"><span>rbegin</span><span>crbegin</span></span>'
    assert read(f"<p>{lines} goes back</p>") == "rbegin\ncrbegin goes back"
    assert read(f"<table><tr><td>{lines}</td><td>back</td></tr></table>") == "rbegin crbegin | back"


def test_other_spans_stay_together():
    word = '<p><span class="cap">T</span>ides, <span>x</span>y<span>z</span></p>'
    assert read(word) == "Tides, xyz"
    code = '<span class="k">f</span><span>(x)</span>'
    assert read(f"<pre>{code}</pre>") == read(f"<p><code>{code}</code></p>") == "f(x)"


def test_a_page_that_holds_nothing_else_is_read_whole():
    assert read("<nav></nav><div class=sidebar><p>Sea.</p></div>") == "Sea."
