"""Models of this machine: loading them, and batches by threads that compute alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def run_batches(
    work: Callable[[Batch], Result], batches: Iterable[Batch], n_threads: int = 0
) -> list[Result]:
    """The results of ``work`` in order; each batch is computed by one thread of torch's alone.

    torch divides a product among its threads by their number, and the parts decide in which order
    sums are made. Here a thread computes whole batches instead, which is also faster: small
    products wait for nobody. While this runs torch has one thread in the whole process.

    Args:
        work: computes a batch; called from several threads.
        batches: of fixed shapes.
        n_threads: batches at once; 0 for torch's own number of threads.
    """
    import torch

    waiting = list(batches)
    before = torch.get_num_threads()
    n_workers = min(n_threads or before, len(waiting))
    torch.set_num_threads(1)
    try:
        if n_workers < 2:
            return [work(batch) for batch in waiting]
        first: Any = torch.set_num_threads  # the number is of a thread, too
        with ThreadPoolExecutor(n_workers, initializer=first, initargs=(1,)) as pool:
            return list(pool.map(work, waiting))
    finally:
        torch.set_num_threads(before)


@contextmanager
def no_progress_bar() -> Iterator[None]:
    """Loading weights draws a bar on standard error, which is the caller's to use."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
