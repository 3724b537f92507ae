"""Places that cannot be read keep what they published; a URL's secrets stay at its server."""

import errno
import json
import os
from contextlib import closing

import pytest
from support.object_store import forget_connections, object_store
from support.raw_server import RawServer

from raptor_core.disk import os_error_remedy, translate_disk_errors
from raptor_core.documents import UnreadPlaces, load_documents, scan_source
from raptor_core.errors import SourceError, StoreError
from raptor_core.settings import SourceSettings

FILES = ("a.md", "sub/b.md", "sub/deep/c.md")


@pytest.fixture
def folder(tmp_path):
    for name in FILES:
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text(f"Text of {name}.")
    return tmp_path / "docs"


@pytest.fixture
def failing(monkeypatch):
    """Make the operating system fail to list a folder, at once or after its first entry."""

    def fail(path, number, after=0):
        original = os.scandir

        def scandir(place="."):
            if os.fspath(place) != str(path):
                return original(place)
            return closing(entries(original(place))) if after else refuse()

        def entries(found):
            with found:
                for _ in range(after):
                    yield next(found)
                refuse()

        def refuse():
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "scandir", scandir)

    return fail


def ids(corpus):
    return [document.id for document in corpus.documents]


def unknown(corpus):
    """Names of what was not read, each of which holds all below it."""
    unread = UnreadPlaces(corpus.skipped)
    return [item.name for item in corpus.skipped if unread.place_of(f"{item.name}/x.md", "")]


@pytest.mark.parametrize(
    ("number", "after"), [(errno.EACCES, 0), (errno.EIO, 1), (errno.ENOENT, 0)]
)
def test_a_folder_that_cannot_be_listed_to_its_end_is_unknown(folder, failing, number, after):
    failing(folder / "sub", number, after)
    corpus = load_documents(folder)
    assert ids(corpus) == ["a.md"]
    assert unknown(corpus) == ["sub"]
    assert "cannot be listed" in corpus.skipped[0].reason


def test_a_link_to_a_folder_that_is_away_is_unknown(folder, tmp_path):
    (folder / "link").symlink_to(folder / "gone")
    assert unknown(load_documents(folder)) == ["link"]


def of(url, **values):
    return SourceSettings(paths=(url,), **values)


@pytest.mark.slow
def test_a_bucket_whose_second_page_fails_is_an_error(monkeypatch):
    from s3fs import S3FileSystem

    with object_store() as store, monkeypatch.context() as patch:
        for name, value in store.environment.items():
            patch.setenv(name, value)
        forget_connections()
        bucket, client = store.new_bucket(), store.client()
        for number in range(4):
            client.put_object(Bucket=bucket, Key=f"kb/{number}.md", Body=b"Some text.")
        original = S3FileSystem._call_s3

        async def call(self, method, *args, **kwargs):
            if method == "list_objects_v2":
                if "ContinuationToken" in kwargs:
                    raise PermissionError("Access Denied")
                kwargs["MaxKeys"] = 2
            return await original(self, method, *args, **kwargs)

        assert len(load_documents(f"s3://{bucket}/kb").documents) == 4
        patch.setattr(S3FileSystem, "_call_s3", call)
        with pytest.raises(SourceError, match="Access Denied"):
            load_documents(f"s3://{bucket}/kb")
        forget_connections()


def write_rows(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))


def test_rows_that_cannot_be_read_are_known_by_their_ids(tmp_path):
    (tmp_path / "a.md").write_text("Some text.")
    write_rows(tmp_path / "t.jsonl", [{"id": 1, "body": "x"}, {"id": 2, "text": " "}, {"x": 1}])
    skipped = scan_source(of(str(tmp_path))).inventory.skipped
    assert [(item.name, item.place, item.is_empty) for item in skipped] == [
        ("t.jsonl:1", "1", False),
        ("t.jsonl:2", "2", True),
        ("t.jsonl:3", "t.jsonl", False),
    ]


def test_a_mount_point_that_is_empty_is_an_empty_source(folder, tmp_path):
    (tmp_path / "mount").mkdir()
    paths = (str(folder), str(tmp_path / "mount"))
    inventory = scan_source(SourceSettings(paths=paths)).inventory
    assert inventory.empty_sources == (str(tmp_path / "mount"),)


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (errno.ENOSPC, "free space"),
        (errno.EROFS, "let this user"),
        (errno.ENOENT, "restore it"),
        (errno.ENAMETOOLONG, "shorter path"),
        (errno.EISDIR, "move away"),
        (errno.EMFILE, "more open files"),
        (errno.EIO, "check the disk"),
        (errno.ECONNREFUSED, "the network"),
    ],
)
def test_each_error_of_the_system_has_its_own_remedy(tmp_path, code, remedy):
    error = OSError(code, "words of the system")
    assert remedy in os_error_remedy(error)
    assert (code == errno.ENOSPC) == ("space" in os_error_remedy(error))
    with pytest.raises(StoreError, match=remedy), translate_disk_errors(tmp_path):
        raise error


def sending(*lines):
    """A reply of these lines."""
    reply = "\r\n".join(lines).encode()
    return lambda connection, _request: connection.sendall(reply)


def test_a_password_stays_at_the_server_that_it_is_for():
    page = sending("HTTP/1.1 200 OK", "Content-Length: 5", "Connection: close", "", "taken")
    with RawServer(page) as elsewhere:
        location = f"Location: {elsewhere.origin}/page.md"
        moved = sending("HTTP/1.1 302 Found", location, "Content-Length: 0", "", "")
        with RawServer(moved) as site:
            url = site.origin.replace("http://", "http://user:hunter2@") + "/moved.md"
            corpus = load_documents(settings=SourceSettings(paths=(url,)))
    assert [document.text for document in corpus.documents] == ["taken"]
    assert any(b"authorization" in request.lower() for request in site.requests)
    assert elsewhere.requests
    assert not any(b"authorization" in request.lower() for request in elsewhere.requests)
