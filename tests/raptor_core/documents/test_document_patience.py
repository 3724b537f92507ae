"""Storages that are silent, slow without an end, or name a file that is not there."""

import contextlib
import errno
import gzip
import socket
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.command import raptor

from raptor_core.disk import disk_errors, disk_remedy
from raptor_core.documents import load_documents
from raptor_core.errors import ExportError, RaptorError, SourceError, StoreError, TableError
from raptor_core.filesystems import Folder, open_place
from raptor_core.settings import SourceSettings


class Server:
    """A server of FTP, as far as a script of answers says; after it comes ``last``, for ever."""

    def __init__(self, answers, last=b""):
        self._answers, self._last = answers, last
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ended = threading.Event()
        self._threads = []
        self._start(self._accept)

    @property
    def url(self):
        return f"ftp://ada:secret@127.0.0.1:{self._listener.getsockname()[1]}/papers"

    def _start(self, work, *arguments):
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                self._start(self._serve, self._listener.accept()[0])

    def _serve(self, connection):
        with contextlib.suppress(OSError), connection:
            for answer in self._answers:
                connection.sendall(answer)
                connection.recv(1000)
            while not self._ended.wait(0.02):
                if self._last:
                    connection.sendall(self._last)

    def close(self):
        self._ended.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()


LOGGED_IN = [b"220 here\r\n", b"331 who\r\n", b"230 welcome\r\n"]


@pytest.fixture(params=[[], LOGGED_IN], ids=["greeting", "listing"])
def answers(request):
    """What a server still says before it falls silent."""
    return request.param


@pytest.mark.parametrize("last", [b"", b"2"], ids=["silent", "a byte now and then"])
def test_a_server_that_never_ends_its_answer_is_given_up_by_name(answers, last):
    server = Server(answers, last)
    settings = SourceSettings(paths=(server.url,), timeout_seconds=0.05)
    try:
        with pytest.raises(SourceError, match=r"ftp://\S*\*\*\*@127\.0\.0\.1.*(within|timed out)"):
            load_documents(settings=settings)
    finally:
        server.close()


@pytest.mark.parametrize("error", [TableError, ExportError])
def test_a_place_of_tables_or_exports_that_never_answers_is_given_up(error):
    server = Server([], b"2")
    try:
        with pytest.raises(error, match="within"):
            open_place(server.url, error, timeout_seconds=0.05)
    finally:
        server.close()


class Trickle(BaseHTTPRequestHandler):
    """A file that never ends, a byte now and then."""

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()

    def do_GET(self):
        self.do_HEAD()
        with contextlib.suppress(OSError):
            while not self.server.ended.wait(0.02):
                self.wfile.write(b"a")

    def log_message(self, *_):
        pass


def test_a_file_that_never_ends_is_given_up_by_name():
    with ThreadingHTTPServer(("127.0.0.1", 0), Trickle) as server:
        server.ended = threading.Event()
        serving = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        serving.start()
        url = f"http://127.0.0.1:{server.server_port}/endless.md"
        settings = SourceSettings(paths=(url,), timeout_seconds=0.05)
        with pytest.raises(SourceError, match=r"endless\.md did not finish its answer within"):
            load_documents(settings=settings)
        server.ended.set()
        server.shutdown()
        serving.join()


def archives(folder):
    """A URL of each kind of archive that is not there or is none, and what is said of it."""
    (folder / "text.zip").write_text("no archive")
    (folder / "text.tar").write_text("no archive")
    with zipfile.ZipFile(folder / "cut.zip", "w") as file:
        file.writestr("a.md", "words")
    (folder / "cut.zip").write_bytes((folder / "cut.zip").read_bytes()[:-30])
    with tarfile.open(folder / "good.tar", "w"):
        pass
    packed = gzip.compress((folder / "good.tar").read_bytes())
    (folder / "cut.tar.gz").write_bytes(packed[: len(packed) // 2])
    yield f"zip://x::file://{folder}/missing", "nothing at"
    yield f"zip://::{folder}/missing.zip", "nothing at"
    yield f"tar://x::file://{folder}/missing.tar", "nothing at"
    yield f"zip://a.md::zip://in.zip::file://{folder}/missing.zip", "nothing at"
    yield f"simplecache::zip://a.md::file://{folder}/missing.zip", "nothing at"
    yield f"zip://a.md::file://{folder}/text.zip", "names no whole archive"
    yield f"zip://a.md::file://{folder}/cut.zip", "names no whole archive"
    yield f"tar://a.md::file://{folder}/text.tar", "names no whole archive"
    yield f"tar://a.md::file://{folder}/cut.tar.gz", "names no whole archive"
    yield f"tar://a.md::file://{folder}/good.tar", "nothing at"


def test_an_archive_that_is_missing_or_none_is_named(tmp_path):
    for url, message in archives(tmp_path):
        with pytest.raises(SourceError, match=message):
            load_documents(url)
        for error in (TableError, ExportError):
            if message != "nothing at" or "missing" in url:
                with pytest.raises(RaptorError, match=message):
                    Folder(url, error)


def test_the_command_does_not_blame_the_disk_for_an_archive_that_is_missing(tmp_path):
    url = f"zip://x::file://{tmp_path}/missing"
    printed = raptor("documents", url)
    assert printed.code == 4
    assert f"nothing at {tmp_path}/missing" in printed.err
    assert "ree space" not in printed.err


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (errno.ENOSPC, "free space"),
        (errno.EACCES, "let this user"),
        (errno.EROFS, "let this user"),
        (errno.ENOENT, "restore it"),
        (errno.ENAMETOOLONG, "shorter path"),
        (errno.EISDIR, "move away"),
        (errno.ENOTDIR, "move away"),
        (errno.EMFILE, "more open files"),
        (errno.EIO, "check the disk"),
        (errno.ECONNREFUSED, "the network"),
    ],
)
def test_each_error_of_the_system_has_its_own_remedy(tmp_path, code, remedy):
    error = OSError(code, "words of the system")
    assert remedy in disk_remedy(error)
    assert (code == errno.ENOSPC) == ("space" in disk_remedy(error))
    with pytest.raises(StoreError, match=remedy), disk_errors(tmp_path):
        raise error


def test_a_folder_that_stands_in_the_place_of_a_table_is_told_as_that(tmp_path):
    (tmp_path / "a.bin").mkdir()
    folder = Folder(str(tmp_path), TableError)
    with pytest.raises(TableError, match="move away"):
        folder.write("a.bin", b"data")
    with pytest.raises(TableError, match="move away"):
        folder.find("a.bin")
    with pytest.raises(TableError, match="shorter path"):
        folder.find("a" * 300)
