"""Names are compared in composed letters, whatever form the disk or a rule has them in."""

import json
import unicodedata
from itertools import permutations

import fsspec
import pytest

from raptor_core.documents import load_documents, read_scanned_documents, scan_source
from raptor_core.settings import SourceSettings

NAMES = {
    "German": "Geschäftsführung",
    "French": "Équipe",
    "Vietnamese": "Quản lý",
    "Czech": "Příručka",
    "Polish": "Sprawozdań",
    "Turkish": "Çalışanlar",
    "Greek": "Διοίκηση",
    "Russian": "Мой край",
    "Korean": "이사회",
    "Japanese": "ガイド",
    "Hindi": "क़ानून",
    "Swedish": "Ångström",
}
FORMS = [*permutations(["NFC", "NFD"]), ("NFD", "NFD")]


@pytest.fixture(params=["disk", "memory"])
def place(request, tmp_path):
    """Function that writes a file, and the path of the source."""
    if request.param == "disk":

        def write(name, text):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

        yield write, str(tmp_path)
        return
    files = fsspec.filesystem("memory")
    yield lambda name, text: files.pipe(f"/kb/{name}", text.encode()), "memory://kb"
    files.rm("/", recursive=True)


@pytest.mark.parametrize(("stored", "typed"), FORMS)
@pytest.mark.parametrize("language", NAMES)
def test_rules_exclusions_and_places_match_in_any_form(place, language, stored, typed):
    write, path = place
    name = unicodedata.normalize(stored, NAMES[language])
    asked = unicodedata.normalize(typed, NAMES[language])
    id_ = unicodedata.normalize("NFC", NAMES[language])
    write(f"{name}/{name}.md", "The board gets 900 crowns.")
    write(f"{name}/rows.jsonl", json.dumps({"id": name, "text": "A row.", "readers": [name]}))
    for folder in ("draft", "old"):
        write(f"{folder}-{name}/a.md", "A draft.")
    write(f"{name}/broken.jsonl", "{")
    rules = (
        {"paths": ["**"], "readers": ["*"]},
        {"paths": [f"{asked}/**"], "readers": [f"group:{asked}"]},
    )
    settings = SourceSettings(
        paths=(path,), exclude=(f"old-{asked}", f"draft-{asked}/"), readers=rules
    )
    scan = scan_source(settings)
    inventory = scan.inventory
    expected = {f"{id_}/{id_}.md": (f"group:{id_}",), id_: (id_,)}
    assert {entry.id: entry.readers for entry in inventory.documents} == expected
    assert {
        d.id: d.readers for d in read_scanned_documents(scan, set(expected)).documents
    } == expected
    assert {d.id: d.readers for d in load_documents(settings=settings).documents} == expected
    assert [item.place for item in inventory.skipped] == [f"{id_}/broken.jsonl"]
    source = f"{name}/broken.jsonl" if "://" not in path else f"{path}/{name}/broken.jsonl"
    assert inventory.current_readers("gone", source, ("*",)) == ()


def test_two_names_that_differ_in_form_alone_are_named(tmp_path):
    for form in ("NFC", "NFD"):
        (tmp_path / f"{unicodedata.normalize(form, 'Übung')}.md").write_text(f"Text in {form}.")
    corpus = load_documents(tmp_path)
    assert [d.id for d in corpus.documents] == ["Übung.md"]
    (skipped,) = corpus.skipped
    assert "differ only in their Unicode form" in skipped.reason
