"""Readers of documents: declared by rows and front matter, or named by rules of the settings."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from raptor_core.documents import (
    Catalog,
    Document,
    DocumentEntry,
    Inventory,
    Skipped,
    load_documents,
    read_scanned_documents,
    scan_source,
)
from raptor_core.documents.catalog.scan import skip_without_readers
from raptor_core.documents.reader_rules import ReaderRules
from raptor_core.errors import SettingsError, SourceError
from raptor_core.settings import Settings, SourceSettings, override_settings

RULES = (
    {"paths": ["*"], "readers": ["*"]},
    {"paths": ["hr/**", "!hr/menu.md"], "readers": ["group:hr", "ana"]},
    {"paths": ["hr/drafts/"], "readers": []},
)


@pytest.fixture
def docs(tmp_path):
    files = {
        "open.md": "An open text.",
        "hr/pay.md": "A text on pay.",
        "hr/menu.md": "What the kitchen cooks.",
        "hr/drafts/new.md": "A draft.",
        "hr/ben.md": "---\nreaders: ben\nlang: en\n---\nA text for Ben.",
        "hr/two.md": '+++\nreaders = ["group:it", "ben", "ben"]\n+++\nA text for two.',
        "rows.jsonl": "\n".join(
            json.dumps({"id": f"row{n}", "text": f"Row {n}.", **values})
            for n, values in enumerate([{}, {"readers": ["ana"]}, {"metadata": {"readers": "eva"}}])
        ),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    table = pa.table({"id": ["p0", "p1"], "text": ["One.", "Two."], "readers": [["ben"], None]})
    pq.write_table(table, tmp_path / "table.parquet")
    return tmp_path


DECLARED = {
    "hr/ben.md": ("ben",),
    "hr/two.md": ("ben", "group:it"),
    "row1": ("ana",),
    "row2": ("eva",),
    "p0": ("ben",),
}


def source(docs, rules=()):
    return SourceSettings(paths=(str(docs),), readers=rules)


@pytest.mark.slow
def test_a_declaration_leaves_the_metadata_and_the_content(docs):
    documents = {d.id: d for d in load_documents(settings=source(docs)).documents}
    assert {name: d.readers for name, d in documents.items() if d.readers} == DECLARED
    assert not any("readers" in document.metadata for document in documents.values())
    document = documents["hr/ben.md"]
    other = replace(document, readers=None)
    assert (document.content_hash, document.version) == (other.content_hash, other.version)
    assert document.metadata["lang"] == "en"


def test_the_last_rule_that_matches_counts_and_a_declaration_wins(docs):
    settings = source(docs, RULES)
    documents = {d.id: d.readers for d in load_documents(settings=settings).documents}
    everyone = dict.fromkeys(("open.md", "hr/menu.md", "row0", "p1"), ("*",))
    expected = {**everyone, "hr/pay.md": ("ana", "group:hr"), "hr/drafts/new.md": (), **DECLARED}
    assert documents == expected


def test_a_changed_rule_changes_readers_alone_without_reading_a_file(docs):
    before = scan_source(source(docs), Catalog(), clock=lambda: 1e12)
    after = scan_source(source(docs, RULES), before.catalog, clock=lambda: 1e12)
    assert (after.n_read, after.is_catalog_changed) == (0, False)
    old, new = ({e.id: e for e in s.inventory.documents} for s in (before, after))
    assert {name for name in old if old[name] != new[name]} == {
        *("open.md", "hr/menu.md", "hr/pay.md", "hr/drafts/new.md", "row0", "p1")
    }
    assert all(old[name].version == new[name].version for name in old)
    assert before.inventory.digest != after.inventory.digest
    read = read_scanned_documents(after, set(new)).documents
    assert {d.id: (d.version, d.readers) for d in read} == {
        e.id: (e.version, e.readers) for e in after.inventory.documents
    }


@pytest.mark.parametrize(
    ("document", "source", "published", "today"),
    [
        ("a", "", ("ana", "ben"), ("eva",)),  # declared now, whatever was published
        ("b", "", ("ana",), ()),  # declared for no one
        ("c", "", ("ana",), ()),  # nothing is declared, and no rule matches
        ("rules/d", "", ("ana",), ("*",)),
        ("broken", "", ("ana", "ben"), ("ben",)),
        ("rules/broken", "", ("*",), ("ben",)),
        ("rules/hidden", "", ("*",), ()),
        ("rules/unread", "", ("ana",), ("ana",)),
        ("row9", "rules/rows.jsonl", ("ana", "ben"), ("ben",)),  # one of two unread rows
        ("rules/gone", "", ("ana",), ("ana",)),
        ("row", "rules/gone.jsonl", ("*",), ("*",)),
        ("rules/hr/gone", "", ("*",), ("group:hr",)),
        ("gone", "", ("ana",), ()),
    ],
)
@pytest.mark.parametrize("aside", [(), ("a", "b", "c", "rules/d")])
def test_readers_of_today_are_those_of_the_source_and_what_is_unknown_is_closed(
    document, source, published, today, aside
):
    rules = ReaderRules(
        SourceSettings(
            readers=(
                {"paths": ["rules/**"], "readers": ["*"]},
                {"paths": ["rules/hr/"], "readers": ["group:hr"]},
            )
        )
    )
    entries = [
        DocumentEntry("a", "", "", ("eva",)),
        DocumentEntry("b", "", "", ()),
        DocumentEntry("c", "", ""),
    ]
    entries.append(rules.apply_to_document(DocumentEntry("rules/d", "", "")))
    skipped = (
        Skipped("broken", "is damaged", readers=("ben",)),
        Skipped("rules/broken", "is damaged", readers=("ben",)),
        Skipped("rules/hidden", "is damaged", readers=()),
        Skipped("rules/unread", "is damaged"),
        Skipped("rules/rows.jsonl:1", "is damaged", place="rules/rows.jsonl", readers=("ben",)),
        Skipped("rules/rows.jsonl:2", "is damaged", place="rules/rows.jsonl"),
    )
    inventory = skip_without_readers(
        Inventory(tuple(entries), skipped, rules=rules).without_documents(aside)
    )
    assert inventory.current_readers(document, source or document, published) == today


def test_rules_reach_rows_by_the_path_of_their_file_and_an_exception_counts(tmp_path):
    (tmp_path / "hr").mkdir()
    (tmp_path / "hr/rows.jsonl").write_text('{"id": "row", "text": "A secret."}')
    (tmp_path / "open.md").write_text("Open.")
    rules = (
        {"paths": ["*", "!hr/**"], "readers": ["*"]},
        {"paths": ["hr/**"], "readers": ["group:hr"]},
    )
    for paths in (tmp_path, f"local://{tmp_path}"):
        for n_rules, of_row in ((1, None), (2, ("group:hr",))):
            settings = SourceSettings(paths=(str(paths),), readers=rules[:n_rules])
            documents = load_documents(settings=settings).documents
            assert {d.id: d.readers for d in documents} == {"open.md": ("*",), "row": of_row}


@pytest.mark.parametrize(
    ("patterns", "unmatched"),
    [
        (["hr/**"], []),
        (["./hr/**"], []),
        (["!./hr/menu.md", "hr/"], []),
        (["HR/**"], ["HR/**"]),
        (["/srv/docs/hr/**", "*.md"], ["/srv/docs/hr/**"]),
        (["hr\\**"], ["hr\\**"]),
        (["rows.jsonl"], []),
        (["row1", "row9"], ["row9"]),
        (["broken.pdf"], []),
    ],
)
def test_patterns_of_rules_that_match_no_document_are_named(docs, patterns, unmatched):
    (docs / "broken.pdf").write_bytes(b"x")
    rules = ({"paths": ["**"], "readers": ["*"]}, {"paths": patterns, "readers": ["group:hr"]})
    inventory = scan_source(source(docs, rules)).inventory
    labels = tuple(f"[[source.readers]] 2: {pattern!r}" for pattern in unmatched)
    assert inventory.unmatched_rules == labels
    assert skip_without_readers(inventory.without_documents({"open.md"})).unmatched_rules == labels


def test_a_missing_source_leaves_the_rights_of_the_others_and_the_catalog(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.md").write_text(f"---\nreaders: {name}\n---\nA text.")
    settings = SourceSettings(paths=(str(tmp_path / "one"), str(tmp_path / "two")))
    before = scan_source(settings, clock=lambda: 1e12)
    (tmp_path / "two").rename(tmp_path / "away")
    (tmp_path / "one/one.md").write_text("---\nreaders: eva\n---\nA text.")
    scan = scan_source(settings, before.catalog, clock=lambda: 1e12)
    assert [(e.id, e.readers) for e in scan.inventory.documents] == [("one.md", ("eva",))]
    assert scan.inventory.current_readers("two.md", "two.md", ("two",)) == ()
    with pytest.raises(SourceError, match="two"):
        scan.inventory.require_complete()
    with pytest.raises(SourceError, match="two"):
        load_documents(settings=settings)
    (tmp_path / "away").rename(tmp_path / "two")
    after = scan_source(settings, scan.catalog, clock=lambda: 1e12)
    after.inventory.require_complete()
    assert (len(after.inventory.documents), after.n_read) == (2, 0)
    (tmp_path / "one").rename(tmp_path / "away")
    (tmp_path / "two").rename(tmp_path / "further")
    nothing = scan_source(settings, after.catalog, clock=lambda: 1e12)
    assert (nothing.inventory.documents, nothing.catalog) == ((), after.catalog)


@pytest.mark.parametrize("value", ["", " ", 7, ["ana", 7], {"group": "hr"}, ["ana", ""], True])
def test_a_malformed_declaration_is_named_and_its_document_is_not_read(tmp_path, value):
    row = json.dumps({"id": "a", "text": "A secret.", "readers": value})
    (tmp_path / "rows.jsonl").write_text(f'{{"id": "b", "text": "Known."}}\n{row}')
    (tmp_path / "c.md").write_text(f"---\nreaders: {json.dumps(value)}\n---\nA secret.")
    corpus = load_documents(settings=source(tmp_path, RULES))
    assert [d.id for d in corpus.documents] == ["b"]
    reasons = {s.name: s.reason for s in corpus.skipped}
    assert "expected a name, or a list of names" in reasons["rows.jsonl:2"]
    assert "expected a name, or a list of names" in reasons["c.md"]


def test_a_parquet_column_of_readers_that_are_no_names_is_refused(tmp_path):
    table = pa.table({"id": ["a"], "text": ["A secret."], "readers": [{"group": "hr"}]})
    pq.write_table(table, tmp_path / "table.parquet")
    with pytest.raises(SourceError, match="expected a name, or a list of names"):
        load_documents(settings=source(tmp_path, RULES))


@pytest.mark.parametrize(
    "rule",
    [
        {"paths": [], "readers": ["a"]},
        {"paths": ["a"], "readers": [""]},
        {"paths": ["hr/**  # people"], "readers": ["a"]},
        {"paths": ["# people"], "readers": ["a"]},
        {"paths": ["a", " "], "readers": ["a"]},
        {"paths": ["../hr/**"], "readers": ["a"]},
        {"paths": ["!hr/**"], "readers": ["a"]},
    ],
)
def test_a_rule_that_cannot_match_or_has_a_blank_name_is_refused(rule):
    with pytest.raises(SettingsError, match=r"source\.readers"):
        override_settings(Settings(), {"source": {"readers": [rule]}}, "here")


@pytest.mark.parametrize("readers", ["ana", (7,), ("",)])
def test_readers_of_a_document_are_names(readers):
    with pytest.raises(SourceError, match="'a': expected a list of names as readers"):
        Document("a", "text", readers=readers)
