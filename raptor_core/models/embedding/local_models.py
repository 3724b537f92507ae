"""Models on this machine: loading, precision, and batches that threads compute independently."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any, Literal, TypeVar

from raptor_core.errors import ModelError
from raptor_core.models.embedding.base import PrefixingEmbedder
from raptor_core.settings import EmbedderSettings
from raptor_core.tracing import model_values, span
from raptor_core.vectors import Vectors

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def run_batches(
    work: Callable[[Batch], Result], batches: Iterable[Batch], n_threads: int = 0
) -> list[Result]:
    """Return the results of ``work`` in order; each batch is computed by one thread of torch.

    torch has one thread in the process meanwhile, so that no sum depends on their number.
    ``n_threads`` batches are computed at the same time; 0 is torch's own number of threads.
    """
    import torch

    waiting = list(batches)
    default_threads = torch.get_num_threads()
    n_workers = min(n_threads or default_threads, len(waiting))
    torch.set_num_threads(1)
    try:
        if n_workers < 2:
            return [work(batch) for batch in waiting]
        set_threads: Any = torch.set_num_threads  # torch keeps the number per thread, too
        with ThreadPoolExecutor(n_workers, initializer=set_threads, initargs=(1,)) as pool:
            return list(pool.map(work, waiting))
    finally:
        torch.set_num_threads(default_threads)


@contextmanager
def loading(model: str, kind: str, setting: str, remedy: str = "") -> Iterator[None]:
    """Hide the progress bar while weights are loaded; raise ModelError for a failure."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    except (OSError, ValueError) as error:
        raise ModelError(
            f"the {kind} {model!r} cannot be loaded: {error}. Check {setting} (a hub name or a "
            f"local folder) and that the hub can be reached{remedy}"
        ) from error
    finally:
        if shown:
            logging.enable_progress_bar()


_CPU_FLAGS = Path("/proc/cpuinfo")
_NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")


@cache
def fast_precision() -> Literal["float32", "bfloat16"]:
    """Return the precision known to be faster on this machine; torch is imported only with a GPU.

    It is bfloat16 on a GPU that computes in it, and on a processor with AMX tiles. The flag
    ``avx512_bf16`` does not show that bfloat16 is faster.
    """
    if _NVIDIA_DRIVER.exists():
        import torch

        if torch.cuda.is_available():
            return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    flags = _CPU_FLAGS.read_text(encoding="utf-8") if _CPU_FLAGS.exists() else ""
    return "bfloat16" if "amx_bf16" in flags.split() else "float32"


def resolve_precision(settings: EmbedderSettings, stored: str = "") -> EmbedderSettings:
    """Return the settings with "auto" replaced by a precision; an endpoint has its own.

    ``stored`` is the fingerprint of the embedder of a corpus's store. If this embedder has it with
    one precision, that decides, so that no machine mixes vectors.
    """
    if settings.precision != "auto" or settings.kind == "openai":
        return settings
    from raptor_core.models.embedding import make_embedder

    choices = [settings.model_copy(update={"precision": p}) for p in ("float32", "bfloat16")]
    known = [choice for choice in choices if make_embedder(choice).fingerprint == stored]
    return known[0] if known else settings.model_copy(update={"precision": fast_precision()})


class LocalEmbedder(PrefixingEmbedder):
    """Base of embedders with a resolved precision, whose model serves one thread at a time."""

    def __init__(self, settings: EmbedderSettings, kind: str, **values: str) -> None:
        resolved = resolve_precision(settings)
        if resolved.precision != "float32":  # the default has no mark
            values["precision"] = resolved.precision
        super().__init__(resolved, kind, **values)
        self._turn = RLock()

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        values = model_values("embeddings", self.model, self._settings.kind)
        with span(f"embeddings {self.model}", values):
            return super()._embed(texts, prefix)
