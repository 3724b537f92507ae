"""Code that models on this machine share: loading, and batches that threads compute."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import RLock
from typing import Any, TypeVar

from raptor_core.errors import ModelError
from raptor_core.models.embedding.base import PrefixingEmbedder
from raptor_core.settings import EmbedderSettings
from raptor_core.tracing import model_call_attributes, span
from raptor_core.vectors import Vectors

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def run_batches(
    work: Callable[[Batch], Result], batches: Iterable[Batch], n_threads: int = 0
) -> list[Result]:
    """Compute each batch in one thread, and return the results of ``work`` in order.

    Meanwhile torch itself uses one thread, so that no sum depends on their number. ``n_threads`` is
    the number of batches to compute at the same time; 0 is torch's own number of threads.
    """
    import torch

    pending = list(batches)
    default_threads = torch.get_num_threads()
    n_workers = min(n_threads or default_threads, len(pending))
    torch.set_num_threads(1)
    try:
        if n_workers < 2:
            return [work(batch) for batch in pending]
        set_threads: Any = torch.set_num_threads  # which must be set in every thread
        with ThreadPoolExecutor(n_workers, initializer=set_threads, initargs=(1,)) as pool:
            return list(pool.map(work, pending))
    finally:
        torch.set_num_threads(default_threads)


@contextmanager
def loading_weights(model: str, kind: str, setting: str, remedy: str = "") -> Iterator[None]:
    """Hide the progress bar while a block loads weights; raise its failure as ModelError."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    except (OSError, ValueError) as error:
        raise ModelError(
            f"the {kind} {model!r} cannot be loaded: {error}. Check {setting} (a name on the hub "
            f"or a local folder) and that the hub can be reached{remedy}"
        ) from error
    finally:
        if shown:
            logging.enable_progress_bar()


class LocalEmbedder(PrefixingEmbedder):
    """Base class of embedders whose model serves one thread at a time."""

    def __init__(self, settings: EmbedderSettings, kind: str, **values: str) -> None:
        if settings.precision != "float32":  # the default is not part of the fingerprint
            values["precision"] = settings.precision
        super().__init__(settings, kind, **values)
        self._lock = RLock()

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        values = model_call_attributes("embeddings", self.model, self._settings.kind)
        with span(f"embeddings {self.model}", values):
            return super()._embed(texts, prefix)
