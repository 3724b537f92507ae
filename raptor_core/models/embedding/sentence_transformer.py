"""The embedder that runs a sentence-transformers model on this machine."""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import groupby
from typing import Any

import numpy as np

from raptor_core.models.embedding.base import PROBE
from raptor_core.models.embedding.local_models import LocalEmbedder, loading_weights, run_batches
from raptor_core.settings import EmbedderSettings
from raptor_core.tokens.base import TokenCounter
from raptor_core.tokens.embedder import TokenizerCounter
from raptor_core.vectors import Vectors

_STEP_TOKENS = 16
"""Number of tokens to a multiple of which texts are padded."""
_BATCH_TOKENS = {"cpu": 2048, "cuda": 32_768}
_MAX_ROWS = {"cpu": 16, "cuda": 128}


class SentenceTransformerEmbedder(LocalEmbedder):
    """Embedder with any sentence-transformers model, by its name on the hub or a local path.

    A vector depends only on its text: texts are padded to a few lengths, and for each length all
    batches have the same number of rows, so the last batch is filled with copies. A model that is
    not a plain transformer, or that puts its own prompt before each text, gets one text at a time.

    The model is loaded when it is first used. The hub's own environment variables apply; with
    ``HF_HUB_OFFLINE=1`` only cached or local models are used. Threads may share one object; the
    model serves one at a time, because its tokenizer does.
    """

    def __init__(self, settings: EmbedderSettings) -> None:
        values = {"model": settings.model, "revision": settings.revision}
        super().__init__(settings, "sentence-transformers", **values)

    @property
    def n_dims(self) -> int:
        """Number of dimensions of a vector, from the model."""
        model = self._transformer
        new_method = getattr(model, "get_embedding_dimension", None)  # since version 5.4
        return int((new_method or model.get_sentence_embedding_dimension)())

    def probe(self) -> tuple[float, ...]:
        """Return the vector of ``PROBE``; a folder or hub name may refer to another model later."""
        return self._probe_vector

    @cached_property
    def _probe_vector(self) -> tuple[float, ...]:
        return tuple(self._encode([PROBE])[0].tolist())

    def _limit(self) -> tuple[TokenCounter, int] | None:
        model = self._transformer
        tokenizer: Any = getattr(model, "tokenizer", None)
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None or not model.max_seq_length:
            return None
        counter = TokenizerCounter(backend)
        prompt = model.prompts.get(model.default_prompt_name or "", "")
        n_around = tokenizer.num_special_tokens_to_add() + counter.count([prompt])[0]
        return counter, int(model.max_seq_length) - n_around

    def _encode(self, texts: Sequence[str]) -> Vectors:
        with self._lock:
            model = self._transformer
            inputs = _model_inputs(model, texts)
            if inputs is None:
                return np.stack([model.encode(text, show_progress_bar=False) for text in texts])
            device = model.device.type
            batches = list(_batches(inputs, device))
            n_threads = 0 if device == "cpu" else 1
            parts = run_batches(partial(_forward, model, inputs), batches, n_threads)
            vectors = np.empty((len(texts), parts[0].shape[1]), dtype=np.float32)
            for (rows, _), part in zip(batches, parts, strict=True):
                vectors[rows] = part
        return vectors

    @property
    def _transformer(self) -> Any:
        with self._lock:  # so that several threads load the model only once
            return self._loaded_model

    @cached_property
    def _loaded_model(self) -> Any:
        from sentence_transformers import SentenceTransformer

        settings = self._settings
        remedy = ', or set embedder.kind = "bundled"'
        with loading_weights(settings.model, "embedding model", "embedder.model", remedy):
            model = SentenceTransformer(settings.model, revision=settings.revision or None)
        if settings.precision == "bfloat16":
            model[0].bfloat16()
            model[0].register_forward_hook(_to_float32)  # because pooling needs float32
        return model


_Batch = tuple[list[int], int]
"""Rows of the texts, filled up with copies of the first row, and the padded length of each."""


def _model_inputs(model: Any, texts: Sequence[str]) -> dict[str, Any] | None:
    """Return the model's inputs for all texts, padded to the longest, or None.

    None means that the model is not a plain transformer or has its own prompt.
    """
    if getattr(model, "default_prompt_name", None):
        return None
    inputs: dict[str, Any] = getattr(model, "preprocess", model.tokenize)(list(texts))
    mask, ids = inputs.get("attention_mask"), inputs.get("input_ids")
    plain = mask is not None and ids is not None and mask.shape == ids.shape and ids.dim() == 2
    return inputs if plain else None


def _batches(inputs: dict[str, Any], device: str) -> Iterator[_Batch]:
    """Yield batches in few shapes: the number of rows depends only on the padded length."""
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
    """Return the vectors of a batch, shape ``(n_rows, n_dims)``."""
    import torch
    from torch.nn.functional import pad

    rows, n_tokens = batch
    width = min(n_tokens, model.max_seq_length or n_tokens)
    pads_left = model.tokenizer.padding_side == "left"
    features = dict(inputs)
    for name, values in inputs.items():
        if torch.is_tensor(values):
            filler = (model.tokenizer.pad_token_id or 0) if name == "input_ids" else 0
            missing = width - values.shape[1]  # negative, so that columns are cut, if it is longer
            sides = (missing, 0) if pads_left else (0, missing)
            features[name] = pad(values[rows], sides, value=filler).to(model.device)
    with torch.inference_mode():
        embedded = model(features)["sentence_embedding"]
    vectors: Vectors = embedded.float().cpu().numpy()
    return vectors


def _to_float32(_module: Any, _inputs: Any, features: dict[str, Any]) -> dict[str, Any]:
    import torch

    return {
        name: value.float() if torch.is_tensor(value) and value.is_floating_point() else value
        for name, value in features.items()
    }
