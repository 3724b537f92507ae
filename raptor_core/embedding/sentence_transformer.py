"""Embedders that run a sentence-transformers model on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np

from raptor_core.embedding.distinct import embed_distinct
from raptor_core.embedding.loading import no_progress_bar
from raptor_core.errors import ModelError
from raptor_core.identity import fingerprint
from raptor_core.settings import EmbedderSettings
from raptor_core.vectors import Vectors


class SentenceTransformerEmbedder:
    """Any sentence-transformers model by hub name or local path.

    The model is loaded at the first use. Hub access follows the hub's own environment
    variables; with ``HF_HUB_OFFLINE=1`` only what is cached or local is used. One object may be
    shared by threads; they take turns at the model, whose tokenizer serves one at a time.
    """

    def __init__(self, settings: EmbedderSettings) -> None:
        self._settings = settings
        self._turn = RLock()

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._settings.model

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the model's name, revision and prefixes."""
        return fingerprint(
            "sentence-transformers",
            {
                "model": self._settings.model,
                "revision": self._settings.revision,
                "query_prefix": self._settings.query_prefix,
                "passage_prefix": self._settings.passage_prefix,
            },
        )

    @property
    def n_dims(self) -> int:
        """Length of a vector, as the model says."""
        return int(self._transformer.get_embedding_dimension())

    @property
    def max_tokens(self) -> int:
        """Tokens that the model reads."""
        return int(self._transformer.max_seq_length)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See ``Embedder.embed``."""
        return self._embed([self._settings.passage_prefix + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """See ``Embedder.embed_queries``."""
        return self._embed([self._settings.query_prefix + text for text in texts])

    def _embed(self, texts: Sequence[str]) -> Vectors:
        return embed_distinct(texts, self._encode, self.n_dims, self.model)

    def _encode(self, texts: Sequence[str]) -> Vectors:
        with self._turn:
            vectors = self._transformer.encode(
                list(texts),
                batch_size=self._settings.batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        return np.asarray(vectors, dtype=np.float32)

    def _location(self) -> str:
        return self._settings.model

    @property
    def _transformer(self) -> Any:
        with self._turn:  # so that the first users together load it once
            return self._loaded

    @cached_property
    def _loaded(self) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer

        if self._settings.threads:
            torch.set_num_threads(self._settings.threads)
        try:
            with no_progress_bar():
                return SentenceTransformer(
                    self._location(), revision=self._settings.revision or None
                )
        except (OSError, ValueError) as error:
            raise ModelError(
                f"the embedding model {self._settings.model!r} cannot be loaded: {error}. "
                "Check embedder.model (a hub name or a local folder) and that the hub can be "
                'reached, or set embedder.kind = "bundled"'
            ) from error
