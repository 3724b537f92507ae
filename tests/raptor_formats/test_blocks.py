"""Blocks of each format, what is no text, and what introduces what."""

import json

import pytest
from support.hashing import HashingEmbedder
from support.parsing import read

from raptor_core import Query, Retriever, build_tree, load_documents
from raptor_core.chunking import make_chunker
from raptor_core.chunking.outline import document_blocks
from raptor_core.documents.base import Document
from raptor_core.models.reading.reader import Passage, format_user_message
from raptor_core.settings.models import ChunkingSettings, EmbedderSettings, TokensSettings
from raptor_core.tables.values import documents_to_table, table_to_documents
from raptor_core.tokens import make_counter
from raptor_core.tree.components import Components
from raptor_formats.blocks import pack_blocks, unpack_blocks

COUNTER = make_counter(TokensSettings(), EmbedderSettings())


def kinds(document):
    return [
        (block.kind, document.text[block.start : block.end]) for block in document_blocks(document)
    ]


def chunks_of(document, max_tokens=100):
    return make_chunker(ChunkingSettings(max_tokens=max_tokens), COUNTER).chunk(document)


MARKDOWN = [
    ("- ```sh\n  # no heading\n  run\n  ```\n\n# Oil\n", ["code", "heading"]),
    ("```run --help``` prints.\n\n```sh\n# no\n```\n\n# Oil\n", ["paragraph", "code", "heading"]),
    ("1. Stop.\n\n   ```\n   halt\n   ```\n2. Go.\n", ["item", "code", "item"]),
    ("> Quoted\n>\n> twice.\n\n- a\n- b\n", ["quote", "quote", "item", "item"]),
    ("A | B\n--|--\nx | y\n1 | 2\n\n---\n\nEnd.", ["names", "row", "row", "paragraph"]),
    ("Oil\n===\nLit.\n***\n    f(x) = 1\n", ["heading", "paragraph", "code"]),
    ("[a]: http://b.c\n\nText.\r\n\r\n# Oil\r\n", ["paragraph", "paragraph", "heading"]),
    ("<h2>Oil</h2>\n<p>Lit.</p>\n", ["heading", "paragraph"]),
    ("---\n\n# Oil\n", ["heading"]),
]


@pytest.mark.parametrize(("text", "expected"), MARKDOWN)
def test_markdown_is_read_by_its_own_grammar(tmp_path, text, expected):
    document = read(tmp_path, "a.md", text)
    assert [kind for kind, _ in kinds(document)] == expected
    assert [kind for kind, _ in kinds(Document("d", text))] == expected


RST = [
    ("Oil\n~~~\n\nLit.\n\nGas\n~~~\n\nOut.\n", ["heading", "paragraph"] * 2),
    ("Run::\n\n    # no heading\n\n    go\n\nDone.\n", ["paragraph", "code", "paragraph"]),
    (".. conf:: OIL\n\n    Lit.\n", ["directive", "paragraph"]),
    (".. code-block:: sh\n\n   run\n\n- a\n- b\n\n  ::\n\n    x\n", ["directive", "code"]),
    ("* - no table\n\n.. hidden\n   draft\n\n.. _mark:\n\n----\n\nEnd.\n", ["item", "paragraph"]),
    ("=== ===\n A   B\n=== ===\n 1   2\n=== ===\n", ["names", "row"]),
    ("+---+---+\n| A | B |\n+===+===+\n| 1 | 2 |\n+---+---+\n", ["names", "row"]),
    (".. list-table:: T\n   :header-rows: 1\n\n   * - A\n     - B\n   * - 1\n     - 2\n", None),
    ('.. csv-table:: T\n   :header: "A", B\n\n   1, 2\n', ["names", "row"]),
    (":name: Lit.\n:size: 2\n\nTerm\n  Meaning.\n", ["item", "item", "paragraph"]),
    (">>> f(1)\n2\n", ["code"]),
]


@pytest.mark.parametrize(("text", "expected"), RST)
def test_rst_is_read_by_its_own_grammar(tmp_path, text, expected):
    expected = expected or ["directive", "names", "row"]
    found = [kind for kind, _ in kinds(read(tmp_path, "a.rst", text))]
    assert found[: len(expected)] == expected


COMMENTED = (
    "# Oil\n\n<!--\n## Draft\n\nnine crowns\n-->\n\nLit <!-- ten --> at dusk.\n\n`<!--x-->`\n"
)
WITHOUT_TEXT = [
    ("a.md", COMMENTED, ["crowns", "ten", "Draft"]),
    ("a.md", "- Oil\n  <!-- nine -->\n- Gas\n\n---\n\n***\n", ["nine", "---", "***"]),
    ("a.rst", "Oil\n===\n\nLit.\n\n..\n   nine\n\n   crowns\n\n.. ten\n\nOut.\n", ["nine", "ten"]),
    ("a.md", "---\ntitle: Oil\nlist: [nine]\n---\n\nLit.\n", ["nine", "---"]),
    ("a.md", "+++\ntitle = 'nine'\n[a]\nb = 1\n+++\n\nLit.\n", ["nine", "+++"]),
    ("a.txt", "Lit.\n\n----------\n\n==========\n\nOut.\n", ["--", "=="]),
    ("a.html", "<p>Lit.</p><!-- nine --><p>-----</p><p>Out.</p>", ["nine", "--"]),
    (
        "a.jsonl",
        '{"id": "a", "text": "Lit.\\n\\n<!--\\nnine\\n\\n-->\\n\\n---\\n\\nOut."}',
        ["nine"],
    ),
]


