"""Walking folders and URLs, and what they leave out."""

import json
import os

import fsspec
import pytest

from raptor_core.documents import load_documents
from raptor_core.errors import SourceError
from raptor_core.settings import SourceSettings


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "docs"
    for name in ("b.md", "a.txt", "sub/c.md", "sub/deep/d.txt", ".hidden/e.md", "sub/.f.md"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Text of {name}.")
    return root


@pytest.fixture
def memory():
    files = fsspec.filesystem("memory")
    yield files
    files.rm("/", recursive=True)


def ids(corpus):
    return [document.id for document in corpus.documents]


def reasons(corpus):
    return {item.name: item.reason for item in corpus.skipped}


def test_folder_is_read_recursively_in_order_of_id(folder):
    corpus = load_documents(folder)
    assert ids(corpus) == ["a.txt", "b.md", "sub/c.md", "sub/deep/d.txt"]
    assert corpus.skipped == ()
    last = corpus.documents[-1]
    assert last.source == "sub/deep/d.txt"
    assert last.metadata["folder"] == "sub/deep"


def test_named_file_is_read_even_if_rules_leave_it_out(folder):
    settings = SourceSettings(include=("*.pdf",), exclude=("*.md",))
    assert ids(load_documents(folder / "sub/.f.md", settings=settings)) == [".f.md"]


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        (("*.md",), (), ["b.md", "sub/c.md"]),
        (("/*.md",), (), ["b.md"]),
        (("sub/",), (), ["sub/c.md", "sub/deep/d.txt"]),
        (("sub/**/*.txt",), (), ["sub/deep/d.txt"]),
        (("**/c.md", "[ab].*"), (), ["a.txt", "b.md", "sub/c.md"]),
        ((), ("deep/", "a.???"), ["b.md", "sub/c.md"]),
        ((), ("*.md", "!sub/c.md"), ["a.txt", "sub/c.md", "sub/deep/d.txt"]),
        ((), ("sub/**",), ["a.txt", "b.md"]),
        ((), ("[!a].*",), ["a.txt"]),
        ((), ("sub/**", "!sub/c.md"), ["a.txt", "b.md", "sub/c.md"]),
        ((), ("sub/**/",), ["a.txt", "b.md", "sub/c.md"]),
    ],
)
def test_patterns_include_and_exclude_files(folder, include, exclude, expected):
    settings = SourceSettings(include=include, exclude=exclude)
    assert ids(load_documents(folder, settings=settings)) == expected


def test_unsupported_files_are_reported(folder):
    (folder / "photo.JPG").write_bytes(b"x")
    (folder / "LICENSE").write_text("MIT")
    skipped = reasons(load_documents(folder))
    assert "type .jpg are not supported" in skipped["photo.JPG"]
    assert "without an extension" in skipped["LICENSE"]
    only = load_documents(folder, settings=SourceSettings(include=("*.md",)))
    assert only.skipped == ()


def test_links_are_reported_and_not_followed(folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("Secret.")
    targets = {
        "file.md": outside / "secret.md",
        "sub/tree": outside,
        "sub/up": folder,
        "again.md": folder / "sub",
        "gone.md": folder / "nowhere.md",
        "self.md": folder / "self.md",
    }
    before = load_documents(folder).documents
    for name, target in targets.items():
        (folder / name).symlink_to(target)
    corpus = load_documents(folder)
    assert corpus.documents == before
    assert {item.name for item in corpus.skipped} == set(targets)
    assert not any(item.is_empty for item in corpus.skipped)


def test_pipes_are_not_waited_for(folder):
    os.mkfifo(folder / "pipe.txt")
    assert reasons(load_documents(folder)) == {"pipe.txt": "is not a regular file"}


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["nowhere"], "nowhere"),
        (["memory://nowhere"], "nowhere"),
        (["memory://nowhere/a.md"], "nowhere"),
        (["nope://x"], "nope"),
        ([], "no source is named"),
    ],
)
def test_a_source_that_is_not_there_is_an_error(paths, message):
    with pytest.raises(SourceError, match=message):
        load_documents(*paths)


def test_connection_that_breaks_is_no_missing_document(memory, monkeypatch):
    memory.pipe("/kb/a.md", b"Text.")

    def fail(*args, **kwargs):
        raise ConnectionResetError("connection reset")

    monkeypatch.setattr(type(memory), "open", fail)
    with pytest.raises(SourceError, match=r"memory://kb/a\.md.*connection reset"):
        load_documents("memory://kb")


def test_a_document_with_the_name_of_the_corpus_tree_is_left_out_with_a_reason(tmp_path):
    names = ["corpus", "/corpus", "/corpus/a", "/corpuses", "a/corpus"]
    rows = "\n".join(json.dumps({"id": name, "text": "words"}) for name in names)
    (tmp_path / "rows.jsonl").write_text(rows)
    corpus = load_documents(str(tmp_path))
    assert ids(corpus) == ["/corpuses", "a/corpus", "corpus"]
    assert [item.name for item in corpus.skipped] == ["rows.jsonl:2", "rows.jsonl:3"]
    assert all("give it another id" in item.reason for item in corpus.skipped)


def test_what_is_nested_too_deeply_is_named_and_the_rest_is_read(tmp_path):
    (tmp_path / "a.md").write_text("Words.")
    (tmp_path / "b.rst").write_text("\n".join(f"{' ' * n}x\n" for n in range(1100)))
    (tmp_path / "/".join(["d"] * 700)).mkdir(parents=True)
    found = load_documents(tmp_path)
    assert ids(found) == ["a.md"]
    assert "nested too deeply" in reasons(found)["b.rst"]
    assert "200 folders deep" in reasons(found)["/".join(["d"] * 201)]
