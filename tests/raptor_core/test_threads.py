"""Linear algebra of a build runs on one thread, and leaves other threads alone."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np  # noqa: F401 - brings the library
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from raptor_core.threads import one_blas_thread


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