@pytest.mark.parametrize(("name", "text", "absent"), WITHOUT_TEXT)
def test_comments_front_matter_and_rules_are_in_no_chunk(tmp_path, name, text, absent):
    document = read(tmp_path, name, text)
    shown = [chunk.text for chunk in chunks_of(document)]
    assert shown
    for chunk in shown:
        assert not [
            word for word in absent if chunk.strip() == word or (word.isalpha() and word in chunk)
        ]
        assert any(map(str.isalnum, chunk))


TABLE = [
    (f"part {n}", f"{n}.50", f"kept in drawer {n} of the second store room") for n in range(30)
]
NAMES = ("Part", "Price", "Note")


def markdown_table():
    rows = "\n".join(f"| {' | '.join(row)} |" for row in TABLE)
    return f"# Prices\n\n| {' | '.join(NAMES)} |\n|---|---|---|\n{rows}\n"


def html_table():
    def row(cells, tag):
        return f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in cells)}</tr>"

    rows = row(NAMES, "th") + "".join(row(cells, "td") for cells in TABLE)
    return f"<h1>Prices</h1><table>{rows}</table>"


@pytest.mark.parametrize("name", ["a.html", "rows.jsonl"])
def test_rows_carry_the_names_of_their_columns(tmp_path, name):
    row = json.dumps({"id": "a", "text": markdown_table()})
    document = read(tmp_path, name, html_table() if name == "a.html" else row)
    components = Components(embedder=HashingEmbedder())
    tree = build_tree([document], components=components)
    leaves = tree.layers[0].nodes
    assert all(
        "Part | Price | Note" in " ".join(leaf.embedding_text.split()) for leaf in leaves[1:]
    )
    assert all(leaf.text == document.text[leaf.start : leaf.end] for leaf in leaves)
    retriever = Retriever.from_trees([tree], components)
    retrieval = retriever.search("price of part 17", Query(budget_tokens=150))
    assert "Part | Price | Note" in retrieval.context
    assert COUNTER.count([retrieval.context])[0] <= 150
    assert "Part | Price | Note" in format_user_message("?", [Passage.from_node(leaves[2])])


LEADS = [
    ("a.md", "- {0}:\n\n`cut --{1}`\n\n"),
    ("a.md", "1. {0}\n\n   ```\n   cut --{1}\n   ```\n\n"),
    ("a.md", "{0}:\n\n- cut --{1}\n\n"),
    ("a.rst", ".. conf:: {0}\n\n   cut --{1}\n\n"),
    ("a.rst", "* {0}::\n\n    cut --{1}\n\n"),
    ("a.txt", "{0}:\n\n    cut --{1};\n\n"),
    ("a.html", "<p>{0}:</p><pre>cut --{1}</pre>"),
]


@pytest.mark.parametrize(("name", "form"), LEADS)
def test_what_introduces_stays_with_what_it_introduces(tmp_path, name, form):
    words = ["wick of the lamp", "oil of the tank", "drum of the winch", "rope of the boat", "door"]
    pairs = [(f"Look after the {word}", word[:4].strip()) for word in words]
    document = read(tmp_path, name, "".join(form.format(*pair) for pair in pairs * 3))
    for chunk in chunks_of(document, 40):
        assert chunk.text.count("Look after") == chunk.text.count("cut --")


def test_blocks_travel_with_their_document(tmp_path):
    document = read(tmp_path, "a.html", html_table())
    assert pack_blocks(unpack_blocks(document.blocks)) == document.blocks
    (copy,) = table_to_documents(documents_to_table({"t": [document]}))["t"]
    assert copy == document


def test_a_title_at_the_top_of_a_page_begins_a_chunk_and_names_the_rows_below(tmp_path):
    from fpdf import FPDF

    pdf = FPDF(format=(148, 210))
    pdf.set_font("Helvetica", size=11)
    for title in ("STATEMENTS OF OIL", "STATEMENTS OF ROPE"):
        pdf.add_page()
        lines = [
            title,
            "In barrels 2023 2022",
            *(f"Store {n} {n * 371} {n * 413}" for n in range(9)),
        ]
        for line in lines:
            pdf.cell(0, 7, line, new_x="LMARGIN", new_y="NEXT")
        pdf.ln(14)
        pdf.multi_cell(0, 7, "The keeper counts what is left in the stores each spring. " * 5)
    pdf.output(str(tmp_path / "a.pdf"))
    (document,) = load_documents(tmp_path / "a.pdf").documents
    chunks = chunks_of(document, 30)
    starts = [chunk.text.partition("\n")[0] for chunk in chunks]
    assert {"STATEMENTS OF OIL", "STATEMENTS OF ROPE"} <= {*starts}
    rows = [chunk for chunk in chunks if chunk.text.startswith("Store")]
    assert rows
    for chunk in rows:
        name = "OIL" if chunk.start < document.pages[1] else "ROPE"
        assert chunk.table_header == f"STATEMENTS OF {name}: In barrels 2023 2022"
