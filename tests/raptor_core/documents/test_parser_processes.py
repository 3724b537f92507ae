"""Hostile files cost themselves alone: never the process, another file, or what is published."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from support import offices

from raptor_core.documents import load_documents
from raptor_core.documents.parsing.files import read_file
from raptor_core.documents.parsing.names import FileName
from raptor_core.documents.parsing.process import PARSERS, ParserPool
from raptor_core.settings import SourceSettings

PAGE = FileName("page.html", "page.html")
HTML = b"<h1>Lamp</h1><p>It burns.</p>"


@pytest.fixture
def pool():
    made = ParserPool()
    yield made
    made.close()


HOSTILE = {
    "field.csv": b"a,b\n1," + b"x" * 2_000_000,
    "quote.csv": b'a,b\n1,"' + b"x,\n" * 700_000,
    "nested.eml": b"Subject: s\n"
    + b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(3000)
    ),
    "torn.parquet": b"PAR1" + b"\xff" * 1000 + b"PAR1",
    "torn.docx": offices.deck()[:-100],
    "torn.pdf": b"%PDF-1.4\n" + b"1 0 obj<</Kids[1 0 R]>>endobj\n" * 1000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_skipped_with_a_reason_and_the_rest_is_read(tmp_path, name):
    (tmp_path / name).write_bytes(HOSTILE[name])
    (tmp_path / "page.html").write_bytes(HTML)
    corpus = load_documents(tmp_path)
    assert [document.text for document in corpus.documents] == ["Lamp\n\nIt burns."]
    (skipped,) = corpus.skipped
    assert skipped.name == name
    assert skipped.reason.startswith("is damaged")
    assert not skipped.is_empty


@pytest.mark.rare
@pytest.mark.parametrize("name", ["page.html", "many.csv"])
def test_a_file_that_takes_too_long_is_reported_with_a_remedy_and_the_next_is_read(pool, name):
    data = b"<b>,</b>\n" * 500_000
    settings = SourceSettings(parse_seconds=0.02)
    pool.parse(PAGE, HTML, SourceSettings())
    (skipped,) = pool.parse(FileName(name, name), data, settings)
    assert "took more than 0.02 s" in skipped.reason
    assert "split it, raise source.parse_seconds, or exclude it" in skipped.reason
    ((_, document),) = pool.parse(PAGE, HTML, SourceSettings())
    assert document.title == "Lamp"


def stop_and_kill(pid):
    os.kill(pid, signal.SIGSTOP)
    timer = threading.Timer(0.5, os.kill, (pid, signal.SIGKILL))
    timer.start()
    return timer


@pytest.mark.slow
def test_a_file_that_ends_a_new_process_is_reported(pool):
    pool.parse(PAGE, HTML, SourceSettings())
    pool._idle[0].has_read = False
    timer = stop_and_kill(pool._idle[0].process.pid)
    (skipped,) = pool.parse(PAGE, HTML, SourceSettings())
    timer.join()
    assert "its parser crashed (exit code -9)" in skipped.reason
    assert pool.parse(PAGE, HTML, SourceSettings())[0][1].title == "Lamp"


@pytest.mark.slow
def test_a_fault_of_a_parser_costs_its_file_alone(pool, tmp_path, monkeypatch):
    (tmp_path / "lxml").mkdir()
    (tmp_path / "lxml" / "__init__.py").write_text("raise ZeroDivisionError")
    monkeypatch.syspath_prepend(tmp_path)
    (skipped,) = pool.parse(PAGE, HTML, SourceSettings())
    assert "ZeroDivisionError at __init__.py:1" in skipped.reason
    assert isinstance(pool.parse(FileName("a.csv", "a.csv"), b"a\n1", SourceSettings())[0], tuple)


@pytest.mark.slow
def test_files_that_are_read_at_the_same_time_have_a_process_each(pool):
    with ThreadPoolExecutor(2) as threads:
        results = list(threads.map(lambda _: pool.parse(PAGE, HTML, SourceSettings()), range(8)))
    assert {len(items) for items in results} == {1}
    assert 1 <= len({process.process.pid for process in pool._idle}) <= 2


def test_a_run_of_markdown_starts_no_process(tmp_path):
    PARSERS.close()
    for name in ("a.md", "b.txt", "c.rst"):
        (tmp_path / name).write_text("Words of a text.")
    assert len(load_documents(tmp_path).documents) == 3
    assert not PARSERS._idle


@pytest.mark.slow
def test_an_answer_holds_all_that_a_document_has(pool):
    names = ("a.html", "b.jsonl", "c.eml", "d.csv")
    texts = (
        HTML,
        b'{"id": "x", "text": "T", "n": 1.0, "b": true, "i": 3}',
        b"A: b\n\nText",
        b"a\n1",
    )
    for name, data in zip(names, texts, strict=True):
        file = FileName(name, name)
        here = read_file(file, data, SourceSettings())
        there = pool.parse(file, data, SourceSettings())
        assert there == here
        assert [d.content_hash for _, d in there] == [d.content_hash for _, d in here]
