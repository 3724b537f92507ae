"""Float32 or bfloat16: what this machine is fast at, and what a store was made with."""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Literal

from raptor_core.identity import fingerprint
from raptor_core.settings import EmbedderSettings

Precision = Literal["float32", "bfloat16"]

_CPU_FLAGS = Path("/proc/cpuinfo")
_NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")

_log = logging.getLogger(__name__)


@cache
def fast_precision() -> Precision:
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

    Args:
        settings: of the embedder.
        stored: fingerprints of the embedders that a corpus's collections were made with. One of
            them decides where it is of this embedder, so that no machine mixes vectors.
    """
    if settings.precision != "auto" or settings.kind == "openai":
        return settings
    from raptor_core.models.embedding import make_embedder

    choices = [settings.model_copy(update={"precision": p}) for p in ("float32", "bfloat16")]
    known = [choice for choice in choices if make_embedder(choice).fingerprint in stored]
    return known[0] if known else settings.model_copy(update={"precision": fast_precision()})


def embedder_fingerprint(kind: str, values: dict[str, object], precision: str) -> str:
    """Fingerprint of a local embedder. Float32 has no mark, as before there was a choice."""
    marked = {} if precision == "float32" else {"precision": precision}
    return fingerprint(kind, {**values, **marked})


def tell_slow_precision(precision: str) -> None:
    """Say what it costs that a store was made on another kind of machine."""
    if precision == "bfloat16" and fast_precision() != "bfloat16":
        _log.warning(
            "embedding in bfloat16, as the store was made or embedder.precision says; this machine "
            "has neither AMX nor a GPU for it, so that it can take longer than float32 would"
        )
