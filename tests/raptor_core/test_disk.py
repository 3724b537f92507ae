"""Files are replaced whole, locks have one holder, and linear algebra has one thread."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np  # noqa: F401 - brings the library
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from raptor_core.disk import file_lock, replace_file
from raptor_core.threads import one_blas_thread

HOLD = """
import sys
from pathlib import Path
from raptor_core.disk import file_lock
with file_lock(Path(sys.argv[1])) as is_free:
    print(is_free, flush=True)
    sys.stdin.read()
"""


def test_a_file_is_replaced_in_a_folder_that_is_made(tmp_path):
    path = tmp_path / "new" / "file"
    replace_file(path, b"first")
    replace_file(path, b"second")
    assert path.read_bytes() == b"second"
    assert list(path.parent.iterdir()) == [path]


def test_what_cannot_be_replaced_stays_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    (path / "kept").write_text("kept")
    with pytest.raises(OSError):
        replace_file(path, b"text")
    assert [found.name for found in tmp_path.iterdir()] == ["folder"]
    assert (path / "kept").read_text() == "kept"


def test_a_lock_is_held_by_one_process_and_goes_with_it(tmp_path):
    path = tmp_path / "file.lock"
    command = [sys.executable, "-c", HOLD, path]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline().strip() == "True"
        with file_lock(path) as is_free:
            assert not is_free
        other.kill()
        other.wait()
        with file_lock(path, 30.0) as is_free:
            assert is_free
    with file_lock(path) as is_free:
        assert is_free


def n_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def three_threads():
    with threadpool_limits(3, user_api="blas"):
        yield


def test_one_thread_inside_and_as_many_as_before_after_it():
    with one_blas_thread:
        assert n_threads() == {1}
        with one_blas_thread:
            pass
        assert n_threads() == {1}
    assert n_threads() == {3}


def test_threads_that_enter_and_leave_in_any_order_leave_none_behind():
    found = []

    @one_blas_thread
    def work(_number):
        found.append(n_threads())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(60)))
    assert found == [{1}] * 60
    assert n_threads() == {3}
