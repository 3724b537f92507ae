"""Storages that name a file that is not there, and errors of a disk."""

import errno
import gzip
import tarfile
import zipfile

import pytest

from raptor_core.disk import disk_errors, disk_remedy
from raptor_core.documents import load_documents
from raptor_core.errors import ExportError, RaptorError, SourceError, StoreError, TableError
from raptor_core.filesystems import Folder


def archives(folder):
    """A URL of each kind of archive that is not there or is none, and what is said of it."""
    (folder / "text.zip").write_text("no archive")
    with zipfile.ZipFile(folder / "cut.zip", "w") as file:
        file.writestr("a.md", "words")
    (folder / "cut.zip").write_bytes((folder / "cut.zip").read_bytes()[:-30])
    with tarfile.open(folder / "good.tar", "w"):
        pass
    packed = gzip.compress((folder / "good.tar").read_bytes())
    (folder / "cut.tar.gz").write_bytes(packed[: len(packed) // 2])
    yield f"zip://x::file://{folder}/missing", "nothing at"
    yield f"zip://::{folder}/missing.zip", "nothing at"
    yield f"simplecache::zip://a.md::file://{folder}/missing.zip", "nothing at"
    yield f"zip://a.md::file://{folder}/text.zip", "names no whole archive"
    yield f"zip://a.md::file://{folder}/cut.zip", "names no whole archive"
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
    assert remedy in disk_remedy(error)
    assert (code == errno.ENOSPC) == ("space" in disk_remedy(error))
    with pytest.raises(StoreError, match=remedy), disk_errors(tmp_path):
        raise error
