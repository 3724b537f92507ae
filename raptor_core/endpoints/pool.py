"""Many calls at once, up to a bound, their results as they finish."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_concurrently(
    work: Callable[[Item, threading.Event], Result], items: Sequence[Item], concurrency: int
) -> Iterator[Result]:
    """Results of ``work(item, stop)`` in the order in which they finish, lazily.

    At most ``concurrency`` are under way. When the iterator is closed or fails, items that were
    not begun are dropped and ``stop`` is set, so that work between two attempts ends; what is
    on the wire ends by itself.
    """
    if not items:
        return
    stop = threading.Event()
    pool = ThreadPoolExecutor(min(concurrency, len(items)), thread_name_prefix="endpoint")
    try:
        pending = [pool.submit(work, item, stop) for item in items]
        for future in as_completed(pending):
            yield future.result()
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
