"""Documents that are gone: a mass removal waits for a person, and no file keeps a word of them."""

import random
import re

import pyarrow.parquet as pq
import pytest
from support.command import Place, embedder_made_by
from support.hashing import HashingEmbedder
from support.workshop import Workshop, live, prose, settings_text

from raptor_assets.corpus.changes import decide_run
from raptor_assets.home.rollback import roll_back
from raptor_core.checks.base import without_quotations
from raptor_core.errors import SourceError, StoreError
from raptor_core.store.publishing import PublicationBatch

KINDS = ("title", "opening", "cell", "closing")
N_DOCUMENTS = 4
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


def refuse(*_given):
    raise StoreError("the disk is full")


def found_in(home):
    """Files of a home that hold a word of a deleted document, tables read as values."""
    words = "|".join(canary(kind, number) for number in DELETED for kind in KINDS).encode()
    found = set()
    for path in home.rglob("*"):
        if not path.is_file():
            continue
        table = repr(pq.read_table(path).to_pylist()) if path.suffix == ".parquet" else ""
        if re.search(words, path.read_bytes() + table.encode()):
            found.add(path.relative_to(home).parts[0])
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
    assert found_in(place.home) == ({"dagster"} if has_samples else set())


@pytest.mark.slow
@pytest.mark.usefixtures("erasing")
@pytest.mark.parametrize("by", ["document", "folder"])
def test_a_document_whose_build_failed_is_forgotten(tmp_path, monkeypatch, by):
    """Tables, kept answers and staged points have its text, though it was never published."""
    workshop = Workshop(tmp_path, grouping={"by": by}, runs={"samples": False})
    workshop.write("0.md", text(0, "first"))
    assert not workshop.build().failed
    workshop.write("1.md", text(1, "first"))
    with monkeypatch.context() as patch:
        patch.setattr(PublicationBatch, "publish", refuse)
        assert workshop.build().failed
    assert found_in(workshop.home.path) >= {"qdrant", "tables"}
    workshop.remove("1.md")
    report = workshop.build()
    assert (report.failed, report.n_produced_by_asset.total()) == ({}, 0)
    assert found_in(workshop.home.path) == set()
    assert decide_run(workshop.access()).actions == ()


@pytest.mark.slow
@pytest.mark.usefixtures("erasing")
def test_a_document_of_a_pinned_tree_is_forgotten(tmp_path):
    workshop = Workshop(tmp_path, grouping={"by": "folder"}, runs={"samples": False})
    for edition in ("first", "second"):
        for number in (0, 1):
            workshop.write(f"{number}.md", text(number, edition))
        assert not workshop.build().failed
    roll_back(workshop.access(), ".", "", "worse")
    workshop.remove("1.md")
    assert not workshop.build().failed
    assert found_in(workshop.home.path) == set()


@pytest.mark.parametrize("samples", [False, True])
def test_events_hold_texts_of_documents_only_with_samples(tmp_path, samples):
    workshop = Workshop(tmp_path, runs={"samples": samples})
    workshop.write("0.md", text(0, "first"))
    assert not workshop.build().failed
    events = b"".join(p.read_bytes() for p in workshop.home.dagster_home.rglob("*") if p.is_file())
    words = [canary(kind, 0).encode() for kind in KINDS]
    assert any(word in events for word in words) == samples


def test_what_is_quoted_is_taken_out_of_a_message():
    said = "the file's answer is junk (refusal): 'I can't help you', and \"a b\"; it’s 3 “c d”"
    hidden = without_quotations(said)
    assert not re.search("help|a b|c d", hidden)
    assert hidden.startswith("the file's answer is junk (refusal): “…”")


FEW = ("one/b.md", "two/c.md", "two/d.md")


def remove(workshop, *names):
    for name in names:
        workshop.remove(name)


def refusal(workshop):
    with pytest.raises(SourceError) as refused:
        workshop.build()
    return str(refused.value)


@pytest.mark.slow
def test_more_than_half_stays_until_a_person_confirms(start):
    workshop, daemon = start()
    before = live(workshop)
    remove(workshop, *FEW)
    workshop.write("new.md", prose(12, seed=9))
    for _ in range(2):
        builds, dropped, reason = daemon.tick()
        assert (builds, dropped) == ([], [])
        for message in (reason, refusal(workshop)):
            assert "3 of 4 published documents are gone" in message
            assert "one/b.md, two/c.md, two/d.md" in message
            assert "--confirm-removal" in message
    with pytest.raises(SourceError, match="--confirm-removal"):  # new trees would count as present
        workshop.build("new.md")
    assert live(workshop) == before
    report = workshop.build(confirm_removal=True)
    assert (report.built, report.dropped) == (["new.md"], list(FEW))
    assert daemon.tick()[2] == "2 partitions are up to date"


@pytest.mark.slow
def test_a_drop_that_fails_is_reported_and_repeated(start, monkeypatch):
    workshop, _ = start()
    remove(workshop, "two/d.md")

    with monkeypatch.context() as planted:
        planted.setattr(PublicationBatch, "drop", refuse)
        report = workshop.build()
    assert (report.dropped, list(report.failed)) == ([], ["two/d.md"])
    assert "the disk is full" in report.failed["two/d.md"].reason
    assert "two/d.md" in live(workshop)[1]
    report = workshop.build()
    assert (report.dropped, report.failed) == (["two/d.md"], {})
