"""Models of this machine: loading them, their precision, batches by threads that compute alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any, Literal, TypeVar

from raptor_core.errors import ModelError
from raptor_core.models.embedding.base import PrefixingEmbedder
from raptor_core.settings import EmbedderSettings

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def run_batches(
    work: Callable[[Batch], Result], batches: Iterable[Batch], n_threads: int = 0
) -> list[Result]:
    """The results of ``work`` in order; each batch is computed by one thread of torch's alone.

    torch divides a product among its threads by their number, and the parts decide in which order
    sums are made. Here a thread computes whole batches of fixed shapes instead, ``n_threads`` at
    once (0: torch's own number), which is also faster: small products wait for nobody. While this
    runs torch has one thread in the whole process.
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
def loading(model: str, what: str, setting: str, otherwise: str = "") -> Iterator[None]:
    """Around loading weights, which would draw a bar on standard error, the caller's to use.

    Raises:
        ModelError: they cannot be loaded; it says ``what`` they are, the setting that names them,
            and what to do ``otherwise``.
    """
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    except (OSError, ValueError) as error:
        raise ModelError(
            f"the {what} {model!r} cannot be loaded: {error}. Check {setting} (a hub name or a "
            f"local folder) and that the hub can be reached{otherwise}"
        ) from error
    finally:
        if shown:
            logging.enable_progress_bar()


_CPU_FLAGS = Path("/proc/cpuinfo")
_NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")

_log = logging.getLogger(__name__)


@cache
def fast_precision() -> Literal["float32", "bfloat16"]:
    """The precision that is known to be the faster one here; imports torch beside a GPU alone.

    That is bfloat16 on a GPU that computes in it and on a processor with AMX tiles. The flag
    ``avx512_bf16`` is no sign of it.
    """
    if _NVIDIA_DRIVER.exists():
        import torch

        if torch.cuda.is_available():
            return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    flags = _CPU_FLAGS.read_text(encoding="utf-8") if _CPU_FLAGS.exists() else ""
    return "bfloat16" if "amx_bf16" in flags.split() else "float32"


def settle_precision(settings: EmbedderSettings, stored: Collection[str] = ()) -> EmbedderSettings:
    """The settings with the precision that "auto" stands for; an endpoint has its own.

    ``stored`` are fingerprints of the embedders that a corpus's collections were made with. One of
    them decides where it is of this embedder, so that no machine mixes vectors.
    """
    if settings.precision != "auto" or settings.kind == "openai":
        return settings
    from raptor_core.models.embedding import make_embedder

    choices = [settings.model_copy(update={"precision": p}) for p in ("float32", "bfloat16")]
    known = [choice for choice in choices if make_embedder(choice).fingerprint in stored]
    return known[0] if known else settings.model_copy(update={"precision": fast_precision()})


class LocalEmbedder(PrefixingEmbedder):
    """An embedder whose precision is settled, and at whose model threads take turns."""

    def __init__(self, settings: EmbedderSettings, kind: str, **values: str) -> None:
        settled = settle_precision(settings)
        if settled.precision != "float32":  # which has no mark, as before there was a choice
            values["precision"] = settled.precision
        super().__init__(settled, kind, **values)
        self._turn = RLock()

    def _tell_slow_precision(self) -> None:
        """Say what it costs that a store was made on another kind of machine."""
        if self._settings.precision == "bfloat16" and fast_precision() != "bfloat16":
            _log.warning(
                "embedding in bfloat16, as the store was made or embedder.precision says; this "
                "machine has neither AMX nor a GPU for it, so that it can take longer than float32 "
                "would"
            )
