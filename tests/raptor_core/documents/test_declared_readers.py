"""Declarations of readers in every shape: read as they are meant, or named and hidden."""

import json
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from raptor_core.documents import scan_source
from raptor_core.settings import SourceSettings

HR = ("group:hr",)
PUBLIC = ({"paths": ["**"], "readers": ["*"]},)


def look(root, **source):
    """Inventory of a folder in which a rule opens all documents that declare nothing."""
    (root / "open.md").write_text("An open text.")
    return scan_source(SourceSettings(paths=(str(root),), readers=PUBLIC, **source)).inventory


def readers_of(inventory, name, source=""):
    """Readers of a document that was published for everyone."""
    return inventory.current_readers(name, source or name, ("*",))


def front(block, fence="---", body="\n# Pay\n\nThe night shift earns 31 crowns.\n"):
    return f"{fence}\n{block}\n{fence}\n{body}"


KEYS = "title: Pay\nreaders: [group:hr]"
READ = {
    "plain": front(KEYS),
    "toml": front('readers = ["group:hr"]', "+++"),
    "one name": front("readers: group:hr"),
    "block list": front("readers:\n  - group:hr\n"),
    "json in the fences": front('{"title": "Pay", "readers": ["group:hr"]}'),
    "quoted key": front('"readers": [group:hr]'),
    "explicit key": front("? readers\n: [group:hr]"),
    "anchor": front("team: &t [group:hr]\nreaders: *t"),
    "byte order mark": "\ufeff" + front(KEYS),
    "blank lines before": "\n\n" + front(KEYS),
    "comment before": "<!-- lint: off -->\n\n" + front(KEYS),
    "line ends of Windows": front(KEYS).replace("\n", "\r\n"),
    "spaces after the fence": front(KEYS, "---  "),
    "dots at the end": f"---\n{KEYS}\n...\n\nText.",
    "invisible character": front("rea\u2062ders: [group:hr]"),
    "folded block": front("readers: >-\n  group:hr"),
    "comment in the values": front(f"# who\n{KEYS} # them"),
}
HIDDEN = {
    "colon in a value": front("title: Pay: second draft\nreaders: [group:hr]"),
    "colon in a value alone": front("title: Pay: second draft"),
    "tab": front("title: Pay\nreaders:\n\t- group:hr"),
    "open quote": front('title: "Pay\nreaders: [group:hr]'),
    "open list": front("readers: [group:hr"),
    "template": front("title: {{ title }}\nreaders: [group:hr]"),
    "template as readers": front("readers: {{ readers }}"),
    "template line": front("{% include 'head' %}\nreaders: [group:hr]"),
    "no end": f"---\n{KEYS}\n\n# Pay\n\nText.",
    "no end after a blank line": f"---\n\n{KEYS}\n\nText.",
    "no begin": f"{KEYS}\n---\n\n# Pay\n\nText.",
    "indented end": f"---\n{KEYS}\n  ---\n\nText.",
    "json": '{"title": "Pay", "readers": ["group:hr"]}\n\n# Pay\n\nText.',
    "json in lines": '{\n  "title": "Pay",\n  "readers": ["group:hr"]\n}\n\nText.',
    "other fence": front(KEYS, ";;;"),
    "longer fence": front(KEYS, "-----"),
    "dashes of a word processor": front(KEYS, "\u2014"),
    "merge conflict": front("<<<<<<< HEAD\nreaders: [group:hr]\n=======\nreaders: []\n>>>>>>> x"),
    "star": front("readers: *"),
    "unknown alias": front("readers: *team"),
    "capital": front("Readers: [group:hr]"),
    "all capitals": front("READERS: [group:hr]"),
    "invisible character": front("rea\u200dders: [group:hr]"),
    "many invisible characters": front("rea" + 9 * "\u200b" + "ders: [group:hr]"),
    "full width letters": front("\uff52\uff45\uff41\uff44\uff45\uff52\uff53: [group:hr]"),
    "full width colon": front("title: Pay\nreaders\uff1a [group:hr]"),
    "no space after the colon": front("readers:[group:hr]"),
    "twice": front('readers: [group:hr]\nreaders: ["*"]'),
    "twice in toml": front('readers = ["a"]\nreaders = ["*"]', "+++"),
    "in metadata": front("metadata:\n  readers: [group:hr]"),
    "in a table of toml": front('[access]\nreaders = ["group:hr"]', "+++"),
    "dotted": front('metadata.readers: ["group:hr"]'),
    "in a list": front("access:\n  - readers: [group:hr]"),
    "merged": front("base: &b\n  readers: [group:hr]\n<<: *b"),
    "list of pairs": front("- title: Pay\n- readers: [group:hr]"),
    "in a table that is repeated": front("acl: {readers: [group:hr]}\nacl: {}"),
    "in metadata as JSON": front('metadata: \'{"readers": ["group:hr"]}\''),
    "in a comment before": "<!--\nreaders: [group:hr]\n-->\n# Pay\n\nText.",
    "in a comment before front matter": "<!-- readers: ana -->\n" + front("title: Pay"),
    "with a parent in the name": front("acl__readers: [group:hr]"),
    "in a block of text": front("title: |\n  Pay\n  readers: [group:hr]"),
    "yaml in toml": front("readers: [group:hr]", "+++"),
    "toml in yaml": front('readers = ["group:hr"]'),
    "blank": front("readers:"),
    "null": front("readers: null"),
    "mapping": front("readers:\n  deny: group:hr"),
    "number": front("readers: 7"),
    "blank name": front('readers: ["group:hr", ""]'),
    "several in one text": front("readers: group:hr, group:it"),
    "quotes of a word processor": front("readers: [\u201cgroup:hr\u201d]"),
    "half a list": front("readers: group:hr]"),
    "variable": front("readers: ${READERS}"),
    "second block": front("title: Pay") + front(KEYS),
    "after an empty block": "---\n---\n" + f"{KEYS}\n---\n\nText.",
    "after an introduction": "An introduction.\n\n" + front(KEYS),
    "comment of Markdown before": "[//]: # (lint off)\n\n" + front(KEYS),
    "many aliases": front(
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "\n".join(f"{b}: &{b} [{', '.join(9 * [f'*{a}'])}]" for a, b in pairwise("abcdefgh"))
        + "\nreaders: [group:hr]"
    ),
}
TEXTS = {
    "a rule": "---\n\nThe mill burnt down.\n\nNote: in 1871.\n",
    "two rules": "---\n\nThe mill burnt down.\n\n---\n\nReaders: this is history.\n",
    "a rule and prose": "---\nThe mill burnt down, they say: in 1871.\n---\n\nIt was rebuilt.\n",
    "slides": "---\n# Part: the mill\n\nIt burnt down.\n\n---\n\n# Part: the sea\n",
    "a line of a table": "---\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "a shortcode": "{{< figure >}}\n\nThe mill burnt down.\n",
    "attributes": "{: .lead}\nThe mill burnt down.\n",
    "prose on readers": "Dear readers: the mill burnt down.\n\nReaders: be warned.\n",
    "an example": f"Write so:\n\n```yaml\n{front(KEYS)}```\n",
    "a heading": "# Readers: who they are\n\nThe mill burnt down.\n",
    "dashes": "- - -\n\nThe mill burnt down.\n",
    "no values": "---\n# nothing\n---\n\nThe mill burnt down.\n",
}


