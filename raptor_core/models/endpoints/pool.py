"""Concurrent calls up to a bound, with their results as they finish."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from typing import TypeVar

from raptor_core.tracing import with_context

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_concurrently(
    work: Callable[[Item, threading.Event], Result], items: Sequence[Item], concurrency: int
) -> Iterator[Result]:
    """Yield the results of ``work(item, stop)`` in the order in which they finish.

    At most ``concurrency`` items run. After a failure no item begins, ``stop`` is set, and the
    results of running items are yielded before the error is raised, since they are paid for. When
    the iterator is closed, ``stop`` is set and the rest is dropped.
    """
    if not items:
        return
    stop = threading.Event()
    failed: list[BaseException] = []

    def run(item: Item) -> Result:
        if stop.is_set():
            raise CancelledError
        try:
            return work(item, stop)
        except BaseException:
            stop.set()  # before this thread takes another item
            raise

    pool = ThreadPoolExecutor(min(concurrency, len(items)), thread_name_prefix="endpoint")
    try:
        traced = with_context(run)
        pending = [pool.submit(traced, item) for item in items]
        for future in as_completed(pending):
            error = future.exception()
            if error is None:
                yield future.result()
            elif not isinstance(error, CancelledError):
                failed.append(error)
        if failed:
            raise failed[0]
    finally:
        failed.clear()  # no cycle of error and frame
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
