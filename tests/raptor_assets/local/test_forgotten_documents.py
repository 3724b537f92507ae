"""Words that stand in one document alone: after its deletion no file of a home holds them."""

import random
import re

import pyarrow.parquet as pq
import pytest
from support.command import Place, embedder_made_by
from support.hashing import HashingEmbedder
from support.workshop import Workshop, prose, settings_text

from raptor_core.checks.base import without_quotations

KINDS = ("title", "opening", "cell", "closing")
N_DOCUMENTS = 6
DELETED = (1, 2)


def canary(kind, number):
    """Word that stands in one document alone, and that no one can guess."""
    return "".join(random.Random(f"{kind} {number}").choices("bcdfghjklmnpqrstvwxz", k=14))


def text(number, edition):
    title, opening, cell, closing = (canary(kind, number) for kind in KINDS)
    return (
        f"# Notes on {title}\n\nThe {opening} sang beside the orange gate, {edition}. "
        f"{prose(4, number)}\n\n| part | price |\n| --- | --- |\n| {cell} | {number} |\n\n"
        f"{prose(3, number + 1000)} Nothing but a {closing} remained, {edition}.\n"
    )


def found_in(place):
    """Files of a home that hold a word of a deleted document, tables read as values."""
    words = "|".join(canary(kind, number) for number in DELETED for kind in KINDS).encode()
    found = set()
    for path in place.home.rglob("*"):
        if not path.is_file():
            continue
        table = repr(pq.read_table(path).to_pylist()) if path.suffix == ".parquet" else ""
        if re.search(words, path.read_bytes() + table.encode()):
            found.add(path.relative_to(place.home).parts[0])
    return found


@pytest.fixture(scope="module")
def hashing():
    embedder = HashingEmbedder()
    with embedder_made_by(lambda *_, **__: embedder):
        yield


@pytest.fixture(
    scope="module",
    params=[False, pytest.param(True, marks=pytest.mark.rare)],
    ids=["without samples", "with samples"],
)
def emptied(request, tmp_path_factory, hashing):
    """A home of two editions of its documents, two of which were deleted, and ``runs.samples``."""
    place = Place(tmp_path_factory.mktemp("canaries"))
    place.home.mkdir(exist_ok=True)
    parts = {
        "runs": {"samples": request.param},
        "grouping": {"by": "folder", "shards": 1},
        "corpus_tree": {"enabled": True},
    }
    place.settings.write_text(settings_text(place.docs, **parts))
    for edition in ("first", "second"):
        for number in range(N_DOCUMENTS):
            place.write(f"folder{number // 2}/{number}.md", text(number, edition))
        assert place.call("build").code == 0
    assert place.call("query", text(DELETED[1], "second")[:60], "--json").code == 0
    for number in DELETED:
        (place.docs / f"folder{number // 2}" / f"{number}.md").unlink()
    assert place.call("build", "--confirm-removal").code == 0
    return place, request.param


@pytest.mark.slow
@pytest.mark.usefixtures("erasing")
def test_no_file_holds_a_word_of_a_deleted_document_but_the_log_of_samples(emptied):
    place, has_samples = emptied
    assert found_in(place) == ({"dagster"} if has_samples else set())


@pytest.mark.parametrize("samples", [False, True])
def test_events_hold_texts_of_documents_only_with_samples(tmp_path, samples):
    workshop = Workshop(tmp_path, runs={"samples": samples})
    workshop.write("0.md", text(0, "first"))
    assert not workshop.build().failed
    events = b"".join(p.read_bytes() for p in workshop.home.dagster.rglob("*") if p.is_file())
    words = [canary(kind, 0).encode() for kind in KINDS]
    assert any(word in events for word in words) == samples


def test_what_is_quoted_is_taken_out_of_a_message():
    said = "the file's answer is junk (refusal): 'I can't help you', and \"a b\"; it’s 3 “c d”"
    hidden = without_quotations(said)
    assert not re.search("help|a b|c d", hidden)
    assert hidden.startswith("the file's answer is junk (refusal): “…”")
