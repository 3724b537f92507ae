"""`raptor documents`: what would be read, what not and why, and that nothing is written."""

import json

import pytest
from support.command import Place, raptor

ENGLISH = "The lamp of the tower was lit by the keeper, and it burned for most of the night. "
GLUED = " ".join(f"thelampofthe{letter}towerwaslitbythekeeper" for letter in "abcdefghijklmnop")


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    made.write("guide/lamp.md", f"# The lamp\n\n## Its oil\n\n{ENGLISH * 12}")
    made.write("glued.txt", f"{ENGLISH}{GLUED}")
    made.write("rows.jsonl", "".join(f'{{"id": "{name}", "text": "One."}}\n' for name in "aba"))
    made.write("empty.md", "")
    made.write("picture.svg", "<svg/>")
    made.write(".hidden.md", ENGLISH)
    return made


def seen(place):
    return sorted(place.root.rglob("*"))


def test_files_to_read_and_files_to_skip_are_listed_and_nothing_is_written(place):
    place.write("drafts/new.md", ENGLISH)
    before = seen(place)
    found = place.call("documents", place.docs, "--json", RAPTOR_SOURCE__EXCLUDE="drafts/")
    assert (found.code, seen(place)) == (0, before)
    rows = {row["document"]: row for row in found.json["documents"]}
    assert list(rows) == ["glued.txt", "guide/lamp.md", "a", "b"]
    lamp = rows["guide/lamp.md"]
    size = (place.docs / "guide" / "lamp.md").stat().st_size
    assert (lamp["size_bytes"], lamp["n_sections"], lamp["language"]) == (size, 2, "en")
    assert lamp["n_tokens"] >= lamp["n_chunks"] > 1
    assert "of the letters are in glued words" in rows["glued.txt"]["doubt"]
    left_out = {s["name"]: s["reason"] for key in ("skipped", "omitted") for s in found.json[key]}
    assert left_out.pop("picture.svg").startswith("files of type .svg are not supported")
    assert "is taken, by the same text" in left_out.pop("rows.jsonl:3")
    assert left_out == {
        "empty.md": "is empty",
        ".hidden.md": "is hidden",
        "drafts/": "is excluded by source.exclude",
    }


def test_a_document_is_shown_as_it_will_be_chunked(place):
    found = raptor("documents", place.docs, "guide/lamp.md", "--home", place.home, "--json").json
    text = (place.docs / "guide" / "lamp.md").read_text()
    assert len(found["chunks"]) == found["n_chunks"]
    for chunk in found["chunks"]:
        assert chunk["text"] == text[chunk["start"] : chunk["end"]]
    assert found["chunks"][-1]["section"] == ["The lamp", "Its oil"]
    printed = raptor("documents", place.docs, "guide/lamp.md", "--home", place.home).out
    assert "The lamp > Its oil" in printed


def test_the_home_gives_its_source_and_its_settings(place):
    assert raptor("init", place.docs, "--home", place.home).code == 0
    place.configure('[source]\nexclude = ["glued*"]')
    found = place.call("documents", "--json").json
    assert [row["document"] for row in found["documents"]] == ["guide/lamp.md", "a", "b"]
    assert {"name": "glued.txt", "reason": "is excluded by source.exclude"} in found["omitted"]
    assert place.call("documents", "guide/lamp.md", "--json").json["n_sections"] == 2
    refused = place.call("documents", "glued.txt", "--json")
    assert (refused.code, refused.json["error"]) == (4, "SourceError")
    assert "it is excluded by source.exclude" in refused.json["message"]


def test_without_a_home_a_source_is_needed_and_an_empty_one_is_an_error(tmp_path):
    place = Place(tmp_path)
    assert place.call("documents").code == 4
    assert place.call("documents", "nosuch").code == 4
    place.docs.mkdir()
    found = place.call("documents", place.docs, "--json")
    assert (found.code, json.loads(found.out)["error"]) == (4, "EmptySourceError")
    assert not place.home.exists()


QUESTIONS = [
    {"question": "Who lit the lamp in 1872?", "expected": ["farness/lighthouse.md"]},
    {
        "question": "When was the breakwater begun?",
        "span": "The breakwater was begun in 1890 and finished in 1903 at three times its price.",
        "expected": "farness/harbour.md",
    },
    {"question": "How long are crabs boiled?", "expected": "soup.md", "tree": "soup.md"},
]


@pytest.fixture
def golden(tmp_path):
    def write(*cases):
        path = tmp_path / "golden.jsonl"
        path.write_text("".join(json.dumps(case) + "\n" for case in cases or QUESTIONS))
        return path

    return write


@pytest.mark.slow
def test_a_hit_rate_below_the_bound_exits_with_5_and_above_it_with_0(built, golden):
    wrong = {"question": "Who lit the lamp in 1872?", "expected": ["soup.md"]}
    path = golden(QUESTIONS[0], wrong)
    options = (path, "--json", "--top-k", "1", "--min-hit-rate")
    assert built.call("eval", "golden", *options, "0.5").code == 0
    printed = built.call("eval", "golden", *options, "0.6")
    assert printed.code == 5
    assert printed.json["hit_rate"] == 0.5
    printed = built.call("eval", "golden", path, "--top-k", "1", "--min-hit-rate", "0.6")
    assert (printed.code, "below 0.6" in printed.err) == (5, True)
    assert "missed" in printed.out