@pytest.mark.parametrize("shape", READ)
def test_front_matter_is_read_as_it_is_meant(tmp_path, shape):
    (tmp_path / "pay.md").write_text(READ[shape], encoding="utf-8", newline="")
    inventory = look(tmp_path)
    assert {entry.id: entry.readers for entry in inventory.documents}["pay.md"] == HR


@pytest.mark.parametrize("shape", HIDDEN)
@pytest.mark.parametrize("before", ["", "\ufeff\n<!-- x -->\n"])
def test_front_matter_that_cannot_be_read_is_named_and_hidden(tmp_path, shape, before):
    (tmp_path / "pay.md").write_text(before + HIDDEN[shape], encoding="utf-8")
    inventory = look(tmp_path)
    assert [entry.id for entry in inventory.documents] == ["open.md"]
    assert [(s.name, s.readers, s.is_empty) for s in inventory.skipped] == [("pay.md", (), False)]
    assert readers_of(inventory, "pay.md") == ()


@pytest.mark.parametrize("shape", TEXTS)
def test_a_rule_of_dashes_before_prose_is_text(tmp_path, shape):
    (tmp_path / "mill.md").write_text(TEXTS[shape])
    inventory = look(tmp_path)
    assert {entry.id: entry.readers for entry in inventory.documents}["mill.md"] == ("*",)


OTHERS = {
    **dict.fromkeys(["a.txt", "a.rst", "a.csv", "a.vtt"], front(KEYS)),
    "b.rst": "Pay\n===\n\n:readers: group:hr\n\nThe night shift earns 31 crowns.\n",
    "c.vtt": "WEBVTT\nreaders: group:hr\n\n00:01.000 --> 00:02.000\nThe night shift.\n",
    "m.eml": "Subject: Pay\nX-Readers: group:hr\n\nThe night shift earns 31 crowns.\n",
    "m.mbox": "From a\nSubject: Pay\nReaders: group:hr\n\nThe night shift earns 31 crowns.\n",
}
PAGES = {
    "a.html": front(KEYS),
    "b.html": '<meta name="readers" content="group:hr"><p>The night shift earns 31 crowns.',
    "c.html": '<meta content="group:hr" property="acl:Readers"><p>The night shift earns 31.',
    "d.html": "<!--\nreaders: group:hr\n--><p>The night shift earns 31 crowns.",
}


