"""Storages that name a file that is not there, and errors of a disk."""

import errno

import pytest

from raptor_core.disk import disk_errors, disk_remedy
from raptor_core.errors import StoreError


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
