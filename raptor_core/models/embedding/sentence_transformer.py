"""Embedders that run a sentence-transformers model on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import groupby
from typing import Any

import numpy as np

from raptor_core.models.embedding.local_models import LocalEmbedder, loading, run_batches
from raptor_core.settings import EmbedderSettings
from raptor_core.vectors import Vectors

_STEP_TOKENS = 16
"""Texts are padded to a multiple of so many tokens."""

_BATCH_TOKENS = {"cpu": 2048, "cuda": 32_768}
_MAX_ROWS = {"cpu": 16, "cuda": 128}


class SentenceTransformerEmbedder(LocalEmbedder):
    """Any sentence-transformers model by hub name or local path.

    A vector depends on its text alone: texts are padded to a few lengths, and the model computes
    batches of a fixed number of rows for each, the last one filled with copies. A model that is no
    plain transformer, or puts a prompt of its own before each text, gets one text at a time.

    The model is loaded at the first use. Hub access follows the hub's own environment
    variables; with ``HF_HUB_OFFLINE=1`` only what is cached or local is used. One object may be
    shared by threads; they take turns at the model, whose tokenizer serves one at a time.
    """

    def __init__(self, settings: EmbedderSettings) -> None:
        named = {"model": settings.model, "revision": settings.revision}
        super().__init__(settings, "sentence-transformers", **named)

    @property
    def n_dims(self) -> int:
        """Length of a vector, as the model says."""
        return int(self._transformer.get_embedding_dimension())

    @property
    def max_tokens(self) -> int:
        """Tokens that the model reads."""
        return int(self._transformer.max_seq_length)

    def _encode(self, texts: Sequence[str]) -> Vectors:
        with self._turn:
            model = self._transformer
            inputs = _inputs(model, texts)
            if inputs is None:
                return np.stack([model.encode(text, show_progress_bar=False) for text in texts])
            device = model.device.type
            batches = list(_batches(inputs, device))
            n_threads = self._settings.threads if device == "cpu" else 1
            parts = run_batches(partial(_forward, model, inputs), batches, n_threads)
            vectors = np.empty((len(texts), parts[0].shape[1]), dtype=np.float32)
            for (rows, _), part in zip(batches, parts, strict=True):
                vectors[rows] = part
        return vectors

    @property
    def _transformer(self) -> Any:
        with self._turn:  # so that the first users together load it once
            return self._loaded

    @cached_property
    def _loaded(self) -> Any:
        from sentence_transformers import SentenceTransformer

        settings = self._settings
        instead = ', or set embedder.kind = "bundled"'
        with loading(settings.model, "embedding model", "embedder.model", instead):
            model = SentenceTransformer(settings.model, revision=settings.revision or None)
        self._tell_slow_precision()
        if settings.precision == "bfloat16":
            model[0].bfloat16()
            model[0].register_forward_hook(_to_float32)  # pooling and what follows it
        return model


_Batch = tuple[list[int], int]
"""Rows of the texts, the first one again until there are enough, and the tokens of each."""


def _inputs(model: Any, texts: Sequence[str]) -> dict[str, Any] | None:
    """What the model's tokenizer makes of all texts, padded to the longest one.

    None for a model whose input is no matrix of tokens and their mask, or that puts a prompt of
    its own before a text.
    """
    if getattr(model, "default_prompt_name", None):
        return None
    inputs: dict[str, Any] = getattr(model, "preprocess", model.tokenize)(list(texts))
    mask, ids = inputs.get("attention_mask"), inputs.get("input_ids")
    plain = mask is not None and ids is not None and mask.shape == ids.shape and ids.dim() == 2
    return inputs if plain else None


def _batches(inputs: dict[str, Any], device: str) -> Iterator[_Batch]:
    """Batches of few shapes: the number of rows follows from the length alone."""
    lengths = inputs["attention_mask"].sum(1).tolist()
    padded = [max(1, -(-length // _STEP_TOKENS)) * _STEP_TOKENS for length in lengths]
    order = sorted(range(len(padded)), key=padded.__getitem__, reverse=True)
    for n_tokens, group in groupby(order, key=padded.__getitem__):
        n_rows = max(1, min(_MAX_ROWS[device], _BATCH_TOKENS[device] // n_tokens))
        rows = list(group)
        for start in range(0, len(rows), n_rows):
            part = rows[start : start + n_rows]
            yield part + part[:1] * (n_rows - len(part)), n_tokens


def _forward(model: Any, inputs: dict[str, Any], batch: _Batch) -> Vectors:
    """Vectors of a batch, shape ``(n_rows, n_dims)``."""
    import torch
    from torch.nn.functional import pad

    rows, n_tokens = batch
    width = min(n_tokens, model.max_seq_length or n_tokens)
    left = model.tokenizer.padding_side == "left"
    given = dict(inputs)
    for name, values in inputs.items():
        if torch.is_tensor(values):
            filler = (model.tokenizer.pad_token_id or 0) if name == "input_ids" else 0
            missing = width - values.shape[1]  # or too many, where it is below 0
            sides = (missing, 0) if left else (0, missing)
            given[name] = pad(values[rows], sides, value=filler).to(model.device)
    with torch.inference_mode():
        embedded = model(given)["sentence_embedding"]
    vectors: Vectors = embedded.float().cpu().numpy()
    return vectors


def _to_float32(_module: Any, _given: Any, features: dict[str, Any]) -> dict[str, Any]:
    import torch

    return {
        name: value.float() if torch.is_tensor(value) and value.is_floating_point() else value
        for name, value in features.items()
    }