@pytest.mark.parametrize("name", [*OTHERS, *PAGES])
def test_readers_in_another_format_are_named_and_hidden(tmp_path, name):
    (tmp_path / name).write_text({**OTHERS, **PAGES}[name])
    inventory = look(tmp_path)
    assert [entry.id for entry in inventory.documents] == ["open.md"]
    assert readers_of(inventory, name) == ()


TEXT = {"text": "The vault has three keys."}
CHUNKS = [{"id": f"c{n}", "position": n, "text": f"Key {n}."} for n in range(2)]
ROWS = {
    "list": ({**TEXT, "readers": ["group:hr"]}, HR),
    "text of a list": ({**TEXT, "readers": '["group:hr"]'}, HR),
    "metadata": ({**TEXT, "metadata": {"readers": "group:hr"}}, HR),
    "text of metadata": ({**TEXT, "metadata": '{"readers": "group:hr"}'}, HR),
    "the same twice": ({**TEXT, "readers": ["group:hr"], "metadata": {"readers": HR}}, HR),
    "chunks": ({"chunks": [{**c, "readers": HR} for c in CHUNKS]}, HR),
    "row and chunks": ({"readers": HR, "chunks": [{**c, "readers": HR} for c in CHUNKS]}, HR),
    "no text": ({"readers": ["group:hr"]}, HR),
    "blank text": ({"text": " ", "readers": ["group:hr"]}, HR),
    "no chunk": ({"chunks": [], "readers": ["group:hr"]}, HR),
    "bad chunk": ({"chunks": [CHUNKS[0], {"id": "c"}], "readers": ["group:hr"]}, HR),
    "empty list": ({**TEXT, "readers": []}, ()),
    "text of an empty list": ({**TEXT, "readers": "[]"}, ()),
    "empty text": ({**TEXT, "readers": ""}, ()),
    "several in one text": ({**TEXT, "readers": "group:hr;group:it"}, ()),
    "mapping": ({**TEXT, "readers": {"deny": "group:hr"}}, ()),
    "text of a mapping": ({**TEXT, "readers": '{"deny": "group:hr"}'}, ()),
    "open list": ({**TEXT, "readers": '["group:hr"'}, ()),
    "number": ({**TEXT, "readers": 7}, ()),
    "other case": ({**TEXT, "Readers": ["group:hr"]}, ()),
    "invisible character": ({**TEXT, "readers": ["group:hr"], "rea\u200bders": ["*"]}, ()),
    "metadata differs": ({**TEXT, "readers": ["group:hr"], "metadata": {"readers": ["*"]}}, ()),
    "metadata is damaged": ({**TEXT, "metadata": '{"readers": "group:hr"'}, ()),
    "deeper": ({**TEXT, "metadata": {"acl": {"readers": ["group:hr"]}}}, ()),
    "another object": ({**TEXT, "acl": [{"readers": ["group:hr"]}]}, ()),
    "dotted": ({**TEXT, "metadata.readers": ["group:hr"]}, ()),
    "metadata in a list": ({**TEXT, "metadata": [{"readers": HR}]}, ()),
    "text of metadata in a list": ({**TEXT, "metadata": '[{"readers": "group:hr"}]'}, ()),
    "text of a text": ({**TEXT, "metadata": json.dumps('{"readers": "group:hr"}')}, ()),
    "text within metadata": ({**TEXT, "metadata": {"metadata": '{"readers": "ana"}'}}, ()),
    "text of metadata in other case": ({**TEXT, "METADATA": '{"readers": "group:hr"}'}, ()),
    "mark before metadata": ({**TEXT, "metadata": '\ufeff{"readers": "group:hr"}'}, ()),
    "text of chunks": ({**TEXT, "chunks": json.dumps([{**CHUNKS[0], "readers": HR}])}, ()),
    "metadata of a chunk": ({"chunks": [{**CHUNKS[0], "metadata": [{"readers": HR}]}]}, ()),
    "metadata that is no object": ({**TEXT, "metadata": "On readers"}, ("*",)),
    "one chunk": ({"chunks": [{**CHUNKS[0], "readers": HR}, CHUNKS[1]]}, ()),
    "one chunk has less": (
        {"chunks": [{**CHUNKS[0], "readers": []}, {**CHUNKS[1], "readers": HR}]},
        (),
    ),
    "chunks differ from the row": (
        {"readers": ["*"], "chunks": [{**c, "readers": HR} for c in CHUNKS]},
        (),
    ),
}


@pytest.mark.parametrize("shape", ROWS)
def test_a_row_is_read_as_it_is_meant_or_named_and_hidden(tmp_path, shape):
    row, readers = ROWS[shape]
    (tmp_path / "rows.jsonl").write_text(json.dumps({"id": "row"} | row))
    inventory = look(tmp_path)
    assert readers_of(inventory, "row", "rows.jsonl") == readers
    present = {entry.id: entry.readers for entry in inventory.documents}
    assert present.get("row", readers) == readers
    assert ("row" in present) != any(item.place == "row" for item in inventory.skipped)


def test_an_empty_list_of_front_matter_is_nobody(tmp_path):
    (tmp_path / "pay.md").write_text(front("readers: []"))
    inventory = look(tmp_path)
    assert {entry.id: entry.readers for entry in inventory.documents}["pay.md"] == ()


@pytest.mark.parametrize(
    ("lines", "readers"),
    [
        ([["group:hr", "ana"], ["group:hr"]], HR),
        ([["group:hr"], []], ()),
        ([[], ["group:hr"]], ()),
        ([["group:hr"], None], HR),  # the rule for everyone is for the second one
        ([["group:hr"], 7], ()),
        ([["group:hr"], ["group:hr"]], HR),
    ],
)
def test_of_two_rows_with_one_id_the_readers_of_both_count(tmp_path, lines, readers):
    rows = (json.dumps({"id": "row", "text": "A", "readers": names}) for names in lines)
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    assert readers_of(look(tmp_path), "row", "rows.jsonl") == readers


@pytest.mark.parametrize(
    "end",
    [
        "",
        ', "readers": "group:hr", "readers": "*"}',
        ', "metadata": {"readers": "group:hr"}, "metadata": {}}',
        ', "metadata": "{\\"readers\\": \\"group:hr\\"}", "metadata": {"year": 1999}}',
        ', "acl": {"READERS": "group:hr"}, "acl": null}',
        ', "chunks": [{"readers": "group:hr"}], "chunks": []}',
    ],
)
def test_a_line_that_is_no_json_or_declares_twice_is_hidden(tmp_path, end):
    (tmp_path / "rows.jsonl").write_text(f'{{"id": "row", "text": "A text."{end}')
    assert readers_of(look(tmp_path), "row", "rows.jsonl") == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "readers"),
    [
        ({"readers": [["group:hr"]]}, HR),
        ({"readers": [[]]}, ()),
        ({"Readers": [["group:hr"]]}, ()),
        ({"acl": [{"readers": ["group:hr"]}]}, ()),
        ({"metadata": [[{"readers": "group:hr"}]]}, ()),
        ({"metadata": [b'{"readers": "group:hr"}']}, ()),
        ({"metadata": pa.array([[("readers", "group:hr")]], pa.map_("string", "string"))}, HR),
    ],
)
def test_columns_of_parquet_declare_or_hide(tmp_path, columns, readers):
    table = pa.table({"id": ["row"], "text": ["A text."], **columns})
    pq.write_table(table, tmp_path / "table.parquet")
    assert readers_of(look(tmp_path), "row", "table.parquet") == readers


@pytest.mark.parametrize("narrower", ["rows/b.jsonl", "other/row"])
def test_no_right_is_given_while_another_document_of_the_id_cannot_be_read(tmp_path, narrower):
    """The table or the source that narrows its readers is damaged, empty or missing."""
    is_row = narrower.endswith(".jsonl")
    rows, other = tmp_path / "rows", tmp_path / "other"
    rows.mkdir()
    other.mkdir()
    (rows / "a.jsonl").write_text(json.dumps({"id": "row.md", "text": "A", "readers": ["*"]}))
    file = rows / "b.jsonl" if is_row else other / "row.md"
    row = json.dumps({"id": "row.md", "text": "B", "readers": ["ana"]})
    file.write_text(row if is_row else front("readers: ana"))
    (other / "open.md").write_text("An open text.")
    settings = SourceSettings(paths=(str(rows), str(other)), readers=PUBLIC)

    catalog = scan_source(settings).catalog

    def readers():
        inventory = scan_source(settings, catalog).inventory
        return inventory.current_readers("row.md", "a.jsonl", ("ana",))

    assert readers() == ("ana",)
    if is_row:
        for damaged in (b"", b"\x00 no json"):
            file.write_bytes(damaged)
            assert readers() == ("ana",)
    else:
        other.rename(tmp_path / "away")
        assert readers() == ("ana",)
        (tmp_path / "away").rename(other)
    file.unlink()
    assert readers() == ("*",)
